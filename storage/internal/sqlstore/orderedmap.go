package sqlstore

import "slices"

// orderedMap is a map that keeps the order of insertion and notes which values the
// database lacks. It searches few keys one by one, which is faster than an index, and
// indexes many. The zero value is empty.
type orderedMap[K comparable, V any] struct {
	keys      []K
	values    []V
	dirty     []bool // whether the database lacks the value
	unwritten []int  // the positions of dirty values
	index     map[K]int
}

// linearSearchMax is up to how many keys the map searches without an index.
const linearSearchMax = 8

// indexOf returns the position of a key, or -1.
func (o *orderedMap[K, V]) indexOf(k K) int {
	if len(o.keys) <= linearSearchMax {
		return slices.Index(o.keys, k)
	}
	if i, ok := o.index[k]; ok {
		return i
	}
	return -1
}

// find returns a pointer to the value of a key, valid until the next put, or nil.
func (o *orderedMap[K, V]) find(k K) *V {
	if i := o.indexOf(k); i >= 0 {
		return &o.values[i]
	}
	return nil
}

// put sets a value that the database lacks.
func (o *orderedMap[K, V]) put(k K, v V) {
	i := o.set(k, v)
	if !o.dirty[i] {
		o.dirty[i] = true
		o.unwritten = append(o.unwritten, i)
	}
}

// set sets a value and returns its position.
func (o *orderedMap[K, V]) set(k K, v V) int {
	if i := o.indexOf(k); i >= 0 {
		o.values[i] = v
		return i
	}
	o.keys, o.values, o.dirty = append(o.keys, k), append(o.values, v), append(o.dirty, false)
	n := len(o.keys)
	switch {
	case n <= linearSearchMax:
	case n == linearSearchMax+1:
		if o.index == nil {
			o.index = make(map[K]int, 4*linearSearchMax)
		}
		for i, k := range o.keys {
			o.index[k] = i
		}
	default:
		o.index[k] = n - 1
	}
	return n - 1
}

// merge adds the values of another map, in its order.
func (o *orderedMap[K, V]) merge(above *orderedMap[K, V]) {
	for i, k := range above.keys {
		if above.dirty[i] {
			o.put(k, above.values[i])
		} else {
			o.set(k, above.values[i])
		}
	}
}

// markWritten notes that the database has all values. If afterWrite is not nil, it
// replaces the values that the database lacked.
func (o *orderedMap[K, V]) markWritten(afterWrite func(V) V) {
	for _, i := range o.unwritten {
		o.dirty[i] = false
		if afterWrite != nil {
			o.values[i] = afterWrite(o.values[i])
		}
	}
	o.unwritten = o.unwritten[:0]
}

// maxKeptCapacity is up to how many keys clear keeps the memory.
const maxKeptCapacity = 4096

// clear empties the map, and keeps its memory unless it is large.
func (o *orderedMap[K, V]) clear() {
	if len(o.keys) > maxKeptCapacity {
		*o = orderedMap[K, V]{}
		return
	}
	clear(o.keys)
	clear(o.values)
	if len(o.keys) > linearSearchMax {
		clear(o.index)
	}
	o.keys, o.values, o.dirty, o.unwritten = o.keys[:0], o.values[:0], o.dirty[:0], o.unwritten[:0]
}
