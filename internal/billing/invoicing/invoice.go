package invoicing

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

var statuses = []invoice.Status{invoice.Draft, invoice.Open, invoice.Paid, invoice.Void, invoice.Uncollectible}

// transitions is the state machine: from which statuses each one is entered.
// Paid and void are final. A draft that is not wanted is deleted.
var transitions = status.Transitions[invoice.Status]{
	invoice.Open:          {invoice.Draft},
	invoice.Paid:          {invoice.Open},
	invoice.Void:          {invoice.Open, invoice.Uncollectible},
	invoice.Uncollectible: {invoice.Open},
}

// record is the stored form of an invoice.
type record struct {
	invoice.Invoice
	// Token is the secret part of the hosted page's address.
	Token string `json:"token"`
	// InvoiceDiscount is the discount on the whole invoice, which is part of Discount.
	InvoiceDiscount int64 `json:"invoice_discount,omitempty"`
	// Redemption is what the coupon takes off; nil without one, and if Coupon is a text that never took
	// anything off.
	Redemption *redemption `json:"redemption,omitempty"`
	// Shares are the lines' shares of the discount on the whole invoice, by the lines' ids.
	Shares map[string]int64 `json:"shares,omitempty"`
	// NetLines are the ids of the lines whose amount is already net of their discount; see [invoice.Line.Net].
	NetLines []string `json:"net_lines,omitempty"`
	// Taxes are what the rates of lines are made of, by the lines' ids.
	Taxes map[string][]invoice.Tax `json:"taxes,omitempty"`
	// StatedFigures stores Stated, which the JSON of an invoice leaves out. Only internal/upgrade writes them.
	StatedFigures *invoice.StatedFigures `json:"stated_figures,omitempty"`
	// RefundedTaxes are the sums of what the credit notes have taken back of [invoice.Invoice.TaxRows]; nil before
	// the first note, and with StatedFigures.
	RefundedTaxes []invoice.TaxRow `json:"refunded_taxes,omitempty"`
	// FinalizedBy is the request that finalized the invoice. The events of automatic charges
	// name it.
	FinalizedBy *eventRequest `json:"finalized_by,omitempty"`
	// OpenCharge is a charge whose outcome is not known yet.
	OpenCharge *charge `json:"open_charge,omitempty"`
	// OpenPayment is the automatic payment from the customer's phone that has no outcome yet; empty
	// for none.
	OpenPayment string `json:"open_payment,omitempty"`
	// CreditLine is the id of the line that keeps or uses credit; empty for none.
	CreditLine string `json:"credit_line,omitempty"`
	// ChargedPhone is the number that automatic charges ask in place of Phone, +233…; empty for none.
	// It is kept as long as the invoice may be charged.
	ChargedPhone string `json:"charged_phone,omitempty"`
	// Postponed says that limits on prompts, or a hold, keep the scheduled charge waiting.
	Postponed bool `json:"postponed,omitempty"`
	// FirstAttempt is the time of the first automatic charge, from which the others are counted; nil means
	// the time of the finalization.
	FirstAttempt *api.Time `json:"first_attempt,omitempty"`
	// Sent are the times of the latest calls of Send, the oldest first.
	Sent []api.Time `json:"sent,omitempty"`
	// OutOfBandMethod, Refunded and UnlinkedCustomer store PaidOutOfBand, AmountRefunded and
	// Unlinked, which the JSON of an invoice leaves out.
	OutOfBandMethod  *string `json:"out_of_band_method,omitempty"`
	Refunded         int64   `json:"refunded,omitempty"`
	UnlinkedCustomer string  `json:"unlinked_customer,omitempty"`
	// CreatedAt is Created with its milliseconds.
	CreatedAt api.Time `json:"created_at"`
	// NextWorkAt is when a worker looks at an invoice without an open charge; nil for never. See
	// dueAt.
	NextWorkAt *api.Time `json:"next_work_at,omitempty"`

	// The automatic charge that has failed in this transaction: its scheduled time, the phone that it was to ask,
	// and why it has failed.
	failedCharge *api.Time
	failedPhone  string
	failedFor    provider.Failure
}

// dueAt is the time at which workers claim the invoice.
func (r *record) dueAt() *api.Time {
	if r.OpenCharge != nil && r.OpenCharge.Due != nil {
		return r.OpenCharge.Due
	}
	return r.NextWorkAt
}

// callMayRun reports whether a process may be calling the charger: the open charge is due from the time when a
// call may begin until its result is applied.
func (r *record) callMayRun(now time.Time) bool {
	return r.OpenCharge != nil && r.dueAt() != nil && !r.dueAt().After(now)
}

// person returns the id of the customer whose data the invoice holds; empty for none.
func (r *record) person() string {
	if r.Customer != nil {
		return *r.Customer
	}
	return r.UnlinkedCustomer
}

// dropPerson removes the customer's data.
func (r *record) dropPerson() { r.Email, r.Name, r.Phone, r.Address = nil, nil, nil, nil }

// sharesPerson reports whether any of the customer's data is as it was in old.
func (r *record) sharesPerson(old record) bool {
	same := func(now, was *string) bool { return now != nil && was != nil && *now == *was }
	return same(r.Email, old.Email) || same(r.Name, old.Name) || same(r.Phone, old.Phone) || same(r.Address, old.Address)
}

// setLines replaces the lines and computes the totals.
func (r *record) setLines(lines []invoice.Line) error {
	r.Lines.Data, r.Taxes, r.NetLines = lines, nil, nil
	for _, l := range lines {
		if l.Net {
			r.NetLines = append(r.NetLines, l.ID)
		}
		if len(l.Taxes) == 0 {
			continue
		}
		if r.Taxes == nil {
			r.Taxes = map[string][]invoice.Tax{}
		}
		r.Taxes[l.ID] = l.Taxes
	}
	return r.total()
}

// enter moves the invoice to another status. Paid and Void leave nothing due. It fails, and
// changes nothing, if the state machine has no such transition.
func (r *record) enter(to invoice.Status) error {
	if err := transitions.Enter("invoice", &r.Status, to); err != nil {
		return err
	}
	if to == invoice.Paid || to == invoice.Void {
		r.AmountDue = 0
	}
	if to != invoice.Open {
		r.ChargedPhone = ""
	}
	return nil
}

var invoices = storage.NewCollection("invoices", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) invoice.Status { return r.Status }, statuses...).Indexed(),
	storage.NullTextColumn("customer", func(r *record) *string { return r.Customer }).Indexed(),
	// In seconds, as callers see it.
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Truncate(time.Second) }).Indexed(),
	storage.NullTimeColumn("due_date", func(r *record) *api.Time { return r.DueDate }).Indexed(),
	storage.TextColumn("token", func(r *record) string { return r.Token }),
	storage.NullTimeColumn("due", (*record).dueAt),
	storage.TextColumn("unlinked", func(r *record) string { return r.UnlinkedCustomer }).Nullable().Indexed(),
	storage.NullTextColumn("subscription", func(r *record) *string { return r.Subscription }).Indexed(),
	storage.TextColumn("invoice_number", func(r *record) string { return r.Number }).Nullable().Indexed(),
}, storage.UniqueGlobally("token", "token"), storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{invoices.Kind(), pdfs.Kind(), creditNotes.Kind(), reminders.Kind(), outcomes.Kind()}
}
