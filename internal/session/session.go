package session

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

var statuses = []checkout.Status{checkout.Open, checkout.Complete, checkout.Expired}

// transitions is the state machine: from which statuses each one is entered. Complete and expired are
// final.
var transitions = status.Transitions[checkout.Status]{
	checkout.Complete: {checkout.Open},
	checkout.Expired:  {checkout.Open},
}

// record is the stored form of a session.
type record struct {
	checkout.Session
	// Token is the secret part of the page's address.
	Token string `json:"token"`
	// Sums are the totals as the page shows them.
	Sums []sum `json:"sums"`
	// PlanTerms and CouponTerms are the plan and the coupon of ModeSubscription, as they were when the
	// session was made.
	PlanTerms   *catalog.Plan   `json:"plan_terms,omitempty"`
	CouponTerms *catalog.Coupon `json:"coupon_terms,omitempty"`
	// NoTrial says that the phone which was entered last has had its trial of the plan. The session then
	// costs the first period, and begins without a trial.
	NoTrial bool `json:"no_trial,omitempty"`
	// Confirmation is a phone that waits for its code, and counts the codes; nil before the first.
	Confirmation *otp.Phone `json:"confirmation,omitempty"`
	// Charged is the phone that the subscription is to charge, +233…; empty once the session has ended.
	Charged string `json:"charged,omitempty"`
	// FutureCustomer stores NewCustomer, which the JSON of a session leaves out.
	FutureCustomer string `json:"future_customer,omitempty"`
	// Attempt is the id of the last payment that was started from a phone; empty for none.
	Attempt string `json:"attempt,omitempty"`
	// Entered is what the payer of Attempt has entered; nil for nothing, and once the session has ended.
	Entered *entered `json:"entered,omitempty"`
	// Redeemed says that a redemption of the coupon is counted: for the payments that may still be approved
	// in time, or for good once the session is complete.
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
	storage.EnumColumn("status", func(r *record) checkout.Status { return r.Status }, statuses...).Indexed(),
	storage.NullTextColumn("customer", func(r *record) *string { return r.Customer }).Indexed(),
	storage.NullTextColumn("payment", func(r *record) *string { return r.Payment }).Indexed(),
	storage.NullTextColumn("subscription", func(r *record) *string { return r.Subscription }).Indexed(),
	// In seconds, as callers see it.
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Truncate(time.Second) }).Indexed(),
	storage.TextColumn("token", func(r *record) string { return r.Token }),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return r.Due }),
	storage.NullTextColumn("reference", func(r *record) *string { return r.Reference }).Indexed(),
}, storage.UniqueGlobally("token", "token"), storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{sessions.Kind()} }

// enter moves the session to another status. It fails, and changes nothing, if the state machine has no
// such transition.
func (r *record) enter(to checkout.Status) error {
	if err := transitions.Enter("checkout session", &r.Status, to); err != nil {
		return err
	}
	r.Due = nil
	return nil
}

// expiry is the time from which on the session cannot be paid.
func (r *record) expiry() time.Time { return time.Unix(r.ExpiresAt, 0) }

// over reports that the session's time is over, whether or not the worker has expired it.
func (r *record) over(now time.Time) bool { return !now.Before(r.expiry()) }

// planTerms are those of the plan as the session sells it: without a trial if the phone has had one.
func (r *record) planTerms() *catalog.Plan {
	if !r.NoTrial {
		return r.PlanTerms
	}
	terms := *r.PlanTerms
	terms.TrialPeriodDays = nil
	return &terms
}

// forget removes the payer's data. changed reports that there was some.
func (r *record) forget() (changed bool) {
	changed = r.Name != nil || r.Email != nil || r.Phone != nil || r.Charged != "" || r.Entered != nil || r.Confirmation != nil
	r.Name, r.Email, r.Phone, r.Charged, r.Entered, r.Confirmation = nil, nil, nil, "", nil, nil
	return changed
}

// forgetNumber removes the phone number and the e-mail.
func (r *record) forgetNumber() { r.Email, r.Phone = nil, nil }

func (r *record) hasNumber() bool { return r.Email != nil || r.Phone != nil }

// about says what the session is for, in a line: the first of its lines, and how many more there are.
func about(v *checkout.Session) string {
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

// sums returns the totals as the page shows them, the total last.
func (r *record) sums() []invoice.Sum {
	sums := make([]invoice.Sum, len(r.Sums))
	for i, row := range r.Sums {
		sums[i] = invoice.Sum{Name: row.Name, Amount: row.Amount, Bold: i == len(r.Sums)-1}
	}
	return sums
}
