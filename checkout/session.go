// Package checkout sells over a page of the library: a merchant makes a session for an order, and
// sends the payer to its address. The page takes the money, from a wallet or a phone, and then sends
// the payer back to the merchant's website.
//
// It describes sessions: what they cost, their coupon's redemption, their states and their pages.
package checkout

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
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
