package simulation_test

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
)

// discount puts a coupon of few redemptions on a bill, now and then a new one.
func (g *game) discount(s *side, p *invoice.CreateParams) {
	if g.dice.IntN(3) > 0 {
		return
	}
	if len(s.coupons) == 0 || g.dice.IntN(6) == 0 {
		off, most := 1+g.dice.Int64N(80_00), 1+g.dice.Int64N(3)
		id, err := g.call("create coupon", s, func(c api.Caller) (string, error) {
			return idOf(g.svc.Coupons.Create(g.t.Context(), c, catalog.CreateCouponParams{AmountOff: &off, MaxRedemptions: &most}))
		})
		if err != nil {
			return
		}
		s.coupons = append(s.coupons, id)
	}
	p.Coupon = new(pick(g, s.coupons))
}

// auditCoupons compares how often each coupon was redeemed with the invoices and sessions that have it,
// and recomputes their discounts.
func (g *game) auditCoupons(s *side, ofSessions map[string]*redemptions) {
	redeemed := map[string]int64{}
	for _, i := range g.invoicesOf(s.caller) {
		if i.Coupon == nil {
			expect.Equal(g.t, i.Discount, int64(0), "the discount of %s, which has no coupon", i.ID)
			continue
		}
		// The session that has begun a subscription has redeemed its coupon.
		if i.Status != invoice.Draft && i.Status != invoice.Void && i.Subscription == nil {
			redeemed[*i.Coupon]++
		}
		c := must.Get(g.svc.Coupons.Get(g.t.Context(), s.caller, *i.Coupon))(g.t)
		expect.Equal(g.t, i.Discount, min(*c.AmountOff, i.Subtotal), "the discount of %s", i.ID)
	}
	for _, v := range g.sessionsOf(s.caller) {
		if v.Coupon == nil {
			expect.Equal(g.t, v.Discount, int64(0), "the discount of %s, which has no coupon", v.ID)
			continue
		}
		c := must.Get(g.svc.Coupons.Get(g.t.Context(), s.caller, *v.Coupon))(g.t)
		expect.Equal(g.t, v.Discount, min(*c.AmountOff, v.Subtotal), "the discount of %s", v.ID)
	}
	var coupons []string
	for _, c := range testkit.All(api.All(g.t.Context(), s.caller, catalog.ListCouponsParams{}, g.svc.Coupons.List)) {
		coupons = append(coupons, c.ID)
		least, most, limit := redeemed[c.ID], redeemed[c.ID], *c.MaxRedemptions
		if r := ofSessions[c.ID]; r != nil {
			least, most, limit = least+r.least, most+r.most, limit+r.late
		}
		expect.True(g.t, least <= c.TimesRedeemed && c.TimesRedeemed <= most, "%s was redeemed %d times, of %d to %d", c.ID, c.TimesRedeemed, least, most)
		expect.True(g.t, c.TimesRedeemed <= limit, "%s was redeemed %d times of %d", c.ID, c.TimesRedeemed, limit)
	}
	g.sameIDs("coupons", s.coupons, coupons)
}
