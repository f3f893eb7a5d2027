package qrcode

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// ConsumerCode is a code that a consumer shows to receive money.
type ConsumerCode struct {
	ID      string `json:"id"`      // cqr_…
	Object  string `json:"object"`  // always "consumer_qr"
	Payload string `json:"payload"` // the text of the QR code in the consumer's app
}

// IssueConsumerCodeParams describe a new consumer's code.
type IssueConsumerCodeParams struct {
	// Account is the consumer's id.
	Account string
	// Type is Static when empty.
	Type Type
	// Amount is in GHS; nil lets the merchant choose it.
	Amount *decimal.Decimal
	// UsageLimit is for dynamic codes; nil stands for 1.
	UsageLimit *int64
	// ExpiresAt is zero for a code without end.
	ExpiresAt time.Time
	// Inactive makes a code that cannot be used.
	Inactive bool
}

// Resolved is the part of a consumer that a merchant may see after a scan.
type Resolved struct {
	Object string `json:"object"` // always "qr_resolve"
	Entity string `json:"entity"` // always "consumer"
	// AccountID is masked.
	AccountID string `json:"account_id"`
	// DisplayName is the first name and the initial of the last one.
	DisplayName string `json:"display_name"`
	// Amount is in GHS; nil when the code has none.
	Amount   *api.GHS `json:"amount"`
	Currency string   `json:"currency"`
	Type     Type     `json:"type"`
	// Active is false for a static code that is inactive or has expired. A dynamic one is refused
	// instead.
	Active bool `json:"qr_active"`
}
