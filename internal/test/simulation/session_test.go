package simulation_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

// The checkout sessions of a simulation.

func (g *game) sessionsOf(c api.Caller) []checkout.Session {
	return testkit.All(api.All(g.t.Context(), c, checkout.ListParams{}, g.svc.Checkout.List))
}

// stepOfSessions does something with a session.
func (g *game) stepOfSessions(s *side) {
	switch id := pick(g, s.sessions); {
	case s.memberships < maxMemberships && g.dice.IntN(4) == 0:
		g.membership(s)
	case id == "" || g.dice.IntN(3) == 0:
		g.sell(s)
	case g.dice.IntN(6) == 0:
		_, _ = g.call("expire session", s, func(c api.Caller) (string, error) {
			return id, second(g.svc.Checkout.Expire(g.t.Context(), c, id))
		})
	default:
		g.paySession(s, id)
	}
}

func (g *game) sell(s *side) {
	price := g.dice.Int64N(80_00)
	g.create(s, checkout.CreateParams{Lines: []invoice.LineParams{{Description: "x", UnitAmount: &price}}})
}

// create makes a session of what is sold, and returns its id if the call does.
func (g *game) create(s *side, p checkout.CreateParams) string {
	p.SuccessURL = "https://shop.example/"
	if g.dice.IntN(2) == 0 {
		p.ExpiresAt = g.nowOf(s).Add(31*time.Minute + time.Duration(g.dice.Int64N(int64(23*time.Hour))))
	}
	if who := g.customer(s); who != nil && g.dice.IntN(2) == 0 {
		p.Customer = who.id
	}
	var discount invoice.CreateParams
	if g.discount(s, &discount); discount.Coupon != nil {
		p.Coupon = *discount.Coupon
	}
	return g.keep(&s.sessions, "create session", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Checkout.Create(g.t.Context(), c, p))
	})
}

// paySession pays from a phone or a wallet. Now and then it gives an e-mail address, and for a
// subscription always the name of a new person.
func (g *game) paySession(s *side, id string) {
	joins := must.Get(g.svc.Checkout.Get(g.t.Context(), s.caller, id))(g.t).Mode == checkout.ModeSubscription
	name, p := "pay session from phone", checkout.PayParams{MobileMoney: g.mobileMoney(s)}
	if g.dice.IntN(3) == 0 {
		name, p.Wallet, p.PIN = "pay session from a wallet", account.WalletRef{AccountID: pick(g, s.consumers)}, g.pin()
		if !joins {
			p.MobileMoney = payment.MobileMoney{}
		}
	}
	switch {
	case joins:
		g.named++
		who := person{name: fmt.Sprintf("zenobia%dq", g.named)}
		p.Name, p.Email = &who.name, new(who.email())
	case g.dice.IntN(4) == 0:
		p.Email = new("payer@example.com")
	}
	_, _ = g.call(name, s, func(c api.Caller) (string, error) {
		return id, second(g.svc.Checkout.Pay(g.t.Context(), c, id, p))
	})
}

// payerOfSession is payerOfCode for an open session.
func (g *game) payerOfSession(s *side) func() string {
	var open []string
	for _, v := range g.sessionsOf(s.caller) {
		if v.Status == checkout.Open {
			open = append(open, v.ID)
		}
	}
	if id := pick(g, open); id != "" {
		return g.payerOf(s, id)
	}
	return nil
}

// payerOf returns what lets the next payer pay a session, and returns the id of the payment from a phone.
func (g *game) payerOf(s *side, id string) func() string {
	return func() string {
		g.paySession(s, id)
		for _, p := range g.paymentsOf(s.caller) {
			if p.CheckoutSession != nil && *p.CheckoutSession == id && p.PaymentMethod == payment.FromPhone {
				return p.ID
			}
		}
		return ""
	}
}

// redemptions are the redemptions of a coupon that sessions have: at least those that are complete or
// held, and at most also those whose payers may still approve, until the worker gives it back.
type redemptions struct{ least, most int64 }

// auditSessions compares sessions with their payments and subscriptions, and returns the redemptions of their coupons. held
// is how many payments hold each.
func (g *game) auditSessions(s *side, all []payment.Payment, billed []invoice.Invoice, held map[string]int64) map[string]*redemptions {
	g.t.Helper()
	byID, asked, redeemed := map[string]payment.Payment{}, map[string]bool{}, map[string]*redemptions{}
	for _, p := range all {
		byID[p.ID] = p
		if p.CheckoutSession != nil && p.PaymentMethod == payment.FromPhone {
			asked[*p.CheckoutSession] = true
		}
	}
	var found []string
	for _, v := range g.sessionsOf(s.caller) {
		found = append(found, v.ID)
		g.played["session: "+string(v.Status)]++
		expect.True(g.t, held[v.ID] <= 1, "%s is held %d times", v.ID, held[v.ID])
		expect.True(g.t, v.Status != checkout.Expired || held[v.ID] == 0, "%s has expired, and is held", v.ID)
		expect.Equal(g.t, v.Payment != nil, v.Status == checkout.Complete && v.Total > 0, "%s is %s, of %d, and has a payment", v.ID, v.Status, v.Total)
		var paid *payment.Payment
		if v.Payment != nil {
			p := byID[*v.Payment]
			paid = &p
			expect.Equal(g.t, p.Status, payment.Completed, "the status of %s of %s", p.ID, v.ID)
			expect.Equal(g.t, p.Amount, v.Total, "the amount of %s of %s", p.ID, v.ID)
			must.True(g.t, p.CheckoutSession != nil, "%s of %s has no session", p.ID, v.ID)
			expect.Equal(g.t, *p.CheckoutSession, v.ID, "the session of %s", p.ID)
		}
		if v.Mode == checkout.ModeSubscription {
			g.auditMembership(s, &v, paid, billed)
		} else {
			expect.True(g.t, v.Subscription == nil, "%s has begun a subscription", v.ID)
		}
		if v.Coupon == nil {
			continue
		}
		r := redeemed[*v.Coupon]
		if r == nil {
			r = &redemptions{}
			redeemed[*v.Coupon] = r
		}
		switch {
		case v.Status == checkout.Complete || held[v.ID] > 0:
			r.least++
			r.most++
		case v.Status == checkout.Open && asked[v.ID]:
			r.most++
		}
	}
	g.sameIDs("sessions", s.sessions, found)
	return redeemed
}

// toldOfSessions says by its events what a session was told to be.
func (g *game) toldOfSessions(s *side, was func(id string, status any, want string)) {
	g.t.Helper()
	for _, v := range g.sessionsOf(s.caller) {
		was(v.ID, v.Status, map[checkout.Status]string{checkout.Complete: "session.completed", checkout.Expired: "session.expired"}[v.Status])
	}
}

// finishSessions checks that no session is left open.
func (g *game) finishSessions(s *side) {
	g.t.Helper()
	for where, text := range testkit.Contents(g.t, g.store, s.caller.Merchant) {
		expect.True(g.t, !strings.HasPrefix(where, "payment_ended_holds"), "%s is left: %s", where, text)
	}
	for _, v := range g.sessionsOf(s.caller) {
		expect.True(g.t, v.Status != checkout.Open, "%s, which expires at %d, stays open", v.ID, v.ExpiresAt)
	}
}
