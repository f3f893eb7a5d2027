// Package refunding gives money back, and books what a provider took back: it implements [refund.Service].
//
// It owns refunds. Package collect owns the refunded amount of a payment, and package invoicing the credit
// notes.
package refunding

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Accounts *party.Service
	Payments *collect.Service
	// Invoices updates refunded invoices and writes their credit notes.
	Invoices *invoicing.Service
	Events   *recording.Service
	Messages *messaging.Service
}

// Service makes refunds. It is safe for concurrent use.
type Service struct {
	engine *engine.Engine
	config Config
	orders *Orders
}

var _ refund.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	s := &Service{engine: e, config: c}
	s.orders = newOrders(s)
	return s
}

func checkParams(p *refund.CreateParams) error {
	if p.Payment == "" && p.Invoice == "" {
		return api.Missing("payment")
	}
	return cmp.Or(check.Currency(p.Currency), check.Text("reason", p.Reason, api.MaxText), check.Metadata(p.Metadata, false))
}

func (s *Service) Create(ctx context.Context, caller api.Caller, p refund.CreateParams) (*refund.Refund, error) {
	if err := checkParams(&p); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "refund.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*refund.Refund, error) {
		return s.create(tx, p, false)
	})
}

// create makes a refund. automatic says that no merchant asked for it.
func (s *Service) create(tx *engine.Tx, p refund.CreateParams, automatic bool) (*refund.Refund, error) {
	id, err := s.payment(tx, p)
	if err != nil {
		return nil, err
	}
	back, err := s.config.Payments.Refund(tx, id, p.Amount)
	if err != nil {
		return nil, missing("payment", err)
	}
	paid := &back.Payment
	r := &record{
		Refund: refund.Refund{
			ID: tx.NewID("re_"), Object: "refund", Amount: back.Amount, Currency: api.Currency, Status: refund.Pending,
			Payment: paid.ID, QRCode: paid.QRCode, Invoice: paid.Invoice, PaymentMethod: paid.PaymentMethod,
			Reason: api.TextOrNil(p.Reason), Metadata: p.Metadata, Livemode: tx.Caller.Live, CreatedAt: api.At(tx.Now),
		},
		Submission: orders.NewSubmission(tx),
		Charge:     back.Source.Charge,
		Phone:      back.Phone,
		Automatic:  automatic,

		PaymentReference: paid.Reference,
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
		return s.payWallet(tx, r, back.Source.Payer)
	case back.Source.Charge != "":
		return s.reserve(tx, r)
	}
	return nil, api.Errorf(api.PaymentNotRefundable, "", "It is not known where the money of this payment came from. Give it back by a payout or a disbursement.")
}

// Automatic refunds a whole payment that the payer approved too late: the invoice or QR code could
// no longer take it. The caller books the payment in the same transaction, so the merchant's
// balance covers the refund.
func (s *Service) Automatic(tx *engine.Tx, payment, reason string) error {
	_, err := s.create(tx, refund.CreateParams{Payment: payment, Reason: reason}, true)
	return err
}

// payment returns the id of the payment to refund.
func (s *Service) payment(tx *engine.Tx, p refund.CreateParams) (string, error) {
	if p.Invoice == "" {
		return p.Payment, nil
	}
	id, err := s.config.Invoices.Payment(tx, engine.Scope(tx.Caller), p.Invoice)
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
func (s *Service) payWallet(tx *engine.Tx, r *record, payer string) (*refund.Refund, error) {
	consumer, err := s.config.Accounts.Payer(tx, tx.Caller.Live, account.WalletRef{AccountID: payer})
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
	r.Status, r.Due = refund.Succeeded, nil
	if err := s.succeeded(tx, r, consumer.ID, consumer.Phone); err != nil {
		return nil, err
	}
	if _, err := refunds.Insert(tx, engine.Scope(tx.Caller), r.ID, *r); err != nil {
		return nil, fmt.Errorf("refund: keep: %w", err)
	}
	// The refund began in its final status, so both events show it.
	return &r.Refund, s.config.Events.Append(tx, &r.Refund, event.RefundCreated, statusEvent[refund.Succeeded])
}

// succeeded completes a refund whose money is back. It updates the invoice and tells the
// customer, on the invoice's number and on the payer's.
func (s *Service) succeeded(tx *engine.Tx, r *record, payer, phone string) error {
	r.CompletedAt = api.AtOrNil(tx.Now)
	ofInvoice, err := s.noteOnInvoice(tx, r, invoicing.RefundedParams{Payer: payer, Phone: phone})
	if err != nil || ofInvoice {
		return err
	}
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("refund: merchant: %w", err)
	}
	if payer == "" {
		payer = r.Payment // the messages about a payment from a phone are found by its id
	}
	given, err := s.config.Payments.GivenBackText(tx, r.Payment, r.Amount)
	if err != nil {
		return err
	}
	text := cmp.Or(given, fmt.Sprintf("%s refunded you GHS %s of payment %s. Refund %s.", s.config.Messages.Name(m.Name), money.Text(r.Amount), r.Payment, r.ID))
	return s.config.Messages.Text(tx, payer, phone, text)
}

// noteOnInvoice updates the invoice whose payment a refund gives back, and sets the refund's credit
// note. p says who is told. It returns false for the refund of anything else.
func (s *Service) noteOnInvoice(tx *engine.Tx, r *record, p invoicing.RefundedParams) (bool, error) {
	ofInvoice, err := s.ofInvoice(tx, r)
	if err != nil || !ofInvoice {
		return false, err
	}
	p.Refund, p.Invoice, p.Amount = r.ID, *r.Invoice, r.Amount
	engine.SetGiven(&p.Reason, r.Reason)
	note, err := s.config.Invoices.Refunded(tx, p)
	if err != nil {
		return false, err
	}
	r.CreditNote = &note.Number
	return true, nil
}

// ofInvoice reports whether a refund gives back what an invoice was paid with. A payment of the
// invoice that came when there was nothing left to pay is none of it.
func (s *Service) ofInvoice(tx *engine.Tx, r *record) (bool, error) {
	if r.Invoice == nil {
		return false, nil
	}
	paidBy, err := s.config.Invoices.PaidBy(tx, engine.Scope(tx.Caller), *r.Invoice)
	return paidBy == r.Payment, err
}

// errNoRail is the refusal if no charger can refund the payment. It comes before anything is
// reserved.
var errNoRail = api.Errorf(api.Unavailable, "", "Payments by this method cannot be refunded here at the moment. Give the money back by a payout or a disbursement, or ask the operator.")

// reserve reserves the money and queues the refund for the charger.
func (s *Service) reserve(tx *engine.Tx, r *record) (*refund.Refund, error) {
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	if s.config.Payments.RefundRail(live, r.Route) == nil {
		return nil, errNoRail
	}
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Available(merchant, live).Move(-r.Amount), ledger.Reserved(merchant, live).Move(r.Amount)},
	})
	if err != nil {
		return nil, fmt.Errorf("refund: reserve: %w", err)
	}
	if err := s.orders.Insert(tx, r, nil, 0); err != nil {
		return nil, err
	}
	return &r.Refund, s.config.Events.Append(tx, &r.Refund, event.RefundCreated)
}

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*refund.Refund, error) {
	return listing.Get(ctx, s.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return listing.GetJSON(ctx, s.engine, caller, id, w)
}

// listing reads refunds.
var listing = engine.Listing[record, refund.Refund]{
	Collection: refunds, Noun: "refund", URL: "/v1/refunds",
	Show: (*record).shown,
}

func (s *Service) List(ctx context.Context, caller api.Caller, p refund.ListParams) (*api.List[refund.Refund], error) {
	return listing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p refund.ListParams, w io.Writer) error {
	return listing.ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}

func (s *Service) CreditNoteURL(ctx context.Context, caller api.Caller, id string) (string, error) {
	address, err := s.config.Invoices.CreditNoteAddress(ctx, s.engine, caller, id)
	if api.CodeOf(err) == api.ResourceMissing { // say so if there is no such refund, either
		if _, missing := s.Get(ctx, caller, id); missing != nil {
			return "", missing
		}
	}
	return address, err
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
