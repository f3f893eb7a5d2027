package invoice_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A charge without an outcome is listed after StuckAfter, counted, and told to the log
// once; it goes on being asked for, and is forgotten when it is decided, either way.
func TestStuckChargeIsListed(t *testing.T) {
	for _, outcome := range []provider.Outcome{provider.Paid, provider.Refused} {
		t.Run(string(outcome), func(t *testing.T) {
			var log bytes.Buffer
			m := &moody{}
			says := func(o provider.Outcome) {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.answer = func(provider.Charge, bool) (provider.Result, error) { return provider.Result{Outcome: o}, nil }
			}
			says(provider.InProgress)
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}, StuckAfter: 30 * time.Minute, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			v := s.openInvoice(invoice.Fields{})
			stuck := func() []provider.OrderInfo {
				t.Helper()
				list := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t)
				h := must.Get(s.Health(t.Context()))(t)
				expect.Equal(t, h.StuckTest, len(list.Data), "stuck test")
				expect.Equal(t, h.StuckLive, 0, "stuck live")
				return list.Data
			}
			begin := s.Now()
			testkit.WantCode(t, "no answer", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.Unavailable)
			s.pass(30*time.Minute - time.Second)
			if list := stuck(); len(list) != 0 || strings.Contains(log.String(), "a charge is stuck") {
				t.Errorf("before its time: %+v", list)
			}
			s.pass(time.Second)
			list := stuck()
			must.True(t, len(list) == 1, "%d are stuck", len(list))
			if is := list[0]; is.Record != v.ID || is.Merchant != s.Caller.Merchant || is.Live || !is.SubmittedAt.Equal(begin) || !strings.HasPrefix(is.ID, "att_") || is.Attempts != 2 {
				t.Errorf("stuck: %+v", is)
			}
			s.pass(time.Hour)
			s.pass(2 * time.Hour)
			expect.Equal(t, strings.Count(log.String(), "a charge is stuck"), 1, "how often the log tells of it")
			says(outcome)
			s.pass(2 * time.Hour)
			if list := stuck(); len(list) != 0 {
				t.Errorf("decided: %+v", list)
			}
			// The next one begins anew.
			says("lost") // no answer at all
			next, want := v, 1
			if outcome == provider.Paid {
				next = s.openInvoice(invoice.Fields{})
			}
			testkit.WantCode(t, "no answer", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, next.ID, invoice.PayParams{})), api.Unavailable)
			if list := stuck(); len(list) != 0 {
				t.Errorf("begun: %+v", list)
			}
			s.pass(30 * time.Minute)
			if list := stuck(); len(list) != want {
				t.Errorf("%d of the next are stuck", len(list))
			}
		})
	}
}

// token is the secret part of the address of an invoice's page.
func token(v *invoice.Invoice) string {
	return v.HostedURL[strings.LastIndex(v.HostedURL, "/")+1:]
}

// While the store fails at any operation of the work in turn, reminders and
// automatic charges come, each once.
func TestWorkersChargeAndRemindOnceWhileTheStoreFails(t *testing.T) {
	charger := &counting{charged: map[string]int{}}
	store := faultstore.New(memory.New())
	s := open(t, store, payments.Config{InvoiceReminders: []int{3}, Test: payments.Providers{Charger: charger}})
	automatic := invoice.ChargeAutomatically
	type pair struct{ charged, reminded string }
	var made []pair
	hit := true
	for k := 1; hit; k++ {
		charged := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{
			Fields: invoice.Fields{CollectionMethod: &automatic, Lines: []invoice.LineParams{line(100)}}, AutoFinalize: true,
		}))(t)
		late := s.Now().AddDate(0, 0, 1)
		reminded := s.openInvoice(invoice.Fields{Phone: new("0245556666"), DueDate: &late})
		made = append(made, pair{charged.ID, reminded.ID})
		s.Pass(5 * 24 * time.Hour)
		store.FailAt(k)
		err := s.Drain(t.Context())
		if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		must.True(t, k <= 1000, "the work has no end")
	}
	s.pass(24 * time.Hour)
	sent := map[string]int{}
	for e, err := range api.All(t.Context(), s.Caller, event.ListParams{Type: event.InvoiceSent}, s.Events.List) {
		must.Do(t, err)
		var object struct{ ID string }
		must.Do(t, json.Unmarshal(e.Data.Object, &object))
		sent[object.ID]++
	}
	for _, p := range made {
		v := s.get(p.charged)
		expect.Equal(t, v.Status, invoice.Paid, "charged: status")
		expect.Equal(t, v.AmountPaid, 100, "charged: amount paid")
		expect.True(t, sent[p.reminded] == 1, "%s was sent %d times", p.reminded, sent[p.reminded])
	}
	for id, n := range charger.charged {
		expect.Equal(t, n, 100, "of %s %d were taken", id, n)
	}
	expect.Equal(t, len(charger.charged), len(made), "%d charges for %d invoices", len(charger.charged), len(made))
	s.Verified()
}

// counting is a charger that takes the money once for an id.
type counting struct {
	mu      sync.Mutex
	charged map[string]int
}

func (c *counting) Charge(_ context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.charged[charge.ID] = int(charge.Amount)
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c *counting) ChargeStatus(_ context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.charged[charge.ID] == 0 {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return provider.Result{Outcome: provider.Paid}, nil
}

// The end of a period waits for the charges that end before it, and for their outcome until that is booked.
func TestAwaitsOutcome(t *testing.T) {
	s := newIssuer(t)
	start := s.now
	made := s.issue(invoicing.IssueParams{
		PriceParams: invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(5)}}, Person: &account.Customer{Name: "Ama"}, Date: s.now,
		CollectionMethod: invoice.ChargeAutomatically, ChargedPhone: "+233241230901",
	})
	last := start.Add(5 * 24 * time.Hour)
	awaits := func(what string, end, since, want time.Time) {
		t.Helper()
		s.update(func(tx *engine.Tx) error {
			until, err := s.AwaitsCharge(tx, made.ID, end, since)
			expect.True(t, until.Equal(want), "%s: it waits until %s, want %s", what, until, want)
			return err
		})
	}
	end := last.Add(time.Second)
	awaits("a charge that is due", end, start, start.Add(time.Hour))
	awaits("charges that end with the period", last, start, time.Time{})
	s.update(func(tx *engine.Tx) error { return testkit.Err(s.Begin(t.Context(), tx, made.ID)) })
	asked := collect.Ended{Payment: s.paymentsOf(made.ID)[0]}
	s.now = start.Add(time.Hour - time.Second)
	awaits("a payment under way", end, start, start.Add(time.Hour))
	s.now = start.Add(time.Hour)
	awaits("a payment without an outcome", end, start, time.Time{})
	asked.Status = payment.Failed
	s.update(func(tx *engine.Tx) error { return s.PaymentEnded(tx, &asked) })
	next := start.Add(24 * time.Hour)
	awaits("a charge that is planned", end, start, next.Add(time.Hour))
	s.now = next.Add(2 * time.Hour)
	awaits("a charge that was not made", end, next, time.Time{})
	asked.Status = payment.Completed
	s.update(func(tx *engine.Tx) error { return s.PaymentEnded(tx, &asked) })
	awaits("an outcome that is not booked", end, s.now, s.now.Add(time.Hour))
}
