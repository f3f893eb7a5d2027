package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

// growth are the tests of additions to a kind by a later release.
var growth = tests{
	"a value of OneOf":                     growOneOf,
	"a column":                             growColumn,
	"a due column":                         growDue,
	"a unique key":                         growKey,
	"an index":                             growIndex,
	"an order":                             growOrder,
	"everything at once, of many records":  growAll,
	"an older declaration is refused":      growRefusesOlder,
	"any other change is refused":          growInvalid,
	"one kind that fails changes no other": growAllOrNothing,
}

// refused checks that records are no longer read and written by an earlier
// declaration of their kind.
func refused(t *testing.T, s storage.Store, old *storage.Kind) {
	t.Helper()
	update(t, s, func(tx storage.Tx) error {
		_, err := tx.Get(old, test1, "c1")
		want(t, "Get by the declaration from before", err, storage.ErrInvalid)
		want(t, "Delete by the declaration from before", tx.Delete(old, test1, "c1", 1), storage.ErrInvalid)
		return nil
	})
}

// card is a document whose kind grows.
type card struct {
	Label, Owner string
	Due          int // seconds after noon; 0 for never
}

// cards returns the kind of card as a release declares it, with that many columns.
func cards(columns int, options ...func(*storage.Kind)) *storage.Kind {
	fields := []storage.Field[card]{
		{Column: storage.Column{Name: "label", Type: storage.Text}, Value: func(c *card) any { return c.Label }},
		{
			Column: storage.Column{Name: "state", Type: storage.Text, OneOf: []string{"new", "used"}},
			Value:  func(*card) any { return "new" },
		},
		{
			Column: storage.Column{Name: "due_at", Type: storage.Time, Null: true},
			Value: func(c *card) any {
				if c.Due == 0 {
					return nil
				}
				return second(c.Due)
			},
		},
		{Column: storage.Column{Name: "owner", Type: storage.Text, Indexed: true}, Value: func(c *card) any { return c.Owner }},
	}
	return storage.NewCollection("test_cards", fields[:columns], options...).Kind()
}

// oneOf sets the values of the state of cards.
func oneOf(values ...string) func(*storage.Kind) {
	return func(k *storage.Kind) { k.Columns[1].OneOf = values }
}

func cardOf(t *testing.T, k *storage.Kind, id string, c card) storage.Record {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := k.Backfill(data)
	if err != nil {
		t.Fatal(err)
	}
	return storage.Record{Scope: test1, ID: id, Columns: columns, Data: data}
}

func define(t *testing.T, s storage.Store, kinds ...*storage.Kind) {
	t.Helper()
	if err := s.Define(t.Context(), kinds...); err != nil {
		t.Fatalf("Define: %v", err)
	}
}

func growOneOf(t *testing.T, s storage.Store) {
	before, after := cards(3), cards(3, oneOf("new", "used", "lost"))
	before.Backfill, after.Backfill = nil, nil // no column is new
	define(t, s, before)
	document := cards(3)
	insert(t, s, before, cardOf(t, document, "c1", card{Label: "a"}), cardOf(t, document, "c2", card{Label: "b"}))
	define(t, s, after)
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(after, test1, "c1")
		if err != nil {
			return err
		}
		equal(t, "columns and version", []any{r.Columns, r.Version}, []any{[]any{"a", "new", nil}, int64(1)})
		r.Columns[1] = "lost"
		return tx.Replace(after, r)
	})
	lost := storage.Query{Scope: test1, Limit: 9, Where: []storage.Equal{{Column: "state", Value: "lost"}}}
	equal(t, "lost", list(t, s, after, lost), []string{"c1"})
	refused(t, s, before)
	want(t, "Define without the value", s.Define(t.Context(), before), storage.ErrNewer)
	equal(t, "lost", list(t, s, after, lost), []string{"c1"})
}

// growColumn adds a column to a record that updates have read and written before. A backend that
// keeps records in memory must not return it without the column.
func growColumn(t *testing.T, s storage.Store) {
	before, after := cards(3), cards(4)
	define(t, s, before)
	insert(t, s, before, cardOf(t, before, "c1", card{Label: "a", Owner: "o"}))
	define(t, s, after)
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(after, test1, "c1")
		if err != nil {
			return err
		}
		equal(t, "columns", r.Columns, []any{"a", "new", nil, "o"})
		return tx.Replace(after, r)
	})
	refused(t, s, before)
}

func growDue(t *testing.T, s storage.Store) {
	before, after := cards(3), cards(3, storage.DueBy("due_at"))
	define(t, s, before)
	insert(t, s, before, cardOf(t, before, "late", card{Due: 9}), cardOf(t, before, "first", card{Due: -9}), cardOf(t, before, "never", card{}))
	define(t, s, after)
	update(t, s, func(tx storage.Tx) error {
		b, err := tx.Backlog(after, second(9), 9)
		want(t, "Backlog", err, nil)
		equal(t, "backlog", b, storage.Backlog{Count: 2, Oldest: second(-9)})
		c := storage.Claim{Due: second(9), Now: second(9), Lease: lease, Limit: 9}
		got, err := tx.Claim(after, c)
		want(t, "Claim", err, nil)
		equal(t, "claimed", ids(got), []string{"first", "late"})
		got, err = tx.Claim(after, c)
		equal(t, "claimed again", len(got), 0)
		return err
	})
	refused(t, s, before)
	insert(t, s, after, cardOf(t, after, "new", card{Due: 1}))
	define(t, s, after)
	update(t, s, func(tx storage.Tx) error {
		got, err := tx.Claim(after, storage.Claim{Due: second(9), Now: second(9), Lease: lease, Limit: 9})
		equal(t, "claimed after another Define", ids(got), []string{"new"})
		return err
	})
}

func growKey(t *testing.T, s storage.Store) {
	label := storage.UniqueGlobally("label", "label")
	before, after := cards(4, label), cards(4, label, storage.Unique("owner", "owner"))
	define(t, s, before)
	insert(t, s, before, cardOf(t, before, "c1", card{Label: "a", Owner: "same"}), cardOf(t, before, "c2", card{Label: "b", Owner: "same"}))
	want(t, "Define of a key that is shared", s.Define(t.Context(), after), storage.ErrExists)
	update(t, s, func(tx storage.Tx) error { return tx.Delete(before, test1, "c2", 1) }) // which is as it was
	define(t, s, after)
	refused(t, s, before)
	view(t, s, func(tx storage.ReadTx) error {
		for key, value := range map[string]string{"owner": "same", "label": "a"} {
			r, err := tx.Find(after, key, test1, value)
			want(t, "Find", err, nil)
			equal(t, "found by "+key, r.ID, "c1")
		}
		return nil
	})
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
		for key, columns := range map[string][]any{"the new key": {"c", "new", nil, "same"}, "the old key": {"a", "new", nil, "other"}} {
			r := storage.Record{Scope: test1, ID: "c3", Columns: columns, Data: []byte("{}")}
			want(t, "Insert that takes "+key, tx.Insert(after, r), storage.ErrExists)
		}
		return nil
	})
}

func growIndex(t *testing.T, s storage.Store) {
	before, after := cards(3), cards(3)
	after.Columns[0].Indexed = true
	define(t, s, before)
	insert(t, s, before, cardOf(t, before, "c1", card{Label: "a"}))
	define(t, s, after)
	labelled := storage.Query{Scope: test1, Limit: 9, Where: []storage.Equal{{Column: "label", Value: "a"}}}
	equal(t, "list", list(t, s, after, labelled), []string{"c1"})
	refused(t, s, before)
	define(t, s, before) // an older program need not know the index
	equal(t, "list", list(t, s, before, labelled), []string{"c1"})
}

// growOrder makes a kind Ordered. Its records keep the order of their ids, before all new ones.
func growOrder(t *testing.T, s storage.Store) {
	before, after := cards(4), cards(4, storage.InCommitOrder)
	define(t, s, before)
	insert(t, s, before, cardOf(t, before, "m", card{Label: "a", Owner: "o"}), cardOf(t, before, "k", card{Label: "a"}), cardOf(t, before, "t", card{Owner: "o"}))
	for range 2 { // the second time changes nothing
		define(t, s, after)
	}
	refused(t, s, before)
	want(t, "Define without the order", s.Define(t.Context(), before), storage.ErrNewer)
	for _, id := range []string{"z", "a"} {
		insert(t, s, after, cardOf(t, after, id, card{Owner: "o"}))
	}
	all := []string{"a", "z", "t", "m", "k"}
	for i, id := range all {
		equal(t, "after "+id, list(t, s, after, storage.Query{Scope: test1, Limit: 9, After: id}), all[i+1:])
		equal(t, "before "+id, list(t, s, after, storage.Query{Scope: test1, Limit: 9, Before: id}), all[:i])
	}
	ofOwner := storage.Query{Scope: test1, Limit: 9, Where: []storage.Equal{{Column: "owner", Value: "o"}}}
	equal(t, "by a column with an index", list(t, s, after, ofOwner), []string{"a", "z", "t", "m"})
	update(t, s, func(tx storage.Tx) error { return tx.Delete(after, test1, "m", 1) })
	equal(t, "before a deleted one without a number", list(t, s, after, storage.Query{Scope: test1, Limit: 9, Before: "m"}), []string{"a", "z", "t"})
}

// growAll extends a kind in every way, with more records than a backend holds in memory.
func growAll(t *testing.T, s storage.Store) {
	const many = 1201
	before := cards(3)
	after := cards(4, oneOf("new", "used", "lost"), storage.DueBy("due_at"), storage.Unique("owner", "owner"), storage.InCommitOrder)
	define(t, s, before)
	var put []storage.Record
	for n := range many {
		put = append(put, cardOf(t, before, fmt.Sprintf("c%04d", n), card{Label: "l", Owner: fmt.Sprint("o", n), Due: n + 1}))
	}
	insert(t, s, before, put...)
	update(t, s, func(tx storage.Tx) error {
		put[1].Version = 1
		return tx.Replace(before, put[1])
	})
	for range 2 { // the second time changes nothing
		define(t, s, after)
	}
	all := list(t, s, after, storage.Query{Scope: test1, Limit: 2 * many})
	slices.Reverse(all)
	equal(t, "records", all, ids(put))
	seventh := storage.Query{Scope: test1, Limit: 9, Where: []storage.Equal{{Column: "owner", Value: "o7"}}}
	equal(t, "by the new column", list(t, s, after, seventh), []string{"c0007"})
	view(t, s, func(tx storage.ReadTx) error {
		for n, p := range put {
			r, err := tx.Find(after, "owner", test1, fmt.Sprint("o", n))
			if err != nil {
				return err
			}
			p.Version, p.Columns = 1, append(p.Columns, fmt.Sprint("o", n))
			if n == 1 {
				p.Version = 2
			}
			equal(t, "record", r, p)
		}
		return nil
	})
	update(t, s, func(tx storage.Tx) error {
		got, err := tx.Claim(after, storage.Claim{Due: second(many), Now: second(many), Lease: lease, Limit: 2 * many})
		equal(t, "claimed", ids(got), ids(put))
		return err
	})
	equal(t, "version of what was claimed", get(t, s, after, test1, "c0001").Version, int64(3))
}

func growRefusesOlder(t *testing.T, s storage.Store) {
	due, key, values := storage.DueBy("due_at"), storage.Unique("owner", "owner"), oneOf("new", "used", "lost")
	define(t, s, cards(4, due, key, values))
	for what, old := range map[string]*storage.Kind{
		"the column":     cards(3, due, values),
		"the key":        cards(4, due, values),
		"the due column": cards(4, key, values),
		"the value":      cards(4, due, key),
	} {
		want(t, "Define without "+what, s.Define(t.Context(), old), storage.ErrNewer)
	}
	now := cards(4, due, key, values)
	define(t, s, now) // it is unchanged
	insert(t, s, now, cardOf(t, now, "c1", card{Due: 1}))
}

func growInvalid(t *testing.T, s storage.Store) {
	declared := func() *storage.Kind {
		k := cards(4, storage.Unique("owner", "owner"), storage.DueBy("due_at"))
		k.Columns = append(k.Columns, storage.Column{Name: "other_at", Type: storage.Time, Null: true})
		return k
	}
	define(t, s, declared())
	for what, change := range map[string]func(*storage.Kind){
		"the name of a column": func(k *storage.Kind) { k.Columns[0].Name = "title" },
		"its type":             func(k *storage.Kind) { k.Columns[0].Type = storage.Int },
		"null":                 func(k *storage.Kind) { k.Columns[0].Null = true },
		"the order of values":  oneOf("used", "new"),
		"a value in front":     oneOf("lost", "new", "used"),
		"any value":            oneOf(),
		"values where any was": func(k *storage.Kind) { k.Columns[0].OneOf = []string{"a"} },
		"the scope of a key":   func(k *storage.Kind) { k.Keys[0].Global = true },
		"the columns of a key": func(k *storage.Kind) { k.Keys[0].Columns = []string{"label"} },
		"another due column":   func(k *storage.Kind) { k.Due = "other_at" },
		"what comes first": func(k *storage.Kind) {
			k.Columns = slices.Insert(k.Columns, 0, storage.Column{Name: "first", Type: storage.Text, Null: true})
		},
	} {
		k := declared()
		change(k)
		want(t, "Define with a change of "+what, s.Define(t.Context(), k), storage.ErrInvalid)
	}
}

// growAllOrNothing defines two kinds. The records of the second do not fit its declaration.
func growAllOrNothing(t *testing.T, s storage.Store) {
	before, after := cards(3), cards(4)
	after.Backfill = func([]byte) ([]any, error) { return nil, errPlanned }
	define(t, s, before)
	insert(t, s, before, cardOf(t, before, "c1", card{Label: "a"}))
	other := grownKind(1)
	if err := s.Define(t.Context(), other, after); err == nil {
		t.Error("Define with a Backfill that fails succeeds")
	}
	equal(t, "records", list(t, s, before, storage.Query{Scope: test1, Limit: 9}), []string{"c1"})
	err := s.View(t.Context(), func(tx storage.ReadTx) error {
		_, err := tx.Get(other, test1, "a")
		return err
	})
	if !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("Get of a kind whose Define failed: got error %v, want ErrInvalid", err)
	}
	define(t, s, other, before)
}
