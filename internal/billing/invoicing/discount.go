package invoicing

import (
	"cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
)

// redemption is what an invoice keeps of its coupon.
type redemption struct {
	catalog.Terms
	// Counted says that the finalization has counted it. Void gives it back.
	Counted bool `json:"counted,omitempty"`
}

// putCoupon puts a coupon on a draft, or takes it off if id is empty. Refusals: resource_missing,
// coupon_not_redeemable.
func (s *Service) putCoupon(tx *engine.Tx, r *record, id string) error {
	r.Coupon, r.Redemption = nil, nil
	if id == "" {
		return nil
	}
	c, err := s.config.Catalog.Coupon(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return err
	}
	r.Coupon, r.Redemption = &c.ID, &redemption{Terms: c.Terms}
	return nil
}

func (s *Service) redeem(tx *engine.Tx, r *record) error {
	if r.Redemption == nil {
		return nil
	}
	r.Redemption.Counted = true
	return s.config.Catalog.Redeem(tx, *r.Coupon)
}

// returnRedemption gives the coupon's redemption back, if it was counted.
func (s *Service) returnRedemption(tx *engine.Tx, r *record) error {
	if r.Redemption == nil || !r.Redemption.Counted {
		return nil
	}
	r.Redemption.Counted = false
	return s.config.Catalog.ReturnRedemption(tx, *r.Coupon)
}

// shareDiscount computes the discount on the whole invoice and each line's share of it, before any
// tax. The discount is the caller's own and what the coupon takes off the subtotal. With the lines'
// own discounts it never exceeds the subtotal. It is shared in proportion to what the lines cost
// after their own discounts.
func (r *record) shareDiscount() error {
	costs := make([]int64, len(r.Lines.Data))
	var subtotal, left int64
	for i := range r.Lines.Data {
		l := &r.Lines.Data[i]
		if l.Net || l.Amount < 0 {
			continue
		}
		costs[i] = l.Amount - l.Discount
		subtotal += l.Amount
		left += costs[i]
	}
	discount := r.InvoiceDiscount
	if discount < 0 || discount > max(left, 0) {
		return api.Invalid("discount", "The discount must be from 0 to the sum of the lines.")
	}
	if r.Redemption != nil {
		discount += max(min(r.Redemption.Discount(subtotal), left-discount), 0)
	}
	r.Shares = nil
	for i, share := range shares(discount, costs) {
		l := &r.Lines.Data[i]
		if l.DiscountShare = share; share == 0 {
			continue
		}
		if r.Shares == nil {
			r.Shares = map[string]int64{}
		}
		r.Shares[l.ID] = share
	}
	return nil
}

// shares splits a sum, such as a discount, in proportion to amounts. Each share is first rounded down, a
// negative one away from zero; then those with the largest remainders get one pesewa more, of equal ones
// the earlier. Amounts whose sum is 0 get nothing.
func shares(whole int64, amounts []int64) []int64 {
	all := make([]int64, len(amounts))
	var sum int64
	for _, a := range amounts {
		sum += a
	}
	if whole == 0 || sum == 0 {
		return all
	}
	sign := int64(1)
	if sum < 0 { // the shares of −3 are those of 3, below zero
		sign, sum, whole = -1, -sum, -whole
	}
	left := whole
	remainders := make([]int64, len(amounts))
	for i, a := range amounts {
		all[i], remainders[i] = whole*sign*a/sum, whole*sign*a%sum // below 2^62 by the limits of lines
		if remainders[i] < 0 {
			all[i], remainders[i] = all[i]-1, remainders[i]+sum
		}
		left -= all[i]
	}
	for _, i := range money.LargestFirst(remainders, cmp.Compare)[:left] {
		all[i]++
	}
	for i := range all {
		all[i] *= sign
	}
	return all
}
