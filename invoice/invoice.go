// Package invoice makes invoices: their drafts and lines, totals, statuses and collection.
package invoice

import "github.com/seed-7082ffec/payments/api"

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

	// Stated are figures that the invoice keeps though its lines would give others; nil for nearly all
	// invoices.
	Stated *StatedFigures `json:"-"`
}

// PersonID returns Unlinked. The deletion of a customer finds copies of the invoice by it.
func (v *Invoice) PersonID() string { return v.Unlinked }
