package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var parcels = &storage.Kind{Name: "parcels", Ordered: true}

// filledStore returns a store with n records and n postings.
func filledStore(t *testing.T, n int) storage.Store {
	t.Helper()
	s := memory.New()
	must.Do(t, s.Define(t.Context(), parcels))
	for i := range n {
		write(t, s, func(tx storage.Tx) error {
			if _, err := tx.Next("parcels"); err != nil {
				return err
			}
			if err := tx.Insert(parcels, parcel(i)); err != nil {
				return err
			}
			return tx.Post(payIn(i))
		})
	}
	return s
}

func parcel(i int) storage.Record {
	return storage.Record{Scope: storage.Scope{Merchant: fmt.Sprint("m", i%3)}, ID: fmt.Sprintf("p%06d", i*7919%1_000_003), Data: []byte(`{}`)}
}

func payIn(i int) storage.Posting {
	return storage.Posting{
		ID: fmt.Sprintf("txn_%06d", i), Type: "test", At: time.Unix(1, 0),
		Moves: []storage.Move{{Account: fmt.Sprint("wallet", i%700), Guarded: true, Amount: 5}, {Account: "world", Amount: -5}},
	}
}

func write(t *testing.T, s storage.Store, fn func(storage.Tx) error) {
	t.Helper()
	must.Do(t, s.Update(t.Context(), fn))
}

// viewCounter counts the pages that one View of a store reads.
type viewCounter struct {
	storage.Store
	pages, longest int
}

func (b *viewCounter) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	b.pages = 0
	defer func() { b.longest = max(b.longest, b.pages) }()
	return b.Store.View(ctx, func(tx storage.ReadTx) error { return fn(&viewCounterTx{tx, b}) })
}

type viewCounterTx struct {
	storage.ReadTx
	by *viewCounter
}

func (b *viewCounterTx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	b.by.pages++
	return b.ReadTx.Scan(k, after, id, limit)
}

func (b *viewCounterTx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	b.by.pages++
	return b.ReadTx.Sequences(after, limit)
}

func (b *viewCounterTx) Balances(after string, limit int) ([]storage.Balance, error) {
	b.by.pages++
	return b.ReadTx.Balances(after, limit)
}

func (b *viewCounterTx) Postings(after string, limit int) ([]storage.Booked, error) {
	b.by.pages++
	return b.ReadTx.Postings(after, limit)
}

// A copy reads one page in a View, so that the source need not keep an old state.
func TestCopyReadsInShortViews(t *testing.T) {
	src, dst := &viewCounter{Store: filledStore(t, 2500)}, memory.New()
	must.Do(t, storage.Copy(t.Context(), dst, src, []*storage.Kind{parcels}, nil))
	expect.Equal(t, src.longest, 1, "a View reads %d pages", src.longest)
	sameStores(t, src.Store, dst)
}

// sameStores compares the contents of two stores, without versions.
func sameStores(t *testing.T, src, dst storage.Store) {
	t.Helper()
	read := func(s storage.Store) (all []any) {
		t.Helper()
		must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
			records, err := tx.Scan(parcels, storage.Scope{}, "", 9999)
			if err != nil {
				return err
			}
			for i := range records {
				records[i].Version = 0
			}
			sequences, err := tx.Sequences("", 9)
			if err != nil {
				return err
			}
			balances, err := tx.Balances("", 9999)
			if err != nil {
				return err
			}
			postings, err := tx.Postings("", 9999)
			all = []any{records, sequences, balances, postings}
			return err
		}))
		return all
	}
	expect.Same(t, read(dst), read(src), "the copy")
}

// A posting waits for the entries before its own, even if its id comes first.
func TestCopyBooksInTheOrderOfEntries(t *testing.T) {
	src, dst := filledStore(t, 1700), memory.New()
	for i := range 900 {
		write(t, src, func(tx storage.Tx) error { return tx.Post(payIn(5000 - i)) })
	}
	must.Do(t, storage.Copy(t.Context(), dst, src, []*storage.Kind{parcels}, nil))
	sameStores(t, src, dst)
}

// Copy refuses a source that changes at any moment of the copy, unless the copy equals the source
// in the end.
func TestCopyRefusesChangingSource(t *testing.T) {
	late := parcel(700)
	for what, change := range map[string]func(storage.Tx) error{
		"a new record": func(tx storage.Tx) error { return tx.Insert(parcels, parcel(-1)) },
		"a new record at the end": func(tx storage.Tx) error {
			return tx.Insert(parcels, storage.Record{Scope: storage.Scope{Merchant: "z"}, ID: "z", Data: []byte(`{}`)})
		},
		"a changed record": func(tx storage.Tx) error {
			r, err := tx.Get(parcels, late.Scope, late.ID)
			if err != nil {
				return err
			}
			return tx.Replace(parcels, r)
		},
		"a removed record": func(tx storage.Tx) error { return tx.Delete(parcels, late.Scope, late.ID, 1) },
		"a number given":   func(tx storage.Tx) error { _, err := tx.Next("parcels"); return err },
		"a new posting":    func(tx storage.Tx) error { return tx.Post(payIn(-1)) },
	} {
		for _, at := range []string{parcels.Name, "sequences", "ledger"} {
			t.Run(what+" after "+at, func(t *testing.T) {
				src, dst, done := filledStore(t, 1200), memory.New(), false
				err := storage.Copy(t.Context(), dst, src, []*storage.Kind{parcels}, func(p storage.Progress) {
					if p.What == at && !done {
						done = true
						write(t, src, change)
					}
				})
				if err == nil && at != "ledger" {
					sameStores(t, src, dst)
				} else if !errors.Is(err, storage.ErrConflict) || !strings.Contains(err.Error(), "written to") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}
