package payment

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// Internal is what sibling packages call in their own transactions. Only package payments
// has one, so a host cannot call it.
type Internal struct{ svc *Service }

// NewID makes a payment's id, for the posting that the caller writes beside it.
func (*Internal) NewID(tx *engine.Tx) string { return tx.NewID("pay_") }

// RecordCompleted inserts a completed payment, and records its events. The caller moves the
// money in the same transaction. RecordCompleted sets object, currency, status, mode and time.
func (i *Internal) RecordCompleted(tx *engine.Tx, p Payment, from Source) (*Payment, error) {
	p.Object, p.Currency, p.Status = "payment", api.Currency, Completed
	p.Livemode, p.CreatedAt = tx.Caller.Live, api.At(tx.Now)
	if _, err := payments.Insert(tx, engine.Scope(tx.Caller), p.ID, record{Payment: p, Source: from}); err != nil {
		return nil, fmt.Errorf("payment: keep: %w", err)
	}
	// The payment begins in its final status, so it has the events of two.
	if err := i.svc.events.Record(tx, &p, event.PaymentCreated, event.PaymentSucceeded); err != nil {
		return nil, err
	}
	return &p, nil
}

// List is [Service.List] in the caller's snapshot; url is the path of the list.
func (*Internal) List(tx *engine.ReadTx, p ListParams, url string) (*api.List[Payment], error) {
	return listing(url).ListTx(tx, p.query(engine.Scope(tx.Caller)), p.Page)
}
