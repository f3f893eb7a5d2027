package storagetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/storage"
)

var lists = tests{
	"newest first, bytewise":                 bytewiseOrder,
	"cursors":                                cursors,
	"filters":                                filters,
	"ranges are half open":                   ranges,
	"paging beside writers":                  pagingBesideWriters,
	"random lists agree with a model":        listsAgreeWithModel,
	"a page's limit counts matching records": limitCountsMatches,
	"a page ends by bytes":                   pageEndsByBytes,
	"paging beside concurrent writers":       pagingBesideConcurrentWriters,
	"paging backwards beside writers":        pagingBackwards,
}

func bytewiseOrder(t *testing.T, s storage.Store) {
	var records []storage.Record
	for _, id := range []string{"b", "B", "a", "aa", "a_", "a ", "Z", "1", "10", "9", "ɛ", "z", "é", "🙂", "\uffff"} {
		records = append(records, item(test1, id))
	}
	insert(t, s, items, records...)
	got := list(t, s, items, storage.Query{Scope: test1, Limit: 100})
	equal(t, "order", got, []string{"🙂", "\uffff", "ɛ", "é", "z", "b", "aa", "a_", "a ", "a", "Z", "B", "9", "10", "1"})
	// A cursor splits the list by the same order.
	for i, id := range got {
		equal(t, "after "+id, list(t, s, items, storage.Query{Scope: test1, Limit: 100, After: id}), got[i+1:])
		equal(t, "before "+id, list(t, s, items, storage.Query{Scope: test1, Limit: 100, Before: id}), got[:i])
	}
}

func cursors(t *testing.T, s storage.Store) {
	for i := range 7 {
		insert(t, s, items, item(test1, fmt.Sprint("it_", i)))
	}
	insert(t, s, items, item(live1, "it_8"), item(test2, "it_9"), item(storage.Scope{Merchant: "mer_0"}, "it_a"))
	for _, test := range []struct {
		q    storage.Query
		want []string
	}{
		{storage.Query{Limit: 3}, []string{"it_6", "it_5", "it_4"}},
		{storage.Query{Limit: 100}, []string{"it_6", "it_5", "it_4", "it_3", "it_2", "it_1", "it_0"}},
		{storage.Query{Limit: 2, After: "it_4"}, []string{"it_3", "it_2"}},
		{storage.Query{Limit: 2, After: "it_0"}, []string{}},
		{storage.Query{Limit: 2, Before: "it_2"}, []string{"it_4", "it_3"}},
		{storage.Query{Limit: 9, Before: "it_4"}, []string{"it_6", "it_5"}},
		{storage.Query{Limit: 2, Before: "it_6"}, []string{}},
		// Cursors need not exist.
		{storage.Query{Limit: 2, After: "it_4x"}, []string{"it_4", "it_3"}},
		{storage.Query{Limit: 2, Before: "it_4x"}, []string{"it_6", "it_5"}},
		{storage.Query{Limit: 2, Before: "a"}, []string{"it_1", "it_0"}},
		{storage.Query{Limit: 2, After: "a"}, []string{}},
		{storage.Query{Limit: 2, Before: "z"}, []string{}},
		{storage.Query{Limit: 2, After: "z"}, []string{"it_6", "it_5"}},
		{storage.Query{Limit: 1, After: "it_8"}, []string{"it_6"}}, // of another scope
	} {
		test.q.Scope = test1
		equal(t, fmt.Sprintf("%+v", test.q), list(t, s, items, test.q), test.want)
	}
}

func filters(t *testing.T, s storage.Store) {
	for i, r := range [][]any{
		{"soap", int64(1), true, noon, "new", nil},
		{"soap", int64(2), false, noon, "old", nil},
		{"rice", int64(1), nil, nil, "new", nil},
		{nil, nil, true, noon.Add(time.Millisecond), "new", "t"},
	} {
		insert(t, s, items, storage.Record{Scope: test1, ID: fmt.Sprint("it_", i), Columns: r, Data: []byte("{}")})
	}
	for _, test := range []struct {
		where []storage.Equal
		want  []string
	}{
		{[]storage.Equal{{Column: "name", Value: "soap"}}, []string{"it_1", "it_0"}},
		{[]storage.Equal{{Column: "name", Value: nil}}, []string{"it_3"}},
		{[]storage.Equal{{Column: "size", Value: int64(1)}}, []string{"it_2", "it_0"}},
		{[]storage.Equal{{Column: "open", Value: true}}, []string{"it_3", "it_0"}},
		{[]storage.Equal{{Column: "open", Value: false}}, []string{"it_1"}},
		{[]storage.Equal{{Column: "size", Value: nil}}, []string{"it_3"}},
		{[]storage.Equal{{Column: "size", Value: int64(0)}}, []string{}},
		{[]storage.Equal{{Column: "open", Value: nil}}, []string{"it_2"}},
		{[]storage.Equal{{Column: "made", Value: noon}}, []string{"it_1", "it_0"}},
		{[]storage.Equal{{Column: "made", Value: nil}}, []string{"it_2"}},
		{[]storage.Equal{{Column: "made", Value: time.Time{}}}, []string{}},
		{[]storage.Equal{{Column: "state", Value: "new"}}, []string{"it_3", "it_2", "it_0"}},
		{[]storage.Equal{{Column: "state", Value: nil}}, []string{}}, // never null
		{[]storage.Equal{{Column: "name", Value: "Soap"}}, []string{}},
		{[]storage.Equal{{Column: "name", Value: "so%"}}, []string{}},
		{[]storage.Equal{{Column: "name", Value: ""}}, []string{}},
		{[]storage.Equal{{Column: "name", Value: nil}, {Column: "token", Value: "t"}}, []string{"it_3"}},
		{[]storage.Equal{{Column: "name", Value: "soap"}, {Column: "name", Value: "rice"}}, []string{}},
		{[]storage.Equal{{Column: "state", Value: "odd"}}, []string{}}, // outside OneOf
		{[]storage.Equal{{Column: "name", Value: "soap"}, {Column: "open", Value: true}}, []string{"it_0"}},
		{[]storage.Equal{{Column: "name", Value: "soap' OR '1'='1"}}, []string{}},
	} {
		got := list(t, s, items, storage.Query{Scope: test1, Limit: 10, Where: test.where})
		equal(t, fmt.Sprintf("%+v", test.where), got, test.want)
	}
	got := list(t, s, items, storage.Query{
		Scope: test1, Limit: 1, After: "it_2",
		Where: []storage.Equal{{Column: "state", Value: "new"}},
		Range: []storage.Range{{Column: "made", From: noon}},
	})
	equal(t, "all together", got, []string{"it_0"})
}

func ranges(t *testing.T, s storage.Store) {
	for i := range 4 {
		insert(t, s, items, with(item(test1, fmt.Sprint("it_", i)), "made", noon.Add(time.Duration(i)*time.Millisecond)))
	}
	insert(t, s, items, item(test1, "it_null"))
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	for _, test := range []struct {
		from, until time.Time
		want        []string
	}{
		{at(1), at(3), []string{"it_2", "it_1"}},
		{at(1), time.Time{}, []string{"it_3", "it_2", "it_1"}},
		{time.Time{}, at(1), []string{"it_0"}},
		{at(2), at(2), []string{}},
		{at(4), time.Time{}, []string{}},
		{at(3), at(1), []string{}},
		{time.Time{}, time.Time{}, []string{"it_3", "it_2", "it_1", "it_0"}}, // null is in no range
		// The bounds are exact, and stored times are whole milliseconds.
		{at(1).Add(1), time.Time{}, []string{"it_3", "it_2"}},
		{time.Time{}, at(1).Add(1), []string{"it_1", "it_0"}},
		{at(1).Add(-1), at(2).Add(-1), []string{"it_1"}},
		{at(1).In(time.FixedZone("", 3600)), at(2), []string{"it_1"}},
	} {
		got := list(t, s, items, storage.Query{
			Scope: test1, Limit: 10,
			Range: []storage.Range{{Column: "made", From: test.from, Until: test.until}},
		})
		equal(t, fmt.Sprint(test.from, "–", test.until), got, test.want)
	}
}

func limitCountsMatches(t *testing.T, s storage.Store) {
	for i := range 20 {
		state := "new"
		if i%5 == 0 {
			state = "old"
		}
		insert(t, s, items, with(item(test1, fmt.Sprintf("it_%02d", i)), "state", state))
	}
	q := storage.Query{Scope: test1, Limit: 3, Where: []storage.Equal{{Column: "state", Value: "old"}}}
	equal(t, "first page", list(t, s, items, q), []string{"it_15", "it_10", "it_05"})
	q.After = "it_05"
	equal(t, "second page", list(t, s, items, q), []string{"it_00"})
	q.After, q.Before, q.Limit = "", "it_00", 2
	equal(t, "backwards", list(t, s, items, q), []string{"it_10", "it_05"})
}

// pagingBesideWriters reads page by page while records come, go and change between the pages.
// Each record that exists throughout appears once.
func pagingBesideWriters(t *testing.T, s storage.Store) {
	var stays []string
	for i := range 30 {
		id := fmt.Sprintf("it_%02d", i)
		insert(t, s, items, item(test1, id))
		if i%3 != 0 {
			stays = append(stays, id)
		}
	}
	slices.Reverse(stays)
	var seen []string
	q := storage.Query{Scope: test1, Limit: 4}
	n := 0
	eachPage(t, func() ([]string, error) { return list(t, s, items, q), nil }, func(page []string) {
		seen = append(seen, page...)
		q.After = page[len(page)-1]
		insert(t, s, items, item(test1, fmt.Sprintf("new_%02d", n)))
		update(t, s, func(tx storage.Tx) error {
			if gone := fmt.Sprintf("it_%02d", 3*n); 3*n < 30 {
				if err := tx.Delete(items, test1, gone, 1); err != nil {
					return err
				}
			}
			r, err := tx.Get(items, test1, "it_01")
			if err != nil {
				return err
			}
			return tx.Replace(items, with(r, "size", int64(n)))
		})
		n++
	})
	slices.Sort(seen)
	slices.Reverse(seen)
	if !slices.Equal(slices.Compact(slices.Clone(seen)), seen) {
		t.Errorf("a record was seen twice: %v", seen)
	}
	seen = slices.DeleteFunc(seen, func(id string) bool { return !slices.Contains(stays, id) })
	equal(t, "records that were there all the time", seen, stays)
}

// pagingBackwards reads from the oldest to the newest while records come at the newest end. The
// reader must miss none of them.
func pagingBackwards(t *testing.T, s storage.Store) {
	for i := range 10 {
		insert(t, s, items, item(test1, fmt.Sprintf("it_%02d", i)))
	}
	var seen []string
	q := storage.Query{Scope: test1, Limit: 3, Before: "it_"}
	n := 10
	eachPage(t, func() ([]string, error) { return list(t, s, items, q), nil }, func(page []string) {
		slices.Reverse(page)
		seen = append(seen, page...)
		q.Before = seen[len(seen)-1]
		if n < 15 {
			insert(t, s, items, item(test1, fmt.Sprintf("it_%02d", n)))
		}
		n++
	})
	var wanted []string
	for i := range 15 {
		wanted = append(wanted, fmt.Sprintf("it_%02d", i))
	}
	equal(t, "records", seen, wanted)
}

// pagingBesideConcurrentWriters is pagingBesideWriters with concurrent writers.
func pagingBesideConcurrentWriters(t *testing.T, s storage.Store) {
	var stay []string
	var all []storage.Record
	for i := range 40 {
		stay = append(stay, fmt.Sprintf("m%02d", i))
		all = append(all, item(test1, stay[i]))
	}
	insert(t, s, items, all...)
	slices.Reverse(stay)
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 15 {
				// Newer, older and in between; the last is deleted again.
				id := fmt.Sprintf("%c%02d_%d", "amz"[i%3], i, w)
				want(t, "Insert", s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(items, item(test1, id)) }), nil)
				want(t, "Delete", s.Update(t.Context(), func(tx storage.Tx) error { return tx.Delete(items, test1, id, 1) }), nil)
			}
		})
	}
	for range 5 {
		var seen []string
		q := storage.Query{Scope: test1, Limit: 7}
		eachPage(t, func() ([]string, error) { return list(t, s, items, q), nil }, func(page []string) {
			seen = append(seen, page...)
			q.After = page[len(page)-1]
		})
		for i := 1; i < len(seen); i++ {
			if seen[i] >= seen[i-1] {
				t.Errorf("%s came after %s", seen[i], seen[i-1])
			}
		}
		seen = slices.DeleteFunc(seen, func(id string) bool { return !slices.Contains(stay, id) })
		equal(t, "records that were there all the time", seen, stay)
	}
	writers.Wait()
}

// pageEndsByBytes lists records of 100 bytes, and one of 1,000.
func pageEndsByBytes(t *testing.T, s storage.Store) {
	for i := range 6 {
		r := item(test1, fmt.Sprint("it_", i))
		size := 100
		if i == 3 {
			size = 1000
		}
		r.Data = []byte(`"` + strings.Repeat("x", size-2) + `"`)
		insert(t, s, items, r)
	}
	for _, test := range []struct {
		q    storage.Query
		want []string
	}{
		{storage.Query{Bytes: 200}, []string{"it_5", "it_4", "it_3"}},
		{storage.Query{Bytes: 199}, []string{"it_5", "it_4"}},
		{storage.Query{Bytes: 1}, []string{"it_5", "it_4"}}, // two at least
		{storage.Query{Bytes: 1, Limit: 1}, []string{"it_5"}},
		{storage.Query{Bytes: 1, After: "it_4"}, []string{"it_3", "it_2"}},
		{storage.Query{Bytes: 1, After: "it_1"}, []string{"it_0"}},
		{storage.Query{Bytes: 1500}, []string{"it_5", "it_4", "it_3", "it_2", "it_1", "it_0"}},
		{storage.Query{Bytes: 1399}, []string{"it_5", "it_4", "it_3", "it_2", "it_1"}},
		{storage.Query{Bytes: 250, Before: "it_0"}, []string{"it_3", "it_2", "it_1"}},
		{storage.Query{Bytes: 1, Before: "it_3"}, []string{"it_5", "it_4"}},
	} {
		test.q.Scope = test1
		if test.q.Limit == 0 {
			test.q.Limit = 100
		}
		equal(t, fmt.Sprintf("%+v", test.q), list(t, s, items, test.q), test.want)
	}
	view(t, s, func(tx storage.ReadTx) error {
		_, err := tx.List(items, storage.Query{Scope: test1, Limit: 1, Bytes: -1})
		want(t, "a negative number of bytes", err, storage.ErrInvalid)
		return nil
	})
}

// listsAgreeWithModel draws queries with all conditions at once, over records of several scopes.
func listsAgreeWithModel(t *testing.T, s storage.Store) {
	scopes := []storage.Scope{test1, live1, test2}
	values := map[string][]any{
		"name": {nil, "", "a", "A"}, "size": {nil, int64(0), int64(1)}, "open": {nil, true, false}, "state": {"new", "old"},
	}
	columns := slices.Sorted(maps.Keys(values))
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	var all []storage.Record
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		// Ids of mixed case and length, whose order is not that of insertion.
		r := item(scopes[i%3], fmt.Sprintf("%c%d", 'A'+rune(i*7%58), i))
		r = with(r, "token", r.ID)
		for _, column := range columns {
			if column == "name" && i%2 == 0 {
				continue // null, so that the key over name and size has room
			}
			r = with(r, column, values[column][random.IntN(len(values[column]))])
		}
		if r.Columns[0] != nil {
			r = with(r, "size", nil)
		}
		if i%4 > 0 {
			r = with(r, "made", at(random.IntN(17)))
		}
		all = append(all, r)
	}
	insert(t, s, items, all...)
	slices.SortFunc(all, func(a, b storage.Record) int { return strings.Compare(b.ID, a.ID) })

	matches := func(r storage.Record, q storage.Query) bool {
		if r.Scope != q.Scope || (q.After != "" && r.ID >= q.After) || (q.Before != "" && r.ID <= q.Before) {
			return false
		}
		for _, e := range q.Where {
			if r.Columns[items.Column(e.Column)] != e.Value {
				return false
			}
		}
		for _, in := range q.Range {
			made, ok := r.Columns[3].(time.Time)
			if !ok || made.Before(in.From) || (!in.Until.IsZero() && !made.Before(in.Until)) {
				return false
			}
		}
		return true
	}
	rapid.Check(t, func(rt *rapid.T) {
		q := storage.Query{Scope: rapid.SampledFrom(scopes).Draw(rt, "scope"), Limit: rapid.IntRange(1, 50).Draw(rt, "limit")}
		// A cursor of any scope, or of none.
		cursor := rapid.OneOf(
			rapid.Map(rapid.SampledFrom(all), func(r storage.Record) string { return r.ID }),
			rapid.StringMatching("[A-z][0-9]{0,2}"),
		).Draw(rt, "cursor")
		switch rapid.SampledFrom([]string{"newest", "after", "before"}).Draw(rt, "direction") {
		case "after":
			q.After = cursor
		case "before":
			q.Before = cursor
		}
		for range rapid.IntRange(0, 2).Draw(rt, "filters") {
			column := rapid.SampledFrom(columns).Draw(rt, "column")
			q.Where = append(q.Where, storage.Equal{Column: column, Value: rapid.SampledFrom(values[column]).Draw(rt, "value")})
		}
		if rapid.Bool().Draw(rt, "ranged") {
			in := storage.Range{Column: "made"}
			if rapid.Bool().Draw(rt, "from") {
				in.From = at(rapid.IntRange(0, 17).Draw(rt, "first"))
			}
			if rapid.Bool().Draw(rt, "until") {
				in.Until = at(rapid.IntRange(0, 17).Draw(rt, "last"))
			}
			q.Range = []storage.Range{in}
		}
		if rapid.Bool().Draw(rt, "bounded") {
			q.Bytes = rapid.IntRange(1, 300).Draw(rt, "bytes")
		}
		wanted := []string{}
		for _, r := range all {
			if matches(r, q) {
				wanted = append(wanted, r.ID)
			}
		}
		if q.Before != "" {
			slices.Reverse(wanted) // the nearest to the cursor come first
		}
		bytes := 0
		for i, id := range wanted {
			at := slices.IndexFunc(all, func(r storage.Record) bool { return r.Scope == q.Scope && r.ID == id })
			if bytes += len(all[at].Data); q.IsFull(i+1, bytes) {
				wanted = wanted[:i+1]
				break
			}
		}
		if q.Before != "" {
			slices.Reverse(wanted)
		}
		if got := list(t, s, items, q); !slices.Equal(got, wanted) {
			rt.Fatalf("%+v: got %v, want %v", q, got, wanted)
		}
		view(t, s, func(tx storage.ReadTx) error {
			whole, err := tx.List(items, q)
			if err != nil {
				return err
			}
			q.Bare = true
			bare, err := tx.List(items, q)
			for i := range bare {
				if len(bare[i].Columns) == 0 && i < len(whole) {
					bare[i].Columns = whole[i].Columns
				}
			}
			if diff := cmp.Diff(whole, bare, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%+v (-whole +bare):\n%s", q, diff)
			}
			return err
		})
	})
}
