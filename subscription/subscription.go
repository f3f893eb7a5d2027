// Package subscription bills customers period after period, as a plan says.
package subscription

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
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
	// BillingAnchor is the time from which periods are counted: at first the start, or the end of the
	// trial. Resume, a plan of another interval, and Pause in a trial set it anew.
	BillingAnchor int64  `json:"billing_anchor"`
	TrialEnd      *int64 `json:"trial_end"`
	// CancelAtPeriodEnd says that the subscription ends with its current period.
	CancelAtPeriodEnd bool                     `json:"cancel_at_period_end"`
	CancelledAt       *int64                   `json:"cancelled_at"`
	LatestInvoice     *string                  `json:"latest_invoice"`
	CollectionMethod  invoice.CollectionMethod `json:"collection_method"`
	// PhoneNumber is the phone that is charged, masked; nil if none is known.
	PhoneNumber *string `json:"phone_number"`
	// DaysUntilDue is the number of days from the start of a period until its invoice is due, with
	// SendInvoice.
	DaysUntilDue int64     `json:"days_until_due"`
	Discount     *Discount `json:"discount"`
	// CreditBalance is taken off the next invoices.
	CreditBalance int64 `json:"credit_balance"`
	// ManageURL is the address of the customer's page, which changes the subscription without a key. It is
	// nil for a caller who may not write subscriptions.
	ManageURL *string      `json:"manage_url"`
	Livemode  bool         `json:"livemode"`
	Metadata  api.Metadata `json:"metadata"`
	Created   int64        `json:"created"`
}

// Discount is a coupon on a subscription.
type Discount struct {
	Coupon string `json:"coupon"`
	// Start is when the coupon was put on, in Unix seconds.
	Start int64 `json:"start"`
	// End is when a Repeating coupon ends, in Unix seconds; nil for other durations. Periods that start
	// at End or later have no discount.
	End *int64 `json:"end"`
}
