// Package shelf keeps what a transaction has written, and the database does not have yet.
package shelf

import "slices"

// Of keeps values by their keys, in the order in which the keys came. Few are looked
// through, which is faster than an index; many have one. Its zero value is empty. It is
// for one goroutine at a time.
type Of[K comparable, V any] struct {
	// Keys and Values may be read, and Values changed.
	Keys   []K
	Values []V
	places map[K]int
}

// few is how many values have no index.
const few = 8

// Find returns the value of a key, to be changed at will until the next Put, or nil.
func (s *Of[K, V]) Find(k K) *V {
	i := -1
	if len(s.Keys) <= few {
		i = slices.Index(s.Keys, k)
	} else if place, ok := s.places[k]; ok {
		i = place
	}
	if i < 0 {
		return nil
	}
	return &s.Values[i]
}

// Put gives a key a value.
func (s *Of[K, V]) Put(k K, v V) {
	if known := s.Find(k); known != nil {
		*known = v
		return
	}
	s.Keys, s.Values = append(s.Keys, k), append(s.Values, v)
	switch n := len(s.Keys); {
	case n <= few:
	case n == few+1:
		if s.places == nil {
			s.places = make(map[K]int, 4*few)
		}
		for i, k := range s.Keys {
			s.places[k] = i
		}
	default:
		s.places[k] = n - 1
	}
}

// Take puts here what stands on another, in its order.
func (s *Of[K, V]) Take(above *Of[K, V]) {
	for i, k := range above.Keys {
		s.Put(k, above.Values[i])
	}
}

// most is for how many keys a shelf keeps its room.
const most = 4096

// Clear empties the shelf, and keeps its room, unless that is large.
func (s *Of[K, V]) Clear() {
	if len(s.Keys) > most {
		*s = Of[K, V]{}
		return
	}
	clear(s.Keys)
	clear(s.Values)
	if len(s.Keys) > few {
		clear(s.places)
	}
	s.Keys, s.Values = s.Keys[:0], s.Values[:0]
}
