package catalog

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/money"
)

// Duration says for how long a coupon reduces the invoices of a subscription.
type Duration string

// The durations of coupons.
const (
	Once      Duration = "once"      // one invoice
	Repeating Duration = "repeating" // some months
	Forever   Duration = "forever"
)

// Terms say what a coupon takes off. One of the two is set, and they never change.
type Terms struct {
	PercentOff *api.Number `json:"percent_off"`
	AmountOff  *int64      `json:"amount_off"` // pesewas
}

// Discount returns what the terms take off a subtotal in pesewas: a percentage rounded half up, or
// the amount; never more than the subtotal, and nothing of a negative one.
func (t Terms) Discount(subtotal int64) int64 {
	switch {
	case subtotal <= 0:
		return 0
	case t.PercentOff != nil:
		return min(money.Share(subtotal, t.PercentOff.Decimal), subtotal)
	case t.AmountOff != nil:
		return min(*t.AmountOff, subtotal)
	}
	return 0
}

// Coupon takes a percentage or an amount off. A field that was not given is nil.
type Coupon struct {
	ID     string  `json:"id"`     // cpn_…
	Object string  `json:"object"` // always "coupon"
	Name   *string `json:"name"`
	Terms
	Currency         *string  `json:"currency"` // GHS; nil with PercentOff
	Duration         Duration `json:"duration"`
	DurationInMonths *int64   `json:"duration_in_months"` // nil unless Duration is Repeating
	// MaxRedemptions is how often the coupon may be redeemed, RedeemBy until when, in Unix seconds.
	MaxRedemptions *int64       `json:"max_redemptions"`
	RedeemBy       *int64       `json:"redeem_by"`
	TimesRedeemed  int64        `json:"times_redeemed"`
	Active         bool         `json:"active"`
	Livemode       bool         `json:"livemode"`
	Metadata       api.Metadata `json:"metadata"`
	Created        int64        `json:"created"` // Unix seconds
}

// CreateCouponParams describe a new coupon. Either PercentOff or AmountOff is required.
type CreateCouponParams struct {
	Name string `json:"name,omitempty"` // at most 255 characters
	// PercentOff is above 0 and at most 100, with at most two decimals.
	PercentOff *decimal.Decimal `json:"percent_off,omitempty" param:",rate"`
	// AmountOff is in pesewas, from 1 to 99,999,999.
	AmountOff *int64 `json:"amount_off,omitempty" param:",pesewas"`
	Currency  string `json:"currency,omitempty"` // GHS when empty
	// Duration is Once when empty. Repeating requires DurationInMonths, from 1 to 36.
	Duration         Duration `json:"duration,omitempty"`
	DurationInMonths *int64   `json:"duration_in_months,omitempty"`
	// MaxRedemptions is 1 or more; nil for no limit.
	MaxRedemptions *int64 `json:"max_redemptions,omitempty"`
	// RedeemBy must lie in the future; zero stands for no end. A fraction of a second is cut off.
	RedeemBy time.Time    `json:"redeem_by,omitzero" param:",unix"`
	Active   *bool        `json:"active,omitempty"` // true when nil
	Metadata api.Metadata `json:"metadata,omitempty"`
}

// ListCouponsParams selects coupons; zero values select all.
type ListCouponsParams struct {
	api.Page
	Active  *bool     `param:"active"`
	Created api.Times `param:"created"`
}

// UpdateCouponParams change a coupon. Nil keeps a field; an empty Name clears it. What the coupon
// takes off, and when, never changes.
type UpdateCouponParams struct {
	Name   *string `json:"name,omitempty" param:",clear"`
	Active *bool   `json:"active,omitempty"`
	// Metadata is merged: a key with nil or "" is dropped. ClearMetadata drops all keys first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
}

// Coupons keeps what takes a part of a price off. It is safe for concurrent use. It may grow in any release: embed
// it in a fake.
type Coupons interface {
	// Create makes a coupon. With an idempotency key it may be repeated safely.
	//
	// Refusals: parameter_missing, parameter_invalid, currency_not_supported.
	Create(ctx context.Context, caller api.Caller, p CreateCouponParams) (*Coupon, error)

	// Get returns one coupon.
	Get(ctx context.Context, caller api.Caller, id string) (*Coupon, error)

	// List returns coupons, newest first.
	List(ctx context.Context, caller api.Caller, p ListCouponsParams) (*api.List[Coupon], error)

	// Update changes a coupon. Finalized invoices that have it keep their discount. A draft that names a
	// coupon that is not active cannot be finalized.
	//
	// Refusals: resource_missing, parameter_invalid.
	Update(ctx context.Context, caller api.Caller, id string, p UpdateCouponParams) (*Coupon, error)

	// Delete removes a coupon. Invoices that were finalized with it keep their discount. A draft
	// cannot be finalized with it any more.
	//
	// Refusals: resource_missing.
	Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error)
}
