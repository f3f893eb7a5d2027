// Package checkout sells over a page of the library: a merchant makes a session for an order, and
// sends the payer to its address. The page takes the money, from a wallet or a phone, and then sends
// the payer back to the merchant's website.
//
// It owns sessions: what they cost, their coupon's redemption, their states and their events. Package
// invoice computes the lines and totals. Package payment takes the money from phones and keeps the
// holds. Package catalog counts the redemptions, and package subscription begins what a session has
// sold.
package checkout

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Mode says what a session sells.
type Mode string

// The modes of sessions.
const (
	ModePayment      Mode = "payment"      // lines, paid once
	ModeSubscription Mode = "subscription" // a plan, paid period after period
)

// Status is the state of a session.
type Status string

// The statuses of sessions.
const (
	Open     Status = "open" // payable
	Complete Status = "complete"
	Expired  Status = "expired"
)

var statuses = []Status{Open, Complete, Expired}

// moves is the state machine: from which statuses each one is entered. Complete and expired are
// final.
var moves = status.Moves[Status]{
	Complete: {Open},
	Expired:  {Open},
}

// PaymentStatus says whether the money of a session has come.
type PaymentStatus string

// The payment statuses of sessions. A session is unpaid until it is complete.
const (
	Unpaid PaymentStatus = "unpaid"
	Paid   PaymentStatus = "paid"
	// NoPaymentRequired is that of a complete session for which nothing was due.
	NoPaymentRequired PaymentStatus = "no_payment_required"
)

// Session is an order that a payer pays on a page. All amounts are in pesewas, and all times in Unix
// seconds.
type Session struct {
	ID            string        `json:"id"`     // cs_…
	Object        string        `json:"object"` // always "checkout_session"
	Mode          Mode          `json:"mode"`
	Status        Status        `json:"status"`
	PaymentStatus PaymentStatus `json:"payment_status"`
	// URL is the address of the page; nil once the session is no longer open.
	URL        *string `json:"url"`
	SuccessURL string  `json:"success_url"`
	CancelURL  *string `json:"cancel_url"`
	Customer   *string `json:"customer"`
	// Name, Email and Phone are those of the customer, or were given. What the payer enters on the page
	// takes their place once the session is complete.
	Name   *string `json:"customer_name"`
	Email  *string `json:"customer_email"`
	Phone  *string `json:"customer_phone"` // +233XXXXXXXXX
	Coupon *string `json:"coupon"`
	// Plan and Quantity are those of ModeSubscription.
	Plan      *string `json:"plan"`
	Quantity  *int64  `json:"quantity"`
	Reference *string `json:"reference"`
	// Subtotal is the sum of the lines' amounts, Total is Subtotal + Tax - Discount.
	Subtotal int64                  `json:"subtotal"`
	Discount int64                  `json:"discount"`
	Tax      int64                  `json:"tax"`
	Total    int64                  `json:"total"`
	Currency string                 `json:"currency"`
	Lines    api.List[invoice.Line] `json:"lines"`
	// Payment is the id of the payment; nil until the session is paid.
	Payment *string `json:"payment"`
	// Subscription is the id of the subscription that has begun; nil until the session is complete.
	Subscription *string      `json:"subscription"`
	ExpiresAt    int64        `json:"expires_at"`
	CompletedAt  *int64       `json:"completed_at"`
	Livemode     bool         `json:"livemode"`
	Metadata     api.Metadata `json:"metadata"`
	Created      int64        `json:"created"`

	// NewCustomer is the id that the session has reserved for the customer it makes on completion. The
	// deletion of that customer finds the session by it. It is empty if the session makes no customer.
	// /v1 does not show it.
	NewCustomer string `json:"-"`
}

// PersonID returns NewCustomer. The deletion of the customer finds copies of the session by it.
func (v *Session) PersonID() string { return v.NewCustomer }

// record is the stored form of a session.
type record struct {
	Session
	// Token is the secret part of the page's address.
	Token string `json:"token"`
	// Sums are the totals as the page shows them.
	Sums []sum `json:"sums"`
	// PlanTerms and CouponTerms are the plan and the coupon of ModeSubscription, as they were when the
	// session was made.
	PlanTerms   *catalog.Plan   `json:"plan_terms,omitempty"`
	CouponTerms *catalog.Coupon `json:"coupon_terms,omitempty"`
	// Charged is the phone that the subscription is to charge, +233…; empty once the session has ended.
	Charged string `json:"charged,omitempty"`
	// FutureCustomer stores NewCustomer, which the JSON of a session leaves out.
	FutureCustomer string `json:"future_customer,omitempty"`
	// Attempt is the id of the last payment that was started from a phone; empty for none.
	Attempt string `json:"attempt,omitempty"`
	// Entered is what the payer of Attempt has entered; nil for nothing, and once the session has ended.
	Entered *entered `json:"entered,omitempty"`
	// Redeemed says that a redemption of the coupon is counted: for the hold of Attempt, or for good
	// once the session is complete.
	Redeemed bool `json:"redeemed,omitempty"`
	// RequestID and IdempotencyKey are of the call that made the session. Its expiry names them.
	RequestID      string   `json:"request_id,omitempty"`
	IdempotencyKey string   `json:"idempotency_key,omitempty"`
	CreatedAt      api.Time `json:"created_at"` // Created with its milliseconds
	// Due is when the worker looks at the session: at the end of a hold, or when it expires. It is nil
	// once the session is no longer open.
	Due *api.Time `json:"due,omitempty"`
}

// entered is what a payer has entered on the page. Nil keeps what the session has, and an empty text
// clears it.
type entered struct {
	Email *string `json:"email,omitempty"`
	Name  *string `json:"name,omitempty"`
}

// payer returns the e-mail and the name with what the payer of the last attempt has entered.
func (r *record) payer() (email, name *string) {
	email, name = r.Email, r.Name
	if r.Entered != nil && r.Entered.Email != nil {
		email = api.TextOrNil(*r.Entered.Email)
	}
	if r.Entered != nil && r.Entered.Name != nil {
		name = api.TextOrNil(*r.Entered.Name)
	}
	return email, name
}

// sum is a row of the totals.
type sum struct {
	Name   string `json:"name"`
	Amount int64  `json:"amount"`
}

var sessions = storage.NewCollection("checkout_sessions", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) Status { return r.Status }, statuses...).Indexed(),
	storage.NullTextColumn("customer", func(r *record) *string { return r.Customer }).Indexed(),
	storage.NullTextColumn("payment", func(r *record) *string { return r.Payment }).Indexed(),
	storage.NullTextColumn("subscription", func(r *record) *string { return r.Subscription }).Indexed(),
	// In seconds, as callers see it.
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Truncate(time.Second) }).Indexed(),
	storage.TextColumn("token", func(r *record) string { return r.Token }),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return r.Due }),
}, storage.UniqueGlobally("token", "token"), storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{sessions.Kind()} }

// enter moves the session to another status. It fails, and changes nothing, if the state machine has no
// such transition.
func (r *record) enter(to Status) error {
	if err := moves.Enter("checkout session", &r.Status, to); err != nil {
		return err
	}
	r.Due = nil
	return nil
}

// expiry is the time from which on the session cannot be paid.
func (r *record) expiry() time.Time { return time.Unix(r.ExpiresAt, 0) }

// over reports that the session's time is over, whether or not the worker has expired it.
func (r *record) over(now time.Time) bool { return !now.Before(r.expiry()) }

// forget removes the payer's data. changed reports that there was some.
func (r *record) forget() (changed bool) {
	changed = r.Name != nil || r.Email != nil || r.Phone != nil || r.Charged != "" || r.Entered != nil
	r.Name, r.Email, r.Phone, r.Charged, r.Entered = nil, nil, nil, "", nil
	return changed
}

// forgetNumber removes the phone number and the e-mail.
func (r *record) forgetNumber() { r.Email, r.Phone = nil, nil }

func (r *record) hasNumber() bool { return r.Email != nil || r.Phone != nil }

// about says what the session is for, in a line: the first of its lines, and how many more there are.
func (v *Session) about() string {
	if len(v.Lines.Data) == 0 {
		return ""
	}
	first := v.Lines.Data[0].Description
	more := len(v.Lines.Data) - 1
	if more == 0 {
		return first
	}
	end := fmt.Sprintf(" and %d more", more)
	if runes := []rune(first); len(runes) > api.MaxText-len(end) {
		first = string(runes[:api.MaxText-len(end)])
	}
	return first + end
}
