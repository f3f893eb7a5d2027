package invoice_test

import (
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// An invoice of 0 is open after finalization. However it is paid, it is paid without a
// payment, and no charger is asked: live mode has none here.
func TestInvoiceOfZeroIsPaidWithoutACharge(t *testing.T) {
	automatic := invoice.ChargeAutomatically
	for _, mode := range []string{"test", "live"} {
		for name, pay := range map[string]func(*shop, api.Caller, string) (*invoice.Invoice, error){
			"by call": func(s *shop, c api.Caller, id string) (*invoice.Invoice, error) {
				return s.Invoices.Pay(t.Context(), c, id, invoice.PayParams{PaymentMethod: "pm_fail_card"})
			},
			"by page": func(s *shop, c api.Caller, id string) (*invoice.Invoice, error) {
				return s.Invoices.PayFromWallet(t.Context(), c, id, invoice.PayFromWalletParams{})
			},
			"automatically": nil,
		} {
			t.Run(name+" in "+mode+" mode", func(t *testing.T) {
				asked := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
					return provider.Result{Outcome: provider.Paid}, nil
				}}
				s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: asked}})
				caller := api.Caller{Merchant: s.Caller.Merchant, Live: mode == "live"}
				fields := invoice.Fields{Lines: []invoice.LineParams{line(0)}}
				if pay == nil {
					fields.CollectionMethod = &automatic
				}
				v := must.Get(s.Invoices.Create(t.Context(), caller, invoice.CreateParams{Fields: fields}))(t)
				v = must.Get(s.Invoices.Finalize(t.Context(), caller, v.ID))(t)
				expect.Equal(t, v.Status, invoice.Open, "finalized")
				if pay != nil {
					caller.IdempotencyKey = "once"
					paid := must.Get(pay(s, caller, v.ID))(t)
					again := must.Get(pay(s, caller, v.ID))(t)
					same(t, paid, again)
					caller.IdempotencyKey = ""
				}
				must.Do(t, s.Drain(t.Context()))
				is := must.Get(s.Invoices.Get(t.Context(), caller, v.ID))(t)
				expect.True(t, is.Status == invoice.Paid && is.Payment == nil && is.PaidAt != nil && is.AttemptCount == 0 && is.NextPaymentAttempt == nil, "paid: %+v", is)
				made := must.Get(s.Payments.List(t.Context(), caller, payment.ListParams{}))(t)
				expect.True(t, len(asked.calls) == 0 && len(made.Data) == 0, "the charger was asked %v, the payments are %+v", asked.calls, made.Data)
				events := must.Get(s.Events.List(t.Context(), caller, event.ListParams{}))(t)
				count := map[event.Type]int{}
				for _, e := range events.Data {
					count[e.Type]++
				}
				want := map[event.Type]int{event.InvoiceCreated: 1, event.InvoiceFinalized: 1, event.InvoicePaid: 1}
				expect.Same(t, count, want, "events")
				testkit.WantCode(t, "pay again", testkit.Err(s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})), api.InvoiceAlreadyPaid)
			})
		}
	}
}
