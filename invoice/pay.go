package invoice

import "github.com/seed-7082ffec/payments/payment"

// PayParams says how to charge an invoice.
type PayParams struct {
	// MobileMoney names the phone that is asked to pay. It excludes PaymentMethod and
	// PaidOutOfBand.
	payment.MobileMoney
	// PaymentMethod is passed on to the [provider.Charger]. With PaidOutOfBand it says how the
	// customer paid, such as "cash" or "bank". It then has at most 50 characters and may be empty.
	PaymentMethod string `json:"payment_method,omitempty"`
	// ReceiptPhone gets the receipt if the invoice has no phone number. It is not charged. Text that is no
	// number of Ghana gets no receipt.
	ReceiptPhone string `json:"source,omitempty"`
	// OffSession tells the Charger that the customer is not there to confirm the charge.
	OffSession bool `json:"off_session,omitempty"`
	// PaidOutOfBand says that the merchant already has the money, from outside this service. Pay
	// then charges nothing and moves no money. The invoice is paid without a payment, and its PDF
	// says so.
	PaidOutOfBand bool `json:"paid_outside,omitempty"`
}

// HostedPayment describes a payment from a phone that a payer starts on a public page.
type HostedPayment struct {
	payment.MobileMoney
	// From is the payer's network address.
	From string
}
