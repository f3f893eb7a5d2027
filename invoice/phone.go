package invoice

import "github.com/seed-7082ffec/payments/payment"

// HostedPayment describes a payment from a phone that a payer starts on a public page.
type HostedPayment struct {
	payment.MobileMoney
	// From is the payer's network address.
	From string
}
