package paystack_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/openapitest"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

var (
	seeds = flag.Int("seeds", 60, "seeds of TestChaos")
	from  = flag.Uint64("from", 1, "first seed of TestChaos")
)

// direct carries requests to a fake without a network, so that a seed gives the same run again.
type direct struct{ handler http.Handler }

var errCut = errors.New("the connection was cut")

func (d direct) RoundTrip(r *http.Request) (response *http.Response, err error) {
	defer func() {
		if recover() != nil {
			response, err = nil, errCut
		}
	}()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, in)
	return w.Result(), nil
}

// booking is an order as the library would book it.
type booking struct {
	order          provider.Order
	submit, status func(context.Context, provider.Order) (provider.Result, error)
	confirm        func(context.Context, provider.Order) (provider.Result, error) // of charges
	deadline       time.Time                                                      // of charges
	due            time.Time
	outcome        provider.Outcome // once it is final
	refunds        bool
}

// book books a result, as the library does: the first final outcome stays, but for a reversal.
func (b *booking) book(r provider.Result) error {
	switch {
	case !r.Outcome.Final():
	case b.outcome == "", b.outcome == provider.Paid && r.Outcome == provider.Reversed:
		b.outcome = r.Outcome
	case b.outcome != r.Outcome:
		return provider.ErrContradicted
	}
	return nil
}

// attempt makes one attempt at an order, as package orders does, and returns when the next is due.
func (b *booking) attempt(t *testing.T, now time.Time, dice *rand.Rand) error {
	o := &b.order
	o.Attempts++
	o.Now = now
	if o.Attempts == 1 {
		o.SubmittedAt = now
	}
	ask := func(call func(context.Context, provider.Order) (provider.Result, error)) (provider.Result, error) {
		r, err := call(t.Context(), *o)
		if err == nil && r.Outcome == provider.Refused && r.Reason == (provider.Refusal{}) {
			return r, fmt.Errorf("%s is refused without a reason", o.ID)
		}
		return r, err
	}
	var r provider.Result
	var err error
	if o.Attempts > 1 {
		if r, err = ask(b.status); err == nil && r.NeedsCode && b.confirm != nil {
			r, err = ask(b.confirm)
		}
	}
	if late := !b.deadline.IsZero() && !now.Before(b.deadline); late && err == nil && r.Outcome == provider.NotFound {
		b.outcome = provider.Refused // the library asks no payer after the deadline
		return nil
	}
	if o.Attempts == 1 || err == nil && r.Outcome == provider.NotFound {
		if r, err = ask(b.submit); err == nil && r.Outcome == provider.NotFound {
			return fmt.Errorf("%s: the submission answers not_found", o.ID)
		}
	}
	b.due = now.Add(time.Second << min(o.Attempts, 9))
	if dice.IntN(4) == 0 {
		b.due = now // a process died, and another goes on at once
	}
	if err == nil && r.PollAfter > 0 {
		b.due = now.Add(r.PollAfter)
	}
	if err == nil {
		_ = b.book(r)
	}
	return nil
}

// Whatever Paystack does, money moves at most once for an order, and what the adapter reported is
// what happened in the end.
func TestChaos(t *testing.T) {
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		expect.NoError(t, chaos(t, seed), "seed %d", seed)
	}
}

func chaos(t *testing.T, seed uint64) error {
	dice := rand.New(rand.NewPCG(seed, 1))
	fake := paystacktest.New(seed)
	some := func(most int) int { return dice.IntN(2) * dice.IntN(most+1) }
	fake.SetFaults(paystacktest.Faults{
		LoseRequest: some(30), LoseAnswer: some(30), FailBefore: some(15), FailAfter: some(15), Limit: some(15), NoKey: some(10), Late: some(80),
		Refuse: some(40), Reverse: some(20), Dispute: some(20), Lag: time.Duration(some(9)) * time.Minute, OTP: dice.IntN(12) == 0, EmptyFloat: dice.IntN(12) == 0,
		DropEvents: some(100), RepeatEvents: some(60), ForgeEvents: some(60), EarlyEvents: some(60),
	})
	http := &http.Client{Transport: openapitest.Transport(t, "testdata/openapi.yaml", direct{fake})}
	client := func() *paystack.Client { // of one process of many
		return must.Get(paystack.New(paystack.Config{SecretKey: paystacktest.SecretKey, BaseURL: "https://paystack", Email: email, HTTPClient: http}))(t)
	}
	processes := []*paystack.Client{client(), client()}
	any := func() *paystack.Client { return processes[dice.IntN(len(processes))] }
	now := time.Now()
	fake.SetClock(func() time.Time { return now })
	bookings := map[string]*booking{}
	var all []*booking
	add := func(b *booking) {
		b.due = now
		bookings[b.order.ID] = b
		all = append(all, b)
	}
	lasts := []string{"67", "67", paystacktest.Fails, paystacktest.Stays, paystacktest.AsksCode, paystacktest.RefundFails, paystacktest.RefundStays, paystacktest.NoAccount}
	last := func() string { return lasts[dice.IntN(len(lasts))] }
	for range 4 {
		o := newTransfer(last())
		add(&booking{
			order: o.Order,
			submit: func(ctx context.Context, is provider.Order) (provider.Result, error) {
				o.Order = is
				return any().Submit(ctx, o)
			},
			status: func(ctx context.Context, is provider.Order) (provider.Result, error) {
				o.Order = is
				return any().Status(ctx, o)
			},
		})
		c := newCharge(last())
		if dice.IntN(2) == 0 {
			c.Network = "telecel"
		}
		with := func(call func(*paystack.Client, context.Context, provider.Charge) (provider.Result, error)) func(context.Context, provider.Order) (provider.Result, error) {
			return func(ctx context.Context, is provider.Order) (provider.Result, error) {
				c.Order = is
				return call(any(), ctx, c)
			}
		}
		add(&booking{
			order: c.Order, deadline: c.Deadline, submit: with((*paystack.Client).Charge), status: with((*paystack.Client).ChargeStatus),
			confirm: with(func(p *paystack.Client, ctx context.Context, c provider.Charge) (provider.Result, error) {
				return p.ConfirmCharge(ctx, c, []string{paystacktest.Code, "111111"}[dice.IntN(2)])
			}),
		})
	}
	handler := processes[0].WebhookHandler(func(_ context.Context, id string, r provider.Result) error {
		if bookings[id] == nil {
			return fmt.Errorf("a report for %s", id)
		}
		return bookings[id].book(r)
	})
	deliver := func() error {
		for _, e := range fake.Callbacks() {
			r := must.Get(e.Request(t.Context(), "/webhooks/paystack"))(t)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			text, _ := io.ReadAll(w.Body)
			if e.Forged != (w.Code == 401) || w.Code != 200 && w.Code != 503 && w.Code != 401 {
				return fmt.Errorf("the event %s is answered with %d %s", e.Body, w.Code, text)
			}
		}
		return nil
	}
	for round := range 160 {
		if round == 120 {
			fake.Settle()
		}
		for _, b := range all {
			if b.outcome != "" || b.due.After(now) {
				continue
			}
			if err := b.attempt(t, now, dice); err != nil {
				return err
			}
		}
		if dice.IntN(3) == 0 || round > 120 {
			if err := deliver(); err != nil {
				return err
			}
		}
		for _, b := range all { // a paid charge is given back in parts
			if b.confirm == nil || b.outcome != provider.Paid || b.refunds {
				continue
			}
			b.refunds = true
			whole := b.order.Amount
			for _, part := range []int64{whole / 3, whole - whole/3, 1}[:1+dice.IntN(3)] {
				r := provider.Refund{Order: conformance.NewOrder("re_", part), Charge: b.order.ID, Phone: mtn + "67", Payment: b.order.ID}
				with := func(call func(*paystack.Client, context.Context, provider.Refund) (provider.Result, error)) func(context.Context, provider.Order) (provider.Result, error) {
					return func(ctx context.Context, is provider.Order) (provider.Result, error) {
						r.Order = is
						return call(any(), ctx, r)
					}
				}
				add(&booking{order: r.Order, submit: with((*paystack.Client).Refund), status: with((*paystack.Client).RefundStatus)})
			}
		}
		now = now.Add(time.Duration(dice.IntN(90)) * time.Second)
		if round > 120 {
			now = now.Add(20 * time.Minute)
		}
	}
	for _, b := range all {
		moved := fake.Moved(b.order.ID)
		switch {
		case b.outcome == "":
			return fmt.Errorf("%s has no outcome after %d attempts", b.order.ID, b.order.Attempts)
		case moved > 1 || moved < 0:
			return fmt.Errorf("%s moved money %d times", b.order.ID, moved)
		case b.outcome != provider.Paid && moved != 0:
			return fmt.Errorf("%s is %s, and moved money", b.order.ID, b.outcome)
		case b.outcome == provider.Paid && moved == 0:
			// Taken back. The library learns of it by an event, unless that is lost.
			if r, err := b.status(t.Context(), b.order); err != nil || r.Outcome != provider.Reversed {
				return fmt.Errorf("%s is paid, and moved no money", b.order.ID)
			}
		}
	}
	if problems := fake.Problems(); len(problems) > 0 {
		return fmt.Errorf("requests: %v", problems)
	}
	return nil
}
