package message

import "github.com/seed-7082ffec/payments/api"

// LinkPage is a page that has short links. Its text is the first part of their path, below
// payments.Config.BaseURL.
type LinkPage string

// The pages with short links.
const (
	ReceiptPage      LinkPage = "r" // of a payment from a phone
	InvoicePage      LinkPage = "i"
	SubscriptionPage LinkPage = "s"
	CodePage         LinkPage = "q" // of a QR code
)

// Linked is what a short link leads to.
type Linked struct {
	// ID is the object's, which may be gone.
	ID string
	// Caller stands for the object's merchant, in the calls of its page.
	Caller api.Caller
}
