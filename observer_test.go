package payments_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

type begun struct{}

// workLog counts what it is told: "queue outcome attempt", and whether it failed.
type workLog struct {
	t      *testing.T
	mu     sync.Mutex
	counts map[string]int
	ids    map[string]payments.Work // the last of each queue
	passed map[string]bool          // host's code that had the context of BeginWork
}

func (l *workLog) BeginWork(ctx context.Context, w payments.Work) context.Context {
	ended := w.Outcome != "" || w.Duration != 0
	expect.Equal(l.t, ended, w.Queue == "events", "begun as if it had ended: %+v", w)
	expect.True(l.t, w.Queue != "", "begun in no queue: %+v", w)
	expect.True(l.t, w.Records >= 1, "begun without a record: %+v", w)
	return context.WithValue(ctx, begun{}, w.Queue)
}

func (l *workLog) EndWork(ctx context.Context, w payments.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	expect.Equal(l.t, ctx.Value(begun{}), any(w.Queue), "ended: the queue in the context of %+v", w)
	expect.True(l.t, w.Duration > 0, "ended without a duration: %+v", w)
	failed := ""
	if w.Err != nil {
		failed = " failed"
	}
	l.counts[fmt.Sprint(w.Queue, " ", w.Outcome, " ", w.Attempt, " ", w.Level, failed)]++
	l.ids[w.Queue] = w
}

// note remembers that host's code was called in the context of its work.
func (l *workLog) note(ctx context.Context, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Value(begun{}) != nil {
		l.passed[who] = true
	}
}

// told returns the counts, and begins anew.
func (l *workLog) told() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.counts
	l.counts = map[string]int{}
	return counts
}

// fickle is all that a host brings, and fails at first.
type fickle struct {
	*workLog
	fails bool
}

var errFickle = errors.New("not now")

func (f *fickle) fault() error {
	if f.fails {
		return errFickle
	}
	return nil
}

func (f *fickle) Submit(ctx context.Context, _ provider.Transfer) (provider.Result, error) {
	f.note(ctx, "rail")
	return provider.Result{Outcome: provider.Paid}, f.fault()
}

func (f *fickle) Status(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	return f.Submit(ctx, o)
}

func (f *fickle) Charge(ctx context.Context, _ provider.Charge) (provider.Result, error) {
	f.note(ctx, "charger")
	return provider.Result{Outcome: provider.Paid}, f.fault()
}

func (f *fickle) SendEmail(ctx context.Context, _ message.Email) error {
	f.note(ctx, "mailer")
	return f.fault()
}

// Every kind of background work tells what became of it, under the names that are
// documented, and the context of the observer reaches the host's code.
func TestObserver(t *testing.T) {
	l := &workLog{t: t, counts: map[string]int{}, ids: map[string]payments.Work{}, passed: map[string]bool{}}
	host := &fickle{workLog: l, fails: true}
	start := time.Now()
	shop := paymentstest.NewWithStore(t, memory.New(), payments.Config{
		Observer: l, WebhookAllow: paymentstest.Loopback(), Test: payments.Providers{Rail: host, Charger: hostCharger{host}, Mailer: host}, Clock: func() time.Time { return start },
	})
	shop.Events.Subscribe("ledger", func(ctx context.Context, _ api.Caller, e event.Event) error {
		l.note(ctx, "subscriber")
		if e.Type == "disbursement.created" {
			return host.fault()
		}
		return nil
	})
	shop.Receive(func(string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if host.fails {
				w.WriteHeader(http.StatusBadGateway)
			}
		})
	}, "disbursement.created")

	shop.Caller.RequestID = "req_1"
	sent := must.Get(shop.Disbursements.Create(t.Context(), shop.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(5), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	}))(t)
	email := "ama@example.com"
	must.Get(shop.Invoices.Create(t.Context(), shop.Caller, invoice.CreateParams{
		Fields: invoice.Fields{
			Email: &email, CollectionMethod: new(invoice.ChargeAutomatically),
			Lines: []invoice.LineParams{{Description: "Juice", UnitAmount: new(int64(100))}},
		},
		AutoFinalize: true,
	}))(t)
	shop.Work()
	want := map[string]int{
		"disbursements no_answer 1 WARN failed":  1,
		"webhook_deliveries again 1 WARN failed": 1,
		"subscriber_calls again 1 WARN failed":   1,
		"messages again 1 WARN failed":           1,
		"invoices no_answer 1 WARN failed":       1,
	}
	got := l.told()
	for outcome, n := range want {
		expect.True(t, got[outcome] == n, "%q is told %d times, want %d", outcome, got[outcome], n)
	}
	w := l.ids["disbursements"]
	if w.ID != sent.ID || w.Merchant != shop.Caller.Merchant || w.Live || w.RequestID != "req_1" || !errors.Is(w.Err, errFickle) {
		t.Errorf("the disbursement is told as %+v", w)
	}
	for _, who := range []string{"rail", "charger", "mailer", "subscriber"} {
		expect.True(t, l.passed[who], "the %s was not called in the observer's context", who)
	}

	host.fails = false
	for range 3 {
		shop.Advance(30 * time.Second)
	}
	got = l.told()
	for _, outcome := range []string{
		"disbursements paid 2 INFO", "webhook_deliveries delivered 2 INFO", "subscriber_calls told 2 INFO",
		"messages sent 2 INFO", "invoices paid 2 INFO",
	} {
		expect.True(t, got[outcome] == 1, "%q is told %d times, want once; all: %v", outcome, got[outcome], got)
	}
	for outcome := range got {
		expect.True(t, !strings.Contains(outcome, "failed"), "told of the failure %s", outcome)
		expect.True(t, !strings.Contains(outcome, "error"), "told of the error %s", outcome)
	}
	expect.True(t, got["events fanned_out 0 DEBUG"] != 0, "no event was fanned out: %v", got)
}

// hostCharger keeps the two meanings of Status apart.
type hostCharger struct{ *fickle }

func (c hostCharger) ChargeStatus(ctx context.Context, charge provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, charge)
}
