package subscription

import (
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
)

// Hosted holds what the customer's page shows.
type Hosted struct {
	Subscription Subscription
	// PlanName, Interval and IntervalCount are those of the plan.
	PlanName      string
	Interval      catalog.Interval
	IntervalCount int64
	// Next is the next invoice of a period; nil if there will be none.
	Next *NextInvoice
	// Final is the total of the final invoice, in pesewas, should the subscription end as it is now; 0 for
	// none.
	Final    int64
	Merchant account.Merchant
	// PhoneChange is a new phone that waits for its code; nil for none.
	PhoneChange *PhoneChange
	// OldestUnpaid is the id of the oldest open invoice; empty for none, or if the subscription is
	// cancelled.
	OldestUnpaid string
	// Caller stands for the merchant, in the calls that the customer's page makes.
	Caller api.Caller
}

// NextInvoice is an invoice that will be made if nothing changes before.
type NextInvoice struct {
	At int64 // Unix seconds
	// Total is in pesewas, after discount and credit.
	Total int64
}
