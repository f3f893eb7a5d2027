package checkout

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// CreateParams describe a new session.
type CreateParams struct {
	// Mode is ModePayment when empty.
	Mode Mode `json:"mode,omitempty"`
	// Lines are what ModePayment sells, as those of an invoice; from 1 to 250.
	Lines []invoice.LineParams `json:"line_items,omitempty"`
	// Plan is the id of the active plan that ModeSubscription sells, and Quantity how many of it, from
	// 1 to 1,000,000; 1 when nil. The session copies the plan. Quantity times the plan's amount is at
	// most 99,999,999 pesewas.
	Plan     string `json:"plan,omitempty"`
	Quantity *int64 `json:"quantity,omitempty"`
	Currency string `json:"currency,omitempty"` // GHS when empty
	// SuccessURL is where the payer goes once the session is complete. {CHECKOUT_SESSION_ID} in it
	// stands for the session's id. CancelURL is where the page's link back leads; without one there is
	// no link. Both begin with https in live mode, and are at most 2,048 bytes long, with the id filled in.
	//
	// SuccessURL should not redirect to another origin: some browsers then stay on the payment page. If
	// the payer presses the button again, the session takes no second payment and sends the payer on.
	SuccessURL string `json:"success_url" param:",required"`
	CancelURL  string `json:"cancel_url,omitempty"`
	// Customer is the id of the customer, whose name, e-mail and phone the session takes. Name, Email
	// and Phone are given only without one.
	Customer string `json:"customer,omitempty"`
	Name     string `json:"customer_name,omitempty"`  // at most 255 characters
	Email    string `json:"customer_email,omitempty"` // one plain address
	Phone    string `json:"customer_phone,omitempty"` // a Ghanaian number in any common form
	// Coupon is the id of a coupon that can be redeemed now. It is redeemed when the payer pays.
	Coupon string `json:"coupon,omitempty"`
	// ExpiresAt is from 30 minutes to 24 hours ahead; zero stands for 24 hours. A fraction of a second
	// is cut off.
	ExpiresAt time.Time    `json:"expires_at,omitzero" param:",unix"`
	Reference string       `json:"reference,omitempty"` // at most 100 characters
	Metadata  api.Metadata `json:"metadata,omitempty"`
}
