package payment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
)

// ailing is a charger that fails with one error until it is well.
type ailing struct {
	err    error
	result provider.Result
}

func (a *ailing) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return a.result, a.err
}

func (a *ailing) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	return a.result, a.err
}

// outcomes notes how the background work on payments ended.
type outcomes struct{ all []string }

func (o *outcomes) BeginWork(ctx context.Context, _ payments.Work) context.Context { return ctx }

func (o *outcomes) EndWork(_ context.Context, w payments.Work) {
	if w.Queue == "payments" {
		o.all = append(o.all, fmt.Sprint(w.Outcome, " ", w.Provider, " ", w.ErrorClass))
	}
}

// ailingShop is a shop in live mode whose charger fails.
func ailingShop(t *testing.T, charger *ailing) (*shop, *bytes.Buffer, *outcomes, func(time.Duration)) {
	t.Helper()
	var log bytes.Buffer
	seen, now := &outcomes{}, time.Now()
	s := newShop(t, payments.Config{
		Live: payments.Providers{Charger: charger}, Logger: slog.New(slog.NewTextHandler(&log, nil)), Observer: seen,
		Clock: func() time.Time { return now }, Serial: true, PromptLimits: payment.PromptLimits{Recent: 1000, Day: 1000},
	})
	s.caller.Live = true
	return s, &log, seen, func(d time.Duration) {
		now = now.Add(d)
		must.Do(t, s.Drain(t.Context()))
	}
}

// A failed call leaves its class, and nothing that the provider said, on the log line, the order, the
// observer and Health.
func TestFailedCallsHaveAClass(t *testing.T) {
	const secret = "0241234567"
	for want, err := range map[string]error{
		"paystack unauthorized": &provider.Error{Route: "paystack", Class: provider.ClassUnauthorized},
		"paystack timeout":      fmt.Errorf("of %s: %w", secret, &provider.Error{Route: "paystack", Class: provider.ClassTimeout}),
		"paystack throttled":    errors.Join(errors.New(secret), &provider.Error{Route: "paystack", Class: provider.ClassThrottled}),
		"paystack unreadable":   &provider.Error{Route: "paystack", Class: provider.ClassUnreadable},
		"charger unreachable":   &provider.Error{Class: provider.ClassUnreachable},
		"charger refused":       &provider.Error{Route: "Not a name, " + secret, Class: provider.ClassRefused},
		"charger other":         errors.New(secret),
		"mtn other":             &provider.Error{Route: "mtn", Class: secret},
	} {
		route, class, _ := strings.Cut(want, " ")
		charger := &ailing{err: err}
		s, log, seen, pass := ailingShop(t, charger)
		p := s.create(t, "0244000001")
		pass(0)
		pass(time.Minute)
		order := must.Get(s.Providers.Get(t.Context(), s.caller, p.ID))(t)
		expect.Equal(t, string(order.LastError), class, "%s: the order: last error", want)
		expect.Equal(t, order.Contradiction, "", "%s: the order: contradiction", want)
		expect.True(t, strings.Contains(log.String(), "outcome=no_answer"), "%s: the log is\n%s", want, log)
		expect.True(t, strings.Contains(log.String(), "provider="+route+" error="+class), "%s: the log is\n%s", want, log)
		expect.True(t, !strings.Contains(log.String(), secret), "%s: the log tells what the provider said:\n%s", want, log)
		must.True(t, len(seen.all) > 1, "%s: no attempts", want)
		for _, told := range seen.all {
			expect.Equal(t, told, "no_answer "+want, "the observer")
		}
		health := must.Get(s.Health(t.Context()))(t).Providers
		must.True(t, len(health) == 1, "%s: health %+v", want, health)
		is := health[0]
		expect.Equal(t, is.Route, route, "%s: health: route", want)
		expect.Equal(t, string(is.LastError), class, "%s: health: last error", want)
		expect.True(t, is.LastSuccess == nil, "%s: health: LastSuccess is set", want)
		expect.True(t, is.Failures[is.LastError] == len(seen.all), "%s: health %+v after %d attempts", want, is, len(seen.all))
		expect.Equal(t, len(is.Failures), 1, "%s: health: number of failures", want)

		charger.err, charger.result = nil, provider.Result{Outcome: provider.Paid}
		pass(6 * time.Minute)
		expect.Equal(t, s.get(t, p.ID).Status, payment.Completed, "%s: in the end", want)
		order = must.Get(s.Providers.Get(t.Context(), s.caller, p.ID))(t)
		expect.Equal(t, string(order.LastError), class, "%s: the order keeps its last error", want)
		is = must.Get(s.Health(t.Context()))(t).Providers[0]
		if route == "charger" { // an answer has no other name
			expect.True(t, is.LastSuccess != nil, "%s: health five minutes later: LastSuccess is nil", want)
			expect.Equal(t, len(is.Failures), 0, "%s: health five minutes later: number of failures", want)
			expect.Equal(t, string(is.LastError), class, "%s: health five minutes later: last error", want)
		}
	}
}

// Another amount than the order's is a contradiction at once, whether the provider answers it or an adapter
// makes an error of it: one line of the log, and both figures in the list. It is never no answer.
func TestAnotherAmountIsAContradictionAtOnce(t *testing.T) {
	mismatch := &provider.Error{Route: "paystack", Class: provider.ClassAmountMismatch}
	other := *mismatch
	other.Amount = 999
	same := *mismatch
	same.Amount = 1250
	for what, c := range map[string]struct {
		charger ailing
		route   string
		listed  string
	}{
		"an error":         {ailing{err: fmt.Errorf("hidden: %w", &other)}, "paystack", "the provider reports 999 pesewas, and not 1250"},
		"another currency": {ailing{err: mismatch}, "paystack", "the provider reports another amount or currency than 1250 pesewas"},
		"a wrong error":    {ailing{err: &same}, "paystack", "the provider reports another amount or currency than 1250 pesewas"},
		"an answer":        {ailing{result: provider.Result{Outcome: provider.Paid, Amount: 999}}, "charger", "the provider reports 999 pesewas paid, and not 1250"},
	} {
		s, log, seen, pass := ailingShop(t, &c.charger)
		p := s.create(t, "0244000001")
		pass(0)
		expect.Equal(t, s.stuck(t), p.ID+": "+c.listed, "%s: listed", what)
		pass(time.Minute)
		pass(time.Minute)
		// A webhook that says the same is no other contradiction.
		if c.charger.result.Amount == 999 || what == "an error" {
			must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid, Amount: 999}))
		}
		expect.Equal(t, s.stuck(t), p.ID+": "+c.listed, "%s: listed afterwards", what)
		expect.Equal(t, s.get(t, p.ID).Status, payment.Processing, "%s: the payment", what)
		expect.Equal(t, strings.Count(log.String(), "level=ERROR"), 1, "%s: lines of the log\n%s", what, log)
		expect.True(t, strings.Contains(log.String(), "error=amount_mismatch"), "%s: the log is\n%s", what, log)
		expect.True(t, !strings.Contains(log.String(), "hidden"), "%s: the log is\n%s", what, log)
		expect.True(t, len(seen.all) > 2, "%s: it is asked about no more", what)
		for _, told := range seen.all {
			expect.Equal(t, told, "contradicted "+c.route+" amount_mismatch", "%s: the observer", what)
		}
		order := must.Get(s.Providers.Get(t.Context(), s.caller, p.ID))(t)
		expect.Equal(t, order.LastError, provider.ClassAmountMismatch, "%s: the order: last error", what)
		expect.True(t, order.UnansweredAt.IsZero(), "%s: the order %+v", what, order)
		expect.True(t, !order.ReportedAt.IsZero(), "%s: the order %+v", what, order)
		is := must.Get(s.Health(t.Context()))(t).Providers
		must.True(t, len(is) == 1, "%s: health %+v", what, is)
		expect.True(t, is[0].Failures[provider.ClassAmountMismatch] > 0, "%s: health %+v", what, is)
		// The right amount is booked all the same, and the person still looks.
		must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid, Amount: 1250}))
		expect.Equal(t, s.get(t, p.ID).Status, payment.Completed, "%s: in the end", what)
	}
}

// The calls of test mode are no part of Health: its errors are made up.
func TestHealthLeavesTestModeOut(t *testing.T) {
	s := newShop(t, payments.Config{})
	s.create(t, "0244000905")
	must.Do(t, s.Drain(t.Context()))
	health := must.Get(s.Health(t.Context()))(t).Providers
	expect.True(t, health != nil, "health %+v", health)
	expect.Equal(t, len(health), 0, "health: number")
	order := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t)
	expect.Equal(t, len(order.Data), 0, "orders that need a person")
}
