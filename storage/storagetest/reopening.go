package storagetest

import (
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

func reopening(again func(*testing.T) storage.Store) tests {
	// reopen closes a store and opens its database.
	reopen := func(t *testing.T, s storage.Store) storage.Store {
		t.Helper()
		want(t, "Close", s.Close(), nil)
		return again(t)
	}
	return tests{
		"committed data is there": func(t *testing.T, s storage.Store) {
			fillStore(t, s)
			var before, after []any
			view(t, s, func(tx storage.ReadTx) error { before = readAll(t, tx); return nil })
			s = reopen(t, s)
			view(t, s, func(tx storage.ReadTx) error { after = readAll(t, tx); return nil })
			equal(t, "after reopening", after, before)
			continuesAfterReopen(t, s)
		},
		"rolled back data is not there": func(t *testing.T, s storage.Store) {
			rollsBackEverything(t, s, func() error { return errPlanned })
			s = reopen(t, s)
			equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_4", "it_3", "it_2", "it_1"})
			checkLedger(t, s)
		},
		"again and again": func(t *testing.T, s storage.Store) {
			insert(t, s, items, with(item(test1, "it_1"), "size", int64(0)))
			for n := range int64(5) {
				update(t, s, func(tx storage.Tx) error {
					r, err := tx.Get(items, test1, "it_1")
					if err != nil {
						return err
					}
					equal(t, "size", r.Columns[1], any(n))
					return tx.Replace(items, with(r, "size", n+1))
				})
				equal(t, "sequence", next(t, s, "seq"), n+1)
				old := s
				s = reopen(t, s)
				want(t, "Update of the closed store", old.Update(t.Context(), func(storage.Tx) error { return nil }), storage.ErrClosed)
			}
		},
		"numbers go on": func(t *testing.T, s storage.Store) {
			define(t, s, notes)
			insertNotes(t, s, "z", "m")
			last := get(t, s, notes, test1, "m").Number
			update(t, s, func(tx storage.Tx) error { return tx.Delete(notes, test1, "m", 1) })
			s = reopen(t, s)
			define(t, s, notes)
			insertNotes(t, s, "a")
			equal(t, "list", list(t, s, notes, storage.Query{Scope: test1, Limit: 9}), []string{"a", "z"})
			if n := get(t, s, notes, test1, "a").Number; n <= last {
				t.Errorf("the number after %d is %d", last, n)
			}
		},
		"a declaration is kept": func(t *testing.T, s storage.Store) {
			small, large := grownKind(1), grownKind(2)
			want(t, "Define", s.Define(t.Context(), small), nil)
			insert(t, s, small, storage.Record{Scope: test1, ID: "a", Columns: []any{"a"}, Data: []byte(`{"name":"a","size":7}`)})
			s = reopen(t, s)
			want(t, "Define with one more", s.Define(t.Context(), large), nil)
			s = reopen(t, s)
			want(t, "Define with fewer columns", s.Define(t.Context(), small), storage.ErrNewer)
			want(t, "Define as it is", s.Define(t.Context(), large), nil)
			equal(t, "columns", get(t, s, large, test1, "a").Columns, []any{"a", int64(7)})
		},
	}
}

// fillStore writes one of everything that continuesAfterReopen and readAll look for.
func fillStore(t *testing.T, s storage.Store) {
	t.Helper()
	whole := item(test1, "it_1")
	whole.Columns = []any{"Ɛsi \"'\\", int64(-7), true, noon, "old", "a"}
	insert(t, s, items, whole, with(item(live1, "li_1"), "token", "b"), item(test2, "it_2"), item(test1, "it_3"))
	insert(t, s, jobs, job(test1, "held", second(0)), job(test1, "due", second(1)), job(test2, "never", nil))
	post(t, s, posting("p1", move("guarded/a", 10), move("open/b", -10)), posting("p2", move("guarded/a", -4), move("guarded/c", 4)))
	next(t, s, "seq")
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(items, test2, "it_2")
		if err != nil {
			return err
		}
		if err := tx.Replace(items, with(r, "name", "changed")); err != nil {
			return err
		}
		return tx.Delete(items, test1, "it_3", 1)
	})
	equal(t, "claimed", ids(claim(t, s, 0, 0, 9, nil)), []string{"held"})
}

// continuesAfterReopen uses the data of fillStore.
func continuesAfterReopen(t *testing.T, s storage.Store) {
	t.Helper()
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
		want(t, "Insert of a taken id", tx.Insert(items, item(live1, "li_1")), storage.ErrExists)
		want(t, "Insert of a taken key", tx.Insert(items, with(item(test2, "it_4"), "token", "a")), storage.ErrExists)
		want(t, "Post of a taken id", tx.Post(posting("p1", move("open/b", 1), move("open/d", -1))), storage.ErrExists)
		return nil
	})
	postFails(t, s, "Post of too much", posting("p3", move("guarded/a", -7), move("open/b", 7)), storage.ErrInsufficient)
	postFails(t, s, "Post with another guard", posting("p4", storage.Move{Account: "guarded/a", Amount: 1}, move("open/b", -1)), storage.ErrInvalid)
	post(t, s, posting("p5", move("guarded/a", -6), move("open/b", 6)))
	equal(t, "sequence", next(t, s, "seq"), int64(2))
	stale := get(t, s, jobs, test1, "held")
	equal(t, "within the lease", ids(claim(t, s, 1, 59, 9, nil)), []string{"due"})
	equal(t, "after the lease", single(t, "claimed", claim(t, s, 1, 60, 9, nil)).Version, stale.Version+1)
	want(t, "Replace by the first worker", s.Update(t.Context(), func(tx storage.Tx) error { return tx.Replace(jobs, stale) }), storage.ErrConflict)
	insert(t, s, items, item(test1, "it_3"))
	checkLedger(t, s)
}

// readAll reads by every method.
func readAll(t tester, tx storage.ReadTx) (seen []any) {
	t.Helper()
	add := func(v any, err error) {
		if err != nil {
			v = errorClass(err)
		}
		seen = append(seen, v)
	}
	for _, scope := range []storage.Scope{test1, live1, test2} {
		for _, id := range []string{"it_1", "it_2", "it_3", "it_4", "li_1"} {
			r, err := tx.Get(items, scope, id)
			add(r, err)
		}
		for _, id := range []string{"held", "due", "never"} {
			r, err := tx.Get(jobs, scope, id)
			add(r, err)
		}
		page, err := tx.List(items, storage.Query{Scope: scope, Limit: 9})
		add(page, err)
	}
	for _, token := range []string{"a", "b", "c", "d"} {
		r, err := tx.Find(items, "token", test1, token)
		add(r, err)
	}
	backlog, err := tx.Backlog(jobs, second(9), 9)
	add(backlog, err)
	for _, account := range []string{"guarded/a", "open/b"} {
		b, err := tx.Balance(account)
		add(b, err)
		entries, err := tx.Entries(account, 0, 9)
		add(entries, err)
	}
	all, err := tx.Balances("", 9)
	add(all, err)
	for _, id := range []string{"p1", "p2"} {
		booked, err := tx.Posting(id)
		add(booked, err)
	}
	postings, err := tx.Postings("", 9)
	add(postings, err)
	add(scanAll(t, tx, items, 9), nil)
	add(sequencesOf(t, tx, 9), nil)
	return seen
}

// errorClass returns the part of an error that is the same for all stores.
func errorClass(err error) string {
	if errors.Is(err, storage.ErrNotFound) {
		return "not found"
	}
	return err.Error()
}
