// Package storagetest tests a store against the contract of package storage. The library runs on
// any backend that passes. The stores of this module do, and a host's own can:
//
//	func TestContract(t *testing.T) {
//		var dir string
//		storagetest.Run(t,
//			func(t *testing.T) storage.Store { dir = t.TempDir(); return mystore.Open(dir) },
//			storagetest.Reopens(func(t *testing.T) storage.Store { return mystore.Open(dir) }))
//	}
//
// A store that does not keep its data after Close says so with [InMemory]; without either option
// Run fails. The suite cannot see how many rows a store reads. Check your backend's query plans in
// its own tests: claims and lists must not read all records.
//
// The suite uses only the public interface. It waits only for what it started, and needs
// the backend to be right, not fast.
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

// Option adapts Run to the abilities of a backend.
type Option func(*backend)

type backend struct {
	open, reopen     func(t *testing.T) storage.Store
	inMemory, single bool
}

// Reopens gives Run a function that opens once more the database that open returned last.
// Run then checks that committed data is there after Close, and that two stores on one
// database act as one.
func Reopens(reopen func(t *testing.T) storage.Store) Option {
	return func(b *backend) { b.reopen = reopen }
}

// InMemory says that closing a store drops its data. Run then does not test reopening.
func InMemory() Option { return func(b *backend) { b.inMemory = true } }

// SingleHandle says that only one store at a time can have a database open. Run then
// reopens it only after Close.
func SingleHandle() Option { return func(b *backend) { b.single = true } }

// Run runs the whole suite. open returns a new, empty store each time; Run closes it. The
// tests run one after another, always in the same order. Give exactly one of the options
// [Reopens] and [InMemory].
func Run(t *testing.T, open func(t *testing.T) storage.Store, options ...Option) {
	b := &backend{open: open}
	for _, option := range options {
		option(b)
	}
	b.runGroup(t, "objects", objects)
	b.runGroup(t, "keys", keys)
	b.runGroup(t, "calls", calls)
	b.runGroup(t, "reader", reader)
	b.runGroup(t, "lists", lists)
	b.runGroup(t, "order", order)
	b.runGroup(t, "scans", scans)
	b.runGroup(t, "money", money)
	b.runGroup(t, "ledger pages", ledgerPageTests)
	b.runGroup(t, "sequences", sequences)
	b.runGroup(t, "claims", claims)
	b.runGroup(t, "claims by clock", claimsByClock)
	b.runGroup(t, "backlog", backlog)
	b.runGroup(t, "leases", leases)
	b.runGroup(t, "transactions", transactions)
	b.runGroup(t, "concurrency", concurrency)
	b.runGroup(t, "lifecycle", lifecycle)
	b.runGroup(t, "growth", growth)
	if (b.reopen == nil) != b.inMemory {
		t.Error("Run needs to know whether data is kept after Close: give it either Reopens or InMemory")
	}
	if b.reopen == nil {
		return
	}
	b.runGroup(t, "reopening", reopening(b.again))
	if !b.single {
		b.runGroup(t, "two stores", twoStores(b.again))
		b.alternating(t)
	}
}

// runGroup runs tests, each on a new store.
func (b *backend) runGroup(t *testing.T, name string, all tests) {
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

// errPlanned is the error of a function that fails on purpose.
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

// updateLastRun runs an update and reports the findings of its function's last run. A
// backend may find out at the commit that a run does not count, and run the function
// again.
func updateLastRun(t *testing.T, s storage.Store, fn func(*findings, storage.Tx) error) {
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

// findings are the failed checks of one run of a function.
type findings struct{ all []string }

func (f *findings) Helper() {}

func (f *findings) Errorf(format string, args ...any) {
	f.all = append(f.all, fmt.Sprintf(format, args...))
}

// tester is the part of a *testing.T that checks need.
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

// wantAbsent checks that there is no such record.
func wantAbsent(t *testing.T, s storage.Store, k *storage.Kind, scope storage.Scope, id string) {
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

// single returns the one element that there must be.
func single[T any](t *testing.T, what string, all []T) T {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%s: got %d, want 1", what, len(all))
	}
	return all[0]
}

// eachPage reads pages until one is empty, and passes them to use.
func eachPage[T any](t tester, read func() ([]T, error), use func(page []T)) {
	t.Helper()
	for range 100 { // more than any test reads
		page, err := read()
		want(t, "page", err, nil)
		if len(page) == 0 {
			return
		}
		use(page)
	}
	t.Errorf("the pages have no end")
}

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

// inGoroutine runs fn in a goroutine, as another caller would, and waits for it.
func inGoroutine(fn func()) {
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
