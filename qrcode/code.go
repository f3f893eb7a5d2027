// Package qrcode makes the codes that a merchant shows to be paid, and those that a consumer
// shows to receive money.
package qrcode

import "github.com/seed-7082ffec/payments/api"

// Type says whether a code is reusable or has a number of uses.
type Type string

// The types of codes.
const (
	// Static codes may be paid any number of times.
	Static Type = "static"
	// Dynamic codes may be paid once, or up to their usage limit.
	Dynamic Type = "dynamic"
)

// QRCode is a merchant's code, which consumers scan to pay.
type QRCode struct {
	ID     string `json:"id"`
	Object string `json:"object"` // always "qr_code"
	Type   Type   `json:"type"`
	// Amount is fixed, in pesewas; nil lets the customer enter it.
	Amount      *int64 `json:"amount"`
	Currency    string `json:"currency"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Reference   string `json:"reference"`
	// URL is the public address of the picture. Data is the encoded text: the address of the
	// payment page.
	URL  string `json:"qr_code_url"`
	Data string `json:"qr_code_data"`
	// UsageLimit is the largest number of payments; nil for no limit.
	UsageLimit *int64       `json:"usage_limit"`
	UsageCount int64        `json:"usage_count"`
	Active     bool         `json:"active"`
	ExpiresAt  *api.Time    `json:"expires_at"`
	Livemode   bool         `json:"livemode"`
	Metadata   api.Metadata `json:"metadata"`
	Created    int64        `json:"created"` // Unix seconds
}
