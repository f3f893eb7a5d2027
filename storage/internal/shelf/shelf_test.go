package shelf_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/storage/internal/shelf"
)

// few is how many keys have no index.
const few = 8

// A shelf is a map that remembers the order, whether it is indexed or not.
func TestShelf(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var s, above shelf.Of[int, int]
		want := map[int]int{}
		var order []int
		put := func(into *shelf.Of[int, int], k, v int) {
			into.Put(k, v)
			if _, ok := want[k]; !ok {
				order = append(order, k)
			}
			want[k] = v
		}
		for i := range rapid.IntRange(0, 4*few).Draw(r, "below") {
			put(&s, rapid.IntRange(0, 3*few).Draw(r, "key"), i)
		}
		for i := range rapid.IntRange(0, 2*few).Draw(r, "above") {
			put(&above, rapid.IntRange(0, 3*few).Draw(r, "key"), 100+i)
		}
		s.Take(&above)
		got := map[int]int{}
		for k := range 3*few + 1 {
			if v := s.Find(k); v != nil {
				got[k] = *v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("values (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(order, s.Keys); diff != "" && len(order)+len(s.Keys) > 0 {
			r.Errorf("order (-want +got):\n%s", diff)
		}
		if rapid.Bool().Draw(r, "many") {
			for i := range 5000 {
				s.Put(i, i)
			}
			if v := s.Find(4999); v == nil || *v != 4999 {
				r.Error("one of many is not found")
			}
		}
		s.Clear()
		if s.Find(1) != nil || len(s.Keys) != 0 {
			r.Error("something is left")
		}
	})
}
