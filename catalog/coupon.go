package catalog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/storage"
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

var coupons = storage.NewCollection("coupons", []storage.Field[Coupon]{
	storage.BoolColumn("active", func(c *Coupon) bool { return c.Active }).Indexed(),
	storage.TimeColumn("created", func(c *Coupon) time.Time { return time.Unix(c.Created, 0) }).Indexed(),
})

var couponListing = listing(coupons, "coupon")

// deletedCoupon stands for a coupon that was deleted. By it, the refusal of a deleted coupon
// differs from that of an unknown one.
type deletedCoupon struct {
	At api.Time `json:"at"`
}

var deletedCoupons = storage.NewCollection[deletedCoupon]("deleted_coupons", nil)

// Coupons keeps the coupons of merchants. It is safe for concurrent use.
type Coupons struct{ engine *engine.Engine }

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

const (
	maxDurationInMonths = 36
	percentPlaces       = 2
)

func (p *CreateCouponParams) check() error {
	if err := check.Text("name", p.Name, api.MaxName); err != nil {
		return err
	}
	switch {
	case p.PercentOff == nil && p.AmountOff == nil:
		return api.Errorf(api.ParameterMissing, "percent_off", "Give either percent_off or amount_off.")
	case p.PercentOff != nil && p.AmountOff != nil:
		return api.Invalid("amount_off", "Give either percent_off or amount_off, not both.")
	case p.AmountOff != nil:
		if err := check.Pesewas("amount_off", *p.AmountOff); err != nil {
			return err
		}
	case !money.FewDigits(*p.PercentOff) || !p.PercentOff.IsPositive() || p.PercentOff.GreaterThan(hundred) ||
		!p.PercentOff.Equal(p.PercentOff.Truncate(percentPlaces)):
		return api.Invalid("percent_off", "percent_off must be above 0 and at most 100, with at most two decimals.")
	}
	if err := check.Currency(p.Currency); err != nil {
		return err
	}
	if err := p.checkDuration(); err != nil {
		return err
	}
	if p.MaxRedemptions != nil && *p.MaxRedemptions < 1 {
		return api.Invalid("max_redemptions", "max_redemptions must be a whole number of at least 1.")
	}
	return check.Metadata(p.Metadata, false)
}

// checkDuration also sets the default.
func (p *CreateCouponParams) checkDuration() error {
	switch p.Duration {
	case "":
		p.Duration = Once
	case Once, Repeating, Forever:
	default:
		return api.Invalid("duration", "duration must be once, repeating or forever.")
	}
	if p.Duration != Repeating {
		if p.DurationInMonths != nil {
			return api.Invalid("duration_in_months", "duration_in_months is for the duration repeating alone. Leave it out.")
		}
		return nil
	}
	if p.DurationInMonths == nil {
		return api.Missing("duration_in_months")
	}
	return checkWhole("duration_in_months", p.DurationInMonths, 1, maxDurationInMonths)
}

// Create makes a coupon. With an idempotency key it may be repeated safely.
//
// Refusals: parameter_missing, parameter_invalid, currency_not_supported.
func (s *Coupons) Create(ctx context.Context, caller api.Caller, p CreateCouponParams) (*Coupon, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "coupon.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Coupon, error) {
		made := Coupon{
			ID: tx.NewID("cpn_"), Object: "coupon", Name: api.TextOrNil(p.Name),
			Terms:    Terms{PercentOff: numberOrNil(p.PercentOff), AmountOff: p.AmountOff},
			Currency: currencyOf(p.AmountOff), Duration: p.Duration, DurationInMonths: p.DurationInMonths,
			MaxRedemptions: p.MaxRedemptions, Active: p.Active == nil || *p.Active, Livemode: caller.Live,
			Metadata: p.Metadata, Created: tx.Now.Unix(),
		}
		if !p.RedeemBy.IsZero() {
			by := p.RedeemBy.Truncate(time.Second)
			if err := check.Ahead("redeem_by", by, tx.Now); err != nil {
				return nil, err
			}
			made.RedeemBy = new(by.Unix())
		}
		if _, err := coupons.Insert(tx, engine.Scope(caller), made.ID, made); err != nil {
			return nil, fmt.Errorf("catalog: create coupon: %w", err)
		}
		return &made, nil
	})
}

// Get returns one coupon.
func (s *Coupons) Get(ctx context.Context, caller api.Caller, id string) (*Coupon, error) {
	return couponListing.Get(ctx, s.engine, caller, id)
}

// ListCouponsParams selects coupons; zero values select all.
type ListCouponsParams struct {
	api.Page
	Active  *bool     `param:"active"`
	Created api.Times `param:"created"`
}

// List returns coupons, newest first.
func (s *Coupons) List(ctx context.Context, caller api.Caller, p ListCouponsParams) (*api.List[Coupon], error) {
	return couponListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
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

func (p *UpdateCouponParams) check() error {
	return cmp.Or(check.OptionalText("name", p.Name, api.MaxName), check.Metadata(p.Metadata, true))
}

// Update changes a coupon. Finalized invoices that have it keep their discount. A draft that names a
// coupon that is not active cannot be finalized.
//
// Refusals: resource_missing, parameter_invalid.
func (s *Coupons) Update(ctx context.Context, caller api.Caller, id string, p UpdateCouponParams) (*Coupon, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "coupon.update", Params: withID[UpdateCouponParams]{id, p}}
	return change(ctx, s.engine, caller, op, couponListing, id, func(_ *engine.Tx, is *Coupon) error {
		if p.Name != nil {
			is.Name = api.TextOrNil(*p.Name)
		}
		engine.SetGiven(&is.Active, p.Active)
		return check.UpdateMetadata(&is.Metadata, p.ClearMetadata, p.Metadata)
	})
}

// Delete removes a coupon. Invoices that were finalized with it keep their discount. A draft
// cannot be finalized with it any more.
//
// Refusals: resource_missing.
func (s *Coupons) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	return remove(ctx, s.engine, caller, couponListing, id, func(tx *engine.Tx, _ *Coupon) error {
		if _, err := deletedCoupons.Insert(tx, engine.Scope(caller), id, deletedCoupon{api.At(tx.Now)}); err != nil {
			return fmt.Errorf("catalog: delete coupon: %w", err)
		}
		return nil
	})
}
