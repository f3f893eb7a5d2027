// Package storagetest is the contract of package storage as a test suite. A
// backend that passes all of it is a store that the library can be trusted to
// run on; the shipped ones do, and a host's own can:
//
//	func TestContract(t *testing.T) {
//		var dir string
//		storagetest.Run(t,
//			func(t *testing.T) storage.Store { dir = t.TempDir(); return mystore.Open(dir) },
//			storagetest.Reopens(func(t *testing.T) storage.Store { return mystore.Open(dir) }))
//	}
//
// A store that does not keep its data beyond Close says so with [Forgets]; without
// either option Run fails. What the suite cannot see is how much a store reads to
// give an answer: that claims and lists do not walk through all records is for
// tests of the backend, which can look at its plans.
//
// The suite uses the public interface alone, waits for nothing but what it
// started, and needs the backend to be right, not fast.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/storage"
)

// tests are the tests of one file by name.
type tests map[string]func(*testing.T, storage.Store)

// Option tells Run what more a backend does, or does not do.
type Option func(*backend)

type backend struct {
	open, reopen    func(t *testing.T) storage.Store
	forgets, single bool
}

// Reopens gives Run a function that opens, once more, the database of the store that
// open returned last. With it Run checks that what was committed is there after
// Close, and that two stores on one database are as one.
func Reopens(reopen func(t *testing.T) storage.Store) Option {
	return func(b *backend) { b.reopen = reopen }
}

// Forgets says that the data of a store is gone when it is closed, as that of a store
// in memory is. Run then does not ask for it.
func Forgets() Option { return func(b *backend) { b.forgets = true } }

// SingleHandle says that a database can be open only once at a time. Run then
// reopens it after Close only.
func SingleHandle() Option { return func(b *backend) { b.single = true } }

// Run runs the whole suite. open returns a new, empty store each time it is
// called; Run closes it. The tests run one after another, always in the same
// order. Exactly one of the options [Reopens] and [Forgets] must be given.
func Run(t *testing.T, open func(t *testing.T) storage.Store, options ...Option) {
	b := &backend{open: open}
	for _, option := range options {
		option(b)
	}
	b.group(t, "objects", objects)
	b.group(t, "keys", keys)
	b.group(t, "calls", calls)
	b.group(t, "reader", reader)
	b.group(t, "lists", lists)
	b.group(t, "scans", scans)
	b.group(t, "money", money)
	b.group(t, "sequences", sequences)
	b.group(t, "claims", claims)
	b.group(t, "backlog", backlog)
	b.group(t, "leases", leases)
	b.group(t, "transactions", transactions)
	b.group(t, "concurrency", concurrency)
	b.group(t, "lifecycle", lifecycle)
	b.group(t, "growth", growth)
	if (b.reopen == nil) != b.forgets {
		t.Error("Run needs to know whether data is kept: give it either Reopens, or Forgets for a store whose data ends with it")
	}
	if b.reopen == nil {
		return
	}
	b.group(t, "reopening", reopening(b.again))
	if !b.single {
		b.group(t, "two handles", handles(b.again))
		b.inTurns(t)
	}
}

// group runs tests, each on a new store.
func (b *backend) group(t *testing.T, name string, all tests) {
	for _, test := range slices.Sorted(maps.Keys(all)) {
		t.Run(name+"/"+test, func(t *testing.T) { all[test](t, ready(t, b.open(t))) })
	}
}

// again opens the database of the running test once more.
func (b *backend) again(t *testing.T) storage.Store {
	t.Helper()
	return ready(t, b.reopen(t))
}

// ready returns the store with the kinds of the suite; it is closed with the test.
func ready(t *testing.T, s storage.Store) storage.Store {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if err := s.Define(t.Context(), items, jobs); err != nil {
		t.Fatalf("Define: %v", err)
	}
	return s
}

// items have a column of each type, one of them in a key of the scope and one in
// a key over all scopes.
var items = &storage.Kind{
	Name: "test_items",
	Columns: []storage.Column{
		{Name: "name", Type: storage.Text, Null: true, Indexed: true},
		{Name: "size", Type: storage.Int, Null: true},
		{Name: "open", Type: storage.Bool, Null: true},
		{Name: "made", Type: storage.Time, Null: true},
		{Name: "state", Type: storage.Text, OneOf: []string{"new", "old"}},
		{Name: "token", Type: storage.Text, Null: true},
	},
	Keys: []storage.Key{
		{Name: "name_size", Columns: []string{"name", "size"}},
		{Name: "token", Columns: []string{"token"}, Global: true},
		{Name: "public", Columns: []string{"id"}, Global: true},
	},
}

// jobs are due work.
var jobs = &storage.Kind{
	Name:    "test_jobs",
	Columns: []storage.Column{{Name: "due", Type: storage.Time, Null: true}},
	Keys:    []storage.Key{{Name: "id", Columns: []string{"id"}}},
	Due:     "due",
}

var (
	test1 = storage.Scope{Merchant: "mer_1"}
	live1 = storage.Scope{Merchant: "mer_1", Live: true}
	test2 = storage.Scope{Merchant: "mer_2"}
	noon  = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
)

// errPlanned is what a function fails with on purpose.
var errPlanned = errors.New("planned")

// item returns a record of items with a state and nothing else.
func item(s storage.Scope, id string) storage.Record {
	return storage.Record{Scope: s, ID: id, Columns: []any{nil, nil, nil, nil, "new", nil}, Data: []byte(`{"id":"` + id + `"}`)}
}

func job(s storage.Scope, id string, due any) storage.Record {
	return storage.Record{Scope: s, ID: id, Columns: []any{due}, Data: []byte("{}")}
}

// with returns a copy of the record with a column set.
func with(r storage.Record, column string, v any) storage.Record {
	r.Columns = append([]any(nil), r.Columns...)
	r.Columns[items.Column(column)] = v
	return r
}

func update(t *testing.T, s storage.Store, fn func(storage.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

// lastly runs an update whose function meets what a backend may find out only when
// it commits, and then runs the function again: what its last run finds is what
// counts.
func lastly(t *testing.T, s storage.Store, fn func(*findings, storage.Tx) error) {
	t.Helper()
	var last *findings
	update(t, s, func(tx storage.Tx) error {
		last = &findings{}
		return fn(last, tx)
	})
	for _, text := range last.all {
		t.Error(text)
	}
}

// findings are what one run of a function finds wrong.
type findings struct{ all []string }

func (f *findings) Helper() {}

func (f *findings) Errorf(format string, args ...any) {
	f.all = append(f.all, fmt.Sprintf(format, args...))
}

// tester is what checks need of a *testing.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
}

func view(t *testing.T, s storage.Store, fn func(storage.ReadTx) error) {
	t.Helper()
	if err := s.View(t.Context(), fn); err != nil {
		t.Fatalf("View: %v", err)
	}
}

// insert stores records, each in the state of version 1.
func insert(t *testing.T, s storage.Store, k *storage.Kind, records ...storage.Record) {
	t.Helper()
	update(t, s, func(tx storage.Tx) error {
		for _, r := range records {
			if err := tx.Insert(k, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// get reads one record, which must exist.
func get(t *testing.T, s storage.Store, k *storage.Kind, scope storage.Scope, id string) storage.Record {
	t.Helper()
	var r storage.Record
	view(t, s, func(tx storage.ReadTx) error {
		var err error
		r, err = tx.Get(k, scope, id)
		return err
	})
	return r
}

// absent checks that there is no such record.
func absent(t *testing.T, s storage.Store, k *storage.Kind, scope storage.Scope, id string) {
	t.Helper()
	view(t, s, func(tx storage.ReadTx) error {
		_, err := tx.Get(k, scope, id)
		want(t, "Get of what is not there", err, storage.ErrNotFound)
		return nil
	})
}

// want checks an error by errors.Is; nil wants none.
func want(t tester, what string, got, wanted error) {
	t.Helper()
	if wanted == nil && got != nil || wanted != nil && !errors.Is(got, wanted) {
		t.Errorf("%s: got error %v, want %v", what, got, wanted)
	}
}

func equal(t tester, what string, got, wanted any) {
	t.Helper()
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// only returns the one element that there must be.
func only[T any](t *testing.T, what string, all []T) T {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%s: got %d, want 1", what, len(all))
	}
	return all[0]
}

// manyPages is more than any test reads. A listing that never ends fails there.
const manyPages = 100

func ids(records []storage.Record) []string {
	list := make([]string, len(records))
	for i, r := range records {
		list[i] = r.ID
	}
	return list
}

// list returns the ids of one page.
func list(t *testing.T, s storage.Store, k *storage.Kind, q storage.Query) []string {
	t.Helper()
	var got []string
	view(t, s, func(tx storage.ReadTx) error {
		page, err := tx.List(k, q)
		got = ids(page)
		return err
	})
	return got
}

// elsewhere runs fn in a goroutine of its own, as another caller would, and
// waits for it.
func elsewhere(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done) // also when fn panics or calls runtime.Goexit
		fn()
	}()
	<-done
}

// cancelled returns a context that has ended.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
