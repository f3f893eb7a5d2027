package storagetest

import (
	"context"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var calls = tests{
	"of an unknown kind are refused":            unknownKind,
	"of a kind other than defined are refused":  otherKind,
	"that break the contract are refused":       wrongCalls,
	"leave arguments unchanged":                 argumentsUnchanged,
	"after the end of a transaction are closed": callsAfterEnd,
	"in an ended context fail":                  callsInEndedContext,
}

// readCalls holds every method of ReadTx once, with valid arguments if k is defined and like
// jobs.
func readCalls(k *storage.Kind) map[string]func(storage.ReadTx) error {
	return map[string]func(storage.ReadTx) error{
		"Get":      func(tx storage.ReadTx) error { _, err := tx.Get(k, test1, "a"); return err },
		"Find":     func(tx storage.ReadTx) error { _, err := tx.Find(k, "id", test1, "a"); return err },
		"List":     func(tx storage.ReadTx) error { _, err := tx.List(k, storage.Query{Scope: test1, Limit: 1}); return err },
		"Balance":  func(tx storage.ReadTx) error { _, err := tx.Balance("open/a"); return err },
		"Balances": func(tx storage.ReadTx) error { _, err := tx.Balances("", 1); return err },
		"Entries":  func(tx storage.ReadTx) error { _, err := tx.Entries("open/a", 0, 1); return err },
		"Posting":  func(tx storage.ReadTx) error { _, err := tx.Posting("p"); return err },
		"Postings": func(tx storage.ReadTx) error { _, err := tx.Postings("", 1); return err },
		"Backlog":  func(tx storage.ReadTx) error { _, err := tx.Backlog(k, noon, 1); return err },
		"NextDue":  func(tx storage.ReadTx) error { _, err := tx.NextDue(k, test1, 1); return err },
	}
}

// writeCalls holds every other method of Tx once.
func writeCalls(k *storage.Kind) map[string]func(storage.Tx) error {
	return map[string]func(storage.Tx) error{
		"Insert": func(tx storage.Tx) error { return tx.Insert(k, job(test1, "new", noon)) },
		"Replace": func(tx storage.Tx) error {
			r := job(test1, "a", nil)
			r.Version = 1
			return tx.Replace(k, r)
		},
		"Delete": func(tx storage.Tx) error { return tx.Delete(k, test1, "a", 1) },
		"Post":   func(tx storage.Tx) error { return tx.Post(posting("new", move("open/a", 1), move("open/b", -1))) },
		"Next":   func(tx storage.Tx) error { _, err := tx.Next("seq"); return err },
		"Claim": func(tx storage.Tx) error {
			_, err := tx.Claim(k, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 1})
			return err
		},
		"Lease": func(tx storage.Tx) error { return tx.Lease(k, test1, "a", 1, second(1)) },
	}
}

// ofKinds are the methods that take a kind.
var ofKinds = []string{"Get", "Find", "List", "Insert", "Replace", "Delete", "Claim", "Lease", "NextDue"}

// refusesKind checks that each method refuses a kind.
func refusesKind(t *testing.T, s storage.Store, k *storage.Kind) {
	t.Helper()
	reads, writes := readCalls(k), writeCalls(k)
	update(t, s, func(tx storage.Tx) error {
		for _, name := range ofKinds {
			if call, ok := reads[name]; ok {
				want(t, name, call(tx), storage.ErrInvalid)
			} else {
				want(t, name, writes[name](tx), storage.ErrInvalid)
			}
		}
		return nil
	})
	view(t, s, func(tx storage.ReadTx) error {
		for _, name := range ofKinds {
			if call, ok := reads[name]; ok {
				want(t, name+" in a view", call(tx), storage.ErrInvalid)
			}
		}
		return nil
	})
}

func unknownKind(t *testing.T, s storage.Store) {
	k := *jobs
	k.Name = "test_strangers"
	refusesKind(t, s, &k)
}

// otherKind uses declarations that share a name with a defined kind, as after a forgotten Define,
// or in an older program.
func otherKind(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", noon))
	longer := *jobs
	longer.Columns = append([]storage.Column{jobs.Columns[0]}, storage.Column{Name: "note", Type: storage.Text, Null: true})
	longer.Backfill = func([]byte) ([]any, error) { return []any{noon, nil}, nil }
	refusesKind(t, s, &longer)

	want(t, "Define", s.Define(t.Context(), &longer), nil)
	refusesKind(t, s, jobs)
	equal(t, "what was there", get(t, s, &longer, test1, "a").Columns, []any{noon, nil})
}

func wrongCalls(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "there"))
	insertion := func(r storage.Record) func(storage.Tx) error {
		return func(tx storage.Tx) error { return tx.Insert(items, r) }
	}
	replacement := func(r storage.Record) func(storage.Tx) error {
		r.Version = 1
		return func(tx storage.Tx) error { return tx.Replace(items, r) }
	}
	find := func(key string, values ...any) func(storage.Tx) error {
		return func(tx storage.Tx) error { _, err := tx.Find(items, key, test1, values...); return err }
	}
	query := func(q storage.Query) func(storage.Tx) error {
		q.Scope = test1
		return func(tx storage.Tx) error { _, err := tx.List(items, q); return err }
	}
	claim := func(k *storage.Kind, lease time.Duration, limit int) func(storage.Tx) error {
		return func(tx storage.Tx) error {
			_, err := tx.Claim(k, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: limit})
			return err
		}
	}
	where := func(column string, v any) storage.Query {
		return storage.Query{Limit: 1, Where: []storage.Equal{{Column: column, Value: v}}}
	}
	update(t, s, func(tx storage.Tx) error {
		for name, call := range map[string]func(storage.Tx) error{
			"Insert without id":                insertion(item(test1, "")),
			"Insert with too few columns":      insertion(storage.Record{Scope: test1, ID: "a"}),
			"Insert of null where none may be": insertion(with(item(test1, "a"), "state", nil)),
			"Insert of what is not one of":     insertion(with(item(test1, "a"), "state", "odd")),
			"Insert of text for a number":      insertion(with(item(test1, "a"), "size", "1")),
			"Insert of an int for an int64":    insertion(with(item(test1, "a"), "size", 1)),
			"Insert of a number for a time":    insertion(with(item(test1, "a"), "made", int64(1))),
			"Insert of a number for a bool":    insertion(with(item(test1, "a"), "open", int64(1))),
			"Replace without id":               replacement(item(test1, "")),
			"Replace with too few columns":     replacement(storage.Record{Scope: test1, ID: "there"}),
			"Replace by what is not one of":    replacement(with(item(test1, "there"), "state", "odd")),
			"Find by no key":                   find("nothing", "a"),
			"Find by a column that is no key":  find("state", "new"),
			"Find with few values":             find("name_size", "a"),
			"Find with many values":            find("token", "a", "b"),
			"Find with null":                   find("token", nil),
			"Find with a value of no type":     find("name_size", "a", 1),
			"List without limit":               query(storage.Query{}),
			"List with a negative limit":       query(storage.Query{Limit: -1}),
			"List with two cursors":            query(storage.Query{Limit: 1, After: "b", Before: "a"}),
			"List by no column":                query(where("nothing", "a")),
			"List by id":                       query(where("id", "there")),
			"List by text in a number":         query(where("size", "1")),
			"List by an int":                   query(where("size", 1)),
			"List by a range over text":        query(storage.Query{Limit: 1, Range: []storage.Range{{Column: "name"}}}),
			"Claim of what is never due":       claim(items, lease, 1),
			"Claim without lease":              claim(jobs, 0, 1),
			"Claim without limit":              claim(jobs, lease, 0),
			"Lease of what is never due":       func(tx storage.Tx) error { return tx.Lease(items, test1, "there", 1, noon) },
			"Lease without time":               func(tx storage.Tx) error { return tx.Lease(jobs, test1, "there", 1, time.Time{}) },
		} {
			want(t, name, call(tx), storage.ErrInvalid)
		}
		return nil
	})
	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"there"})
	equal(t, "version", get(t, s, items, test1, "there").Version, int64(1))
}

// argumentsUnchanged checks the arguments after the calls: the store must round times and sort
// moves in its own copy.
func argumentsUnchanged(t *testing.T, s storage.Store) {
	exact := noon.Add(1234 * time.Microsecond).In(time.FixedZone("", 3600))
	kind := &storage.Kind{
		Name:    "test_times",
		Columns: []storage.Column{{Name: "at", Type: storage.Time}},
		Keys:    []storage.Key{{Name: "at", Columns: []string{"at"}}},
	}
	want(t, "Define", s.Define(t.Context(), kind), nil)
	r := storage.Record{Scope: test1, ID: "a", Columns: []any{exact}, Data: []byte("{}")}
	values := []any{exact}
	p := posting("p", move("open/b", 1), move("open/a", -1))
	update(t, s, func(tx storage.Tx) error {
		if err := tx.Insert(kind, r); err != nil {
			return err
		}
		if _, err := tx.Find(kind, "at", test1, values...); err != nil {
			return err
		}
		r.Version = 1
		if err := tx.Replace(kind, r); err != nil {
			return err
		}
		return tx.Post(p)
	})
	if r.Columns[0] != any(exact) || values[0] != any(exact) {
		t.Errorf("a time that was passed was changed: %v, %v, want %v", r.Columns[0], values[0], exact)
	}
	equal(t, "moves", p.Moves, []storage.Move{move("open/b", 1), move("open/a", -1)})
}

// callsAfterEnd uses transactions after their ends, of all kinds.
func callsAfterEnd(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", noon))
	checkReads := func(what string, tx storage.ReadTx) {
		for name, call := range readCalls(jobs) {
			want(t, name+" after "+what, call(tx), storage.ErrClosed)
		}
	}
	check := func(what string, tx storage.Tx) {
		checkReads(what, tx)
		for name, call := range writeCalls(jobs) {
			want(t, name+" after "+what, call(tx), storage.ErrClosed)
		}
	}
	var kept storage.Tx
	var keptRead storage.ReadTx
	view(t, s, func(tx storage.ReadTx) error { keptRead = tx; return nil })
	checkReads("a view", keptRead)
	update(t, s, func(tx storage.Tx) error { kept = tx; return nil })
	check("a commit", kept)
	want(t, "Update", s.Update(t.Context(), func(tx storage.Tx) error { kept = tx; return errPlanned }), errPlanned)
	check("a rollback", kept)
	inGoroutine(func() {
		defer func() { _ = recover() }()
		_ = s.Update(t.Context(), func(tx storage.Tx) error { kept = tx; panic(errPlanned) })
	})
	check("a panic", kept)

	wantAbsent(t, s, jobs, test1, "new")
	equal(t, "version", get(t, s, jobs, test1, "a").Version, int64(1))
	equal(t, "balances", balances(t, s), map[string]int64{})
	equal(t, "sequence", next(t, s, "seq"), int64(1))

	want(t, "Close", s.Close(), nil)
	check("Close", kept)
	checkReads("Close", keptRead)
}

func callsInEndedContext(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", noon))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := s.Update(ctx, func(tx storage.Tx) error {
		want(t, "before", tx.Insert(jobs, job(test1, "before", noon)), nil)
		cancel()
		for name, call := range readCalls(jobs) {
			want(t, name, call(tx), context.Canceled)
		}
		for name, call := range writeCalls(jobs) {
			want(t, name, call(tx), context.Canceled)
		}
		return nil
	})
	want(t, "Update", err, context.Canceled)

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	err = s.View(ctx, func(tx storage.ReadTx) error {
		_, err := tx.Get(jobs, test1, "a")
		want(t, "before", err, nil)
		cancel()
		for name, call := range readCalls(jobs) {
			want(t, name+" in a view", call(tx), context.Canceled)
		}
		_, err = tx.Get(jobs, test1, "a")
		return err
	})
	want(t, "View", err, context.Canceled)

	wantAbsent(t, s, jobs, test1, "before")
	equal(t, "version", get(t, s, jobs, test1, "a").Version, int64(1))
	equal(t, "balances", balances(t, s), map[string]int64{})
	equal(t, "sequence", next(t, s, "seq"), int64(1))
}
