package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/storage"
)

// order are the tests of Ordered kinds.
var order = tests{
	"random histories agree with a model":           ordersAgreeWithModel,
	"the order of commits, not that of ids":         orderOfCommits,
	"numbers ascend, and come back with the record": numbersAscend,
	"a given number is kept":                        givenNumber,
	"a cursor outlives its record":                  cursorOfDeleted,
	"forward paging beside writers sees each once":  forwardPaging,
}

// notes are ordered records, with a column of each type that a list or a claim can read by.
var notes = &storage.Kind{
	Name: "test_notes",
	Columns: []storage.Column{
		{Name: "label", Type: storage.Text, Null: true, Indexed: true},
		{Name: "made", Type: storage.Time, Null: true, Indexed: true},
		{Name: "due", Type: storage.Time, Null: true},
	},
	Due:     "due",
	Ordered: true,
}

func note(s storage.Scope, id string) storage.Record {
	return storage.Record{Scope: s, ID: id, Columns: []any{nil, nil, nil}, Data: []byte(`{"id":"` + id + `"}`)}
}

func insertNotes(t *testing.T, s storage.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		insert(t, s, notes, note(test1, id))
	}
}

func orderOfCommits(t *testing.T, s storage.Store) {
	define(t, s, notes)
	insertNotes(t, s, "m", "z", "a")
	insert(t, s, notes, note(live1, "b"), note(test2, "c"))
	rolledBack := s.Update(t.Context(), func(tx storage.Tx) error {
		want(t, "Insert", tx.Insert(notes, note(test1, "q")), nil)
		return errPlanned
	})
	want(t, "Update", rolledBack, errPlanned)
	update(t, s, func(tx storage.Tx) error {
		for _, id := range []string{"y", "q", "b"} {
			if err := tx.Insert(notes, note(test1, id)); err != nil {
				return err
			}
		}
		page, err := tx.List(notes, storage.Query{Scope: test1, Limit: 9})
		equal(t, "in the transaction", ids(page), []string{"b", "q", "y", "a", "z", "m"})
		return err
	})
	update(t, s, func(tx storage.Tx) error { // a change keeps the place
		r, err := tx.Get(notes, test1, "z")
		if err != nil {
			return err
		}
		return tx.Replace(notes, r)
	})
	all := []string{"b", "q", "y", "a", "z", "m"}
	for i, id := range all {
		equal(t, "after "+id, list(t, s, notes, storage.Query{Scope: test1, Limit: 9, After: id}), all[i+1:])
		equal(t, "before "+id, list(t, s, notes, storage.Query{Scope: test1, Limit: 9, Before: id}), all[:i])
		equal(t, "next before "+id, list(t, s, notes, storage.Query{Scope: test1, Limit: 1, Before: id}), all[max(0, i-1):i])
	}
	update(t, s, func(tx storage.Tx) error { // a record with the id of a deleted one is a new one
		if err := tx.Delete(notes, test1, "m", 1); err != nil {
			return err
		}
		return tx.Insert(notes, note(test1, "m"))
	})
	equal(t, "the deleted one again", list(t, s, notes, storage.Query{Scope: test1, Limit: 2}), []string{"m", "b"})
}

func numbersAscend(t *testing.T, s storage.Store) {
	define(t, s, notes)
	insertNotes(t, s, "c", "b", "a")
	numberOf := func(id string) int64 { return get(t, s, notes, test1, id).Number }
	first, second := numberOf("c"), numberOf("b")
	if first < 1 || second <= first || numberOf("a") <= second {
		t.Errorf("the numbers are %d, %d, %d", first, second, numberOf("a"))
	}
	read := map[string]func(storage.ReadTx) ([]storage.Record, error){
		"List": func(tx storage.ReadTx) ([]storage.Record, error) {
			return tx.List(notes, storage.Query{Scope: test1, Limit: 1, After: "a"})
		},
		"a Bare List": func(tx storage.ReadTx) ([]storage.Record, error) {
			return tx.List(notes, storage.Query{Scope: test1, Limit: 1, After: "a", Bare: true})
		},
		"Scan": func(tx storage.ReadTx) ([]storage.Record, error) { return tx.Scan(notes, test1, "a", 1) },
	}
	view(t, s, func(tx storage.ReadTx) error {
		for what, read := range read {
			found, err := read(tx)
			want(t, what, err, nil)
			equal(t, what, single(t, what, found).Number, second)
		}
		return nil
	})
	last := numberOf("a")
	update(t, s, func(tx storage.Tx) error { return tx.Delete(notes, test1, "a", 1) })
	insertNotes(t, s, "a")
	if again := numberOf("a"); again <= last {
		t.Errorf("the number after %d, which was deleted, is %d", last, again)
	}
}

func givenNumber(t *testing.T, s storage.Store) {
	define(t, s, notes)
	given := func(id string, number int64) storage.Record {
		r := note(test1, id)
		r.Number = number
		return r
	}
	insert(t, s, notes, given("a", 900), given("b", 700), given("c", 800))
	equal(t, "list", list(t, s, notes, storage.Query{Scope: test1, Limit: 9}), []string{"a", "c", "b"})
	equal(t, "number", get(t, s, notes, test1, "c").Number, int64(800))
	const future = int64(1) << 60
	insert(t, s, notes, given("d", future), note(test1, "e"))
	if n := get(t, s, notes, test1, "e").Number; n == future || n < 901 {
		t.Errorf("the number beside %d is %d", future, n)
	}
	insertNotes(t, s, "f")
	if n := get(t, s, notes, test1, "f").Number; n <= future {
		t.Errorf("the number after %d is %d", future, n)
	}
	update(t, s, func(tx storage.Tx) error {
		r := note(test1, "g")
		r.Number = -1
		want(t, "Insert with a negative number", tx.Insert(notes, r), storage.ErrInvalid)
		r = item(test1, "g")
		r.Number = 1
		want(t, "Insert with a number into a kind without order", tx.Insert(items, r), storage.ErrInvalid)
		return nil
	})
	view(t, s, func(tx storage.ReadTx) error {
		_, err := tx.List(items, storage.Query{Scope: test1, Limit: 1, After: "a", Number: 1})
		want(t, "List with the number of a cursor of a kind without order", err, storage.ErrInvalid)
		_, err = tx.List(notes, storage.Query{Scope: test1, Limit: 1, Number: 1})
		want(t, "List with a number and no cursor", err, storage.ErrInvalid)
		return nil
	})
}

func cursorOfDeleted(t *testing.T, s storage.Store) {
	define(t, s, notes)
	insertNotes(t, s, "d", "x", "b", "y")
	cursor := get(t, s, notes, test1, "x")
	update(t, s, func(tx storage.Tx) error { return tx.Delete(notes, test1, "x", 1) })
	insertNotes(t, s, "x") // another one
	page := func(q storage.Query) []string {
		q.Scope, q.Limit = test1, 9
		return list(t, s, notes, q)
	}
	equal(t, "after", page(storage.Query{After: "x", Number: cursor.Number}), []string{"d"})
	equal(t, "before", page(storage.Query{Before: "x", Number: cursor.Number}), []string{"x", "y", "b"})
	equal(t, "after its successor", page(storage.Query{After: "x"}), []string{"y", "b", "d"})
	// An id that is not known is from before the numbers.
	equal(t, "after an unknown one", page(storage.Query{After: "z"}), []string{})
	equal(t, "before an unknown one", page(storage.Query{Before: "z"}), []string{"x", "y", "b", "d"})
}

// forwardPaging reads all notes from the first one on, beside writers whose ids do not ascend.
func forwardPaging(t *testing.T, s storage.Store) {
	const writers, each = 4, 25
	define(t, s, notes)
	insertNotes(t, s, "first")
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					return tx.Insert(notes, note(test1, fmt.Sprintf("%d-%d", (w*7+i*13)%97, w*each+i)))
				})
				if err != nil {
					t.Errorf("Update: %v", err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	var seen []string
	for last, at := false, "first"; ; {
		select {
		case <-ended:
			last = true
		default:
		}
		page := list(t, s, notes, storage.Query{Scope: test1, Limit: 3, Before: at})
		slices.Reverse(page)
		seen = append(seen, page...)
		if len(page) > 0 {
			at = page[len(page)-1]
		} else if last {
			break
		}
	}
	written := list(t, s, notes, storage.Query{Scope: test1, Limit: 2 * writers * each, Before: "first"})
	slices.Reverse(written)
	equal(t, "how many were written", len(written), writers*each)
	equal(t, "what the pager saw", seen, written)
}

// noteModel is the notes of a scope in their order, and those that were deleted.
type noteModel struct{ notes, deleted []storage.Record }

// list returns the ids that a list of the scope must return.
func (m *noteModel) list(q storage.Query) []string {
	found := []string{}
	for i := range m.notes {
		r := &m.notes[i]
		if q.After != "" && r.Number >= q.Number || q.Before != "" && r.Number <= q.Number {
			continue
		}
		if slices.ContainsFunc(q.Where, func(e storage.Equal) bool { return r.Columns[notes.Column(e.Column)] != e.Value }) {
			continue
		}
		if slices.ContainsFunc(q.Range, func(in storage.Range) bool {
			at, ok := r.Columns[notes.Column(in.Column)].(time.Time)
			return !ok || at.Before(in.From) || !in.Until.IsZero() && !at.Before(in.Until)
		}) {
			continue
		}
		found = append(found, r.ID)
	}
	if q.Before == "" {
		slices.Reverse(found)
	}
	found = found[:min(len(found), q.Limit)]
	if q.Before != "" {
		slices.Reverse(found)
	}
	return found
}

// ordersAgreeWithModel inserts, changes and deletes notes, several in a transaction, of which some fail. After
// each it compares a list with the model.
func ordersAgreeWithModel(t *testing.T, s storage.Store) {
	define(t, s, notes)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		scope := storage.Scope{Merchant: fmt.Sprint("mer_", run), Live: run%2 == 0}
		m := &noteModel{}
		at := func(name string) time.Time { return second(rapid.IntRange(0, 5).Draw(rt, name)) }
		labels := rapid.SampledFrom([]any{nil, "a", "b"})
		draw := func(id string) storage.Record {
			r := note(scope, id)
			r.Columns[0] = labels.Draw(rt, "label")
			if rapid.Bool().Draw(rt, "has a time") {
				r.Columns[1] = at("made")
			}
			if rapid.Bool().Draw(rt, "is due") {
				r.Columns[2] = at("due")
			}
			return r
		}
		newID := rapid.StringMatching("[a-z]{2}")
		for range rapid.IntRange(1, 6).Draw(rt, "transactions") {
			after := noteModel{slices.Clone(m.notes), slices.Clone(m.deleted)}
			var steps []func(storage.Tx) error
			var inserted []string
			for range rapid.IntRange(1, 5).Draw(rt, "steps") {
				var of *storage.Record
				if i := rapid.IntRange(0, 2*len(after.notes)).Draw(rt, "of"); i < len(after.notes) {
					of = &after.notes[i]
				}
				switch {
				case of == nil:
					r := draw(newID.Draw(rt, "id"))
					if slices.ContainsFunc(after.notes, func(other storage.Record) bool { return other.ID == r.ID }) {
						continue
					}
					steps = append(steps, func(tx storage.Tx) error { return tx.Insert(notes, r) })
					r.Version = 1
					after.notes, inserted = append(after.notes, r), append(inserted, r.ID)
				case rapid.Bool().Draw(rt, "delete"):
					r := *of
					steps = append(steps, func(tx storage.Tx) error { return tx.Delete(notes, scope, r.ID, r.Version) })
					after.notes = slices.DeleteFunc(after.notes, func(other storage.Record) bool { return other.ID == r.ID })
					if r.Number > 0 {
						after.deleted = append(after.deleted, r)
					}
				default:
					r := draw(of.ID)
					r.Version = of.Version
					steps = append(steps, func(tx storage.Tx) error { return tx.Replace(notes, r) })
					of.Version, of.Columns = of.Version+1, r.Columns
				}
			}
			fails, lists := rapid.Bool().Draw(rt, "fails"), rapid.Bool().Draw(rt, "lists inside")
			err := s.Update(t.Context(), func(tx storage.Tx) error {
				for _, step := range steps {
					if err := step(tx); err != nil {
						return err
					}
				}
				if lists {
					found, err := tx.List(notes, storage.Query{Scope: scope, Limit: 50})
					if err != nil {
						return err
					}
					if got, want := ids(found), after.list(storage.Query{Limit: 50}); !slices.Equal(got, want) {
						return fmt.Errorf("the transaction lists %v, want %v", got, want)
					}
				}
				if fails {
					return errPlanned
				}
				return nil
			})
			switch {
			case fails:
				want(t, "Update", err, errPlanned)
				continue
			case err != nil:
				rt.Fatal(err)
			}
			m = &after
			for i := range m.notes {
				if r := get(t, s, notes, scope, m.notes[i].ID); slices.Contains(inserted, r.ID) {
					m.notes[i].Number = r.Number
				} else if r.Number != m.notes[i].Number {
					rt.Fatalf("the number of %s was %d and is %d", r.ID, m.notes[i].Number, r.Number)
				}
			}
		}
		for range 3 {
			q := storage.Query{Scope: scope, Limit: rapid.IntRange(1, 8).Draw(rt, "limit")}
			if known := slices.Concat(m.notes, m.deleted); len(known) > 0 && rapid.Bool().Draw(rt, "cursor") {
				r := rapid.SampledFrom(known).Draw(rt, "of")
				q.Number = r.Number
				if rapid.Bool().Draw(rt, "forward") {
					q.Before = r.ID
				} else {
					q.After = r.ID
				}
			}
			if rapid.Bool().Draw(rt, "filter") {
				q.Where = append(q.Where, storage.Equal{Column: "label", Value: labels.Draw(rt, "value")})
			}
			if rapid.Bool().Draw(rt, "range") {
				q.Range = append(q.Range, storage.Range{Column: "made", From: at("from"), Until: at("until")})
			}
			wanted := m.list(q)
			if q.Number > 0 && slices.ContainsFunc(m.notes, func(r storage.Record) bool { return r.Number == q.Number }) && rapid.Bool().Draw(rt, "without number") {
				q.Number = 0
			}
			if got := list(t, s, notes, q); !slices.Equal(got, wanted) {
				rt.Fatalf("%+v of %s: got %v, want %v", q, strings.Join(ids(m.notes), " "), got, wanted)
			}
		}
	})
}
