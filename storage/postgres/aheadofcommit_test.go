package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// Batches run ahead of commits that are still running, and some of those commits fail: a key was
// taken, or another process has committed. Each successful update is there once, on top of the
// one before it, and each refusal was right.
func TestBatchesRunAheadOfCommits(t *testing.T) {
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) { batchesAheadOfCommits(t, processes) })
	}
}

func batchesAheadOfCommits(t *testing.T, processes int) {
	const callers, each, money = 12, 25, 40
	schema := pgtest.Schema(t)
	var stores []*postgres.Store
	for range processes {
		stores = append(stores, openNotes(t, pgtest.Pool(t, 6), postgres.Config{Schema: schema, MaxBatchSize: 5}))
	}
	err := stores[0].Update(t.Context(), func(tx storage.Tx) error {
		counter := note("counter")
		counter.Columns[0] = int64(0)
		if err := tx.Insert(notes, counter); err != nil {
			return err
		}
		p := transfer("begin")
		p.Moves = []storage.Move{{Account: "guarded/purse", Guarded: true, Amount: money}, {Account: "open/from", Amount: -money}}
		return tx.Post(p)
	})
	must.Do(t, err)
	var counted, spent, taken, short atomic.Int64
	var all sync.WaitGroup
	for c := range callers {
		s := stores[c%processes]
		all.Go(func() {
			for n := range each {
				switch err := updateAndCheck(t.Context(), s, c, n); {
				case err == nil:
					counted.Add(1)
					if isSpending(n) {
						spent.Add(1)
					}
				case errors.Is(err, storage.ErrExists):
					taken.Add(1)
				case errors.Is(err, storage.ErrInsufficient):
					short.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	err = stores[0].View(t.Context(), func(tx storage.ReadTx) error {
		counter, err := tx.Get(notes, scope, "counter")
		if err != nil {
			return err
		}
		if got := counter.Columns[0].(int64); got != counted.Load() || counter.Version != got+1 {
			t.Errorf("counted to %d in %d versions, want %d", got, counter.Version, counted.Load())
		}
		purse, err := tx.Balance("guarded/purse")
		if err != nil {
			return err
		}
		if purse.Amount != money-spent.Load() || purse.Entries != 1+spent.Load() {
			t.Errorf("the purse has %d by %d entries; %d were spent of %d", purse.Amount, purse.Entries, spent.Load(), money)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if taken.Load() == 0 || short.Load() == 0 || spent.Load() != money {
		t.Errorf("%d keys were taken, %d were short of money, %d spent: too little to show anything", taken.Load(), short.Load(), spent.Load())
	}
}

func isSpending(n int) bool { return n%3 == 1 && n%5 != 2 }

// updateAndCheck makes one update of a caller. Some updates must be refused.
func updateAndCheck(ctx context.Context, s *postgres.Store, c, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.Update(ctx, func(tx storage.Tx) error {
		counter, err := tx.Get(notes, scope, "counter")
		if err != nil {
			return err
		}
		counter.Columns[0] = counter.Columns[0].(int64) + 1
		if err := tx.Replace(notes, counter); err != nil {
			return err
		}
		switch n % 5 {
		case 2: // the same id as another caller's
			return tx.Insert(notes, note(fmt.Sprintf("shared_%d", n)))
		case 3: // asks the database
			if _, err := tx.List(notes, storage.Query{Scope: scope, Limit: 3}); err != nil {
				return err
			}
		case 4:
			if c == 0 {
				cancel()
			}
		}
		if isSpending(n) {
			p := transfer(fmt.Sprintf("spend_%d_%d", c, n))
			p.Moves = []storage.Move{{Account: "guarded/purse", Guarded: true, Amount: -1}, {Account: "open/to", Amount: 1}}
			return tx.Post(p)
		}
		return nil
	})
}

// Reads of single records share a round trip. A cancelled read does not affect the others.
func TestPointReadsShareRoundTrips(t *testing.T) {
	store := openNotes(t, pgtest.Pool(t, 8), postgres.Config{Schema: pgtest.Schema(t)})
	const known = 20
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		for i := range known {
			if err := tx.Insert(notes, note(fmt.Sprint("n", i))); err != nil {
				return err
			}
		}
		return nil
	}))
	var all sync.WaitGroup
	for c := range 32 {
		all.Go(func() {
			for n := range 60 {
				ctx, cancel := context.WithCancel(t.Context())
				id := fmt.Sprint("n", n%(known+1))
				if c == 0 {
					go cancel()
				}
				r, err := store.GetOne(ctx, notes, scope, id)
				switch {
				case c == 0 && errors.Is(err, context.Canceled):
				case n%(known+1) == known:
					expect.True(t, errors.Is(err, storage.ErrNotFound), "what is not there: %v", err)
				case err != nil || r.ID != id || r.Scope != scope:
					t.Errorf("%s: got %+v, %v", id, r, err)
				}
				cancel()
			}
		})
	}
	all.Wait()
}
