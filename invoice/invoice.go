package invoice

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is the state of an invoice.
type Status string

// The statuses of invoices.
const (
	Draft         Status = "draft" // editable and deletable
	Open          Status = "open"  // finalized and payable
	Paid          Status = "paid"
	Void          Status = "void"
	Uncollectible Status = "uncollectible"
)

var statuses = []Status{Draft, Open, Paid, Void, Uncollectible}

// moves is the state machine: from which statuses each one is entered.
// Paid and void are final. A draft that is not wanted is deleted.
var moves = status.Moves[Status]{
	Open:          {Draft},
	Paid:          {Open},
	Void:          {Open, Uncollectible},
	Uncollectible: {Open},
}

// Moves returns the state machine of an invoice, for the tests of this package. They are all external:
// with one inside, each build of the tests compiles all packages above this one anew.
func (*Internal) Moves() status.Moves[Status] { return moves }

// CollectionMethod says how the merchant collects an invoice.
type CollectionMethod string

// The methods of collection.
const (
	// SendInvoice sends the invoice to the customer, who then pays.
	SendInvoice CollectionMethod = "send_invoice"
	// ChargeAutomatically charges at finalization. As long as that fails, it charges again 1, 3 and
	// 5 days after the first attempt. After the last failure the invoice is uncollectible. In live
	// mode phones are asked within payments.Config.ChargeHours alone.
	ChargeAutomatically CollectionMethod = "charge_automatically"
)

// Invoice is what a merchant asks a customer to pay. All amounts are in pesewas.
type Invoice struct {
	ID       string  `json:"id"`
	Object   string  `json:"object"` // always "invoice"
	Number   string  `json:"invoice_number"`
	Status   Status  `json:"status"`
	Customer *string `json:"customer"`
	Email    *string `json:"customer_email"`
	Name     *string `json:"customer_name"`
	Phone    *string `json:"customer_phone"` // +233XXXXXXXXX
	Address  *string `json:"customer_address"`
	// Subtotal is the sum of the lines' amounts, Total is Subtotal + Tax - Discount.
	Subtotal int64 `json:"subtotal"`
	// Tax is the sum of the taxes. Each is on what the lines with its rate cost together after all
	// discounts, and is rounded once.
	Tax int64 `json:"tax"`
	// TaxPercent is the tax rate if all taxable lines have the same, and otherwise nil.
	TaxPercent *api.Number `json:"tax_percent"`
	// Discount is the sum of the lines' own discounts and of that on the whole invoice.
	Discount   int64 `json:"discount"`
	Total      int64 `json:"total"`
	AmountPaid int64 `json:"amount_paid"`
	// AmountDue is the amount left to pay; 0 if paid or void.
	AmountDue   int64     `json:"amount_due"`
	Currency    string    `json:"currency"`
	Coupon      *string   `json:"coupon"`
	Description *string   `json:"description"`
	Footer      *string   `json:"footer"`
	Memo        *string   `json:"memo"` // never shown to the customer
	InvoiceDate api.Time  `json:"invoice_date"`
	DueDate     *api.Time `json:"due_date"`
	PaidAt      *api.Time `json:"paid_at"`
	// Payment is the id of the payment. It is nil until the invoice is paid, and if it was paid
	// without a payment: nothing was due, or it was paid out of band.
	Payment *string `json:"payment"`
	// Subscription is the id of the subscription that made the invoice. It is nil for any other, whose
	// JSON leaves it out.
	Subscription       *string          `json:"subscription,omitempty"`
	CollectionMethod   CollectionMethod `json:"collection_method"`
	HostedURL          string           `json:"hosted_invoice_url"`
	PDF                *string          `json:"invoice_pdf"`
	AttemptCount       int              `json:"attempt_count"` // number of charges, by Pay or automatic
	NextPaymentAttempt *api.Time        `json:"next_payment_attempt"`
	FinalizedAt        *api.Time        `json:"finalized_at"`
	VoidedAt           *api.Time        `json:"voided_at"`
	Livemode           bool             `json:"livemode"`
	Metadata           api.Metadata     `json:"metadata"`
	Lines              api.List[Line]   `json:"lines"`
	Created            int64            `json:"created"` // Unix seconds

	// What follows is shown on page and document, not over /v1, where the shape of an
	// invoice is fixed.

	// PaidOutOfBand says how the invoice was paid outside this service, such as "cash". It is empty
	// if the merchant did not say how, and nil if it was not paid outside.
	PaidOutOfBand *string `json:"-"`
	// AmountRefunded is how much was given back, in pesewas. The invoice stays paid.
	AmountRefunded int64 `json:"-"`
	// Unlinked is the id of a customer whose data a draft still has but whose id it no longer
	// names; empty for none.
	Unlinked string `json:"-"`
	// PercentOff is the percentage that the coupon takes off; nil if it takes off an amount, or if it
	// is not the only discount on the whole invoice.
	PercentOff *api.Number `json:"-"`

	// CreditUsed is what the credit of a subscription has paid; Total leaves it out.
	CreditUsed int64 `json:"-"`

	// TaxPerLine says that an earlier release rounded the tax of each line.
	TaxPerLine bool `json:"-"`
}

// PersonID returns Unlinked. The deletion of a customer finds copies of the invoice by it.
func (v *Invoice) PersonID() string { return v.Unlinked }

// record is what is kept of an invoice.
type record struct {
	Invoice
	// Token is the secret part of the hosted page's address.
	Token string `json:"token"`
	// InvoiceDiscount is the discount on the whole invoice, which is part of Discount.
	InvoiceDiscount int64 `json:"invoice_discount,omitempty"`
	// Redemption is what the coupon takes off; nil without one. An earlier release kept any text as
	// Coupon.
	Redemption *redemption `json:"redemption,omitempty"`
	// Shares are the lines' shares of the discount on the whole invoice, by the lines' ids. They are
	// nil if an earlier release computed the totals, which took that discount off after the tax.
	Shares map[string]int64 `json:"shares,omitempty"`
	// NetLines are the ids of the lines that are less their discount already.
	NetLines []string `json:"net_lines,omitempty"`
	// Taxes are what the rates of lines are made of, by the lines' ids.
	Taxes map[string][]Tax `json:"taxes,omitempty"`
	// TaxPerRate says that each tax was rounded once over all lines of its rate. Earlier releases rounded
	// the tax of each line.
	TaxPerRate bool `json:"tax_per_rate,omitempty"`
	// RefundedTaxes are the sums of what the credit notes have taken back of [Invoice.TaxRows]; nil before
	// the first note.
	RefundedTaxes []TaxRow `json:"refunded_taxes,omitempty"`
	// FinalizedBy is the request that finalized the invoice. The events of automatic charges
	// name it.
	FinalizedBy *eventRequest `json:"finalized_by,omitempty"`
	// OpenCharge is a charge whose outcome is not known yet.
	OpenCharge *charge `json:"open_charge,omitempty"`
	// OpenPayment is the automatic payment from the customer's phone that has no outcome yet; empty
	// for none.
	OpenPayment string `json:"open_payment,omitempty"`
	// CreditLine is the id of the line by which credit is kept or used; empty for none.
	CreditLine string `json:"credit_line,omitempty"`
	// ChargedPhone is the number that automatic charges ask in place of Phone, +233…; empty for none.
	// It is kept as long as the invoice may be charged.
	ChargedPhone string `json:"charged_phone,omitempty"`
	// Postponed says that limits on prompts, or a hold, keep the scheduled charge waiting.
	Postponed bool `json:"postponed,omitempty"`
	// FirstAttempt is the time of the first automatic charge, from which the others are counted; nil
	// for the finalization.
	FirstAttempt *api.Time `json:"first_attempt,omitempty"`
	// Sent are the last times at which Send told the customer, the oldest first.
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

	// Of the automatic charge that has failed in this transaction: when it was to be made, which phone it was
	// to ask, and why it has failed.
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

// person returns the customer whose data the invoice has; empty for none.
func (r *record) person() string {
	if r.Customer != nil {
		return *r.Customer
	}
	return r.UnlinkedCustomer
}

// dropPerson takes the customer's data off.
func (r *record) dropPerson() { r.Email, r.Name, r.Phone, r.Address = nil, nil, nil, nil }

// sharesPerson reports whether any of the customer's data is as it was in old.
func (r *record) sharesPerson(old record) bool {
	same := func(now, was *string) bool { return now != nil && was != nil && *now == *was }
	return same(r.Email, old.Email) || same(r.Name, old.Name) || same(r.Phone, old.Phone) || same(r.Address, old.Address)
}

// setLines replaces the lines and computes the totals.
func (r *record) setLines(lines []Line) error {
	r.Lines.Data, r.Taxes, r.NetLines = lines, nil, nil
	for _, l := range lines {
		if l.Net {
			r.NetLines = append(r.NetLines, l.ID)
		}
		if len(l.Taxes) == 0 {
			continue
		}
		if r.Taxes == nil {
			r.Taxes = map[string][]Tax{}
		}
		r.Taxes[l.ID] = l.Taxes
	}
	return r.total()
}

// enter moves the invoice to another status. Paid and Void leave nothing due. It fails, and
// changes nothing, if the state machine has no such transition.
func (r *record) enter(to Status) error {
	if err := moves.Enter("invoice", &r.Status, to); err != nil {
		return err
	}
	if to == Paid || to == Void {
		r.AmountDue = 0
	}
	if to != Open {
		r.ChargedPhone = ""
	}
	return nil
}

var invoices = storage.NewCollection("invoices", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) Status { return r.Status }, statuses...).Indexed(),
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
