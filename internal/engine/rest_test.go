package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// counting counts the transactions of a store.
type counting struct {
	storage.Store
	n int
}

func (c *counting) Update(ctx context.Context, fn func(storage.Tx) error) error {
	c.n++
	return c.Store.Update(ctx, fn)
}

func (c *counting) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	c.n++
	return c.Store.View(ctx, fn)
}

// chore falls due by the merchant's clock, and is then removed.
type chore struct {
	Due api.Time `json:"due"`
}

var chores = storage.NewCollection("chores", []storage.Field[chore]{{
	Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
	Value:  func(c *chore) any { return c.Due.Time },
}}, storage.DueBy("due"))

// looking returns a bench with resting clocks. Its function does the due work and returns the
// number of transactions that it took.
func looking(t *testing.T) (*bench, func() int) {
	b := newBench(t)
	store := &counting{Store: b.Store}
	b.Store = store
	runner := &work.Runner{Store: store, Clock: b.Clock, Log: b.Log, Poll: time.Second, Clocks: b.awakeClocks}
	runner.Add(b.ForgetIdempotencyKeys(), work.Job{
		Kind: chores.Kind(), Timeout: time.Minute, Batch: 500,
		RunBatch: func(ctx context.Context, records []storage.Record) error {
			return store.Update(ctx, func(tx storage.Tx) error {
				for _, r := range records {
					if err := tx.Delete(chores.Kind(), r.Scope, r.ID, r.Version); err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
	runner.Add(b.RestClocks(runner.Kinds()))
	return b, func() int {
		t.Helper()
		store.n = 0
		must.Do(t, runner.Drain(t.Context()))
		return store.n
	}
}

// advance moves a merchant's clock.
func advance(t *testing.T, b *bench, merchant string, by time.Duration) {
	t.Helper()
	must.Get(b.MoveClock(t.Context(), api.Caller{Merchant: merchant}, engine.Operation{Name: "clock.move"},
		func(now time.Time) (time.Time, error) { return now.Add(by), nil }))(t)
}

// awake returns the number of awake clocks.
func awake(t *testing.T, b *bench) int {
	t.Helper()
	clocks := must.Get(b.awakeClocks(t.Context()))(t)
	return len(clocks)
}

// Clocks without due work cost nothing, whatever their number.
func TestRestingClocksCostNothing(t *testing.T) {
	b, look := looking(t)
	without := look()
	for n := range 1000 {
		advance(t, b, fmt.Sprint("mer_", n), time.Hour)
	}
	expect.Equal(t, awake(t, b), 1000, "clocks awake after they were moved")
	b.advance(2 * time.Second)
	look()
	expect.Equal(t, awake(t, b), 0, "clocks awake with nothing to do")
	b.advance(time.Hour)
	expect.Equal(t, look(), without, "transactions of a look with resting clocks")
}

// A resting clock wakes when something is due by it, whether written before or since.
func TestRestingClocksWakeInTime(t *testing.T) {
	b, look := looking(t)
	const ahead, life = 10 * 24 * time.Hour, 30 * 24 * time.Hour
	caller := api.Caller{Merchant: "mer_1"}
	use := func() {
		t.Helper()
		must.Do(t, b.Update(t.Context(), caller, func(tx *engine.Tx) error {
			tx.WakeAfterCommit(chores.Kind())
			_, err := chores.Insert(tx, engine.Scope(caller), tx.NewID("ch_"), chore{api.At(tx.Now.Add(life))})
			return err
		}))
	}
	rest := func() {
		t.Helper()
		b.advance(2 * time.Second)
		if look(); awake(t, b) != 0 {
			t.Error("the clock is awake, with nothing to do")
		}
	}
	kept := func() (n int) {
		must.Do(t, b.Store.View(t.Context(), func(tx storage.ReadTx) error {
			page, err := tx.List(chores.Kind(), storage.Query{Scope: engine.Scope(caller), Limit: 10})
			n = len(page)
			return err
		}))
		return n
	}

	use()
	advance(t, b, caller.Merchant, ahead)
	rest()
	// Five seconds before the chore is due by the clock, the worker leaves it.
	b.advance(life - ahead - 5*time.Second)
	if look(); kept() != 1 {
		t.Error("the chore was done too early")
	}
	b.advance(5 * time.Second)
	if look(); kept() != 0 {
		t.Error("the chore was not done when it was due by the clock")
	}

	rest()
	use()
	expect.True(t, awake(t, b) == 1, "the clock rests, though something was written by it")
	rest()
	advance(t, b, caller.Merchant, life)
	expect.True(t, awake(t, b) == 1, "the clock rests, though it was moved")
	if look(); kept() != 0 {
		t.Error("the chore was not done when the clock was moved past its due time")
	}
}

// An idempotency key that expires by a test clock has no effect from then on. The job removes it
// at its expiry by the real clock, and no clock wakes for it.
func TestKeysAreForgottenByTheRealClock(t *testing.T) {
	b, look := looking(t)
	const life = 30 * 24 * time.Hour
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "k"}
	advance(t, b, caller.Merchant, 10*life)
	var made atomic.Int64
	use := func(name string) error { return testkit.Err(b.make(t, caller, name, &made, nil)) }
	kept := func(want int) {
		t.Helper()
		look()
		must.Do(t, b.Store.View(t.Context(), func(tx storage.ReadTx) error {
			page, err := tx.List(engine.Kinds()[0], storage.Query{Scope: engine.Scope(caller), Limit: 10})
			expect.True(t, len(page) == want, "%d keys are kept, want %d", len(page), want)
			return err
		}))
	}
	must.Do(t, use("a"))
	testkit.WantCode(t, "a key that was used for another request", use("b"), api.IdempotencyKeyReused)
	advance(t, b, caller.Merchant, life)
	if kept(1); awake(t, b) != 1 {
		t.Error("the clock rests as soon as it was moved")
	}
	b.advance(2 * time.Second)
	if kept(1); awake(t, b) != 0 {
		t.Error("the clock is awake for a key")
	}
	expect.NoError(t, use("b"), "after the key has expired")
	testkit.WantCode(t, "the key stands for the expired request", use("a"), api.IdempotencyKeyReused)
	b.advance(life - time.Second)
	kept(1)
	b.advance(time.Second)
	kept(0)
}
