package subscription

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// CreateParams describe a new subscription.
type CreateParams struct {
	Customer string `json:"customer" param:",required"` // the id of a customer
	Plan     string `json:"plan" param:",required"`     // the id of an active plan
	// Quantity is from 1 to 1,000,000; 1 when nil. Quantity times the plan's amount is at most
	// 99,999,999 pesewas.
	Quantity *int64 `json:"quantity,omitempty"`
	Coupon   string `json:"coupon,omitempty"` // the id of a coupon that can be redeemed
	// TrialPeriodDays is from 0, for no trial, to 730; that of the plan when nil. TrialEnd may be given
	// instead: a time at most 730 days ahead. A fraction of a second is cut off.
	TrialPeriodDays *int64    `json:"trial_period_days,omitempty"`
	TrialEnd        time.Time `json:"trial_end,omitzero" param:",unix"`
	// CollectionMethod is SendInvoice when empty. ChargeAutomatically asks PhoneNumber.
	CollectionMethod invoice.CollectionMethod `json:"collection_method,omitempty"`
	// PhoneNumber is the phone to charge; that of the customer when empty.
	PhoneNumber string `json:"phone_number,omitempty"`
	// DaysUntilDue is from 0 to 365; 7 when nil. With 0 an invoice is due on the day on which it is made.
	DaysUntilDue *int64       `json:"days_until_due,omitempty"`
	Metadata     api.Metadata `json:"metadata,omitempty"`
}
