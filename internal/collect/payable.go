package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payment"
)

// Payable is what a payment from a phone pays, such as an invoice. Its methods run in the transaction
// that applies the result of the charge. An error rolls that transaction back, and the result is applied again.
type Payable interface {
	// TakesPayment returns why the object does not take a payment that its payer has approved; "" if it does.
	TakesPayment(tx *engine.Tx, p *Incoming) (why string, err error)
	// PaymentEnded applies the end of a payment to the object that it pays. It is not called for a cancelled
	// payment, which never reached its charger, nor for one that the object did not take.
	PaymentEnded(tx *engine.Tx, p *Ended) error
}

// Refunder gives back what no Payable takes, and books what a provider took back.
type Refunder interface {
	// Automatic refunds the whole of a payment.
	Automatic(tx *engine.Tx, payment, reason string) error
	// Reversed books that the provider took the money of a payment back. It returns what was refunded before,
	// in pesewas.
	Reversed(ctx context.Context, tx *engine.Tx, payment string) (refunded int64, err error)
}

// Payables are what payments from phones pay.
type Payables struct {
	QRCodes, Invoices, Sessions Payable
	Refunds                     Refunder
}

// SetPayables sets, once and before the first call, what payments from phones pay. It fails if one is
// missing: a payment of it would take money for nothing.
func (s *Service) SetPayables(p Payables) error {
	if p.QRCodes == nil || p.Invoices == nil || p.Sessions == nil || p.Refunds == nil {
		return errors.New("payment: something that payments from phones pay is missing")
	}
	*s.payables = p
	return nil
}

// of returns what a payment pays; nil for nothing.
func (p *Payables) of(m *payment.Payment) Payable {
	switch {
	case m.QRCode != nil:
		return p.QRCodes
	case m.CheckoutSession != nil:
		return p.Sessions
	case m.Invoice != nil:
		return p.Invoices
	}
	return nil
}

// Incoming is a payment from a phone that its payer has approved, and whose outcome is about to be recorded.
type Incoming struct {
	payment.Payment
	// HadHold says that the payment was started with a hold, and HoldActive that the hold has not
	// ended.
	HadHold, HoldActive bool
}

// whyUntaken returns why the Payable of a payment does not take it. It returns "" if it does, if the payment has no
// Payable, or if it has ended.
func (s *Service) whyUntaken(tx *engine.Tx, r *record) (why string, err error) {
	payable := s.payables.of(&r.Payment)
	if payable == nil || ended(r.Status) {
		return "", nil
	}
	return payable.TakesPayment(tx, &Incoming{r.Payment, r.Phoned.Held != "", r.holdsAt(tx.Now)})
}

// Ended is a payment from a phone that has just ended.
type Ended struct {
	payment.Payment
	// Number is the payer's, +233…; empty after an erasure.
	Number string
}

// giveBack refunds a payment that came too late. Where no refund is possible, a person must look after it.
func (s *Service) giveBack(ctx context.Context, tx *engine.Tx, id, why string) error {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return err
	}
	defer o.Value.AttributeEvents(tx)()
	if s.RefundRail(tx.Caller.Live, o.Value.Route) == nil {
		return s.orders().NeedsPerson(ctx, tx, id, orders.Cause{Problem: orders.NotRefundable}, "completed, "+strings.ToLower(why)+", and the provider gives no refunds")
	}
	tx.OnCommit(func() {
		tx.Log().WarnContext(ctx, "a payment came when there was nothing left to pay, and is refunded", "payment", id, "why", why)
	})
	return s.payables.Refunds.Automatic(tx, id, why)
}

// BookReversed books that the provider took the payment of a charge back. After a refund a person must
// find out who has the money.
func (s *Service) BookReversed(ctx context.Context, tx *engine.Tx, charge orders.Ref, payment string) error {
	refunded, err := s.payables.Refunds.Reversed(ctx, tx, payment)
	if err != nil || refunded == 0 {
		return err
	}
	order := orders.Order{Ref: charge, Flow: orders.Charges}
	return order.NeedsPerson(ctx, tx, orders.Cause{Problem: orders.ReversedAfterRefund, Amount: refunded}, fmt.Sprintf("reversed, and GHS %s refunded before", money.Text(refunded)))
}
