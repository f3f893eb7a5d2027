package refund_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Whichever operation of the store fails, a call says so, and under its key it gives
// back once when it is made again.
func TestStoreFailuresAreReturned(t *testing.T) {
	store := faultstore.New(memory.New())
	s := open(t, store, payments.Config{})
	ctx := t.Context()
	named := func(key string) api.Caller { return api.Caller{Merchant: s.Caller.Merchant, IdempotencyKey: key} }
	code, err := s.QRCodes.Create(ctx, s.Caller, qrcode.CreateParams{})
	must.Do(t, err)
	paid := s.Pay(code.ID, 10_00)
	price := int64(20_00)
	charged := func(method string) *invoice.Invoice {
		t.Helper()
		v := must.Get(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: &price}}}}))(t)
		v = must.Get(s.Invoices.Pay(ctx, s.Caller, v.ID, invoice.PayParams{PaymentMethod: method}))(t)
		return v
	}
	quick, slow, refused := charged("pm_1"), charged("pm_refund_slow_1"), charged("pm_refund_slow_2")

	create := func(name, key string, p refund.CreateParams) (made *refund.Refund) {
		t.Helper()
		store.Each(t, name, func() (err error) {
			made, err = s.Refunds.Create(ctx, named(key), p)
			return err
		})
		return made
	}
	toWallet := create("Create, to a wallet", "r-1", refund.CreateParams{Payment: paid.ID, Amount: new(int64(4_00))})
	outside := create("Create, of an invoice", "r-2", refund.CreateParams{Invoice: quick.ID})
	byHand := create("Create, of another", "r-3", refund.CreateParams{Invoice: slow.ID, Amount: new(int64(5_00))})
	declined := create("Create, of a third", "r-4", refund.CreateParams{Invoice: refused.ID})
	if toWallet.Status != refund.Succeeded || outside.Status != refund.Pending {
		t.Errorf("made %+v and %+v", toWallet, outside)
	}
	hit := true
	for k := 1; hit; k++ {
		store.FailAt(k)
		s.Pass(24 * time.Hour)
		err := s.Drain(ctx)
		if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		if k > 500 {
			t.Fatal("the work has no end")
		}
	}
	store.Each(t, "Settle", func() error {
		err := s.Providers.Settle(ctx, s.Caller, byHand.ID, provider.Result{Outcome: provider.Paid})
		return err
	})
	store.Each(t, "Settle, declined", func() error {
		err := s.Providers.Settle(ctx, s.Caller, declined.ID, provider.Result{Outcome: provider.Refused})
		return err
	})
	store.Each(t, "Get", func() error { _, err := s.Refunds.Get(ctx, s.Caller, byHand.ID); return err })
	store.Each(t, "List", func() error { _, err := s.Refunds.List(ctx, s.Caller, refund.ListParams{}); return err })
	store.Each(t, "Stuck", func() error { _, err := s.Providers.List(ctx, api.Caller{}, provider.ListParams{}); return err })
	store.Each(t, "CreditNote", func() error { _, err := s.Refunds.CreditNote(ctx, s.Caller, byHand.ID); return err })
	_, err = s.Refunds.CreditNote(ctx, s.Caller, "re_1")
	wants(t, "the note of nothing", err, api.ResourceMissing, "")
	err = s.Providers.Settle(ctx, s.Caller, "re_1", provider.Result{Outcome: provider.Paid})
	wants(t, "settled nothing", err, api.ResourceMissing, "")
	failed, err := s.Refunds.Get(ctx, s.Caller, declined.ID)
	if err != nil || failed.Status != refund.Failed || failed.FailureReason == nil || *failed.FailureReason == "" {
		t.Errorf("declined: %+v, %v", failed, err)
	}

	// 1,000 at first, 10 and 60 taken, 4, 20 and 5 refunded.
	balance, err := s.Accounts.Balance(ctx, s.Caller)
	if err != nil || balance.Available.StringFixed(2) != "1041.00" || !balance.Reserved.IsZero() {
		t.Errorf("the balance is %+v, %v", balance, err)
	}
	count := map[event.Type]int{}
	for e, err := range api.All(ctx, s.Caller, event.ListParams{}, s.Events.List) {
		must.Do(t, err)
		switch e.Type {
		case event.RefundCreated, event.RefundSucceeded, event.RefundFailed:
			count[e.Type]++
		}
	}
	if diff := cmp.Diff(map[event.Type]int{event.RefundCreated: 4, event.RefundSucceeded: 3, event.RefundFailed: 1}, count); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	v := must.Get(s.Accounts.Verify(ctx))(t)
	for _, p := range v.Problems {
		t.Error(p)
	}
}
