// Package payment keeps the payments that a merchant has received, by every method.
//
// It owns the record of a payment and its events. Packages qrcode and invoice take the money, in
// the same transaction.
package payment

import (
	"context"
	"io"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is the state of a payment.
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
	// AmountRefunded is the part that refunds have paid back or have reserved, in pesewas. A
	// failed refund no longer counts.
	AmountRefunded int64  `json:"amount_refunded"`
	Currency       string `json:"currency"`
	Status         Status `json:"status"`
	PaymentMethod  string `json:"payment_method"`
	// Provider is the mobile-money network that took the money, such as "mtn"; nil for a wallet and
	// if it is unknown.
	Provider *string `json:"provider"`
	// Phone is the payer's number, masked.
	Phone *string `json:"phone"`
	// QRCode and Invoice name the object that was paid.
	QRCode    *string      `json:"qr_code"`
	Invoice   *string      `json:"invoice"`
	Reference string       `json:"reference"`
	Metadata  api.Metadata `json:"metadata"`
	Livemode  bool         `json:"livemode"`
	CreatedAt api.Time     `json:"created_at"`
}

// Source is the origin of a payment's money, to which a refund returns it. Only one field is set.
type Source struct {
	// Payer is the account that paid.
	Payer string `json:"payer,omitempty"`
	// Charge is the id under which an external provider took the money.
	Charge string `json:"charge,omitempty"`
}

type record struct {
	Payment
	Source
}

var payments = storage.NewCollection("payments", []storage.Field[record]{
	storage.TextColumn("status", func(r *record) string { return string(r.Status) }).OneOf(statuses...).Indexed(),
	storage.NullTextColumn("qr_code", func(r *record) *string { return r.QRCode }).Indexed(),
	storage.NullTextColumn("invoice", func(r *record) *string { return r.Invoice }).Indexed(),
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
}).Passthrough(func(r *record) any { return &r.Payment })

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{payments.Kind()} }

// Service keeps and reads payments.
type Service struct {
	engine *engine.Engine
	events *event.Internal
}

// New returns the service, and the methods for sibling packages' transactions.
func New(e *engine.Engine, events *event.Internal) (*Service, *Internal) {
	s := &Service{engine: e, events: events}
	return s, &Internal{s}
}

// Get returns one payment.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Payment, error) {
	return listing("/v1/payments").Get(ctx, s.engine, caller, id)
}

// GetJSON writes to w the JSON of what Get returns, and a newline. It
// costs less than encoding that value. When it fails, w may hold a part of the JSON.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return listing("/v1/payments").GetJSON(ctx, s.engine, caller, id, w)
}

// listing reads payments; url is the path of the list.
func listing(url string) engine.Listing[record, Payment] {
	return engine.Listing[record, Payment]{
		Collection: payments, Noun: "payment", URL: url,
		Show: func(r *record) Payment { return r.Payment },
	}
}

// ListParams selects payments; zero values select all.
type ListParams struct {
	api.Page
	Status Status `param:"status"`
	// QRCode and Invoice are ids of paid objects.
	QRCode  string    `param:"qr_code,id"`
	Invoice string    `param:"invoice,id"`
	Created api.Times `param:"created"`
}

// List returns payments, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Payment], error) {
	return listing("/v1/payments").List(ctx, s.engine, p.query(engine.Scope(caller)), p.Page)
}

// ListJSON writes to w the JSON of what List returns, and a newline. It
// costs less than encoding that value. When it fails, w may hold a part of the JSON.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p ListParams, w io.Writer) error {
	return listing("/v1/payments").ListJSON(ctx, s.engine, p.query(engine.Scope(caller)), p.Page, w)
}

func (p *ListParams) query(scope storage.Scope) storage.Query {
	q := storage.Query{Scope: scope, Range: engine.InTimes(nil, "created", p.Created)}
	q.Where = engine.Where(q.Where, "status", string(p.Status))
	q.Where = engine.Where(q.Where, "qr_code", p.QRCode)
	q.Where = engine.Where(q.Where, "invoice", p.Invoice)
	return q
}
