package account_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

// watched counts reads, and lets a test act between the result of a read and its return.
type watched struct {
	storage.Store
	views atomic.Int64
	found func()
}

func (w *watched) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	w.views.Add(1)
	err := w.Store.View(ctx, fn)
	if found := w.found; found != nil {
		w.found = nil
		found()
	}
	return err
}

// newWatched makes a merchant with a key in one process, and a second process over the same
// database.
func newWatched(t *testing.T) (here, there *bench, store *watched, caller api.Caller, key *account.Key) {
	there = newBench(t, nil)
	here = newBench(t, func(storage.Store) storage.Store {
		store = &watched{Store: there.engine.Store}
		return store
	})
	caller = api.Caller{Merchant: here.merchant(t)}
	key = must.Get(here.CreateKey(t.Context(), caller, account.CreateKeyParams{Resources: []string{"payouts"}}))(t)
	return here, there, store, caller, key
}

func TestKeysAreReadOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, _, store, _, key := newWatched(t)
		mustAuthenticate(t, here, key.Secret)
		before := store.views.Load()
		for range 10 {
			access, err := here.Authenticate(t.Context(), key.Secret)
			must.True(t, err == nil && access.Allows("payouts", true) && !access.Allows("payments", false), "access %+v, %v", access, err)
			access.Resources[0] = "payments" // the caller owns the returned list
		}
		expect.Equal(t, store.views.Load()-before, 0, "reads more within the second")
		time.Sleep(time.Second)
		mustAuthenticate(t, here, key.Secret)
		expect.Equal(t, store.views.Load()-before, 1, "reads after a second")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		expect.ErrorIs(t, testkit.Err(here.Authenticate(ended, key.Secret)), context.Canceled, "with an ended context")
	})
}

func TestEndedKeysAreForgotten(t *testing.T) {
	refused := func(t *testing.T, what string, b *bench, secret string) {
		t.Helper()
		testkit.WantCode(t, what, testkit.Err(b.Authenticate(t.Context(), secret)), api.APIKeyInvalid)
	}
	synctest.Test(t, func(t *testing.T) {
		here, there, _, caller, key := newWatched(t)
		mustAuthenticate(t, here, key.Secret)
		mustAuthenticate(t, there, key.Secret)
		must.Do(t, here.RevokeKey(t.Context(), caller, key.ID))
		refused(t, "revoked in this process", here, key.Secret)
		time.Sleep(time.Second)
		refused(t, "revoked in another, a second later", there, key.Secret)
	})
	synctest.Test(t, func(t *testing.T) {
		here, there, _, caller, key := newWatched(t)
		mustAuthenticate(t, here, key.Secret)
		must.Do(t, there.RevokeKey(t.Context(), caller, key.ID))
		must.Do(t, here.RevokeKey(t.Context(), caller, key.ID))
		refused(t, "revoked in another, and then in this", here, key.Secret)
	})
	synctest.Test(t, func(t *testing.T) {
		here, _, _, caller, key := newWatched(t)
		mustAuthenticate(t, here, key.Secret)
		must.Get(here.RollKey(t.Context(), caller, key.ID, account.RollKeyParams{Overlap: time.Minute}))(t)
		mustAuthenticate(t, here, key.Secret)
		here.advance(time.Minute) // of the service's clock; no real time passes
		refused(t, "at the end of the overlap", here, key.Secret)
	})
	synctest.Test(t, func(t *testing.T) {
		here, there, _, caller, key := newWatched(t)
		there.advance(-time.Minute)
		must.Do(t, here.RevokeKey(t.Context(), caller, key.ID))
		refused(t, "in a process whose clock is behind", there, key.Secret)
		here.advance(-time.Hour)
		refused(t, "after the clock was set back", here, key.Secret)
		testkit.WantCode(t, "roll after the clock was set back", testkit.Err(here.RollKey(t.Context(), caller, key.ID, account.RollKeyParams{})), api.ParameterInvalid)
	})
	synctest.Test(t, func(t *testing.T) {
		here, _, store, caller, key := newWatched(t)
		mustAuthenticate(t, here, key.Secret) // stores the use
		time.Sleep(time.Second)
		store.found = func() { expect.NoError(t, here.RevokeKey(t.Context(), caller, key.ID), "RevokeKey") }
		mustAuthenticate(t, here, key.Secret) // the cache knows the key
		refused(t, "revoked while it was being read", here, key.Secret)
	})
	synctest.Test(t, func(t *testing.T) {
		here, there, _, caller, key := newWatched(t)
		mustAuthenticate(t, here, key.Secret)
		in := here.engine.In(there.engine.Store)
		own := here.In(in)
		must.Do(t, own.RevokeKey(t.Context(), caller, key.ID))
		refused(t, "inside the host's transaction", &bench{Service: own}, key.Secret)
		in.HostCommitted()
		refused(t, "once the host has committed", here, key.Secret)
	})
}

// The host may roll back what the service sees inside its transaction.
func TestHostTransactionCachesNoKeys(t *testing.T) {
	here, there, _, caller, _ := newWatched(t)
	in := here.engine.In(there.engine.Store)
	own := here.In(in)
	key := must.Get(own.CreateKey(t.Context(), caller, account.CreateKeyParams{}))(t)
	mustAuthenticate(t, &bench{Service: own}, key.Secret)
	here.engine.Store = newBench(t, nil).engine.Store // as if all had been rolled back
	testkit.WantCode(t, "a key that never was", testkit.Err(here.Authenticate(t.Context(), key.Secret)), api.APIKeyInvalid)
}
