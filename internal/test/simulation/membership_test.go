package simulation_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

// The checkout sessions of a simulation that begin subscriptions.

// maxMemberships is how many such sessions a side makes, since each subscription makes invoices for weeks.
const maxMemberships = 4

// membership makes a session of a plan, now and then with a trial.
func (g *game) membership(s *side) {
	price, trial := g.dice.Int64N(40_00)+1, int64(0)
	if g.dice.IntN(3) == 0 {
		trial = 1 + g.dice.Int64N(9)
	}
	plan, err := g.call("create plan", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Plans.Create(g.t.Context(), c, catalog.CreatePlanParams{
			Name: "M", Amount: price, Interval: catalog.Day, IntervalCount: new(int64(12)), TrialPeriodDays: &trial,
		}))
	})
	if err != nil {
		return
	}
	s.subscribers.plans = append(s.subscribers.plans, plan)
	s.memberships++
	id := g.create(s, checkout.CreateParams{Mode: checkout.ModeSubscription, Plan: plan, Quantity: new(1 + g.dice.Int64N(3))})
	if id == "" || g.dice.IntN(3) > 0 {
		return
	}
	g.crowd(s, g.payerOf(s, id))
	if customer := must.Get(g.svc.Checkout.Get(g.t.Context(), s.caller, id))(g.t).Customer; customer != nil && g.dice.IntN(3) == 0 {
		for _, p := range s.people {
			if p.id == *customer && !p.deleted {
				g.delete(s, p)
			}
		}
	}
}

// adopt takes the subscriptions that sessions have begun, and the customers that they have made, for those
// that callers have made.
func (g *game) adopt(s *side) {
	known := map[string]bool{}
	for _, p := range s.people {
		known[p.id] = true
	}
	for _, v := range g.sessionsOf(s.caller) {
		if v.Subscription == nil || s.subscribers.begun[*v.Subscription] > 0 {
			continue
		}
		s.subscribers.ids = append(s.subscribers.ids, *v.Subscription)
		s.subscribers.begun[*v.Subscription] = 1
		if known[*v.Customer] {
			continue
		}
		is := must.Get(g.svc.Accounts.GetCustomer(g.t.Context(), s.caller, *v.Customer))(g.t)
		p := &person{id: is.ID, name: is.Name}
		if p.name == "" { // the payer of an earlier attempt has given another, which is not kept
			g.named++
			p.name = fmt.Sprintf("zenobia%dq", g.named)
		}
		s.people = append(s.people, p)
	}
}

// auditMembership compares a session of a plan with the subscription that it has begun. paid is its
// payment, nil for none.
func (g *game) auditMembership(s *side, v *checkout.Session, paid *payment.Payment, billed []invoice.Invoice) {
	g.t.Helper()
	expect.Equal(g.t, v.Subscription != nil, v.Status == checkout.Complete, "%s is %s, and has a subscription", v.ID, v.Status)
	if v.Subscription == nil {
		return
	}
	is := must.Get(g.svc.Subscriptions.Get(g.t.Context(), s.caller, *v.Subscription))(g.t)
	plan := must.Get(g.svc.Plans.Get(g.t.Context(), s.caller, *v.Plan))(g.t)
	expect.Equal(g.t, is.Customer, *v.Customer, "the customer of %s of %s", is.ID, v.ID)
	expect.Equal(g.t, is.Created, *v.CompletedAt, "when %s of %s was made", is.ID, v.ID)
	expect.Equal(g.t, is.CollectionMethod, invoice.ChargeAutomatically, "how %s of %s collects", is.ID, v.ID)
	var first *invoice.Invoice
	for _, i := range billed { // the newest first
		if i.Subscription != nil && *i.Subscription == is.ID {
			first = &i
		}
	}
	if trial := *plan.TrialPeriodDays; trial > 0 {
		g.played["session begins: trial"]++
		// A pause or a resumption may end the trial before.
		must.True(g.t, is.TrialEnd != nil, "%s has no trial", is.ID)
		expect.True(g.t, *is.TrialEnd <= is.Created+trial*86_400, "the trial of %s ends at %d", is.ID, *is.TrialEnd)
		expect.Equal(g.t, v.Total, 0, "what %s of a trial costs", v.ID)
		expect.True(g.t, paid == nil, "%s of a trial was paid by %+v", v.ID, paid)
		expect.Equal(g.t, v.PaymentStatus, checkout.NoPaymentRequired, "the payment status of %s of a trial", v.ID)
		if first != nil {
			expect.True(g.t, first.InvoiceDate.Unix() >= *is.TrialEnd, "%s is an invoice of the trial of %s", first.ID, is.ID)
		}
	} else {
		must.True(g.t, is.TrialEnd == nil && first != nil, "%s of no trial has begun %+v", v.ID, is)
		expect.Equal(g.t, first.Status, invoice.Paid, "the status of the first invoice of %s", v.ID)
		expect.Equal(g.t, first.Total, v.Total, "the total of the first invoice of %s", v.ID)
		expect.True(g.t, first.InvoiceDate.Equal(time.Unix(is.Created, 0)), "the first invoice of %s, made at %d, is of %s", v.ID, is.Created, first.InvoiceDate)
		expect.Equal(g.t, first.Payment == nil, paid == nil, "%s, of %d, is paid without a payment", first.ID, first.Total)
		expect.Equal(g.t, first.Discount, v.Discount, "the discount of %s", first.ID)
	}
	if paid == nil {
		return
	}
	g.played["session begins: "+string(paid.PaymentMethod)]++
	must.True(g.t, first != nil, "%s of %s has paid no invoice", paid.ID, v.ID)
	must.True(g.t, first.Payment != nil, "%s, for which %s has paid, has no payment", first.ID, paid.ID)
	expect.Equal(g.t, *first.Payment, paid.ID, "the payment of %s", first.ID)
	must.True(g.t, paid.Invoice != nil, "%s of %s has no invoice", paid.ID, v.ID)
	expect.Equal(g.t, *paid.Invoice, first.ID, "the invoice of %s of %s", paid.ID, v.ID)
	must.True(g.t, paid.Subscription != nil, "%s of %s has no subscription", paid.ID, v.ID)
	expect.Equal(g.t, *paid.Subscription, is.ID, "the subscription of %s of %s", paid.ID, v.ID)
	if paid.PaymentMethod == payment.FromPhone && paid.Phone != nil && is.PhoneNumber != nil {
		expect.Equal(g.t, *is.PhoneNumber, *paid.Phone, "the charged phone of %s", is.ID)
	}
	if s.left[paid.ID] {
		g.played["session begins: late"]++
	}
}

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
		if i.Subscription != nil { // whose discounts the books have
			continue
		}
		if i.Coupon == nil {
			expect.Equal(g.t, i.Discount, int64(0), "the discount of %s, which has no coupon", i.ID)
			continue
		}
		if i.Status != invoice.Draft && i.Status != invoice.Void {
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
		if c.MaxRedemptions == nil {
			continue
		}
		least, most := redeemed[c.ID], redeemed[c.ID]
		if r := ofSessions[c.ID]; r != nil {
			least, most = least+r.least, most+r.most
		}
		expect.True(g.t, least <= c.TimesRedeemed && c.TimesRedeemed <= most, "%s was redeemed %d times, of %d to %d", c.ID, c.TimesRedeemed, least, most)
		expect.True(g.t, c.TimesRedeemed <= *c.MaxRedemptions, "%s was redeemed %d times of %d", c.ID, c.TimesRedeemed, *c.MaxRedemptions)
	}
	g.sameIDs("coupons", slices.Concat(s.coupons, s.subscribers.coupons), coupons)
}
