package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// Commit hooks wait for the host's commit. They run once, and never for a refused call. Before
// the commit they take no slot of the workers.
func TestCommitHooksWaitForTheHost(t *testing.T) { synctest.Test(t, testCommitHooksWaitForTheHost) }

func testCommitHooksWaitForTheHost(t *testing.T) {
	b := newBench(t)
	wakes := b.startWorker(t)
	caller, done := api.Caller{Merchant: "mer_1"}, 0
	must.Do(t, b.Update(t.Context(), caller, func(tx *engine.Tx) error {
		expect.True(t, tx.RunAfterCommit(things.Kind(), "th_0", func(context.Context) error { return nil }), "no place is free; the test wants one")
		return nil
	}))
	before := len(wakes()) // and the slot is free again
	in := b.In(b.Store)
	call := func(id string, fails error) error {
		return in.Update(t.Context(), caller, func(tx *engine.Tx) error {
			if _, err := things.Insert(tx, engine.Scope(caller), id, thing{ID: id}); err != nil {
				return err
			}
			tx.WakeAfterCommit(things.Kind())
			tx.OnCommit(func() { done++ })
			expect.True(t, !tx.RunAfterCommit(things.Kind(), id, func(context.Context) error { return nil }), "work was handed over")
			return fails
		})
	}
	refused := errors.New("refused")
	must.Do(t, call("th_1", nil))
	expect.ErrorIs(t, call("th_2", refused), refused, "call")
	expect.True(t, len(wakes()) == before && done == 0, "before the host has committed: woken %v, told %d times", wakes(), done)
	for range 2 {
		in.HostCommitted()
		expect.True(t, len(wakes()) == before+1 && done == 1, "after: woken %v, told %d times", wakes(), done)
	}
}
