package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// inHost makes calls in a transaction of the host's, after a row of the host's,
// and ends it.
func inHost(t *testing.T, s *paymentstest.Shop, db hostDB, end func(hostTx) error, do func(*payments.Tx)) *payments.Tx {
	t.Helper()
	tx, store := db.begin()
	own := must.Get(s.InTx(t.Context(), store))(t)
	must.Do(t, tx.insert())
	do(own)
	must.Do(t, end(tx))
	return own
}

func commit(tx hostTx) error   { return tx.commit() }
func rollback(tx hostTx) error { return tx.rollback() }

func outside(phone string) payout.CreateParams {
	return payout.CreateParams{
		Amount:      decimal.NewFromInt(5),
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: phone, AccountName: "Ama Mensah"},
	}
}

// A payout whose code was verified before is made in the host's transaction. A
// code for one payout is used up by the commit, and by no other end.
func TestOwnTransactionPaysOut(t *testing.T) {
	onEachHost(t, payments.Config{SingleUseOTP: true}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		ctx := t.Context()
		s.OTP()
		var made *payout.Transfer
		pay := func(own *payments.Tx) {
			made = must.Get(own.Payouts.Create(ctx, s.Caller, outside("0241234567")))(t)
			expect.Equal(t, made.Status, payout.Pending, "it is made")
			testkit.WantCode(t, "a second one for the same code", testkit.Err(own.Payouts.Create(ctx, s.Caller, outside("0241234567"))), api.OTPVerificationRequired)
		}
		inHost(t, s, db, rollback, pay)
		testkit.WantCode(t, "rolled back", testkit.Err(s.Payouts.Get(ctx, s.Caller, made.ID)), api.ResourceMissing)
		inHost(t, s, db, commit, pay).Wake()
		s.Work()
		is := must.Get(s.Payouts.Get(ctx, s.Caller, made.ID))(t)
		expect.Equal(t, is.Status, payout.Succeeded, "the payout's status")
		expect.Equal(t, db.count(), 1, "rows beside it")
		inHost(t, s, db, rollback, func(own *payments.Tx) {
			testkit.WantCode(t, "a code that is used up", testkit.Err(own.Payouts.Create(ctx, s.Caller, outside("0241234567"))), api.OTPVerificationRequired)
		})
	})
}

// Five wrong entries end a verified code, in the host's transaction, too.
func TestOwnTransactionHeedsWrongEntries(t *testing.T) {
	onEachHost(t, payments.Config{}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		code, other := s.OTP(), "000000"
		if code == other {
			other = "111111"
		}
		for n := range 6 {
			want := api.Code("")
			if n == 5 {
				want = api.OTPVerificationRequired
			}
			inHost(t, s, db, rollback, func(own *payments.Tx) {
				testkit.WantCode(t, fmt.Sprint("a payout after wrong entries: ", n), testkit.Err(own.Payouts.Create(t.Context(), s.Caller, outside("0241234567"))), want)
			})
			_, err := s.Payouts.VerifyOTP(t.Context(), s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: other})
			expect.True(t, err != nil, "a wrong entry is taken")
		}
	})
}

// In test mode a hundred wrong entries in ten minutes lock all codes, in the host's transaction, too.
func TestOwnTransactionHeedsLockOfCodes(t *testing.T) {
	onEachHost(t, payments.Config{}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		pay := func(want api.Code) {
			t.Helper()
			inHost(t, s, db, rollback, func(own *payments.Tx) {
				testkit.WantCode(t, "a payout", testkit.Err(own.Payouts.Create(t.Context(), s.Caller, outside("0241234567"))), want)
			})
		}
		for n := range 25 {
			code := s.OTP()
			if n == 24 {
				pay("")
			}
			other := "000000"
			if code == other {
				other = "111111"
			}
			for range 4 {
				_, err := s.Payouts.VerifyOTP(t.Context(), s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: other})
				testkit.WantCode(t, "a wrong one", err, api.OTPInvalid)
			}
		}
		pay(api.OTPVerificationRequired)
	})
}

// Everything that a transaction of the host's did is gone when it rolls back, and
// no subscriber or endpoint hears of it.
func TestOwnTransactionLeavesNothing(t *testing.T) {
	onEachHost(t, payments.Config{WebhookAllow: paymentstest.Loopback()}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		ctx := t.Context()
		var told atomic.Int64
		s.Events.Subscribe("books", func(context.Context, api.Caller, event.Event) error { told.Add(1); return nil })
		inbox := s.Inbox("*")
		s.OTP()
		code := s.Pay(makeCode(t, s), 300)
		price, automatic := int64(700), invoice.ChargeAutomatically
		do := func(own *payments.Tx) {
			must.Get(own.Payouts.Create(ctx, s.Caller, outside("0241234567")))(t)
			must.Get(own.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
				Lines: []invoice.LineParams{{Description: "Juice", UnitAmount: &price}}, CollectionMethod: &automatic,
			}}))(t)
			must.Get(own.Refunds.Create(ctx, s.Caller, refund.CreateParams{Payment: code.ID}))(t)
			must.Get(own.Payouts.RequestOTP(ctx, s.Caller, payout.ForPayout))(t)
		}
		s.Work()
		before, heard := testkit.Contents(t, db.all, s.Caller.Merchant), told.Load()
		inHost(t, s, db, rollback, do)
		s.Work()
		expect.Same(t, testkit.Contents(t, db.all, s.Caller.Merchant), before, "it left")
		expect.Equal(t, told.Load(), heard, "events that were told, with those before")
		expect.Equal(t, db.count(), 0, "rows")

		received := len(inbox.Events())
		inHost(t, s, db, commit, do).Wake()
		s.Work()
		// The observer of the service is told of this, too.
		n := int64(len(inbox.Events()) - received)
		expect.True(t, n >= 6, "an endpoint was told of %d events", n)
		expect.Equal(t, told.Load()-heard, n, "events that a subscriber was told of, as an endpoint was")
		list := must.Get(s.Invoices.List(ctx, s.Caller, invoice.ListParams{}))(t)
		must.True(t, len(list.Data) == 1, "invoices: %+v, want one", list)
		expect.Equal(t, list.Data[0].Status, invoice.Paid, "the invoice's status")
	})
}

func makeCode(t *testing.T, s *paymentstest.Shop) string {
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till"}))(t)
	return code.ID
}

// The workers, and the subscribers, hear of what the host has committed when it
// says so, and need not find out by themselves.
func TestOwnTransactionWakes(t *testing.T) {
	onEachHost(t, payments.Config{Poll: time.Hour}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		heard := map[event.Type]chan bool{"disbursement.created": make(chan bool, 10), "disbursement.completed": make(chan bool, 10)}
		s.Events.Subscribe("books", func(_ context.Context, _ api.Caller, e event.Event) error {
			if about := heard[e.Type]; about != nil {
				about <- true
			}
			return nil
		})
		s.Start(t.Context())
		defer func() { must.Do(t, s.Stop(context.Background())) }()
		for range 3 {
			own := inHost(t, s, db, commit, func(own *payments.Tx) {
				p := outside("0241234567")
				must.Get(own.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{Amount: p.Amount, Destination: p.Destination}))(t)
			})
			own.Wake()
			for kind, about := range heard {
				select {
				case <-about:
				case <-time.After(time.Minute):
					t.Fatalf("nobody was told of %s", kind)
				}
			}
		}
	})
}

// Where others came in between, the host begins again, and the second time
// everything is there once.
func TestOwnTransactionBeginsAgain(t *testing.T) {
	onEachHost(t, payments.Config{}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		ctx := t.Context()
		caller := s.Caller
		caller.IdempotencyKey = "order-1"
		params := disbursement.CreateParams{Amount: decimal.NewFromInt(5), Destination: outside("0241234567").Destination}
		tx, store, free := db.blocked(s)
		own := must.Get(s.InTx(ctx, store))(t)
		if _, err := own.Disbursements.Create(ctx, caller, params); !errors.Is(err, storage.ErrRetry) || api.CodeOf(err) != "" {
			t.Errorf("in the way of another: %v", err)
		}
		must.Do(t, tx.rollback())
		free()
		inHost(t, s, db, commit, func(own *payments.Tx) { must.Get(own.Disbursements.Create(ctx, caller, params))(t) })
		list := must.Get(s.Disbursements.List(ctx, s.Caller, payout.ListParams{}))(t)
		expect.Equal(t, len(list.Data), 1, "disbursements")
		expect.Equal(t, db.count(), 1, "rows")
	})
}

// counted is a provider that counts how often it is asked.
type counted struct {
	provider.Simulated
	asked *atomic.Int64
}

func (c counted) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	c.asked.Add(1)
	return c.Simulated.Submit(ctx, o)
}

func (c counted) Check(ctx context.Context, o provider.Transfer) error {
	c.asked.Add(1)
	return c.Simulated.Check(ctx, o)
}

func (c counted) AccountName(ctx context.Context, e provider.Enquiry) (string, error) {
	c.asked.Add(1)
	return c.Simulated.AccountName(ctx, e)
}

type countedCharger struct{ asked *atomic.Int64 }

func (c countedCharger) Charge(context.Context, provider.Charge) (provider.Result, error) {
	c.asked.Add(1)
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c countedCharger) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.NotFound}, nil
}

// While the host's transaction is open no provider is asked anything: what
// needs that is refused, and leaves nothing.
func TestOwnTransactionAsksNobody(t *testing.T) {
	var asked atomic.Int64
	config := payments.Config{
		WebhookAllow: paymentstest.Loopback(), Test: payments.Providers{Rail: counted{asked: &asked}, Charger: countedCharger{&asked}},
	}
	onEachHost(t, config, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		ctx := t.Context()
		price := int64(700)
		bill := must.Get(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
			Lines: []invoice.LineParams{{Description: "Juice", UnitAmount: &price}},
		}}))(t)
		inbox := s.Inbox(event.InvoicePaid)
		endpoints := must.Get(s.Webhooks.List(ctx, s.Caller, webhook.ListParams{}))(t)
		s.OTP()
		s.Work()
		before := testkit.Contents(t, db.all, s.Caller.Merchant)
		asked.Store(0)
		matched := outside("0241234567")
		matched.Destination.MatchName = true
		inHost(t, s, db, commit, func(own *payments.Tx) {
			for what, err := range map[string]error{
				"pay":                testkit.Err(own.Invoices.Pay(ctx, s.Caller, bill.ID, invoice.PayParams{})),
				"ping":               testkit.Err(own.Webhooks.Ping(ctx, s.Caller, endpoints.Data[0].ID)),
				"look up a name":     testkit.Err(own.Payouts.LookUpAccountName(ctx, s.Caller, payout.DestinationParams{PhoneNumber: "0241234567"})),
				"pay out to a name":  testkit.Err(own.Payouts.Create(ctx, s.Caller, matched)),
				"disburse to a name": testkit.Err(own.Disbursements.Create(ctx, s.Caller, disbursement.CreateParams{Amount: matched.Amount, Destination: matched.Destination})),
			} {
				expect.ErrorIs(t, err, api.ErrNetworkInTx, "%s", what)
			}
		})
		expect.Same(t, testkit.Contents(t, db.all, s.Caller.Merchant), before, "what was refused left")
		// What is paid already, or sent later, asks no provider.
		inHost(t, s, db, commit, func(own *payments.Tx) {
			must.Get(own.Invoices.Pay(ctx, s.Caller, bill.ID, invoice.PayParams{PaidOutOfBand: true, PaymentMethod: "cash"}))(t)
			must.Get(own.Payouts.Create(ctx, s.Caller, outside("0241234567")))(t)
			must.Get(own.Webhooks.Create(ctx, s.Caller, webhook.CreateParams{URL: "http://127.0.0.1:9/webhooks", Events: []event.Type{"*"}}))(t)
		}).Wake()
		expect.Equal(t, asked.Load(), 0, "questions were asked")
		s.Work()
		expect.Equal(t, len(inbox.Events()), 1, "events")
		expect.Equal(t, asked.Load(), 1, "orders to the rail")
	})
}

// Seals that are made in the host's transaction are under the same key.
func TestOwnTransactionSeals(t *testing.T) {
	onEachHost(t, payments.Config{}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		inHost(t, s, db, commit, func(own *payments.Tx) {
			expect.True(t, must.Get(own.Accounts.Seal(t.Context()))(t) > 0, "no entry was sealed")
		})
		v := must.Get(s.Accounts.Verify(t.Context()))(t)
		expect.True(t, len(v.Problems) == 0, "Verify: %+v", v)
	})
}
