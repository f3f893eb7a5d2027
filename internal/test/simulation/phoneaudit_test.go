package simulation_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

// What must hold of payments from phones.

// automatic reports whether no merchant made a refund: a payment came when there was nothing left to pay.
func automatic(r *refund.Refund) bool {
	reasons := []string{collect.PaidTwice, collect.InvoiceVoided, collect.InvoiceUncollectible, collect.CouponUsedUp, collect.SessionExpired, collect.CustomerDeleted, collect.CodeUsedUp, collect.CodeDeleted}
	return r.Reason != nil && slices.Contains(reasons, *r.Reason)
}

// nowOf is the time of a side.
func (g *game) nowOf(s *side) time.Time {
	if s.caller.Live {
		return g.now
	}
	return g.now.Add(g.ahead)
}

// givenBack are the payments that were paid twice, by their refunds.
func (g *game) givenBack(s *side) map[string]*refund.Refund {
	back := map[string]*refund.Refund{}
	for _, r := range g.refundsOf(s.caller) {
		if !automatic(&r) {
			continue
		}
		expect.True(g.t, back[r.Payment] == nil, "%s was given back twice", r.Payment)
		back[r.Payment] = &r
	}
	return back
}

// auditPhones compares the payments from phones with the world, and their holds with what they
// are for. It returns how many payments hold each object.
func (g *game) auditPhones(s *side, all []payment.Payment, back map[string]*refund.Refund) (held map[string]int64) {
	g.t.Helper()
	now := g.nowOf(s)
	held = map[string]int64{}
	var direct []string
	known := map[string]bool{}
	for _, p := range all {
		known[p.ID] = true
		if p.PaymentMethod != payment.FromPhone {
			continue
		}
		if p.QRCode == nil && p.Invoice == nil && p.CheckoutSession == nil {
			direct = append(direct, p.ID)
		}
		moved, o := 0, g.world.orders[p.ID]
		if o != nil {
			moved = o.moved
			expect.Equal(g.t, o.amount, p.Amount, "%s: the charger was told another amount", p.ID)
		}
		switch p.Status {
		case payment.Pending:
			expect.True(g.t, o == nil, "%s is pending, and the charger has it", p.ID)
		case payment.Cancelled:
			expect.True(g.t, o == nil, "%s is cancelled, and the charger has it", p.ID)
		case payment.Completed:
			expect.Equal(g.t, moved, 1, "%s is completed and has moved", p.ID)
			expect.Equal(g.t, *p.Net+*p.Fee, p.Amount, "net and fee of %s", p.ID)
		case payment.Failed:
			expect.True(g.t, moved == 0 || o.phone.contradicts, "%s has failed and has moved", p.ID)
			expect.True(g.t, p.FailureReason != nil, "%s has failed without a reason", p.ID)
		}
		if r := back[p.ID]; r != nil {
			must.True(g.t, p.Status == payment.Completed, "%s is %s, and %d were given back", p.ID, p.Status, r.Amount)
			expect.Equal(g.t, *p.Fee, 0, "the fee of %s, which was given back", p.ID)
			expect.Equal(g.t, r.Amount, p.Amount, "what was given back of %s", p.ID)
			expect.True(g.t, p.QRCode != nil || p.Invoice != nil || p.CheckoutSession != nil, "%s, which was given back, is for nothing", p.ID)
		}
		open := p.Status == payment.Pending || p.Status == payment.Processing
		expect.True(g.t, open || p.HoldExpiresAt == nil, "%s is %s and holds", p.ID, p.Status)
		expect.True(g.t, p.NextAction == nil || p.Status == payment.Processing, "%s is %s and asks its payer", p.ID, p.Status)
		expect.Equal(g.t, p.CompletedAt != nil, p.Status == payment.Completed, "%s is %s and has a time of completion", p.ID, p.Status)
		if p.HoldExpiresAt != nil && p.HoldExpiresAt.After(now) {
			switch {
			case p.Invoice != nil:
				held[*p.Invoice]++
			case p.CheckoutSession != nil:
				held[*p.CheckoutSession]++
			default:
				held[*p.QRCode]++
			}
		}
	}
	g.sameIDs("payments from phones", s.phoned, direct)
	for id := range back {
		expect.True(g.t, known[id], "%s was given back, and is unknown", id)
	}
	for _, q := range g.codesOf(s.caller) {
		if q.UsageLimit != nil {
			expect.True(g.t, q.UsageCount+held[q.ID] <= *q.UsageLimit, "%s was used %d times and is held %d times, of %d", q.ID, q.UsageCount, held[q.ID], *q.UsageLimit)
		}
	}
	for _, i := range g.invoicesOf(s.caller) {
		expect.True(g.t, held[i.ID] <= 1, "%s is held %d times", i.ID, held[i.ID])
		// While a hold lasts no caller pays, voids or writes off the invoice. A payment whose hold is over may.
		expect.True(g.t, i.Status != invoice.Draft || held[i.ID] == 0, "%s is a draft, and held", i.ID)
	}
	return held
}

// auditPrompts checks how often phones were asked in live mode.
func (g *game) auditPrompts(s *side, events []event.Event) {
	g.t.Helper()
	if !s.caller.Live {
		return
	}
	ended := map[string]time.Time{}
	for _, e := range events {
		switch e.Type {
		case event.PaymentSucceeded, event.PaymentFailed, event.PaymentCanceled:
			ended[objectOf(e)] = e.CreatedAt.Time
		}
	}
	asked := map[string][]payment.Payment{}
	for _, p := range slices.Backward(g.paymentsOf(s.caller)) { // the oldest first
		// A cancelled payment has asked no phone, and an erasure removes the number.
		if p.PaymentMethod == payment.FromPhone && p.Status != payment.Cancelled && p.Phone != nil {
			asked[*p.Phone] = append(asked[*p.Phone], p)
		}
	}
	for phone, prompts := range asked {
		for i, p := range prompts {
			at := p.CreatedAt.Time
			if i >= 1 {
				before := prompts[i-1]
				end, over := ended[before.ID]
				if deadline := before.CreatedAt.Add(10 * time.Minute); !over || end.After(deadline) {
					end = deadline
				}
				expect.True(g.t, !at.Before(end), "%s is asked for %s at %s, while %s is open until %s", phone, p.ID, at, before.ID, end)
			}
			if i >= 3 {
				expect.True(g.t, at.Sub(prompts[i-3].CreatedAt.Time) >= 10*time.Minute, "%s is asked 4 times in 10 minutes", phone)
			}
			if i >= 20 {
				expect.True(g.t, at.Sub(prompts[i-20].CreatedAt.Time) >= 24*time.Hour, "%s is asked 21 times in a day", phone)
			}
		}
	}
}

// told says by its events what a payment was told to be. Each snapshot shows the status of
// its event.
func (g *game) toldOfPayments(s *side, events []event.Event, was func(id string, status any, want string)) {
	g.t.Helper()
	shows := map[event.Type]payment.Status{
		event.PaymentPending: payment.Pending, event.PaymentProcessing: payment.Processing, event.PaymentSucceeded: payment.Completed,
		event.PaymentFailed: payment.Failed, event.PaymentCanceled: payment.Cancelled,
	}
	for _, e := range events {
		want, ok := shows[e.Type]
		if !ok {
			continue
		}
		var object payment.Payment
		check(json.Unmarshal(e.Data.Object, &object))
		expect.Equal(g.t, object.Status, want, "%s of %s shows", e.Type, object.ID)
	}
	for _, p := range g.paymentsOf(s.caller) {
		want := map[payment.Status]string{
			payment.Pending: "created pending", payment.Processing: "created pending processing", payment.Completed: "created pending processing succeeded",
			payment.Failed: "created pending processing failed", payment.Cancelled: "created pending canceled",
		}[p.Status]
		switch {
		case p.PaymentMethod != payment.FromPhone:
			want = "created succeeded"
		case p.Status == payment.Failed && g.world.orders[p.ID] == nil && strings.Contains(*p.FailureReason, "in time"):
			want = strings.Join(g.unsent(events, p.ID), " ")
		}
		was(p.ID, p.Status, want)
	}
}

// unsent are the events of a payment that could not be sent in time: the first attempt may have
// been lost, or none was made.
func (g *game) unsent(events []event.Event, id string) []string {
	for _, e := range events {
		if e.Type == event.PaymentProcessing && objectOf(e) == id {
			return []string{"created", "pending", "processing", "failed"}
		}
	}
	return []string{"created", "pending", "failed"}
}

// finishPhones checks that nothing of a payment is left open, and that what the charger took and
// what is booked differ by what is listed for a person.
func (g *game) finishPhones() (unbooked int64) {
	g.t.Helper()
	var want, listed []string
	for _, s := range g.sides {
		for where, text := range testkit.Contents(g.t, g.store, s.caller.Merchant) {
			kind, _, _ := strings.Cut(where, " ")
			expect.True(g.t, kind != "payment_holds", "%s is left: %s", where, text)
			if kind == "payment_prompts" { // one of the last day stays, such as of an SMS
				var is struct{ Forget time.Time }
				must.Do(g.t, json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &is))
				expect.True(g.t, !is.Forget.Before(g.now), "%s is left: %s", where, text)
			}
		}
		want = append(want, s.disputed...)
		back := g.givenBack(s)
		for _, p := range g.paymentsOf(s.caller) {
			expect.True(g.t, p.Status != payment.Pending, "%s is pending", p.ID)
			expect.True(g.t, p.Status != payment.Processing, "%s is processing", p.ID)
			expect.True(g.t, p.HoldExpiresAt == nil, "%s is %s and holds until %v", p.ID, p.Status, p.HoldExpiresAt)
			if p.Status == payment.Failed && g.world.orders[p.ID] != nil && g.world.orders[p.ID].moved == 1 {
				unbooked += p.Amount
				want = append(want, p.ID)
				g.played["contradicted"]++
			}
			if r := back[p.ID]; r != nil {
				g.played["paid twice"]++
				if r.Status == refund.Failed {
					want = append(want, p.ID)
				}
			}
			if p.PaymentMethod == payment.FromPhone {
				g.played["from phone: "+string(p.Status)]++
			}
		}
		for _, i := range g.invoicesOf(s.caller) {
			stopped := i.Subscription != nil && i.NextPaymentAttempt == nil // by the cancellation
			expect.True(g.t, i.Status != invoice.Open || i.CollectionMethod != invoice.ChargeAutomatically || stopped, "%s is charged automatically, and stays open, next attempt %v", i.ID, i.NextPaymentAttempt)
		}
	}
	for _, live := range []bool{true, false} {
		stuck := must.Get(g.svc.Providers.List(g.t.Context(), api.Caller{Live: live}, provider.ListParams{Page: api.Page{Limit: 100}}))(g.t)
		for _, o := range stuck.Data {
			listed = append(listed, o.ID)
			expect.True(g.t, o.Contradiction != "", "%s is stuck: %+v", o.ID, o)
		}
	}
	want = slices.DeleteFunc(want, func(id string) bool { return g.sides[0].decided[id] || g.sides[1].decided[id] })
	g.sameIDs("orders for a person", want, listed)
	return unbooked
}
