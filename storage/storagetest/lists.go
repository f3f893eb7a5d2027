package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/storage"
)

var lists = tests{
	"newest first, bytewise":            bytewiseOrder,
	"cursors":                           cursors,
	"filters":                           filters,
	"ranges are half open":              ranges,
	"paging beside writers":             pagingBesideWriters,
	"random lists agree with a model":   listsAgreeWithModel,
	"a page's limit counts what fits":   limitCountsMatches,
	"a transaction lists what it wrote": listsOwnWrites,
}

func bytewiseOrder(t *testing.T, s storage.Store) {
	var records []storage.Record
	for _, id := range []string{"b", "B", "a", "aa", "a_", "Z", "1", "10", "ɛ", "z"} {
		records = append(records, item(test1, id))
	}
	insert(t, s, items, records...)
	got := list(t, s, items, storage.Query{Scope: test1, Limit: 100})
	equal(t, "order", got, []string{"ɛ", "z", "b", "aa", "a_", "a", "Z", "B", "10", "1"})
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
		{[]storage.Equal{{Column: "made", Value: noon}}, []string{"it_1", "it_0"}},
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

func listsOwnWrites(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"), item(test1, "it_2"))
	update(t, s, func(tx storage.Tx) error {
		if err := tx.Insert(items, with(item(test1, "it_3"), "token", "t")); err != nil {
			return err
		}
		if err := tx.Delete(items, test1, "it_1", 1); err != nil {
			return err
		}
		page, err := tx.List(items, storage.Query{Scope: test1, Limit: 9})
		equal(t, "List", ids(page), []string{"it_3", "it_2"})
		if err != nil {
			return err
		}
		r, err := tx.Find(items, "token", test1, "t")
		equal(t, "Find", r.ID, "it_3")
		return err
	})
}

// pagingBesideWriters reads page by page while records come, go and change
// between the pages: what was there before the first and stays is seen once.
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
	for n := 0; ; n++ {
		page := list(t, s, items, q)
		if len(page) == 0 {
			break
		}
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
	}
	slices.Sort(seen)
	slices.Reverse(seen)
	if !slices.Equal(slices.Compact(slices.Clone(seen)), seen) {
		t.Errorf("a record was seen twice: %v", seen)
	}
	seen = slices.DeleteFunc(seen, func(id string) bool { return !slices.Contains(stays, id) })
	equal(t, "records that were there all the time", seen, stays)
}

func listsAgreeWithModel(t *testing.T, s storage.Store) {
	var all []storage.Record
	names := []any{nil, "a", "b"}
	for i := range 60 {
		r := item(test1, fmt.Sprintf("%c%d", 'A'+rune(i*7%58), i))
		r = with(with(r, "name", names[i%3]), "made", noon.Add(time.Duration(i*i%17)*time.Millisecond))
		all = append(all, r)
	}
	insert(t, s, items, all...)
	slices.SortFunc(all, func(a, b storage.Record) int { return strings.Compare(b.ID, a.ID) })

	rapid.Check(t, func(rt *rapid.T) {
		q := storage.Query{Scope: test1, Limit: rapid.IntRange(1, 20).Draw(rt, "limit")}
		cursor := rapid.SampledFrom(all).Draw(rt, "cursor").ID
		switch rapid.IntRange(0, 2).Draw(rt, "direction") {
		case 1:
			q.After = cursor
		case 2:
			q.Before = cursor
		}
		if rapid.Bool().Draw(rt, "filtered") {
			q.Where = []storage.Equal{{Column: "name", Value: rapid.SampledFrom(names).Draw(rt, "name")}}
		}
		if rapid.Bool().Draw(rt, "ranged") {
			from := rapid.IntRange(0, 17).Draw(rt, "from")
			q.Range = []storage.Range{{Column: "made", From: noon.Add(time.Duration(from) * time.Millisecond)}}
		}
		wanted := []string{}
		for _, r := range all {
			if (q.After != "" && r.ID >= q.After) || (q.Before != "" && r.ID <= q.Before) ||
				(q.Where != nil && r.Columns[0] != q.Where[0].Value) ||
				(q.Range != nil && r.Columns[3].(time.Time).Before(q.Range[0].From)) {
				continue
			}
			wanted = append(wanted, r.ID)
		}
		if n := len(wanted); n > q.Limit {
			if q.Before != "" {
				wanted = wanted[n-q.Limit:] // the nearest to the cursor
			} else {
				wanted = wanted[:q.Limit]
			}
		}
		if got := list(t, s, items, q); !slices.Equal(got, wanted) {
			rt.Fatalf("%+v: got %v, want %v", q, got, wanted)
		}
	})
}
