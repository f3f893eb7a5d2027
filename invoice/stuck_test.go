package invoice_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
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
				expect.True(t, h.StuckTest == len(list.Data) && h.StuckLive == 0, "%d and %d are counted, %d listed", h.StuckTest, h.StuckLive, len(list.Data))
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
