package offering

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Product returns an active product, for a line that copies it. Refusals (product): resource_missing,
// and parameter_invalid for a product that is not active.
func (*Service) Product(tx storage.ReadTx, scope storage.Scope, id string) (*catalog.Product, error) {
	return usableProduct(tx, scope, id)
}

func usableProduct(tx storage.ReadTx, scope storage.Scope, id string) (*catalog.Product, error) {
	o, err := engine.GetTx(tx, products, scope, id, "product")
	if err != nil {
		return nil, check.Under("product", err)
	}
	if !o.Value.Active {
		return nil, api.Invalid("product", "product is not active. Activate it, or choose another.")
	}
	return &o.Value, nil
}

// Plan returns a plan to subscribe to. Refusals (plan): resource_missing, and parameter_invalid for a
// plan that is not active.
func (*Service) Plan(tx storage.ReadTx, scope storage.Scope, id string) (*catalog.Plan, error) {
	o, err := engine.GetTx(tx, plans, scope, id, "plan")
	if err != nil {
		return nil, check.Under("plan", err)
	}
	if !o.Value.Active {
		return nil, api.Invalid("plan", "plan is not active. Activate it, or choose another.")
	}
	return &o.Value, nil
}

// Coupon returns a coupon to put on a draft. The coupon may be used up or past its time. Refusals
// (coupon): resource_missing, coupon_not_redeemable.
func (*Service) Coupon(tx storage.ReadTx, scope storage.Scope, id string) (*catalog.Coupon, error) {
	o, err := usableCoupon(tx, scope, id)
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// RedeemableCoupon returns a coupon that can be redeemed now, and counts nothing. Refusals: those of
// [Service.Redeem].
func (*Service) RedeemableCoupon(tx storage.ReadTx, scope storage.Scope, now time.Time, id string) (*catalog.Coupon, error) {
	o, err := redeemableCoupon(tx, scope, now, id, 0)
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// Redeem counts a redemption of one of the caller's coupons. Refusals: those of [Service.Coupon], and
// coupon_not_redeemable for a coupon that is used up or past its time.
func (*Service) Redeem(tx *engine.Tx, id string) error {
	o, err := redeemableCoupon(tx, engine.Scope(tx.Caller), tx.Now, id, 0)
	if err != nil {
		return err
	}
	o.Value.TimesRedeemed++
	return putCoupon(tx, o)
}

// RedeemAgain checks a coupon that the caller has redeemed already, and counts nothing. The caller's own
// redemption does not use up the coupon. Refusals: those of [Service.Redeem].
func (*Service) RedeemAgain(tx *engine.Tx, id string) error {
	_, err := redeemableCoupon(tx, engine.Scope(tx.Caller), tx.Now, id, 1)
	return err
}

// redeemableCoupon reads a coupon that can be redeemed now. own is the number of its redemptions that are the
// caller's.
func redeemableCoupon(tx storage.ReadTx, scope storage.Scope, now time.Time, id string, own int64) (*storage.Object[catalog.Coupon], error) {
	o, err := usableCoupon(tx, scope, id)
	if err != nil {
		return nil, err
	}
	c := &o.Value
	switch {
	case c.RedeemBy != nil && now.After(time.Unix(*c.RedeemBy, 0)):
		return nil, notRedeemable("could be redeemed until %s", time.Unix(*c.RedeemBy, 0).UTC().Format(time.RFC3339))
	case usedUp(c, own):
		return nil, notRedeemable("has been redeemed as often as it may be")
	}
	return o, nil
}

// usedUp reports whether a coupon has no redemption left. It does not count own redemptions, which are the
// caller's.
func usedUp(c *catalog.Coupon, own int64) bool {
	return c.MaxRedemptions != nil && c.TimesRedeemed-own >= *c.MaxRedemptions
}

// RedemptionLeft reports whether a coupon has a redemption left, even if it is inactive or past its time. A coupon
// that was deleted meanwhile has no limit any more.
func (*Service) RedemptionLeft(tx *engine.Tx, id string) (bool, error) {
	o, err := engine.OrNil(coupons.Get(tx, engine.Scope(tx.Caller), id))
	if o == nil || err != nil {
		return err == nil, err
	}
	return !usedUp(&o.Value, 0), nil
}

// RedeemLate counts a redemption for a payment that already used the coupon, even after redeem_by. The caller
// has checked [Service.RedemptionLeft]. RedeemLate ignores a coupon that was deleted meanwhile.
func (*Service) RedeemLate(tx *engine.Tx, id string) error {
	return count(tx, id, 1)
}

// ReturnRedemption gives a counted redemption back. It ignores a coupon that was deleted meanwhile.
func (*Service) ReturnRedemption(tx *engine.Tx, id string) error {
	return count(tx, id, -1)
}

// count changes how often a coupon was redeemed.
func count(tx *engine.Tx, id string, by int64) error {
	o, err := engine.OrNil(coupons.Get(tx, engine.Scope(tx.Caller), id))
	if o == nil || err != nil {
		return err
	}
	if o.Value.TimesRedeemed += by; o.Value.TimesRedeemed < 0 {
		return fmt.Errorf("catalog: coupon %s has been given back more often than redeemed", id)
	}
	return putCoupon(tx, o)
}

func putCoupon(tx *engine.Tx, o *storage.Object[catalog.Coupon]) error {
	return coupons.Replace(tx, o)
}

// usableCoupon reads a coupon that is neither deleted nor inactive.
func usableCoupon(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[catalog.Coupon], error) {
	o, err := coupons.Get(tx, scope, id)
	if errors.Is(err, storage.ErrNotFound) {
		switch _, err := deletedCoupons.Get(tx, scope, id); {
		case err == nil:
			return nil, notRedeemable("was deleted")
		case errors.Is(err, storage.ErrNotFound):
			return nil, api.NoSuch("coupon").Under("coupon")
		default:
			return nil, fmt.Errorf("catalog: read deleted coupon: %w", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: read coupon: %w", err)
	}
	if !o.Value.Active {
		return nil, notRedeemable("is not active")
	}
	return o, nil
}

func notRedeemable(why string, args ...any) error {
	return api.Errorf(api.CouponNotRedeemable, "coupon", "This coupon %s. Take another one, or none.", fmt.Sprintf(why, args...))
}
