package collect

import (
	"cmp"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// The reasons of refunds that the library makes by itself: why a payment that was approved is given back.
const (
	PaidTwice            = "Paid twice"
	InvoiceVoided        = "Invoice voided"
	InvoiceUncollectible = "Invoice uncollectible"
	CouponUsedUp         = "Coupon used up"
	SessionExpired       = "Session expired"
	CustomerDeleted      = "Customer deleted"
	CodeUsedUp           = "Code used up"
	CodeDeleted          = "Code deleted"
)

// CountedRefund is a refund whose amount its payment includes in AmountRefunded.
type CountedRefund struct {
	// Payment is the payment afterwards.
	Payment payment.Payment
	Source  Source
	// Phone is the number of a payment from a phone, +233…; empty for others.
	Phone string
	// Amount is in pesewas.
	Amount int64

	submission *orders.Submission // of a payment from a phone
}

// AttributeRefund makes the events of the transaction name the call that made a payment from a phone.
func (*Service) AttributeRefund(tx *engine.Tx, c *CountedRefund) (restore func()) {
	if c.submission == nil {
		return func() {}
	}
	return c.submission.AttributeEvents(tx)
}

// counted describes a refund that the payment's AmountRefunded includes.
func (r *record) counted(amount int64) *CountedRefund {
	c := &CountedRefund{Payment: r.Payment, Source: r.Source, Amount: amount}
	if r.Phoned != nil {
		c.Source.ChargeRoute = cmp.Or(c.Source.ChargeRoute, r.Route) // of one that staff have booked as paid
		c.Phone, c.submission = r.Phoned.Number, &r.Submission
	}
	return c
}

func get(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[record], error) {
	o, err := engine.GetTx(tx, payments, scope, id, "payment")
	if err != nil {
		return nil, err
	}
	o.Value.fillDerived()
	return o, nil
}

// Source returns the origin of a payment's money.
func (*Service) Source(tx storage.ReadTx, scope storage.Scope, id string) (Source, error) {
	o, err := get(tx, scope, id)
	if err != nil {
		return Source{}, err
	}
	return o.Value.Source, nil
}

// Refund counts a refund of a payment: of amount pesewas, or, when that is nil, of all that is
// left. No other transaction can count the same pesewas. So concurrent refunds never exceed the
// payment.
//
// Refusals: resource_missing, payment_not_refundable, payment_already_refunded,
// parameter_invalid and amount_too_large (amount).
func (s *Service) Refund(tx *engine.Tx, id string, amount *int64) (*CountedRefund, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	p := &o.Value.Payment
	if p.Status != payment.Completed && !o.Value.bookedAsPaid() || p.Amount == 0 {
		return nil, api.Errorf(api.PaymentNotRefundable, "", "This payment is not completed, so it cannot be refunded.")
	}
	left := p.Amount - p.AmountRefunded
	give := left
	engine.SetGiven(&give, amount)
	switch {
	case give < 1 && amount != nil:
		return nil, api.Invalid("amount", "amount must be a whole number of pesewas, at least 1; leave it out to refund all that is left.")
	case left == 0:
		return nil, api.Errorf(api.PaymentRefunded, "", "This payment is refunded in full already, or its refunds are under way.")
	case give > left:
		return nil, api.Errorf(api.AmountTooLarge, "amount", "amount must be at most GHS %s, which is what is left of this payment to refund.", money.Text(left))
	}
	p.AmountRefunded += give
	return o.Value.counted(give), s.write(tx, o)
}

// Reverse notes that the provider took the money of a completed payment back, and counts all that was
// not refunded before as refunded. The Amount of what it returns is that rest, which may be 0.
func (s *Service) Reverse(tx *engine.Tx, id string) (*CountedRefund, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	if r.Status != payment.Completed || r.Reversed {
		return nil, fmt.Errorf("payment: %s is %s, and cannot be reversed", id, r.Status)
	}
	left := r.Amount - r.AmountRefunded
	r.Reversed, r.AmountRefunded = true, r.Amount
	return r.counted(left), s.write(tx, o)
}

// RefundFailed undoes the count of a failed refund, and returns nil. If the provider took the payment back in
// the meantime, the amount stays counted, because the provider took it too. Then RefundFailed returns it as
// reversed, for the caller to book.
func (s *Service) RefundFailed(tx *engine.Tx, id string, amount int64) (reversed *CountedRefund, err error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if amount < 1 || amount > o.Value.AmountRefunded {
		return nil, fmt.Errorf("payment: %s has %d pesewas refunded, not %d", id, o.Value.AmountRefunded, amount)
	}
	if o.Value.Reversed {
		return o.Value.counted(amount), nil
	}
	o.Value.AmountRefunded -= amount
	return nil, s.write(tx, o)
}
