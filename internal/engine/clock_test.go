package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

func TestMoveClockRules(t *testing.T) {
	b := newBench(t)
	caller := api.Caller{Merchant: "mer_1"}
	begin := storage.Instant(b.now())
	const year = 365 * 24 * time.Hour
	planned := errors.New("planned")
	to := func(at time.Time) func(time.Time) (time.Time, error) {
		return func(time.Time) (time.Time, error) { return at, nil }
	}
	live := api.Caller{Merchant: "mer_1", Live: true}
	for _, step := range []struct {
		name   string
		caller api.Caller
		set    func(time.Time) (time.Time, error)
		code   api.Code
		ahead  time.Duration // the clock's lead afterwards
	}{
		{"to where it is", caller, to(begin), "", 0},
		{"by an hour and a bit", caller, to(begin.Add(time.Hour + 999*time.Microsecond)), "", time.Hour},
		{"back", caller, to(begin), api.ParameterInvalid, time.Hour},
		{"by one more", caller, to(begin.Add(2 * time.Hour)), "", 2 * time.Hour},
		{"in live mode", live, to(begin.Add(3 * time.Hour)), api.PermissionDenied, 2 * time.Hour},
		{"beyond a century", caller, to(begin.Add(100*year + time.Hour)), api.ParameterInvalid, 2 * time.Hour},
		{"beyond what a duration holds", caller, to(begin.AddDate(5000, 0, 0)), api.ParameterInvalid, 2 * time.Hour},
		{"a century", caller, to(begin.Add(100 * year)), "", 100 * year},
		{"and no more", caller, to(begin.Add(100*year + time.Millisecond)), api.ParameterInvalid, 100 * year},
	} {
		got, err := b.MoveClock(t.Context(), step.caller, engine.Operation{Name: "clock.move"}, step.set)
		expect.Equal(t, api.CodeOf(err), step.code, "%s: code", step.name)
		expect.True(t, step.code != "" || err == nil, "%s: got %v, want %q", step.name, err, step.code)
		expect.True(t, err != nil || got.Equal(begin.Add(step.ahead)), "%s: answers %s", step.name, got)
		var shown time.Time
		err = b.View(t.Context(), caller, func(tx *engine.ReadTx) error {
			shown = tx.Now
			return nil
		})
		expect.NoError(t, err, "%s", step.name)
		expect.True(t, shown.Equal(begin.Add(step.ahead)), "%s: the clock shows %s, %v", step.name, shown, err)
	}
	if _, err := b.MoveClock(t.Context(), caller, engine.Operation{Name: "clock.move"}, func(time.Time) (time.Time, error) { return begin, planned }); !errors.Is(err, planned) {
		t.Errorf("got %v", err)
	}
	b.Sandbox = false
	testkit.WantCode(t, "outside of a sandbox", testkit.Err(b.MoveClock(t.Context(), caller, engine.Operation{Name: "clock.move"}, to(begin.Add(200*year)))), api.PermissionDenied)
}

// AwakeClocks lists more clocks than one page holds.
func TestAllClocksAreListed(t *testing.T) {
	b := newBench(t)
	const merchants = 2*api.MaxLimit + 1
	for n := range merchants {
		caller := api.Caller{Merchant: fmt.Sprintf("mer_%03d", n)}
		must.Get(b.MoveClock(t.Context(), caller, engine.Operation{Name: "clock.move"}, func(now time.Time) (time.Time, error) { return now.Add(time.Duration(n) * time.Second), nil }))(t)
	}
	clocks := must.Get(b.awakeClocks(t.Context()))(t)
	seen := map[storage.Scope]time.Duration{}
	for _, c := range clocks {
		seen[c.Scope] = c.Now.Sub(storage.Instant(b.now()))
	}
	expect.Equal(t, len(clocks), merchants, "number of clocks")
	expect.Equal(t, len(seen), merchants, "number of merchants")
	for n := range merchants {
		expect.Equal(t, seen[storage.Scope{Merchant: fmt.Sprintf("mer_%03d", n)}], time.Duration(n)*time.Second, "clock %d is ahead by", n)
	}
}

// With a key the clock moves once, even by more than the retention of keys.
func TestMoveClockReplays(t *testing.T) {
	b := newBench(t)
	var replayed bool
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "k", Replayed: &replayed}
	move := func(days int) (*api.Time, error) {
		return b.MoveClock(t.Context(), caller, engine.Operation{Name: "clock.move", Params: days}, func(now time.Time) (time.Time, error) {
			return now.AddDate(0, 0, days), nil
		})
	}
	first, err := move(40)
	must.True(t, err == nil && !replayed, "%v, replayed %t", err, replayed)
	for range 2 {
		again, err := move(40)
		must.True(t, err == nil && replayed && again.Equal(first.Time), "again: %s, %v, replayed %t; want %s", again, err, replayed, first)
	}
	testkit.WantCode(t, "by another time", testkit.Err(move(41)), api.IdempotencyKeyReused)
	caller.IdempotencyKey, replayed = "another", false
	further := must.Get(move(40))(t)
	expect.True(t, !replayed, "with another key: %s, replayed %t", further, replayed)
	expect.True(t, further.Equal(first.AddDate(0, 0, 40)), "with another key: %s, replayed %t", further, replayed)
}

// rerun is a store that runs every transaction twice and keeps the second run, as a store does
// after a conflict at the first commit.
type rerun struct{ storage.Store }

var errConflict = errors.New("conflict at commit")

func (s rerun) Update(ctx context.Context, fn func(storage.Tx) error) error {
	err := s.Store.Update(ctx, func(tx storage.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errConflict
	})
	if !errors.Is(err, errConflict) {
		return err
	}
	return s.Store.Update(ctx, fn)
}

func TestTransactionMayRunAgain(t *testing.T) { synctest.Test(t, testTransactionMayRunAgain) }

func testTransactionMayRunAgain(t *testing.T) {
	b := newBench(t)
	wakes := b.startWorker(t)
	b.Store = rerun{b.Store}
	var made atomic.Int64
	var replayed bool
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "k", Replayed: &replayed}
	first, err := b.make(t, caller, "a", &made, nil)
	must.True(t, err == nil && !replayed, "%v, replayed %t", err, replayed)
	expect.Equal(t, made.Load(), 2, "runs of the transaction")
	expect.True(t, len(wakes()) == 1, "woken %v, want once", wakes())
	again, err := b.make(t, caller, "a", &made, nil)
	must.Do(t, err)
	expect.Equal(t, *again, *first, "again")
	expect.True(t, replayed, "again: %+v, %v, replayed %t", again, err, replayed)
	expect.Equal(t, b.count(t, caller), 1, "again: count")
	kept, err := engine.Get(t.Context(), b.Engine, caller, things, first.ID, "thing")
	must.Do(t, err)
	expect.Equal(t, kept.Value, *first, "the answer is not what was kept: value")
	for want := time.Hour; want <= 2*time.Hour; want += time.Hour {
		caller.IdempotencyKey = "for " + want.String()
		now, err := b.MoveClock(t.Context(), caller, engine.Operation{Name: "clock.move"}, func(now time.Time) (time.Time, error) { return now.Add(time.Hour), nil })
		must.Do(t, err)
		expect.Equal(t, now.Sub(storage.Instant(b.now())), want, "moved ahead by")
	}
}

// ForgetIdempotencyKeys removes expired keys. It keeps a key that another request has used since the claim.
func TestExpiredKeysAreForgotten(t *testing.T) {
	b := newBench(t)
	var made atomic.Int64
	for _, key := range []string{"k1", "k2", "k3"} {
		must.Get(b.make(t, api.Caller{Merchant: "mer_1", IdempotencyKey: key}, "a", &made, nil))(t)
	}
	kept := func() map[string]bool {
		keys := map[string]bool{}
		must.Do(t, b.Store.View(t.Context(), func(tx storage.ReadTx) error {
			page, err := tx.List(engine.Kinds()[0], storage.Query{Scope: storage.Scope{Merchant: "mer_1"}, Limit: 10})
			for _, r := range page {
				keys[r.ID] = true
			}
			return err
		}))
		return keys
	}
	job := b.ForgetIdempotencyKeys()
	beside := job.RunBatch
	job.RunBatch = func(ctx context.Context, records []storage.Record) error {
		// A request uses one of the keys again between the claim and the work.
		if _, err := b.make(t, api.Caller{Merchant: "mer_1", IdempotencyKey: "k2"}, "b", &made, nil); err != nil {
			t.Error(err)
		}
		return beside(ctx, records)
	}
	runner := &work.Runner{Store: b.Store, Clock: b.Clock, Log: b.Log, Poll: time.Second}
	runner.Add(job)
	drain := func() { must.Do(t, runner.Drain(t.Context())) }
	b.advance(30*24*time.Hour - time.Second)
	if drain(); len(kept()) != 3 {
		t.Errorf("a second too early %v are kept", kept())
	}
	b.advance(time.Second)
	if drain(); len(kept()) != 1 || !kept()["k2"] {
		t.Errorf("after a month %v are kept, want k2", kept())
	}
	testkit.WantCode(t, "the key that was used again", testkit.Err(b.make(t, api.Caller{Merchant: "mer_1", IdempotencyKey: "k2"}, "a", &made, nil)), api.IdempotencyKeyReused)
}

// Parameters or answers that do not marshal are bugs. The call fails at once and leaves nothing
// behind.
func TestUnmarshalableCallsFail(t *testing.T) {
	b := newBench(t)
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "k"}
	ran := false
	_, err := engine.Execute(t.Context(), b.Engine, caller, engine.Operation{Name: "x", Params: make(chan int)}, func(*engine.Tx) (*thing, error) {
		ran = true
		return &thing{}, nil
	})
	expect.True(t, err != nil, "parameters: got %v, ran %t", err, ran)
	expect.True(t, !ran, "parameters: got %v, ran %t", err, ran)
	_, err = engine.Execute(t.Context(), b.Engine, caller, engine.Operation{Name: "x"}, func(tx *engine.Tx) (*chan int, error) {
		if _, err := things.Insert(tx, engine.Scope(caller), "th_1", thing{}); err != nil {
			return nil, err
		}
		return new(chan int), nil
	})
	expect.True(t, err != nil, "answer: got %v", err)
	expect.Equal(t, api.CodeOf(err), "", "answer: code")
	testkit.WantCode(t, "what the failed call wrote", testkit.Err(engine.Get(t.Context(), b.Engine, caller, things, "th_1", "thing")), api.ResourceMissing)
}
