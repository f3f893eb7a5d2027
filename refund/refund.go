package refund

import (
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Status is the state of a refund.
type Status string

// The statuses of refunds.
const (
	Pending    Status = "pending"    // queued, the amount reserved
	Processing Status = "processing" // with the provider
	Succeeded  Status = "succeeded"
	Failed     Status = "failed" // the reserve is released
)

var statuses = []Status{Pending, Processing, Succeeded, Failed}

// Statuses are all statuses, for filters.
func Statuses() []Status { return slices.Clone(statuses) }

// Refund is money that goes back to a customer.
type Refund struct {
	ID     string `json:"id"`     // re_…
	Object string `json:"object"` // always "refund"
	// Amount is in pesewas.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Status   Status `json:"status"`
	// Payment is the id of the payment, and QRCode or Invoice that of the paid object.
	Payment string  `json:"payment"`
	QRCode  *string `json:"qr_code"`
	Invoice *string `json:"invoice"`
	// PaymentMethod is the payment's. The money goes back the same way.
	PaymentMethod string  `json:"payment_method"`
	Reason        *string `json:"reason"` // the merchant's, or [payment.PaidTwice] and the like, or "Reversed by the provider"; the credit note shows it
	// CreditNote is the number of the credit note. It is set once the refund of an invoice has
	// succeeded, and nil otherwise.
	CreditNote *string `json:"credit_note"`
	// ProviderReference is the provider's; nil for wallets, and until it gives one.
	ProviderReference *string `json:"provider_reference"`
	// FailureReason says why a refund failed, and FailureCode does for programs; nil for others.
	FailureReason *string           `json:"failure_reason"`
	FailureCode   *provider.Failure `json:"failure_code"`
	Metadata      api.Metadata      `json:"metadata"`
	Livemode      bool              `json:"livemode"`
	CreatedAt     api.Time          `json:"created_at"`
	// CompletedAt is the time when the money was back; nil until then.
	CompletedAt *api.Time `json:"completed_at"`
}
