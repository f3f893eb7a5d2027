package faults_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// slowRail decides nothing, and counts how often it is asked.
type slowRail struct{ asked *atomic.Int64 }

func (r slowRail) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	r.asked.Add(1)
	return provider.Result{Outcome: provider.InProgress}, nil
}

func (r slowRail) Status(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	return r.Submit(ctx, o)
}

// A callback that comes between any two transactions of the worker settles the
// transfer, once, and the rail is not asked about it any more.
func TestACallbackAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, backend := range testkit.Backends {
		t.Run(backend.Name, func(t *testing.T) {
			t.Parallel()
			callbackAtAnyMoment(t, backend.Open(t), effort.Of(backend.Every, 1))
		})
	}
}

// It is so, too, when orders cannot be claimed and begun in one transaction.
func TestACallbackOneByOne(t *testing.T) {
	t.Parallel()
	callbackAtAnyMoment(t, oneByOne{testkit.Backends[0].Open(t)}, 1)
}

func callbackAtAnyMoment(t *testing.T, inner storage.Store, every int) {
	t.Helper()
	defer func() { must.Do(t, inner.Close()) }()
	store, now, asked := faultstore.New(inner), time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC), &atomic.Int64{}
	svc := testkit.New(t, store, payments.Config{Serial: true, Live: payments.Providers{Rail: slowRail{asked}}, Clock: func() time.Time { return now }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID, Live: true}
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(900), Source: "bank"}))
	early := 0
	for k := 1; k <= most; k += every {
		made := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
			Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
		}))(t)
		asked.Store(0)
		var told int64 // how often the rail had been asked when the callback came
		store.BetweenAt(k, func() {
			must.Do(t, svc.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid}))
			told = asked.Load()
		})
		must.Do(t, svc.Drain(t.Context()))
		if !store.Heal() {
			must.Do(t, svc.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Refused}))
			break
		}
		before := asked.Load()
		if before == 0 {
			early++
		}
		expect.Equal(t, before, told, "at transaction %d: the rail is asked about a settled transfer", k)
		for range 3 {
			now = now.Add(time.Hour)
			must.Do(t, svc.Drain(t.Context()))
		}
		if after := asked.Load(); after != before {
			t.Errorf("at transaction %d: a settled transfer is asked about %d times more", k, after-before)
		}
		is := must.Get(svc.Disbursements.Get(t.Context(), caller, made.ID))(t)
		expect.Equal(t, is.Status, payout.Completed, "at transaction %d", k)
	}
	expect.True(t, early != 0, "no callback came before the rail was asked")
	if v, err := svc.Accounts.Verify(t.Context()); err != nil || len(v.Problems) > 0 {
		t.Errorf("Verify: %+v, %v", v, err)
	}
}

// oneByOne is a store that refuses to claim records in a transaction with the work on them.
type oneByOne struct{ storage.Store }

func (s oneByOne) Update(ctx context.Context, fn func(storage.Tx) error) error {
	return s.Store.Update(ctx, func(tx storage.Tx) error { return fn(oneByOneTx{tx}) })
}

type oneByOneTx struct{ storage.Tx }

func (tx oneByOneTx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	if c.InTx {
		return nil, errors.New("one by one")
	}
	return tx.Tx.Claim(k, c)
}

// forgetful is a rail whose first answer is lost; it knows of the order.
type forgetful struct{ submitted, asked *atomic.Int64 }

func (r forgetful) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	r.submitted.Add(1)
	return provider.Result{}, errors.New("the answer is lost")
}

func (r forgetful) Status(context.Context, provider.Transfer) (provider.Result, error) {
	r.asked.Add(1)
	return provider.Result{Outcome: provider.Paid}, nil
}

// A transfer whose submission was not answered is asked about before it is
// submitted again, so that even a rail that breaks its promise sends money once.
func TestWhatIsUnknownIsAskedAbout(t *testing.T) {
	now, rail := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC), forgetful{&atomic.Int64{}, &atomic.Int64{}}
	svc := testkit.New(t, testkit.Backends[0].Open(t), payments.Config{Live: payments.Providers{Rail: rail}, Clock: func() time.Time { return now }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID, Live: true}
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(9), Source: "bank"}))
	made := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	}))(t)
	for range 2 {
		must.Do(t, svc.Drain(t.Context()))
		now = now.Add(time.Minute)
	}
	is := must.Get(svc.Disbursements.Get(t.Context(), caller, made.ID))(t)
	if s, a := rail.submitted.Load(), rail.asked.Load(); s != 1 || a != 1 || is.Status != payout.Completed {
		t.Errorf("submitted %d times, asked about %d times, %s", s, a, is.Status)
	}
}
