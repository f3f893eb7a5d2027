package payout_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/railtest"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
)

// charger takes money without failures, and refunds it as a chaotic rail does.
type charger struct{ rail *railtest.Chaos }

func (c *charger) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c *charger) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, o)
}

func (c *charger) Refund(ctx context.Context, o provider.Refund) (provider.Result, error) {
	return c.rail.Submit(ctx, provider.Transfer{Order: o.Order})
}

func (c *charger) RefundStatus(ctx context.Context, o provider.Refund) (provider.Result, error) {
	return c.rail.Status(ctx, provider.Transfer{Order: o.Order})
}

// money holds the payments, and the refunds of them, in pesewas.
type money struct {
	charger  *charger
	payments []*payment.Payment
	refunds  []*refund.Refund // as they were created
	// charged came in through the charger, and fromWallet from the consumer's wallet. deposited
	// is the deposit into that wallet.
	charged, fromWallet, deposited int64
}

// payByWallet has the consumer pay a QR code.
func (w *world) payByWallet() {
	ctx := w.t.Context()
	w.deposited = 500_00
	must.Do(w.t, w.svc.Accounts.Deposit(ctx, api.Caller{Live: true}, account.DepositParams{To: w.consumer, Amount: decimal.New(w.deposited, -2), Source: "bank"}))
	must.Do(w.t, w.svc.Accounts.SetPIN(ctx, api.Caller{Live: true}, w.consumer, account.SetPINParams{PIN: "4826"}))
	code := must.Get(w.svc.QRCodes.Create(ctx, w.caller, qrcode.CreateParams{}))(w.t)
	amount := 1 + w.dice.Int64N(w.deposited)
	paid := must.Get(w.svc.QRCodes.Pay(ctx, w.caller, code.ID, qrcode.PayParams{
		Wallet: account.WalletRef{AccountID: w.consumer}, PIN: "4826", Amount: &amount,
	}))(w.t)
	w.fromWallet += amount
	w.payments = append(w.payments, paid)
}

// payByCharge has an invoice charged.
func (w *world) payByCharge() {
	ctx := w.t.Context()
	amount := 1 + w.dice.Int64N(300_00)
	v := must.Get(w.svc.Invoices.Create(ctx, w.caller, invoice.CreateParams{
		AutoFinalize: true, Fields: invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: &amount}}},
	}))(w.t)
	v = must.Get(w.svc.Invoices.Pay(ctx, w.caller, v.ID, invoice.PayParams{}))(w.t)
	paid := must.Get(w.svc.Payments.Get(ctx, w.caller, *v.Payment))(w.t)
	w.charged += amount
	w.payments = append(w.payments, paid)
}

// refund refunds a part of a payment.
func (w *world) refund() {
	if len(w.payments) == 0 {
		return
	}
	ctx := w.t.Context()
	paid := w.payments[w.dice.IntN(len(w.payments))]
	is := must.Get(w.svc.Payments.Get(ctx, w.caller, paid.ID))(w.t)
	left := is.Amount - is.AmountRefunded // compare has checked this
	p := refund.CreateParams{Payment: paid.ID}
	asked := left
	if w.dice.IntN(3) > 0 {
		asked = 1 + w.dice.Int64N(paid.Amount)
		p.Amount = &asked
	}
	caller := w.caller
	if w.dice.IntN(2) == 0 {
		w.key++
		caller.IdempotencyKey = fmt.Sprint("key-", w.key)
	}
	available := w.balance(ledger.Available(w.caller.Merchant, true))
	made, err := w.svc.Refunds.Create(ctx, caller, p)
	want := api.Code("")
	switch {
	case left == 0:
		want = api.PaymentRefunded
	case asked > left:
		want = api.AmountTooLarge
	case asked > available:
		want = api.InsufficientBalance
	}
	testkit.WantCode(w.t, fmt.Sprintf("a refund of %d of %d, with %d available", asked, left, available), err, want)
	if err != nil {
		return
	}
	expect.Equal(w.t, made.Amount, asked, "%d were to be refunded, and %d are", asked, made.Amount)
	w.refunds = append(w.refunds, made)
	if caller.IdempotencyKey == "" {
		return
	}
	again := must.Get(w.svc.Refunds.Create(ctx, caller, p))(w.t)
	expect.Equal(w.t, again.ID, made.ID, "repeated: ID")
}

func (w *world) refundCallbacks() {
	for _, c := range w.charger.rail.Callbacks() {
		err := w.svc.Providers.Notify(w.t.Context(), c.ID, c.Result)
		expect.True(w.t, err == nil || errors.Is(err, faultstore.ErrDead), "callback of %s: %v", c.ID, err)
	}
}

// givenBack says where the refunded money is, in pesewas.
type givenBack struct{ reserved, cleared, wallet int64 }

// compareRefunds checks the invariants of refunds.
func (w *world) compareRefunds() (back givenBack) {
	w.t.Helper()
	of := map[string]int64{} // by payment
	for _, made := range w.refunds {
		is := must.Get(w.svc.Refunds.Get(w.t.Context(), w.caller, made.ID))(w.t)
		if is.Status != refund.Failed {
			of[is.Payment] += is.Amount
		}
		if is.Invoice == nil {
			back.wallet += is.Amount
			expect.Equal(w.t, is.Status, refund.Succeeded, "%s goes to a wallet and", is.ID)
			continue
		}
		moved := w.charger.rail.Moved(made.ID)
		expect.True(w.t, moved <= 1, "%s moved %d times", made.ID, moved)
		switch is.Status {
		case refund.Pending, refund.Processing:
			back.reserved += is.Amount
			expect.True(w.t, is.Status != refund.Pending || moved <= 0, "%s is pending, but has moved", made.ID)
		case refund.Succeeded:
			back.cleared += is.Amount
			expect.Equal(w.t, moved, 1, "%s has succeeded: how often it moved", made.ID)
			expect.True(w.t, is.CreditNote != nil, "%s has succeeded, but has no credit note", made.ID)
		case refund.Failed:
			expect.Equal(w.t, moved, 0, "%s has failed, but has moved", made.ID)
		}
	}
	for _, paid := range w.payments {
		is := must.Get(w.svc.Payments.Get(w.t.Context(), w.caller, paid.ID))(w.t)
		want := of[paid.ID]
		expect.Equal(w.t, is.AmountRefunded, want, "refunded of the %d of %s", is.Amount, is.ID)
		expect.True(w.t, want <= is.Amount, "%d of the %d of %s are refunded", want, is.Amount, is.ID)
	}
	return back
}

// refundEvents checks that each status of a refund made one event, in order.
func (w *world) refundEvents(told map[string][]string) {
	w.t.Helper()
	for _, made := range w.refunds {
		is := must.Get(w.svc.Refunds.Get(w.t.Context(), w.caller, made.ID))(w.t)
		want := map[refund.Status]string{refund.Succeeded: "[created succeeded]", refund.Failed: "[created failed]"}[is.Status]
		expect.Equal(w.t, fmt.Sprint(told[made.ID]), want, "%s is %s and told", made.ID, is.Status)
	}
}
