package checkout

import (
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/invoice"
)

// Hosted holds what the page of a session shows.
type Hosted struct {
	Session  Session
	Merchant account.Merchant
	// Token is the secret part of the page's address.
	Token string
	// Plan is the plan of ModeSubscription, as it was when the session was made; nil for none.
	Plan *catalog.Plan
	// Coupon is the coupon of ModeSubscription, as it was when the session was made; nil for none.
	Coupon *catalog.Coupon
	// Sums are the totals in the order in which they are shown, the total last.
	Sums []invoice.Sum
	// Refusal says why the session cannot be paid now; nil if it can.
	Refusal *api.Error
	// Attempt is the id of the last payment from a phone; empty for none. HeldUntil is the end of its
	// hold, or the zero time if it holds the session no longer.
	Attempt   string
	HeldUntil time.Time
	// Email and Name are the session's, or what the payer of the last attempt has entered instead; empty
	// for none.
	Email, Name string
	// Confirming is a phone that waits for its code; nil for none. TrialUsed says that the phone which was
	// entered last has had its trial of the plan, so that Plan has none.
	Confirming *Confirming
	TrialUsed  bool
	// Now is the merchant's clock.
	Now time.Time
	// Caller stands for the merchant in the call of Pay.
	Caller api.Caller
}

// Brief is what the page of a payment shows of its session.
type Brief struct {
	ID         string  `json:"id"`
	Mode       Mode    `json:"mode"`
	Token      string  `json:"token"` // the secret part of the page's address
	SuccessURL string  `json:"success_url"`
	Reference  *string `json:"reference"`
	Payment    *string `json:"payment"`
}

// Destination is that of [Session.Destination].
func (b *Brief) Destination() string { return escaped(b.SuccessURL, b.ID) }
