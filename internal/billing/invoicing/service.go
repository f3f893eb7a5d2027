// Package invoicing makes and collects invoices: it implements [invoice.Service].
//
// It owns invoices, their charges, their reminders and credit notes. It does not own payments (package
// collect), refunds (package refunding), customers (package party), or the messages that it queues (package
// messaging).
//
// The host's [provider.Charger] takes the money. Pay calls it. A worker calls it for automatic charges
// and payments from phones, and after a crash.
package invoicing

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/offering"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Accounts *party.Service
	Payments *collect.Service
	Events   *recording.Service
	Messages *messaging.Service
	Catalog  *offering.Service
	// DefaultTax is the tax rate, in percent, of taxable lines without a rate; nil means no tax.
	DefaultTax *decimal.Decimal
	// ChargeHours are the hours in which automatic charges ask phones in live mode.
	ChargeHours invoice.ChargeHours
	// Reminders are the days from the due date on which customers are reminded of open invoices: -3
	// is three days before, 0 the day itself, 7 a week later. An empty list sends no reminders. See
	// [invoice.CheckReminders] for what is allowed.
	Reminders []int
}

// Service implements [invoice.Service].
type Service struct {
	engine  *engine.Engine
	config  Config
	renders document.Limiter
	// applyOutcome is as in [Service.ApplyOutcomesBy]; nil for none.
	applyOutcome func(*engine.Tx, *Outcome) (applied bool, err error)
}

// maxDocuments is how many documents are made at a time.
const maxDocuments = 4

var _ invoice.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	if c.ChargeHours == (invoice.ChargeHours{}) {
		c.ChargeHours = invoice.DefaultChargeHours
	}
	return &Service{engine: e, config: c, renders: make(document.Limiter, maxDocuments)}
}

func (s *Service) Create(ctx context.Context, caller api.Caller, p invoice.CreateParams) (*invoice.Invoice, error) {
	p.Lines, p.ClearMetadata = plainLines(p.Lines), false // a new invoice has none
	op := engine.Operation{Name: "invoice.create", Params: p}
	if err := checkFields(&p.Fields); err != nil {
		return nil, err
	}
	if err := check.Metadata(p.Metadata, false); err != nil {
		return nil, err
	}
	if err := checkFieldReads(&p.Fields, caller); err != nil {
		return nil, err
	}
	customer, err := s.customer(ctx, caller, &p.Fields)
	if err != nil {
		return nil, err
	}
	// A new invoice has no text to clear, so an empty one was not given.
	for _, text := range []**string{&p.Email, &p.Name, &p.Phone, &p.Address} {
		if *text != nil && **text == "" {
			*text = nil
		}
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*invoice.Invoice, error) {
		r := blank(tx, tx.NewID("inv_"))
		r.Metadata = p.Metadata
		if err := s.apply(tx, r, &p.Fields, customer); err != nil {
			return nil, err
		}
		o, err := s.insert(tx, r)
		if err != nil {
			return nil, err
		}
		if p.AutoFinalize {
			if err := s.finalize(tx, o); err != nil {
				return nil, err
			}
		}
		return &o.Value.Invoice, nil
	})
}

// blank returns a draft with this id and without anything that a caller gives.
func blank(tx *engine.Tx, id string) *record {
	return &record{
		Invoice: invoice.Invoice{
			ID: id, Object: "invoice", Status: invoice.Draft, Currency: api.Currency, InvoiceDate: api.At(tx.Now),
			CollectionMethod: invoice.SendInvoice, Livemode: tx.Caller.Live, Created: tx.Now.Unix(),
			Lines: *api.NewList[invoice.Line]("/v1/invoices/"+id+"/lines", nil, false),
		},
		Token: ids.Secret(rand.Reader, tokenLength), CreatedAt: api.At(tx.Now),
	}
}

// insert gives a new draft its number, and stores it.
func (s *Service) insert(tx *engine.Tx, r *record) (*storage.Object[record], error) {
	var err error
	if r.Number, err = nextNumber(tx, "invoice", "INV"); err != nil {
		return nil, err
	}
	s.fillDerived(r)
	o, err := invoices.Insert(tx, engine.Scope(tx.Caller), r.ID, *r)
	if err != nil {
		return nil, fmt.Errorf("invoice: create: %w", err)
	}
	return o, s.recordEvents(tx, &o.Value, event.InvoiceCreated)
}

// tokenLength is the length of the secret in a hosted page's address, in
// characters of base 62: 190 bits.
const tokenLength = 32

// nextNumber returns the next number of a series, "invoice" or "credit_note", of the
// merchant's year in this mode. A number is used once, even if its draft is deleted.
func nextNumber(tx *engine.Tx, series, prefix string) (string, error) {
	mode := "test"
	if tx.Caller.Live {
		mode = "live"
	}
	year := tx.Now.UTC().Year()
	n, err := tx.Next(fmt.Sprintf("%s/%s/%s/%d", series, mode, tx.Caller.Merchant, year))
	if err != nil {
		return "", fmt.Errorf("invoice: next number: %w", err)
	}
	return fmt.Sprintf("%s-%d-%06d", prefix, year, n), nil
}

// fillDerived sets the fields that the stored JSON of an invoice leaves out. It takes them from the record,
// and makes the URLs from the current base URL.
func (s *Service) fillDerived(r *record) {
	r.PaidOutOfBand, r.AmountRefunded, r.Unlinked = r.OutOfBandMethod, r.Refunded, r.UnlinkedCustomer
	r.HostedURL = s.engine.BaseURL + "/invoice/" + r.Token
	if r.PDF != nil {
		r.PDF = new(r.HostedURL + "/pdf")
	}
	if r.PercentOff = nil; r.Redemption != nil && r.InvoiceDiscount == 0 {
		r.PercentOff = r.Redemption.PercentOff
	}
	r.CreditUsed, r.Stated = 0, r.StatedFigures
	for i := range r.Lines.Data {
		l := &r.Lines.Data[i]
		l.Taxes, l.DiscountShare, l.Net = r.Taxes[l.ID], r.Shares[l.ID], slices.Contains(r.NetLines, l.ID)
		if l.ID == r.CreditLine {
			r.CreditUsed = max(0, -l.Amount)
		}
	}
}

func (s *Service) get(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[record], error) {
	o, err := engine.GetTx(tx, invoices, scope, id, "invoice")
	if err != nil {
		return nil, err
	}
	s.fillDerived(&o.Value)
	return o, nil
}

// write writes a changed invoice, which ends its lease.
func (s *Service) write(tx *engine.Tx, o *storage.Object[record]) error {
	s.fillDerived(&o.Value)
	return invoices.Replace(tx, o)
}

// save writes a changed invoice and records its events. The write ends the lease of a call of the charger that may
// be under way. save then leases the invoice again, or a worker would poll at once. That lease is not renewed: a
// worker may poll while a long call still runs, which the charge's id makes harmless.
func (s *Service) save(tx *engine.Tx, o *storage.Object[record], types ...event.Type) error {
	if err := s.write(tx, o); err != nil {
		return err
	}
	if o.Value.callMayRun(tx.Now) {
		if err := invoices.Lease(tx, o, s.engine.Clock().Add(work.LeaseDuration)); err != nil {
			return fmt.Errorf("invoice: lease: %w", err)
		}
	}
	if len(types) == 0 {
		return nil
	}
	if err := s.recordEvents(tx, &o.Value, types...); err != nil {
		return err
	}
	return s.tellOutcome(tx, &o.Value, outcomesOf(types)...)
}

// recordEvents records events of an invoice, which carry its first lines only.
func (s *Service) recordEvents(tx *engine.Tx, r *record, types ...event.Type) error {
	v := r.Invoice
	v.Lines = engine.ForEvents(v.Lines)
	return s.config.Events.Append(tx, &v, types...)
}

// change runs a call that changes one invoice.
func (s *Service) change(ctx context.Context, caller api.Caller, op engine.Operation, id string, do func(*engine.Tx, *storage.Object[record]) error) (*invoice.Invoice, error) {
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*invoice.Invoice, error) {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		if err := do(tx, o); err != nil {
			return nil, err
		}
		return &o.Value.Invoice, nil
	})
}

func (s *Service) Update(ctx context.Context, caller api.Caller, id string, f invoice.UpdateParams) (*invoice.Invoice, error) {
	f.Lines = plainLines(f.Lines)
	op := engine.Operation{Name: "invoice.update", Params: struct {
		ID string `json:"id"`
		invoice.Fields
	}{id, f}}
	if err := checkFields(&f); err != nil {
		return nil, err
	}
	if err := checkFieldReads(&f, caller); err != nil {
		return nil, err
	}
	customer, err := s.customer(ctx, caller, &f)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
		if o.Value.Status != invoice.Draft {
			return notDraft(o.Value.Status)
		}
		if err := s.apply(tx, &o.Value, &f, customer); err != nil {
			return err
		}
		if err := check.UpdateMetadata(&o.Value.Metadata, f.ClearMetadata, f.Metadata); err != nil {
			return err
		}
		return s.save(tx, o, event.InvoiceUpdated)
	})
}

func (s *Service) AddLine(ctx context.Context, caller api.Caller, id string, p invoice.LineParams) (*invoice.Invoice, error) {
	op := engine.Operation{Name: "invoice.add_line", Params: struct {
		ID string `json:"id"`
		invoice.LineParams
	}{id, plain(p)}}
	if err := cmp.Or(checkSize(&p), check.Reads(caller, "products", "product", p.Product)); err != nil {
		return nil, err
	}
	return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
		if o.Value.Status != invoice.Draft {
			return notDraft(o.Value.Status)
		}
		line, err := s.line(tx, p)
		if err != nil {
			return err
		}
		lines := append(o.Value.Lines.Data, *line)
		if err := checkLines(lines); err != nil {
			return err
		}
		if err := o.Value.setLines(lines); err != nil {
			return tooMuch("unit_amount") // all lines before it were within the limit
		}
		return s.save(tx, o, event.InvoiceUpdated)
	})
}

func (s *Service) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	op := engine.Operation{Name: "invoice.delete", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*api.Deleted, error) {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		if o.Value.Status != invoice.Draft {
			return nil, notDraft(o.Value.Status)
		}
		if err := engine.Delete(tx, invoices, o); err != nil {
			return nil, fmt.Errorf("invoice: delete: %w", err)
		}
		if err := forgetDocument(tx, engine.Scope(caller), id); err != nil {
			return nil, err
		}
		if err := s.recordEvents(tx, &o.Value, event.InvoiceDeleted); err != nil {
			return nil, err
		}
		return &api.Deleted{ID: id, Object: "invoice", Deleted: true}, nil
	})
}

func notDraft(is invoice.Status) error {
	return api.Errorf(api.InvoiceNotDraft, "", "This invoice is %s; only a draft can be changed, finalized or deleted.", is)
}

func notOpen(is invoice.Status) error {
	return api.Errorf(api.InvoiceNotOpen, "", "This invoice is %s, not open.", is)
}

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*invoice.Invoice, error) {
	return s.listing().Get(ctx, s.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return s.listing().GetJSON(ctx, s.engine, caller, id, w)
}

// listing is how invoices are read.
func (s *Service) listing() engine.Listing[record, invoice.Invoice] {
	return engine.Listing[record, invoice.Invoice]{
		Collection: invoices, Noun: "invoice", URL: "/v1/invoices",
		Show: func(r *record) invoice.Invoice {
			s.fillDerived(r)
			return r.Invoice
		},
	}
}

func (s *Service) List(ctx context.Context, caller api.Caller, p invoice.ListParams) (*api.List[invoice.Invoice], error) {
	return s.listing().List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p invoice.ListParams, w io.Writer) error {
	return s.listing().ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}

func (s *Service) ListLines(ctx context.Context, caller api.Caller, id string, p api.Page) (*api.List[invoice.Line], error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	v, err := s.Get(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return engine.SliceOf(v.Lines.URL, "line item", v.Lines.Data, func(l *invoice.Line) string { return l.ID }, p)
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
