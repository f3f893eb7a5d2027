package simulation_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/billmodel"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/subscription"
)

// The subscriptions of a simulation in the plain model, which learns what has happened from the events alone.

// books are a side's subscriptions in the model.
type books struct {
	read     int              // events so far
	of       map[string]*book // by the subscription
	invoices map[string]*billmodel.Invoice
	paidBy   map[string]*billmodel.Invoice // by the payment
	redeemed map[string]int64              // by the coupon
}

// book is a subscription.
type book struct {
	billmodel.Subscription
	// is what the last event of the subscription has shown; nil before the first.
	is *subscription.Subscription
	// cut counts the periods that a plan of another interval has cut short.
	cut int
	// charged says that an invoice was made of which the subscription's own event is still to come.
	charged bool
}

// bookKeeping has the model do what has happened since it was asked last. The events come newest first.
func (g *game) bookKeeping(s *side, events []event.Event) {
	g.t.Helper()
	b := &s.books
	if b.of == nil {
		*b = books{of: map[string]*book{}, invoices: map[string]*billmodel.Invoice{}, paidBy: map[string]*billmodel.Invoice{}, redeemed: map[string]int64{}}
	}
	fresh := slices.Clone(events[:len(events)-b.read])
	slices.Reverse(fresh)
	b.read = len(events)
	for i, e := range fresh {
		var object struct{ Object string }
		check(json.Unmarshal(e.Data.Object, &object))
		switch object.Object {
		case "invoice":
			g.bookInvoice(s, e, fresh[i+1:])
		case "refund":
			if e.Type == event.RefundSucceeded {
				r := read[refund.Refund](e)
				if v := b.paidBy[r.Payment]; v != nil {
					v.Refunded += r.Amount
					g.played["refund of a period"]++
				}
			}
		case "subscription":
			is := read[subscription.Subscription](e)
			g.bookChange(s, e, b.the(is.ID), is)
		}
	}
}

func read[T any](e event.Event) *T {
	is := new(T)
	check(json.Unmarshal(e.Data.Object, is))
	return is
}

func (b *books) the(id string) *book {
	if b.of[id] == nil {
		b.of[id] = &book{}
	}
	return b.of[id]
}

func (g *game) bookInvoice(s *side, e event.Event, later []event.Event) {
	g.t.Helper()
	is, b := read[invoice.Invoice](e), &s.books
	if is.Subscription == nil {
		return
	}
	of, v := b.the(*is.Subscription), b.invoices[is.ID]
	if v == nil {
		v = g.bookNew(s, e, of, is, later)
		b.invoices[is.ID] = v
	}
	switch e.Type {
	case event.InvoicePaid:
		if v.Status = billmodel.Paid; is.Payment != nil {
			v.Payment, b.paidBy[*is.Payment] = is.AmountPaid, v
		}
	case event.InvoiceVoided:
		of.Void(v)
		g.played["void period"]++
	case event.InvoiceMarkedUncollectible:
		v.Status = billmodel.Uncollectible
	}
}

// bookNew makes an invoice in the model, and compares it with the one that was made. The subscription's own
// event of the same transaction, which comes later, shows what the invoice is for.
func (g *game) bookNew(s *side, e event.Event, of *book, is *invoice.Invoice, later []event.Event) *billmodel.Invoice {
	g.t.Helper()
	var then *subscription.Subscription
	final, goesOn := false, false
	for _, next := range later {
		if !isSubscription(next) || objectOf(next) != *is.Subscription {
			continue
		}
		then = read[subscription.Subscription](next)
		final, goesOn = next.Type == event.SubscriptionCanceled, next.Type == event.SubscriptionUpdated
		break
	}
	must.True(g.t, then != nil, "%s is of a subscription without an event", is.ID)
	of.charged = true
	var v *billmodel.Invoice
	if final {
		v = of.Finish()
		must.True(g.t, v != nil, "%s is the final invoice of %s, and nothing is due", is.ID, then.ID)
		g.played["final invoice"]++
	} else {
		if of.is == nil && is.Coupon != nil {
			g.bookCoupon(s, of, *is.Coupon, then.Discount)
		}
		to := g.termsOf(s, then)
		var start, end time.Time
		for _, l := range is.Lines.Data {
			if l.Period != nil {
				start, end = time.Unix(l.Period.Start, 0), time.Unix(l.Period.End, 0)
			}
		}
		if goesOn && start.Before(of.End) {
			of.Leave(e.CreatedAt.Time, to, prorated(then))
			of.cut++
			g.played["period cut short"]++
		}
		of.Terms = to
		v = of.Bill(start, end)
	}
	var want, got []string
	for _, l := range v.Lines {
		want = append(want, fmt.Sprint(l.Text, " ", l.Amount))
		if l.Amount < 0 {
			g.played["line of credit"]++
		}
	}
	for _, l := range is.Lines.Data {
		got = append(got, fmt.Sprint(l.Description, " ", l.Amount))
	}
	if v.Discounted() {
		g.played["discounted period"]++
	}
	expect.True(g.t, slices.Equal(got, want), "%s of %s is %q; in the model %q", is.ID, then.ID, got, want)
	expect.Equal(g.t, is.Subtotal, v.Subtotal, "the subtotal of %s of %s", is.ID, then.ID)
	expect.Equal(g.t, is.Discount, v.Discount, "the discount of %s of %s", is.ID, then.ID)
	expect.Equal(g.t, is.Tax, v.Tax, "the tax of %s of %s", is.ID, then.ID)
	expect.Equal(g.t, is.Total, v.Total, "the total of %s of %s", is.ID, then.ID)
	expect.Equal(g.t, is.Coupon != nil, v.Discounted(), "%s of %s has a coupon", is.ID, then.ID)
	return v
}

func isSubscription(e event.Event) bool {
	var object struct{ Object string }
	check(json.Unmarshal(e.Data.Object, &object))
	return object.Object == "subscription"
}

// unprorated is the metadata of a change without prorations, since no field of a subscription tells it.
const unprorated = "unprorated"

func prorated(is *subscription.Subscription) bool { return is.Metadata[unprorated] != true }

// bookChange takes a subscription's coupon and terms from its event, and compares the rest.
func (g *game) bookChange(s *side, e event.Event, of *book, is *subscription.Subscription) {
	g.t.Helper()
	before := of.is
	of.is = is
	billed := of.charged
	of.charged = false
	if e.Type == event.SubscriptionCanceled && !of.Ended {
		v := of.Finish()
		expect.True(g.t, v == nil, "%s was cancelled without the final invoice %+v", is.ID, v)
	}
	if of.Ended {
		return
	}
	switch on := of.Coupon; {
	case is.Discount == nil && on != nil:
		of.PutOn(nil)
	case is.Discount != nil && (on == nil || on.ID != is.Discount.Coupon):
		g.bookCoupon(s, of, is.Discount.Coupon, is.Discount)
	}
	if billed {
		return
	}
	to := g.termsOf(s, is)
	switch {
	case before == nil || before.Status != subscription.Active && before.Status != subscription.PastDue:
		of.Terms = to
	default:
		of.Change(e.CreatedAt.Time, to, prorated(is))
	}
}

// bookCoupon puts a coupon on.
func (g *game) bookCoupon(s *side, of *book, id string, shown *subscription.Discount) {
	c := must.Get(g.svc.Coupons.Get(g.t.Context(), s.caller, id))(g.t)
	is := &billmodel.Coupon{ID: id, Once: c.Duration == catalog.Once}
	if c.PercentOff != nil {
		is.Percent = c.PercentOff.Rat()
	} else {
		is.Amount = *c.AmountOff
	}
	if shown != nil && shown.End != nil {
		is.End = time.Unix(*shown.End, 0)
	}
	of.PutOn(is)
	s.books.redeemed[id]++
}

func (g *game) termsOf(s *side, is *subscription.Subscription) billmodel.Terms {
	p := must.Get(g.svc.Plans.Get(g.t.Context(), s.caller, is.Plan))(g.t)
	to := billmodel.Terms{Plan: p.ID, Name: p.Name, Amount: is.Amount, Quantity: is.Quantity}
	if p.TaxPercent != nil && *p.Taxable {
		to.Tax = new(big.Rat).Set(p.TaxPercent.Rat())
	}
	return to
}

// auditBooks compares what subscriptions show with the model.
func (g *game) auditBooks(s *side, all []subscription.Subscription) {
	g.t.Helper()
	for i := range all {
		of := s.books.of[all[i].ID]
		must.True(g.t, of != nil, "%s has no event", all[i].ID)
		expect.Equal(g.t, all[i].CreditBalance, of.CreditBalance(), "the credit balance of %s", all[i].ID)
		expect.Equal(g.t, all[i].Discount != nil, of.Coupon != nil, "the discount of %s", all[i].ID)
	}
	for id, n := range s.books.redeemed {
		if slices.Contains(s.subscribers.coupons, id) {
			c := must.Get(g.svc.Coupons.Get(g.t.Context(), s.caller, id))(g.t)
			expect.Equal(g.t, c.TimesRedeemed, n, "redemptions of %s", id)
		}
	}
}
