package subscribing

import (
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

var statuses = []subscription.Status{subscription.Trialing, subscription.Active, subscription.PastDue, subscription.Paused, subscription.Cancelled}

// record is the stored form of a subscription.
type record struct {
	subscription.Subscription
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
	// PeriodCost is what the current period costs, for prorations; nil before the first invoice.
	PeriodCost *periodCost `json:"paid,omitempty"`
	// Waiting are the lines that wait for the next invoice.
	Waiting []waitingLine `json:"waiting,omitempty"`
	// Credits are the parts of CreditBalance that belong to an invoice, the oldest first. The rest is older.
	Credits []credit `json:"credits,omitempty"`
	// Unpaid are the open invoices, and those given up or written off that the subscription still needs. The
	// oldest comes first.
	Unpaid []unpaid `json:"unpaid,omitempty"`
	// TrialWarned says that the end of the trial was announced, and Noticed that the next automatic
	// charge was.
	TrialWarned bool `json:"trial_warned,omitempty"`
	Noticed     bool `json:"noticed,omitempty"`
	// PhoneChange is a new phone that is not confirmed yet.
	PhoneChange *otp.Phone `json:"phone_change,omitempty"`
	// AwaitsSince is when the end of the period began to wait for a charge of an earlier time; nil if it
	// does not wait.
	AwaitsSince *api.Time `json:"awaits_since,omitempty"`
	// NextAt is when a worker acts on the subscription again; nil for never.
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

// periodCost is what the current period costs, from the last change in it on.
type periodCost struct {
	// Invoice is that of the period.
	Invoice string `json:"invoice"`
	// Amount is what the period's line cost after its discount or, if Changed, what an earlier change
	// of the period has made of it.
	Amount  int64 `json:"amount"`
	Changed bool  `json:"changed,omitempty"`
	// Terms are those of the plan that Amount is for.
	Terms terms `json:"terms"`
}

// waitingLine is a line for the next invoice.
type waitingLine struct {
	Description string `json:"description"`
	// Amount is in pesewas, less the discount of the period: no invoice discounts it again. A negative one is
	// credit.
	Amount     int64       `json:"amount"`
	Product    string      `json:"product,omitempty"`
	Taxable    bool        `json:"taxable,omitempty"`
	TaxPercent *api.Number `json:"tax_percent,omitempty"`
	// Invoice is the invoice that the credit belongs to, and Full what the credit is, above 0, as long as
	// nothing of that invoice is given back. Both are empty for a charge, and for the credit of a change
	// that is not invoiced yet.
	Invoice string `json:"invoice,omitempty"`
	Full    int64  `json:"full,omitempty"`
}

// unpaid is an invoice that is not paid.
type unpaid struct {
	Invoice string `json:"invoice"`
	// At is when the invoice is due or, if it is overdue, when it is given up, in Unix seconds. Zero means
	// never: charges decide when the invoice is overdue or given up, or it is given up already.
	At      int64 `json:"at,omitempty"`
	Overdue bool  `json:"overdue,omitempty"`
	// GivenUp says that the invoice is uncollectible, and keeps the subscription past_due.
	GivenUp bool `json:"given_up,omitempty"`
	// WrittenOff says that the merchant gave the invoice up, or that it was given up and no longer keeps the
	// subscription past_due. It is kept for Used alone.
	WrittenOff bool `json:"written_off,omitempty"`
	// Used is what comes back if the invoice is voided; nil for nothing.
	Used *used `json:"used,omitempty"`
}

// used is what an invoice has taken from its subscription.
type used struct {
	// Credit was taken off the balance; Credits are the parts of it that belonged to invoices. Waiting are
	// the lines that had waited, if their sum was below zero.
	Credit  int64         `json:"credit,omitempty"`
	Credits []usedCredit  `json:"credits,omitempty"`
	Waiting []waitingLine `json:"waiting,omitempty"`
	// Discount and Coupon are those of a coupon for one invoice.
	Discount *subscription.Discount `json:"discount,omitempty"`
	Coupon   *couponTerms           `json:"coupon_terms,omitempty"`
}

// stepAt returns when the invoice becomes overdue or, if it is overdue, when it is given up.
func (u *unpaid) stepAt() time.Time {
	at := time.Unix(u.At, 0)
	if u.Overdue {
		return at
	}
	return invoice.OverdueAt(at)
}

// charged reports whether automatic charges of the invoice, and no due date, decide when it is overdue or given up.
func (u *unpaid) charged() bool { return u.At == 0 && !u.GivenUp && !u.WrittenOff }

// charged returns the ids of the invoices that are charged automatically.
func (r *record) charged() (ids []string) {
	for i := range r.Unpaid {
		if r.Unpaid[i].charged() {
			ids = append(ids, r.Unpaid[i].Invoice)
		}
	}
	return ids
}

// couponTerms are what a subscription copies from its coupon.
type couponTerms struct {
	catalog.Terms
	// Once says that the coupon is for one invoice alone.
	Once bool `json:"once,omitempty"`
}

var subscriptions = storage.NewCollection("subscriptions", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) subscription.Status { return r.Status }, statuses...).Indexed(),
	storage.TextColumn("customer", func(r *record) string { return r.Customer }).Indexed(),
	storage.TextColumn("plan", func(r *record) string { return r.Plan }).Indexed(),
	// In seconds, as callers see it.
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Truncate(time.Second) }).Indexed(),
	storage.TextColumn("token", func(r *record) string { return r.Token }),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return r.NextAt }),
}, storage.UniqueGlobally("token", "token"), storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{subscriptions.Kind(), trials.Kind()} }

// periodStart and periodEnd are the bounds of the current period.
func (r *record) periodStart() time.Time { return time.Unix(r.CurrentPeriodStart, 0).UTC() }
func (r *record) periodEnd() time.Time   { return time.Unix(r.CurrentPeriodEnd, 0).UTC() }

// updateStatus sets the status of a subscription that is neither paused nor cancelled, nor in its trial.
func (r *record) updateStatus() {
	if r.Status != subscription.Active && r.Status != subscription.PastDue {
		return
	}
	r.Status = subscription.Active
	if slices.ContainsFunc(r.Unpaid, func(u unpaid) bool { return u.Overdue }) {
		r.Status = subscription.PastDue
	}
}

// enterPeriod makes period k the current one.
func (r *record) enterPeriod(k int64) {
	anchor := time.Unix(r.BillingAnchor, 0)
	r.Period, r.Noticed, r.AwaitsSince = k, false, nil
	r.CurrentPeriodStart, r.CurrentPeriodEnd = r.Terms.start(anchor, k).Unix(), r.Terms.start(anchor, k+1).Unix()
}
