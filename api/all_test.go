package api_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// thing is an object of a list whose id is in an embedded struct, as that of a consumer is.
type thing struct{ named }

type named struct{ ID string }

type thingParams struct {
	api.Page
	Even bool
}

// shelf is a list of things, newest first.
type shelf struct {
	ids   []int
	reads int
}

func (s *shelf) List(_ context.Context, _ api.Caller, p thingParams) (*api.List[thing], error) {
	s.reads++
	start := 0
	if p.StartingAfter != "" {
		after, _ := strconv.Atoi(p.StartingAfter)
		at := slices.Index(s.ids, after)
		if at < 0 {
			return nil, api.NoSuchCursor("starting_after", "thing")
		}
		start = at + 1
	}
	var found []thing
	more := false
	for _, id := range s.ids[start:] {
		if p.Even && id%2 != 0 {
			continue
		}
		if len(found) == p.Size() {
			more = true
			break
		}
		found = append(found, thing{named{strconv.Itoa(id)}})
	}
	return api.NewList("/v1/things", found, more), nil
}

func newShelf(n int) *shelf {
	s := &shelf{}
	for id := n; id > 0; id-- {
		s.ids = append(s.ids, id)
	}
	return s
}

// collect returns the ids that All yields, and the error that it ends with.
func collect(t *testing.T, s *shelf, p thingParams, each func(id int)) (ids []int, end error) {
	t.Helper()
	for o, err := range api.All(t.Context(), api.Caller{}, p, s.List) {
		if err != nil {
			must.Do(t, end)
			expect.True(t, o == nil, "yields %v after %v", err, end)
			end = err
			continue
		}
		id, _ := strconv.Atoi(o.ID)
		ids = append(ids, id)
		if each != nil {
			each(id)
		}
	}
	return ids, end
}

func TestAllYieldsEveryPageOnce(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100, 101, 200, 250} {
		s := newShelf(n)
		want := slices.Clone(s.ids)
		got, err := collect(t, s, thingParams{Page: api.Page{Limit: 3, EndingBefore: "7"}}, nil)
		expect.NoError(t, err, "of %d", n)
		expect.True(t, slices.Equal(got, want), "of %d: %v, %v", n, got, err)
		most := max(1, (n+99)/100)
		expect.True(t, s.reads == most, "of %d: %d reads, want %d", n, s.reads, most)
	}
	if got, err := collect(t, newShelf(500), thingParams{Even: true}, nil); err != nil || len(got) != 250 || got[0] != 500 || got[249] != 2 {
		t.Errorf("filtered: %v, %v", got, err)
	}
}

func TestAllWhilePagesChange(t *testing.T) {
	s := newShelf(250)
	want := slices.Clone(s.ids)
	got, err := collect(t, s, thingParams{}, func(id int) { s.ids = slices.Insert(s.ids, 0, 1000+id) })
	must.Do(t, err)
	expect.True(t, slices.Equal(got, want), "with newer objects: %v, %v", got, err)
	s = newShelf(250)
	got, err = collect(t, s, thingParams{}, func(id int) { s.ids = slices.DeleteFunc(s.ids, func(i int) bool { return i == id }) })
	must.Do(t, err)
	expect.True(t, slices.Equal(got, want), "deleting each: %v, %v; %d are left", got, err, len(s.ids))
	expect.Equal(t, len(s.ids), 0, "deleting each: number of ids")
	s = newShelf(250)
	got, err = collect(t, s, thingParams{}, func(id int) {
		if id == 200 {
			s.ids = slices.DeleteFunc(s.ids, func(i int) bool { return i == 151 }) // the next cursor
		}
	})
	expect.Equal(t, api.CodeOf(err), api.ResourceMissing, "a cursor that is gone: code")
	expect.Equal(t, len(got), 100, "a cursor that is gone: number of objects")
}

func TestAllEnds(t *testing.T) {
	s := newShelf(300)
	for range api.All(t.Context(), api.Caller{}, thingParams{}, s.List) {
		break
	}
	expect.Equal(t, s.reads, 1, "%d reads for one object", s.reads)
	broken := errors.New("broken")
	for _, err := range api.All(t.Context(), api.Caller{}, api.Page{}, func(context.Context, api.Caller, api.Page) (*api.List[thing], error) {
		return nil, broken
	}) {
		expect.True(t, errors.Is(err, broken), "got %v", err)
	}
	var last error
	for _, err := range api.All(t.Context(), api.Caller{}, api.Page{}, func(context.Context, api.Caller, api.Page) (*api.List[int], error) {
		return api.NewList("", []int{1, 2}, true), nil
	}) {
		last = err
	}
	expect.True(t, last != nil, "objects without id: %v", last)
	expect.True(t, !errors.Is(last, broken), "objects without id: %v", last)
}
