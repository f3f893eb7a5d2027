// Package subscription bills customers period after period, as a plan says.
//
// It owns subscriptions: their periods, their status, changes with prorations, and when an invoice is
// made or overdue. Package invoice makes and collects the invoices, and tells this package of their
// outcomes by due rows. Each period has exactly one invoice: the transaction that makes it also moves
// the subscription to that period.
package subscription

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is the state of a subscription.
type Status string

// The statuses of subscriptions.
const (
	Trialing Status = "trialing" // nothing is charged yet
	Active   Status = "active"
	// PastDue: an invoice is overdue.
	PastDue   Status = "past_due"
	Paused    Status = "paused" // no invoices are made
	Cancelled Status = "cancelled"
)

var statuses = []string{string(Trialing), string(Active), string(PastDue), string(Paused), string(Cancelled)}

// Subscription is a customer's subscription to a plan. Times are Unix seconds, amounts pesewas.
type Subscription struct {
	ID       string `json:"id"`     // sub_…
	Object   string `json:"object"` // always "subscription"
	Status   Status `json:"status"`
	Customer string `json:"customer"`
	Plan     string `json:"plan"`
	// Amount is what one of Quantity costs for a period.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Quantity int64  `json:"quantity"`
	// CurrentPeriodStart and CurrentPeriodEnd are the period that was invoiced last, or the trial.
	CurrentPeriodStart int64 `json:"current_period_start"`
	CurrentPeriodEnd   int64 `json:"current_period_end"`
	// BillingAnchor is the start of the first paid period, from which all others are counted.
	BillingAnchor int64  `json:"billing_anchor"`
	TrialEnd      *int64 `json:"trial_end"`
	// CancelAtPeriodEnd says that the subscription ends with its current period.
	CancelAtPeriodEnd bool                     `json:"cancel_at_period_end"`
	CancelledAt       *int64                   `json:"cancelled_at"`
	LatestInvoice     *string                  `json:"latest_invoice"`
	CollectionMethod  invoice.CollectionMethod `json:"collection_method"`
	// PhoneNumber is the phone that is charged, masked; nil if none is known.
	PhoneNumber *string `json:"phone_number"`
	// DaysUntilDue is how long after its period's start an invoice that was sent is due.
	DaysUntilDue int64     `json:"days_until_due"`
	Discount     *Discount `json:"discount"`
	// CreditBalance is taken off the next invoices.
	CreditBalance int64 `json:"credit_balance"`
	// ManageURL is the address of the customer's page.
	ManageURL string       `json:"manage_url"`
	Livemode  bool         `json:"livemode"`
	Metadata  api.Metadata `json:"metadata"`
	Created   int64        `json:"created"`
}

// Discount is a coupon on a subscription.
type Discount struct {
	Coupon string `json:"coupon"`
	// Start is when the coupon was put on.
	Start int64 `json:"start"`
	// End is set of a coupon that repeats: a period that starts then has no discount.
	End *int64 `json:"end"`
}

// record is what is kept of a subscription.
type record struct {
	Subscription
	// Token is the secret part of the customer's page.
	Token string `json:"token"`
	// Terms are what the subscription has copied from its plan.
	Terms terms `json:"terms"`
	// Phone is the whole number that is charged; empty for none.
	Phone string `json:"phone,omitempty"`
	// Coupon is what the coupon of Discount takes off.
	Coupon *couponTerms `json:"coupon_terms,omitempty"`
	// Period is the number of the current period, counted from the anchor.
	Period int64 `json:"period"`
	// NextAt is when the worker looks at the subscription again; nil for never.
	NextAt *api.Time `json:"next_at,omitempty"`
	// CreatedAt is Created with its milliseconds.
	CreatedAt api.Time `json:"created_at"`
}

// terms are what a subscription copies from its plan.
type terms struct {
	Name string `json:"name"`
	recurrence
	Product    string      `json:"product,omitempty"`
	Taxable    bool        `json:"taxable,omitempty"`
	TaxPercent *api.Number `json:"tax_percent,omitempty"`
}

// couponTerms are what a subscription copies from its coupon.
type couponTerms struct {
	catalog.Terms
	// Once says that the coupon is for one invoice alone.
	Once bool `json:"once,omitempty"`
}

var subscriptions = storage.NewCollection("subscriptions", []storage.Field[record]{
	storage.TextColumn("status", func(r *record) string { return string(r.Status) }).OneOf(statuses...).Indexed(),
	storage.TextColumn("customer", func(r *record) string { return r.Customer }).Indexed(),
	storage.TextColumn("plan", func(r *record) string { return r.Plan }).Indexed(),
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
	storage.TextColumn("token", func(r *record) string { return r.Token }),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return r.NextAt }),
}, storage.UniqueGlobally("token", "token"), storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{subscriptions.Kind()} }

// periodStart and periodEnd are the bounds of the current period.
func (r *record) periodStart() time.Time { return time.Unix(r.CurrentPeriodStart, 0).UTC() }
func (r *record) periodEnd() time.Time   { return time.Unix(r.CurrentPeriodEnd, 0).UTC() }

// enterPeriod makes period k the current one.
func (r *record) enterPeriod(k int64) {
	anchor := time.Unix(r.BillingAnchor, 0)
	r.Period = k
	r.CurrentPeriodStart, r.CurrentPeriodEnd = r.Terms.start(anchor, k).Unix(), r.Terms.start(anchor, k+1).Unix()
}
