package sqlstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestOrderedMapAgreesWithModel compares the type with a map and a list, with and without an index.
func TestOrderedMapAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var s, above orderedMap[int, int]
		want, dirty := map[int]int{}, map[int]bool{}
		var order []int
		put := func(into *orderedMap[int, int], k, v int) {
			into.put(k, v)
			if _, ok := want[k]; !ok {
				order = append(order, k)
			}
			want[k], dirty[k] = v, true
		}
		for i := range rapid.IntRange(0, 4*linearSearchMax).Draw(r, "below") {
			put(&s, rapid.IntRange(0, 3*linearSearchMax).Draw(r, "key"), i)
		}
		if rapid.Bool().Draw(r, "written") {
			s.markWritten(func(v int) int { return v + 1000 })
			for k := range want {
				want[k] += 1000
			}
			clear(dirty)
		}
		for i := range rapid.IntRange(0, 2*linearSearchMax).Draw(r, "above") {
			put(&above, rapid.IntRange(0, 3*linearSearchMax).Draw(r, "key"), 100+i)
		}
		s.merge(&above)
		got, gotDirty := map[int]int{}, map[int]bool{}
		for k := range 3*linearSearchMax + 1 {
			if v := s.find(k); v != nil {
				got[k] = *v
			}
		}
		for _, i := range s.unwritten {
			if gotDirty[s.keys[i]] {
				r.Errorf("%d is unwritten twice", s.keys[i])
			}
			gotDirty[s.keys[i]] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("values (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(dirty, gotDirty); diff != "" {
			r.Errorf("unwritten (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(order, s.keys); diff != "" && len(order)+len(s.keys) > 0 {
			r.Errorf("order (-want +got):\n%s", diff)
		}
		if rapid.Bool().Draw(r, "many") {
			for i := range 5000 {
				s.put(i, i)
			}
			if v := s.find(4999); v == nil || *v != 4999 {
				r.Error("one of many is not found")
			}
		}
		s.clear()
		if s.find(1) != nil || len(s.keys) != 0 || len(s.unwritten) != 0 {
			r.Error("something is left")
		}
	})
}
