package payment

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
)

// Internal holds the methods that sibling packages call in their own transactions. Only package
// payments has one, so a host cannot call it.
type Internal struct{ svc *Service }

// NewID makes a payment's id. The caller's posting needs it too.
func (*Internal) NewID(tx *engine.Tx) string { return tx.NewID("pay_") }

// RecordCompleted stores a payment whose money moves in the same transaction, and records its events.
// It sets object, currency, status, mode, times and fee, which is 0. The payment of a customer who was
// deleted keeps no phone, because their erasure is over.
func (i *Internal) RecordCompleted(tx *engine.Tx, p Payment, from Source) (*Payment, error) {
	if p.Customer != nil && p.Phone != nil {
		deleted, err := pii.Deleted(tx, engine.Scope(tx.Caller), *p.Customer)
		if err != nil {
			return nil, fmt.Errorf("payment: customer: %w", err)
		}
		if deleted {
			p.Phone = nil
		}
	}
	p.Object, p.Currency, p.PhoneNumber = "payment", api.Currency, p.Phone
	p.Livemode, p.CreatedAt = tx.Caller.Live, api.At(tx.Now)
	p.complete(0, p.CreatedAt)
	r := record{Payment: p, Source: from}
	if _, err := payments.Insert(tx, engine.Scope(tx.Caller), p.ID, r); err != nil {
		return nil, fmt.Errorf("payment: keep: %w", err)
	}
	if err := i.svc.totals.Count(tx, p.ID, &r); err != nil {
		return nil, err
	}
	// The payment starts in its final status, so it gets both events at once.
	if err := i.svc.config.Events.Record(tx, &p, event.PaymentCreated, event.PaymentSucceeded); err != nil {
		return nil, err
	}
	return &p, nil
}

// AttachSubscription makes a completed payment of a checkout session name the subscription that it has
// begun, its customer and its first invoice.
func (*Internal) AttachSubscription(tx *engine.Tx, id, customer, subscription, invoice string) error {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return err
	}
	o.Value.Customer, o.Value.Subscription, o.Value.Invoice = &customer, &subscription, &invoice
	if err := payments.Replace(tx, o); err != nil {
		return fmt.Errorf("payment: attach subscription: %w", err)
	}
	return nil
}

// List is [Service.List] in the caller's snapshot; url is the path of the list.
func (*Internal) List(tx *engine.ReadTx, p ListParams, url string) (*api.List[Payment], error) {
	return listing(url).ListTx(tx, p.query(engine.Scope(tx.Caller)), p.Page)
}
