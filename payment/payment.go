// Package payment keeps the payments that a merchant has received, whichever
// way they came.
//
// It owns the record of a payment and its events. Taking the money is the
// business of the packages that do it, qrcode and invoice, in the same
// transaction.
package payment

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is where a payment stands.
type Status string

// The statuses of a payment.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

var statuses = []string{string(Pending), string(Processing), string(Completed), string(Failed), string(Cancelled)}

// ServiceWallet is the payment method of a consumer who pays from a wallet.
const ServiceWallet = "service_wallet"

// Payment is money that a merchant has received.
type Payment struct {
	ID     string `json:"id"`
	Object string `json:"object"` // always "payment"
	// Amount is in pesewas.
	Amount int64 `json:"amount"`
	// AmountRefunded is how much of it refunds have given back, or are about to, in
	// pesewas. A refund that fails no longer counts.
	AmountRefunded int64  `json:"amount_refunded"`
	Currency       string `json:"currency"`
	Status         Status `json:"status"`
	PaymentMethod  string `json:"payment_method"`
	// Provider is the payer's provider; nil for a wallet.
	Provider *string `json:"provider"`
	// Phone is the payer's number, masked.
	Phone *string `json:"phone"`
	// QRCode and Invoice name what was paid.
	QRCode    *string      `json:"qr_code"`
	Invoice   *string      `json:"invoice"`
	Reference string       `json:"reference"`
	Metadata  api.Metadata `json:"metadata"`
	Livemode  bool         `json:"livemode"`
	CreatedAt api.Time     `json:"created_at"`
}

// Source is where the money of a payment came from, and where a refund of it goes.
// Only one of them is set.
type Source struct {
	// Payer is the account that paid.
	Payer string `json:"payer,omitempty"`
	// Charge is the id under which a provider outside took the money.
	Charge string `json:"charge,omitempty"`
}

type record struct {
	Payment
	Source
}

var payments = storage.NewCollection("payments", []storage.Field[record]{
	{
		Column: storage.Column{Name: "status", Type: storage.Text, OneOf: statuses, Indexed: true},
		Value:  func(r *record) any { return string(r.Status) },
	},
	{
		Column: storage.Column{Name: "qr_code", Type: storage.Text, Null: true, Indexed: true},
		Value:  func(r *record) any { return orNull(r.QRCode) },
	},
	{
		Column: storage.Column{Name: "invoice", Type: storage.Text, Null: true, Indexed: true},
		Value:  func(r *record) any { return orNull(r.Invoice) },
	},
	{
		Column: storage.Column{Name: "created", Type: storage.Time, Indexed: true},
		Value:  func(r *record) any { return r.CreatedAt.Time },
	},
})

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{payments.Kind()} }

// Service keeps and reads payments.
type Service struct {
	engine *engine.Engine
	events *event.Service
}

// New returns the service.
func New(e *engine.Engine, events *event.Service) *Service {
	return &Service{engine: e, events: events}
}

// NewIDTx makes a payment's id, for the posting that is written beside it.
func NewIDTx(tx *engine.Tx) string { return tx.NewID("pay_") }

// CompletedTx keeps a payment whose money has moved in the same transaction, and
// records its events. It fills in what follows from the call: object, currency,
// status, mode and time.
func (s *Service) CompletedTx(tx *engine.Tx, p Payment, from Source) (*Payment, error) {
	p.Object, p.Currency, p.Status = "payment", api.Currency, Completed
	p.Livemode, p.CreatedAt = tx.Caller.Live, api.At(tx.Now)
	if _, err := payments.Insert(tx, tx.Caller.Scope(), p.ID, record{Payment: p, Source: from}); err != nil {
		return nil, fmt.Errorf("payment: keep: %w", err)
	}
	// Born in its final status, it enters two: created and succeeded.
	if err := s.events.RecordTx(tx, &p, event.PaymentCreated, event.PaymentSucceeded); err != nil {
		return nil, err
	}
	return &p, nil
}

// Get returns one payment.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Payment, error) {
	return listing("/v1/payments").Get(ctx, s.engine, caller, id)
}

// listing is how payments are read; url is the path of the list.
func listing(url string) engine.Listing[record, Payment] {
	return engine.Listing[record, Payment]{
		Collection: payments, Noun: "payment", URL: url,
		Show: func(r *record) Payment { return r.Payment }, AsStored: true,
	}
}

// ListParams selects payments; zero values select all.
type ListParams struct {
	api.Page
	Status Status
	// QRCode and Invoice are ids of what was paid.
	QRCode, Invoice string
	Created         api.Times
}

// List returns payments, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Payment], error) {
	return listing("/v1/payments").List(ctx, s.engine, p.query(caller.Scope()), p.Page)
}

// ListTx is List in the caller's snapshot; url is the path of the list.
func (s *Service) ListTx(tx *engine.ReadTx, p ListParams, url string) (*api.List[Payment], error) {
	return listing(url).ListTx(tx, p.query(tx.Caller.Scope()), p.Page)
}

func (p *ListParams) query(scope storage.Scope) storage.Query {
	q := storage.Query{Scope: scope, Range: api.InTimes(nil, "created", p.Created)}
	q.Where = api.Where(q.Where, "status", string(p.Status))
	q.Where = api.Where(q.Where, "qr_code", p.QRCode)
	q.Where = api.Where(q.Where, "invoice", p.Invoice)
	return q
}

func orNull(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}
