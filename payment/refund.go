package payment

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/storage"
)

// CountedRefund is a refund that its payment has counted.
type CountedRefund struct {
	// Payment is the payment afterwards.
	Payment Payment
	Source  Source
	// Phone is the number of a payment from a phone, +233…; empty for others.
	Phone string
	// Amount is in pesewas.
	Amount int64
}

// get reads a payment.
func get(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[record], error) {
	o, err := engine.GetTx(tx, payments, scope, id, "payment")
	if err != nil {
		return nil, err
	}
	o.Value.fillLegacy()
	return o, nil
}

// Source returns the origin of a payment's money.
func (*Internal) Source(tx storage.ReadTx, scope storage.Scope, id string) (Source, error) {
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
func (*Internal) Refund(tx *engine.Tx, id string, amount *int64) (*CountedRefund, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	p := &o.Value.Payment
	if p.Status != Completed || p.Amount == 0 {
		return nil, api.Errorf(api.PaymentNotRefundable, "", "This payment is not completed, so it cannot be refunded.")
	}
	left := p.Amount - p.AmountRefunded
	give := left
	if amount != nil {
		give = *amount
	}
	switch {
	case give < 1 && amount != nil:
		return nil, api.Invalid("amount", "amount must be a whole number of pesewas, at least 1; leave it out to refund all that is left.")
	case left == 0:
		return nil, api.Errorf(api.PaymentRefunded, "", "This payment is refunded in full already, or its refunds are under way.")
	case give > left:
		return nil, api.Errorf(api.AmountTooLarge, "amount", "amount must be at most GHS %s, which is what is left of this payment to refund.", money.Text(left))
	}
	p.AmountRefunded += give
	counted := &CountedRefund{Payment: *p, Source: o.Value.Source, Amount: give}
	if o.Value.Phoned != nil {
		counted.Phone = o.Value.Phoned.Number
	}
	return counted, replace(tx, o)
}

// RefundFailed undoes the count of a failed refund.
func (*Internal) RefundFailed(tx *engine.Tx, id string, amount int64) error {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return err
	}
	if amount < 1 || amount > o.Value.AmountRefunded {
		return fmt.Errorf("payment: %s has %d pesewas refunded, not %d", id, o.Value.AmountRefunded, amount)
	}
	o.Value.AmountRefunded -= amount
	return replace(tx, o)
}

func replace(tx *engine.Tx, o *storage.Object[record]) error {
	if err := payments.Replace(tx, o); err != nil {
		return fmt.Errorf("payment: write: %w", err)
	}
	return nil
}
