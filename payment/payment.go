// Package payment keeps every payment that a merchant receives. It also takes payments from a phone:
// the holder of a mobile-money account approves them on the phone.
//
// While a payment from a phone holds its invoice, its checkout session or its use of a QR code, no other payment
// can use it. A hold ends with the payment, after payments.Config.PaymentDeadline, or with Leave or Release. One
// that a page has started ends after 2 minutes, unless the provider has answered that the phone was asked.
package payment

import (
	"io"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Status is the state of a payment.
type Status string

// The statuses of a payment.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// The methods of payment that this library carries out itself. Any other is the host's.
const (
	// ServiceWallet is the method of a consumer who pays from a wallet.
	ServiceWallet = "service_wallet"
	// FromPhone is the method of a payer who approves the payment on the phone.
	FromPhone = "mobile_money"
)

// Payment is money that a merchant receives, or has received.
type Payment struct {
	ID     string `json:"id"`
	Object string `json:"object"` // always "payment"
	// Amount is in pesewas.
	Amount int64 `json:"amount"`
	// AmountRefunded is the part that refunds have paid back or have reserved, in pesewas. A
	// failed refund no longer counts.
	AmountRefunded int64  `json:"amount_refunded"`
	Currency       string `json:"currency"`
	Status         Status `json:"status"`
	PaymentMethod  string `json:"payment_method"`
	// Provider is the mobile-money network that takes the money, such as "mtn"; nil for a wallet and
	// if it is unknown.
	Provider *string `json:"provider"`
	// Phone and PhoneNumber are both the payer's number, masked: /v1 has both names.
	Phone       *string `json:"phone"`
	PhoneNumber *string `json:"phone_number"`
	// QRCode or Invoice is the id of the paid object; nil for others.
	QRCode      *string      `json:"qr_code"`
	Invoice     *string      `json:"invoice"`
	Description string       `json:"description"`
	Reference   string       `json:"reference"`
	Metadata    api.Metadata `json:"metadata"`
	Livemode    bool         `json:"livemode"`
	CreatedAt   api.Time     `json:"created_at"`
	// CompletedAt is the time when the merchant got the money; nil until then.
	CompletedAt *api.Time `json:"completed_at"`
	// Fee is the operator's, and Net what the merchant got, in pesewas. Both are nil until the
	// payment is completed.
	Fee *int64 `json:"fee"`
	Net *int64 `json:"net"`
	// ProviderReference is the provider's; nil until it gives one.
	ProviderReference *string `json:"provider_reference"`
	// FailureReason says why a payment failed, and FailureCode does for programs; nil for others.
	FailureReason *string           `json:"failure_reason"`
	FailureCode   *provider.Failure `json:"failure_code"`
	// Customer is the id of the merchant's customer who pays; nil if it was not given.
	Customer *string `json:"customer"`
	// CheckoutSession is the id of the paid checkout session; nil for others.
	CheckoutSession *string `json:"checkout_session"`
	// Subscription is the id of the subscription whose invoice is paid; nil for others.
	Subscription *string `json:"subscription"`
	// HoldExpiresAt is the end of the hold on a use of the code, on the invoice or on the checkout
	// session; nil if the payment holds nothing. Of a payment that was started on a page it is 2 minutes
	// after the start, until the provider has answered that the phone was asked.
	HoldExpiresAt *api.Time `json:"hold_expires_at"`
	// NextAction says what the payer is to do; nil before the provider's first answer and after the end.
	NextAction *NextAction `json:"next_action"`

	// NewCustomer is the id that the checkout session has reserved for the customer it makes on completion.
	// The deletion of that customer finds copies of the payment by it. It is empty for any other payment.
	// /v1 does not show it.
	NewCustomer string `json:"-"`
}

// PersonID returns NewCustomer. The deletion of the customer finds copies of the payment by it.
func (p *Payment) PersonID() string { return p.NewCustomer }

// NextAction is what a payer is to do.
type NextAction struct {
	Type ActionType `json:"type"`
	// Message is the provider's text for the payer.
	Message string `json:"message"`
}

// ActionType is the kind of a NextAction.
type ActionType string

// The types of actions.
const (
	// Approve: the payer approves the payment on the phone.
	Approve ActionType = "approve"
	// EnterCode: the payer enters a code that the provider sent. See [Payments.Confirm].
	EnterCode ActionType = "enter_code"
)

// Payer is what a merchant's own pages show of a payer beyond the payment.
type Payer struct {
	// Account is the account that paid from a wallet; "" for any other payment.
	Account string
	// Number is the whole number of a payment from a phone, +233XXXXXXXXX; "" after an erasure.
	Number string
	// PageToken is that of a payment from a phone; see [Pages.PageToken].
	PageToken string
}

// ListParams selects payments; zero values select all.
type ListParams struct {
	api.Page
	Status        Status `param:"status"`
	PaymentMethod string `param:"payment_method"`
	Customer      string `param:"customer,id"`
	// QRCode, Invoice and CheckoutSession are ids of paid objects, and Subscription that of a
	// subscription whose invoice is paid.
	QRCode          string `param:"qr_code,id"`
	Invoice         string `param:"invoice,id"`
	CheckoutSession string `param:"checkout_session,id"`
	Subscription    string `param:"subscription,id"`
	// Reference is the caller's own, exactly.
	Reference string    `param:"reference"`
	Created   api.Times `param:"created"`
}

// SearchParams selects payments for a person who looks for one; zero values select all.
type SearchParams struct {
	// Text is one of: an id, a reference, an amount in cedis, a phone number or its last four digits, a
	// name or its first word. The name is that of the payer, of a customer or of a wallet's holder.
	// Only names ignore case. An id finds its payment whatever the other fields say.
	Text string
	// Network is mtn, telecel or airteltigo.
	Network string
	ListParams
}

// ExportParams select the payments of an export.
type ExportParams struct {
	ListParams
	// Writer receives the CSV.
	Writer io.Writer
	// Progress, unless it is nil, is called after each page with the number of payments written,
	// in the goroutine of Export.
	Progress func(written int)
}
