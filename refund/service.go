package refund

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Accounts *account.Internal
	Payments *payment.Internal
	// Invoices updates refunded invoices and writes their credit notes.
	Invoices *invoice.Internal
	Events   *event.Internal
	Messages *message.Internal
}

// Service makes refunds. It is safe for concurrent use.
type Service struct {
	engine   *engine.Engine
	internal *Internal
}

// Internal holds the methods that siblings call in their transactions.
type Internal struct {
	engine *engine.Engine
	config Config
	orders *orders
}

// New returns the service and the methods for siblings.
func New(e *engine.Engine, c Config) (*Service, *Internal) {
	in := &Internal{engine: e, config: c}
	in.orders = newOrders(in)
	return &Service{engine: e, internal: in}, in
}

// CreateParams describe a refund.
type CreateParams struct {
	// Payment is the id of a payment. Invoice is the id of a paid invoice. Set one of them, or both if
	// the payment is the invoice's.
	Payment string `json:"payment,omitempty"`
	Invoice string `json:"invoice,omitempty"`
	// Amount is in pesewas; nil refunds the rest.
	Amount   *int64 `json:"amount,omitempty" param:",pesewas"`
	Currency string `json:"currency,omitempty"` // GHS when empty
	// Reason is the merchant's, at most 500 characters. The provider gets it, and an invoice's
	// credit note shows it to the customer.
	Reason   string       `json:"reason,omitempty"`
	Metadata api.Metadata `json:"metadata,omitempty"`
}

func (p *CreateParams) check() error {
	if p.Payment == "" && p.Invoice == "" {
		return api.Missing("payment")
	}
	return cmp.Or(check.Currency(p.Currency), check.Text("reason", p.Reason, api.MaxText), check.Metadata(p.Metadata, false))
}

// Create gives money back: the merchant pays the whole amount, and the operator keeps the fee of the
// payment. A refund to a wallet has succeeded when Create returns. Any other refund reserves its amount
// and is pending. It is processing once the charger that took the money is asked to return it.
// Concurrent refunds never exceed their payment. A refunded invoice stays paid and shows its refunds. A
// refund does not undo the use of a QR code. With an idempotency key it may be repeated safely.
//
// Refusals: parameter_missing, parameter_invalid, currency_not_supported, resource_missing (payment,
// invoice), payment_not_refundable, payment_already_refunded, amount_too_large, insufficient_balance;
// account_not_found and wallet_not_active (the wallet that paid); and service_unavailable if the
// charger cannot refund.
func (s *Service) Create(ctx context.Context, caller api.Caller, p CreateParams) (*Refund, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "refund.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Refund, error) {
		return s.internal.create(tx, p, false)
	})
}

// create makes a refund. automatic says that no merchant asked for it.
func (in *Internal) create(tx *engine.Tx, p CreateParams, automatic bool) (*Refund, error) {
	id, err := in.payment(tx, p)
	if err != nil {
		return nil, err
	}
	back, err := in.config.Payments.Refund(tx, id, p.Amount)
	if err != nil {
		return nil, missing("payment", err)
	}
	paid := &back.Payment
	r := &record{
		Refund: Refund{
			ID: tx.NewID("re_"), Object: "refund", Amount: back.Amount, Currency: api.Currency, Status: Pending,
			Payment: paid.ID, QRCode: paid.QRCode, Invoice: paid.Invoice, PaymentMethod: paid.PaymentMethod,
			Reason: api.TextOrNil(p.Reason), Metadata: p.Metadata, Livemode: tx.Caller.Live, CreatedAt: api.At(tx.Now),
		},
		Submission: dispatch.NewSubmission(tx),
		Charge:     back.Source.Charge,
		Phone:      back.Phone,
		Automatic:  automatic,
	}
	if paid.Provider != nil && back.Phone != "" {
		r.Network = *paid.Provider
	}
	if paid.Customer != nil && back.Phone != "" {
		r.Customer = *paid.Customer
	}
	r.Route = back.Source.ChargeRoute
	switch {
	case back.Source.Payer != "":
		return in.payWallet(tx, r, back.Source.Payer)
	case back.Source.Charge != "":
		return in.reserve(tx, r)
	}
	return nil, api.Errorf(api.PaymentNotRefundable, "", "It is not known where the money of this payment came from. Give it back by a payout or a disbursement.")
}

// Automatic refunds a whole payment that the payer approved too late: the invoice or QR code could
// no longer take it. The caller books the payment in the same transaction, so the merchant's
// balance covers the refund.
func (in *Internal) Automatic(tx *engine.Tx, payment, reason string) error {
	_, err := in.create(tx, CreateParams{Payment: payment, Reason: reason}, true)
	return err
}

// payment returns the id of the payment to refund.
func (in *Internal) payment(tx *engine.Tx, p CreateParams) (string, error) {
	if p.Invoice == "" {
		return p.Payment, nil
	}
	id, err := in.config.Invoices.Payment(tx, engine.Scope(tx.Caller), p.Invoice)
	if err != nil {
		return "", missing("invoice", err)
	}
	if p.Payment != "" && p.Payment != id {
		return "", api.Invalid("payment", "payment is not the payment of this invoice. Leave out one of them.")
	}
	return id, nil
}

// missing sets the parameter of a refusal to the one that named the object.
func missing(param string, err error) error {
	if api.CodeOf(err) == api.ResourceMissing {
		return check.Under(param, err)
	}
	return err
}

// payWallet moves the money back within the service, which ends the refund.
func (in *Internal) payWallet(tx *engine.Tx, r *record, payer string) (*Refund, error) {
	consumer, err := in.config.Accounts.Payer(tx, tx.Caller.Live, account.WalletRef{AccountID: payer})
	if api.CodeOf(err) == api.AccountNotFound {
		return nil, api.Errorf(api.AccountNotFound, "", "The wallet that paid was closed. Give the money back by a payout or a disbursement.").WithCause(err)
	}
	if err != nil {
		return nil, err
	}
	if err := consumer.Usable(); err != nil {
		return nil, err
	}
	err = tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{
			ledger.Available(tx.Caller.Merchant, tx.Caller.Live).Move(-r.Amount),
			ledger.Wallet(consumer.ID, tx.Caller.Live).Move(r.Amount),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("refund: pay wallet: %w", err)
	}
	r.Status, r.Due = Succeeded, nil
	if err := in.succeeded(tx, r, consumer.ID, consumer.Phone); err != nil {
		return nil, err
	}
	if _, err := refunds.Insert(tx, engine.Scope(tx.Caller), r.ID, *r); err != nil {
		return nil, fmt.Errorf("refund: keep: %w", err)
	}
	// The refund began in its final status, so both events show it.
	return &r.Refund, in.config.Events.Record(tx, &r.Refund, event.RefundCreated, statusEvent[Succeeded])
}

// succeeded completes a refund whose money is back. It updates the invoice and tells the
// customer, on the invoice's number and on the payer's.
func (in *Internal) succeeded(tx *engine.Tx, r *record, payer, phone string) error {
	r.CompletedAt = api.AtOrNil(tx.Now)
	ofInvoice, err := in.noteOnInvoice(tx, r, invoice.RefundedParams{Payer: payer, Phone: phone})
	if err != nil || ofInvoice {
		return err
	}
	m, err := in.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("refund: merchant: %w", err)
	}
	if payer == "" {
		payer = r.Payment // the messages about a payment from a phone are found by its id
	}
	text := fmt.Sprintf("%s refunded you GHS %s of payment %s. Refund %s.", in.config.Messages.Name(m.Name), money.Text(r.Amount), r.Payment, r.ID)
	return in.config.Messages.Text(tx, payer, phone, text)
}

// noteOnInvoice updates the invoice whose payment a refund gives back, and sets the refund's credit
// note. p says who is told. It returns false for the refund of anything else.
func (in *Internal) noteOnInvoice(tx *engine.Tx, r *record, p invoice.RefundedParams) (bool, error) {
	ofInvoice, err := in.ofInvoice(tx, r)
	if err != nil || !ofInvoice {
		return false, err
	}
	p.Refund, p.Invoice, p.Amount = r.ID, *r.Invoice, r.Amount
	engine.SetGiven(&p.Reason, r.Reason)
	note, err := in.config.Invoices.Refunded(tx, p)
	if err != nil {
		return false, err
	}
	r.CreditNote = &note.Number
	return true, nil
}

// ofInvoice reports whether a refund gives back what an invoice was paid with. A payment of the
// invoice that came when there was nothing left to pay is none of it.
func (in *Internal) ofInvoice(tx *engine.Tx, r *record) (bool, error) {
	if r.Invoice == nil {
		return false, nil
	}
	paidBy, err := in.config.Invoices.PaidBy(tx, engine.Scope(tx.Caller), *r.Invoice)
	return paidBy == r.Payment, err
}

// errNoRail is the refusal if no charger can refund the payment. It comes before anything is
// reserved.
var errNoRail = api.Errorf(api.Unavailable, "", "Payments by this method cannot be refunded here at the moment. Give the money back by a payout or a disbursement, or ask the operator.")

// reserve reserves the money and queues the refund for the charger.
func (in *Internal) reserve(tx *engine.Tx, r *record) (*Refund, error) {
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	if in.config.Payments.RefundRail(live, r.Route) == nil {
		return nil, errNoRail
	}
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Available(merchant, live).Move(-r.Amount), ledger.Reserved(merchant, live).Move(r.Amount)},
	})
	if err != nil {
		return nil, fmt.Errorf("refund: reserve: %w", err)
	}
	if err := in.orders.Insert(tx, r, nil, 0); err != nil {
		return nil, err
	}
	return &r.Refund, in.config.Events.Record(tx, &r.Refund, event.RefundCreated)
}

// Get returns one refund.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Refund, error) {
	return listing.Get(ctx, s.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns, at less cost; see package payments.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return listing.GetJSON(ctx, s.engine, caller, id, w)
}

// listing reads refunds.
var listing = engine.Listing[record, Refund]{
	Collection: refunds, Noun: "refund", URL: "/v1/refunds",
	Show: func(r *record) Refund { return r.Refund },
}

// ListParams selects refunds; zero values select all.
type ListParams struct {
	api.Page
	// Payment and Invoice are ids of refunded objects.
	Payment string    `param:"payment,id"`
	Invoice string    `param:"invoice,id"`
	Status  Status    `param:"status"`
	Created api.Times `param:"created"`
}

// List returns refunds, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Refund], error) {
	return listing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns, at less cost; see package payments.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p ListParams, w io.Writer) error {
	return listing.ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}

// CreditNoteURL returns the URL of the PDF of a refund's credit note. The URL needs no key.
//
// Refusals: resource_missing, also for a refund without a credit note: one that has not
// succeeded, or that is not of an invoice.
func (s *Service) CreditNoteURL(ctx context.Context, caller api.Caller, id string) (string, error) {
	if _, err := s.Get(ctx, caller, id); err != nil {
		return "", err
	}
	return s.internal.config.Invoices.CreditNoteAddress(ctx, caller, id)
}
