package refunding

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

// reversedReason is the reason of the refund of a payment that the provider took back.
const reversedReason = "Reversed by the provider"

// Reversed books that the provider took a completed payment back (a chargeback). What was not refunded
// before becomes a refund that has succeeded. The merchant pays the whole of it, as for a refund of its
// own: the operator's fee stays. What the merchant's balance does not cover is owed.
//
// before is what was refunded earlier or has been reserved for refunds. If it is not 0, the customer may
// have the money twice, and the caller lists the charge for a person.
func (s *Service) Reversed(ctx context.Context, tx *engine.Tx, payment string) (before int64, err error) {
	back, err := s.config.Payments.Reverse(tx, payment)
	if err != nil {
		return 0, err
	}
	defer s.config.Payments.AttributeRefund(tx, back)()
	if back.Amount > 0 {
		err = s.bookReversed(ctx, tx, back)
	}
	return back.Payment.Amount - back.Amount, err
}

// bookReversed books the part of a payment that the provider took back, and makes its refund. The
// customer gets no message about it: the merchant gave nothing back.
func (s *Service) bookReversed(ctx context.Context, tx *engine.Tx, back *collect.CountedRefund) error {
	paid, live := &back.Payment, tx.Caller.Live
	r := record{
		Refund: refund.Refund{
			ID: tx.NewID("re_"), Object: "refund", Amount: back.Amount, Currency: api.Currency, Status: refund.Succeeded,
			Payment: paid.ID, QRCode: paid.QRCode, Invoice: paid.Invoice, PaymentMethod: paid.PaymentMethod,
			Reason: api.TextOrNil(reversedReason), Livemode: live, CreatedAt: api.At(tx.Now), CompletedAt: api.AtOrNil(tx.Now),
		},
		Submission: orders.NewSubmission(tx),
		Charge:     back.Source.Charge,

		PaymentReference: paid.Reference,
	}
	r.Route, r.Due = back.Source.ChargeRoute, nil
	owed, err := s.config.Accounts.Take(tx, r.Amount, storage.Posting{
		ID: tx.NewID("txn_"), Type: "payment_reversed", Ref: paid.ID, At: tx.Now,
		Moves: orders.Charges.ClearingMoves(r.Route, live, r.Amount, 0),
	})
	if err != nil {
		return fmt.Errorf("refund: book reversed: %w", err)
	}
	if _, err := s.noteOnInvoice(tx, &r, invoicing.RefundedParams{Silent: true}); err != nil {
		return err
	}
	if _, err := refunds.Insert(tx, engine.Scope(tx.Caller), r.ID, r); err != nil {
		return fmt.Errorf("refund: keep: %w", err)
	}
	merchant := tx.Caller.Merchant
	tx.OnCommit(func() {
		tx.Log().WarnContext(ctx, "the provider took a payment back", "payment", paid.ID, "refund", r.ID, "merchant", merchant, "live", live, "owed", owed)
	})
	m, err := s.config.Accounts.Merchant(tx, merchant)
	if err != nil {
		return fmt.Errorf("refund: merchant: %w", err)
	}
	text := fmt.Sprintf("The provider took back GHS %s of payment %s.", money.Text(r.Amount), paid.ID)
	if owed > 0 {
		text += fmt.Sprintf(" Your balance did not cover GHS %s, which comes off what you receive next.", money.Text(owed))
	}
	if err := s.config.Messages.Text(tx, "", m.Phone, text+" Refund "+r.ID+"."); err != nil {
		return err
	}
	return s.config.Events.Append(tx, &r.Refund, event.RefundCreated, statusEvent[refund.Succeeded])
}
