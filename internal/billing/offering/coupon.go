package offering

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/storage"
)

var coupons = storage.NewCollection("coupons", []storage.Field[catalog.Coupon]{
	storage.BoolColumn("active", func(c *catalog.Coupon) bool { return c.Active }).Indexed(),
	storage.TimeColumn("created", func(c *catalog.Coupon) time.Time { return time.Unix(c.Created, 0) }).Indexed(),
})

var couponListing = listing(coupons, "coupon")

// deletedCoupon marks a coupon that was deleted. It is refused with coupon_not_redeemable, and an unknown
// coupon with resource_missing.
type deletedCoupon struct {
	At api.Time `json:"at"`
}

var deletedCoupons = storage.NewCollection[deletedCoupon]("deleted_coupons", nil)

// Coupons implements [catalog.Coupons].
type Coupons struct{ engine *engine.Engine }

const (
	maxDurationInMonths = 36
	percentPlaces       = 2
)

func checkNewCoupon(p *catalog.CreateCouponParams) error {
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
	if err := checkDuration(p); err != nil {
		return err
	}
	if p.MaxRedemptions != nil && *p.MaxRedemptions < 1 {
		return api.Invalid("max_redemptions", "max_redemptions must be a whole number of at least 1.")
	}
	return check.Metadata(p.Metadata, false)
}

// checkDuration checks the duration, and sets the default.
func checkDuration(p *catalog.CreateCouponParams) error {
	switch p.Duration {
	case "":
		p.Duration = catalog.Once
	case catalog.Once, catalog.Repeating, catalog.Forever:
	default:
		return api.Invalid("duration", "duration must be once, repeating or forever.")
	}
	if p.Duration != catalog.Repeating {
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

func (s *Coupons) Create(ctx context.Context, caller api.Caller, p catalog.CreateCouponParams) (*catalog.Coupon, error) {
	if err := checkNewCoupon(&p); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "coupon.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*catalog.Coupon, error) {
		made := catalog.Coupon{
			ID: tx.NewID("cpn_"), Object: "coupon", Name: api.TextOrNil(p.Name),
			Terms:    catalog.Terms{PercentOff: numberOrNil(p.PercentOff), AmountOff: p.AmountOff},
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

func (s *Coupons) Get(ctx context.Context, caller api.Caller, id string) (*catalog.Coupon, error) {
	return couponListing.Get(ctx, s.engine, caller, id)
}

func (s *Coupons) List(ctx context.Context, caller api.Caller, p catalog.ListCouponsParams) (*api.List[catalog.Coupon], error) {
	return couponListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

func checkCoupon(p *catalog.UpdateCouponParams) error {
	return cmp.Or(check.OptionalText("name", p.Name, api.MaxName), check.Metadata(p.Metadata, true))
}

func (s *Coupons) Update(ctx context.Context, caller api.Caller, id string, p catalog.UpdateCouponParams) (*catalog.Coupon, error) {
	if err := checkCoupon(&p); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "coupon.update", Params: engine.WithID[catalog.UpdateCouponParams]{ID: id, Params: p}}
	return change(ctx, s.engine, caller, op, couponListing, id, func(_ *engine.Tx, is *catalog.Coupon) error {
		if p.Name != nil {
			is.Name = api.TextOrNil(*p.Name)
		}
		engine.SetGiven(&is.Active, p.Active)
		return check.UpdateMetadata(&is.Metadata, p.ClearMetadata, p.Metadata)
	})
}

func (s *Coupons) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	return remove(ctx, s.engine, caller, couponListing, id, func(tx *engine.Tx, _ *catalog.Coupon) error {
		if _, err := deletedCoupons.Insert(tx, engine.Scope(caller), id, deletedCoupon{api.At(tx.Now)}); err != nil {
			return fmt.Errorf("catalog: delete coupon: %w", err)
		}
		return nil
	})
}
