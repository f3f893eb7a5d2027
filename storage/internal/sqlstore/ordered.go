package sqlstore

import "slices"

// ordered is a map that remembers the order in which its keys came, and which of
// its values the database does not have yet. Few keys are searched one by one, which
// is faster than an index; many have one. Its zero value is empty.
type ordered[K comparable, V any] struct {
	keys      []K
	values    []V
	dirty     []bool // whether the database lacks the value
	unwritten []int  // the places of those
	places    map[K]int
}

// few is how many keys have no index.
const few = 8

// place returns where a key stands, or -1.
func (o *ordered[K, V]) place(k K) int {
	if len(o.keys) <= few {
		return slices.Index(o.keys, k)
	}
	if i, ok := o.places[k]; ok {
		return i
	}
	return -1
}

// find returns the value of a key, which may be changed until the next put, or nil.
func (o *ordered[K, V]) find(k K) *V {
	if i := o.place(k); i >= 0 {
		return &o.values[i]
	}
	return nil
}

// put gives a key a value that the database does not have.
func (o *ordered[K, V]) put(k K, v V) {
	i := o.set(k, v)
	if !o.dirty[i] {
		o.dirty[i] = true
		o.unwritten = append(o.unwritten, i)
	}
}

// set gives a key a value, and returns its place.
func (o *ordered[K, V]) set(k K, v V) int {
	if i := o.place(k); i >= 0 {
		o.values[i] = v
		return i
	}
	o.keys, o.values, o.dirty = append(o.keys, k), append(o.values, v), append(o.dirty, false)
	n := len(o.keys)
	switch {
	case n <= few:
	case n == few+1:
		if o.places == nil {
			o.places = make(map[K]int, 4*few)
		}
		for i, k := range o.keys {
			o.places[k] = i
		}
	default:
		o.places[k] = n - 1
	}
	return n - 1
}

// take adds what another one holds, in its order.
func (o *ordered[K, V]) take(above *ordered[K, V]) {
	for i, k := range above.keys {
		if above.dirty[i] {
			o.put(k, above.values[i])
		} else {
			o.set(k, above.values[i])
		}
	}
}

// written marks all values as being in the database, where they are as now says.
func (o *ordered[K, V]) written(now func(V) V) {
	for _, i := range o.unwritten {
		o.dirty[i] = false
		if now != nil {
			o.values[i] = now(o.values[i])
		}
	}
	o.unwritten = o.unwritten[:0]
}

// most is for how many keys the room is kept.
const most = 4096

// clear removes everything, and keeps the room, unless that is large.
func (o *ordered[K, V]) clear() {
	if len(o.keys) > most {
		*o = ordered[K, V]{}
		return
	}
	clear(o.keys)
	clear(o.values)
	if len(o.keys) > few {
		clear(o.places)
	}
	o.keys, o.values, o.dirty, o.unwritten = o.keys[:0], o.values[:0], o.dirty[:0], o.unwritten[:0]
}
