package invoice_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// The events of automatic charges name the request that finalized the invoice: those of each
// charge, whether the charger answers at once or is polled. The finalization keeps its key.
func TestAutomaticChargesKeepFinalizingRequest(t *testing.T) {
	answers := map[string][]provider.Outcome{
		"at once":           {provider.Paid},
		"asked again":       {provider.InProgress, provider.Paid},
		"declined at first": {provider.Refused, provider.Paid},
	}
	for name, outcomes := range answers {
		t.Run(name, func(t *testing.T) {
			asked := 0
			m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
				asked++
				return provider.Result{Outcome: outcomes[min(asked, len(outcomes))-1]}, nil
			}}
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}})
			method := invoice.ChargeAutomatically
			draft := s.draft(invoice.Fields{CollectionMethod: &method})
			caller := s.Caller
			caller.RequestID, caller.IdempotencyKey = "req_finalize", "key"
			finalize := func() *invoice.Invoice { return must.Get(s.Invoices.Finalize(t.Context(), caller, draft.ID))(t) }
			first := finalize()
			for range 3 {
				s.pass(24 * time.Hour)
			}
			is := s.get(draft.ID)
			must.True(t, is.Status == invoice.Paid, "it is %s after %d questions", is.Status, asked)
			want := map[event.Type]event.Request{}
			got := map[event.Type]event.Request{}
			for e, err := range api.All(t.Context(), s.Caller, event.ListParams{}, s.Events.List) {
				must.Do(t, err)
				if e.Type == event.InvoiceCreated {
					continue
				}
				got[e.Type] = e.Request
				want[e.Type] = event.Request{ID: new("req_finalize"), IdempotencyKey: new("key")}
			}
			diff := cmp.Diff(want, got)
			expect.True(t, diff == "" && len(got) >= 4, "requests (-want +got):\n%s", diff)
			expect.Same(t, finalize(), first, "the key stands for another answer")
			s.Verified()
		})
	}
}

// An invoice is not said to be sent where nothing carries it.
func TestSendFailsWithoutTexterAndMailer(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	live := s.Caller
	live.Live = true
	v := must.Get(s.Invoices.Create(t.Context(), live, invoice.CreateParams{
		Fields: invoice.Fields{Lines: []invoice.LineParams{line(100)}, Phone: new("0241112222"), Email: new("ama@example.com")}, AutoFinalize: true,
	}))(t)
	testkit.WantCode(t, "send in live mode", testkit.Err(s.Invoices.Send(t.Context(), live, v.ID)), api.Unavailable)
	sent := must.Get(s.Events.List(t.Context(), live, event.ListParams{Type: event.InvoiceSent}))(t)
	expect.Equal(t, len(sent.Data), 0, "it is said to be sent")
}
