package subscription

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// Proration says whether a change of plan or quantity is charged for the rest of the period.
type Proration string

// The ways of proration.
const (
	CreateProrations Proration = "create_prorations"
	NoProration      Proration = "none"
)

// UpdateParams change a subscription. Nil keeps a field.
type UpdateParams struct {
	// Plan is the id of an active plan. One of another interval starts a new period at once, unless
	// the subscription is in its trial or paused. The present plan changes nothing, also if it is
	// inactive or was deleted.
	Plan     *string `json:"plan,omitempty"`
	Quantity *int64  `json:"quantity,omitempty"` // as for Create
	// Coupon is the id of a coupon that can be redeemed. An empty one takes the discount off; that of
	// the present discount changes nothing.
	Coupon *string `json:"coupon,omitempty" param:",clear"`
	// CollectionMethod counts for later invoices. SendInvoice in place of ChargeAutomatically also ends
	// the charges of open invoices, which are then due DaysUntilDue from now.
	CollectionMethod *invoice.CollectionMethod `json:"collection_method,omitempty"`
	// PhoneNumber is the phone to charge from now on, also for open invoices. Nil keeps the present
	// one; if there is none, ChargeAutomatically takes the customer's. The empty text removes it, which
	// is parameter_missing with ChargeAutomatically.
	PhoneNumber  *string `json:"phone_number,omitempty" param:",clear"`
	DaysUntilDue *int64  `json:"days_until_due,omitempty"` // as for Create
	// CancelAtPeriodEnd ends the subscription with its period, a paused one at once.
	CancelAtPeriodEnd *bool `json:"cancel_at_period_end,omitempty"`
	// Metadata is merged: a key with nil or "" is dropped. ClearMetadata drops all keys first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
	// Proration is CreateProrations when empty. It counts for a change of Plan or Quantity.
	Proration Proration `json:"proration,omitempty"`
}

// CancelParams say when a subscription is cancelled.
type CancelParams struct {
	// AtPeriodEnd cancels at the end of the current period. Otherwise, and while the subscription is
	// paused, it is cancelled at once.
	AtPeriodEnd bool `json:"at_period_end,omitempty"`
}
