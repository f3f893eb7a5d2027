// Package testkit is what the tests of the whole service share: every store that
// they run over, a service on it, and all that a store holds.
//
// # Where a test goes
//
//	it tests                                          it stands in
//	one rule of one noun                              the noun's package
//	every call, while something fails                 internal/test/faults
//	random weeks of merchants under random faults     internal/test/simulation
//	a process that is killed                          internal/test/crash
//	what erasure leaves, in all nouns                 internal/erasure
//	what retention deletes, in all nouns              internal/retention
//	the order of background work                      internal/work
//	the contract of a store                           storage/storagetest
//	that the money paths are tested at all            internal/test/mutate, which only reports
//	what packages export, import and say of it        internal/house
//	Config, New, Start, Stop, Health, InTx, Once      the root
//	requests, answers, pages                          httpapi, most in its testdata/walks
package testkit

import (
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/pin"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// Backend is a store to test over.
type Backend struct {
	Name string
	// Every is how slow the store is: a test that tries every operation tries one in
	// so many.
	Every int
	open  func(t *testing.T) (storage.Store, error)
}

// Backends are all stores.
var Backends = []Backend{
	{"memory", 1, func(*testing.T) (storage.Store, error) { return memory.New(), nil }},
	{"sqlite", effort.Of(8, 4), func(t *testing.T) (storage.Store, error) {
		return sqlite.Open(t.Context(), filepath.Join(effort.TempDir(t), "payments.db"), sqlite.Config{})
	}},
	{"postgres", effort.Of(12, 6), func(t *testing.T) (storage.Store, error) {
		pool := pgtest.Pool(t, 16)
		return postgres.Open(t.Context(), pool, postgres.Config{Schema: Schema(t, pool)})
	}},
}

// Open returns an empty store, which the caller closes. It skips the test where the
// database is not installed.
func (b Backend) Open(t *testing.T) storage.Store {
	t.Helper()
	return must.Get(b.open(t))(t)
}

// OverStores runs a test over each store, and closes the store after it.
func OverStores(t *testing.T, test func(*testing.T, storage.Store)) {
	for _, b := range Backends {
		t.Run(b.Name, func(t *testing.T) {
			store := b.Open(t)
			t.Cleanup(func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, store)
		})
	}
}

// New returns a service over a store, which logs nothing.
func New(t *testing.T, store storage.Store, c payments.Config) *payments.Service {
	t.Helper()
	pin.Weaken()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return must.Get(payments.New(t.Context(), store, c))(t)
}

// Contents returns all that a store holds of a merchant, and of the server itself: each
// record by its kind, scope and id, each posting and each balance. Versions of records
// are left out, since a PIN's try that is counted and given back changes nothing else.
func Contents(t *testing.T, store storage.Store, merchant string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, part := range ContentsByKind(t, store, merchant, nil) {
		maps.Copy(all, part)
	}
	return all
}

// ContentsByKind returns the contents by the kinds' names. Postings and balances are a kind
// of their own, faultstore.Ledger. It reads the kinds in only, or all if only is nil.
func ContentsByKind(t *testing.T, store storage.Store, merchant string, only map[string]bool) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		for _, k := range payments.Kinds() {
			if only != nil && !only[k.Name] {
				continue
			}
			part := map[string]string{}
			for _, scope := range []storage.Scope{{}, {Live: true}, {Merchant: merchant}, {Merchant: merchant, Live: true}} {
				page, err := tx.List(k, storage.Query{Scope: scope, Limit: 10_000})
				if err != nil {
					return err
				}
				for _, r := range page {
					part[fmt.Sprint(k.Name, " ", scope, " ", r.ID)] = fmt.Sprintf("%v %s", r.Columns, r.Data)
				}
			}
			all[k.Name] = part
		}
		if only != nil && !only[faultstore.Ledger] {
			return nil
		}
		part := map[string]string{}
		postings, err := tx.Postings("", 10_000)
		if err != nil {
			return err
		}
		for _, p := range postings {
			part[p.ID] = fmt.Sprint(p)
		}
		balances, err := tx.Balances("", 10_000)
		for _, b := range balances {
			part[b.Account] = fmt.Sprint(b)
		}
		all[faultstore.Ledger] = part
		return err
	}))
	return all
}

// Without removes the records of some kinds from contents.
func Without(contents map[string]string, kinds ...string) map[string]string {
	maps.DeleteFunc(contents, func(key, _ string) bool {
		kind, _, _ := strings.Cut(key, " ")
		return slices.Contains(kinds, kind)
	})
	return contents
}

// All reads what [api.All] yields to its end. It panics where the list cannot be read.
func All[T any](list iter.Seq2[*T, error]) (whole []T) {
	for v, err := range list {
		if err != nil {
			panic(err)
		}
		whole = append(whole, *v)
	}
	return whole
}
