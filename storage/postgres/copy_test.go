package postgres_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// A copy from memory to SQLite, to PostgreSQL and back holds the same data each time.
func TestCopyBetweenAllStores(t *testing.T) {
	file := must.Get(sqlite.Open(t.Context(), filepath.Join(effort.TempDir(t), "copy.db"), sqlite.Config{}))(t)
	defer file.Close()
	first := memory.New()
	kinds := []*storage.Kind{things}
	must.Do(t, first.Define(t.Context(), kinds...))
	for step := range uint64(600) {
		play(t, first, 99, step)
	}
	wanted := contents(t, first)
	must.True(t, len(wanted.Records) != 0 && len(wanted.Postings) >= 10 && len(wanted.Sequences) == 2, "too little to copy: %+v", wanted)
	src := storage.Store(first)
	for _, dst := range []storage.Store{file, pgtest.Store(t), memory.New()} {
		last := map[string]int64{}
		must.Do(t, storage.Copy(t.Context(), dst, src, kinds, func(p storage.Progress) { last[p.What] = p.Done }))
		expect.Same(t, contents(t, dst), wanted, "%T", dst)
		if done := (map[string]int64{things.Name: int64(len(wanted.Records)), "sequences": 2, "ledger": int64(len(wanted.Postings))}); !cmp.Equal(done, last) {
			t.Errorf("progress %v, want %v", last, done)
		}
		expect.ErrorIs(t, storage.Copy(t.Context(), dst, src, kinds, nil), storage.ErrExists, "copy into what is not empty")
		src = dst
	}
}

// corruptStore is a store with a corrupted ledger.
type corruptStore struct{ storage.Store }

type corruptTx struct{ storage.ReadTx }

func (c corruptStore) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return c.Store.View(ctx, func(tx storage.ReadTx) error { return fn(corruptTx{tx}) })
}

func (c corruptTx) Postings(after string, limit int) ([]storage.Booked, error) {
	all, err := c.ReadTx.Postings(after, limit)
	for i := range all {
		all[i].Entries[0].Balance++
	}
	return all, err
}

func TestCopyRefusesInconsistentLedger(t *testing.T) {
	src := memory.New()
	must.Do(t, src.Update(t.Context(), func(tx storage.Tx) error { return tx.Post(transfer("p")) }))
	if err := storage.Copy(t.Context(), memory.New(), corruptStore{src}, nil, nil); err == nil {
		t.Error("a ledger in which an entry has another balance is copied")
	}
}

type storeContents struct {
	Records   []storage.Record
	Balances  []storage.Balance
	Postings  []storage.Booked
	Sequences []storage.Sequence
}

// contents reads everything that a store holds. A copy does not keep versions.
func contents(t *testing.T, s storage.Store) (all storeContents) {
	t.Helper()
	must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
		var last storage.Record
		for {
			batch, err := tx.Scan(things, last.Scope, last.ID, 7)
			if err != nil {
				return err
			}
			if len(batch) == 0 {
				break
			}
			last = batch[len(batch)-1]
			for _, r := range batch {
				r.Version = 0
				all.Records = append(all.Records, r)
			}
		}
		var err error
		if all.Sequences, err = tx.Sequences("", 99); err != nil {
			return err
		}
		if all.Balances, err = tx.Balances("", 99); err != nil {
			return err
		}
		all.Postings, err = tx.Postings("", 999)
		return err
	}))
	return all
}
