package chargertest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// invoiced notes which charges an invoice had.
type invoiced struct {
	*Chaos
	charges map[string]map[string]bool
}

func (c *invoiced) Charge(ctx context.Context, o provider.Charge) (provider.Result, error) {
	if c.charges[o.Invoice] == nil {
		c.charges[o.Invoice] = map[string]bool{}
	}
	c.charges[o.Invoice][o.ID] = true
	return c.Chaos.Charge(ctx, o)
}

// Behind the library a chaotic charger charges an invoice once, and refunds it once.
func TestChaosBehindTheLibrary(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(20) {
		chaos, now := &invoiced{NewChaos(seed), map[string]map[string]bool{}}, time.Now()
		svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{
			Live: payments.Providers{Charger: chaos}, Clock: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler), Serial: true,
		}))(t)
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
		caller := api.Caller{Merchant: m.ID, Live: true}
		pass := func() {
			now = now.Add(20 * time.Minute)
			must.Do(t, svc.Drain(t.Context()))
			for _, b := range chaos.Callbacks() {
				must.Do(t, svc.Providers.Notify(t.Context(), b.ID, b.Result))
			}
		}
		var invoices, refunds []string
		for range 6 {
			amount := int64(500)
			v := must.Get(svc.Invoices.Create(t.Context(), caller, invoice.CreateParams{
				AutoFinalize: true, Fields: invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: &amount}}},
			}))(t)
			invoices = append(invoices, v.ID)
			for range 3 {
				_, _ = svc.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{}) // many answers get lost
				pass()
			}
			if v = must.Get(svc.Invoices.Get(t.Context(), caller, v.ID))(t); v.Payment != nil {
				refunds = append(refunds, must.Get(svc.Refunds.Create(t.Context(), caller, refund.CreateParams{Payment: *v.Payment}))(t).ID)
				pass()
			}
		}
		chaos.Settle()
		pass()
		pass()
		for _, id := range invoices {
			v, moved := must.Get(svc.Invoices.Get(t.Context(), caller, id))(t), 0
			for charge := range chaos.charges[id] {
				moved += chaos.Moved(charge)
			}
			outcomes[string(v.Status)]++
			expect.Equal(t, v.Status, map[int]invoice.Status{0: invoice.Open, 1: invoice.Paid}[moved], "seed %d: the status of an invoice", seed)
		}
		for _, id := range refunds {
			r := must.Get(svc.Refunds.Get(t.Context(), caller, id))(t)
			outcomes[string(r.Status)]++
			expect.Equal(t, r.Status, map[int]refund.Status{0: refund.Failed, 1: refund.Succeeded}[chaos.Moved(id)], "seed %d: the status of a refund", seed)
		}
		verified := must.Get(svc.Accounts.Verify(t.Context()))(t)
		expect.Equal(t, len(verified.Problems), 0, "seed %d: %v: problems", seed, verified.Problems)
	}
	expect.Equal(t, len(outcomes), 4, "%v: outcomes", outcomes)
}

// Behind the library a chaotic charger charges a phone once for a payment, and gives the money of
// each refund back once.
func TestChaosOfPhonesBehindTheLibrary(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(20) {
		chaos, now := NewChaos(seed), time.Now()
		svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{
			Live: payments.Providers{Charger: chaos}, Clock: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler), Serial: true,
		}))(t)
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
		caller := api.Caller{Merchant: m.ID, Live: true}
		pass := func(d time.Duration) {
			now = now.Add(d)
			must.Do(t, svc.Drain(t.Context()))
			for _, b := range chaos.Callbacks() {
				must.Do(t, svc.Providers.Notify(t.Context(), b.ID, b.Result))
			}
		}
		var ids, refunds []string
		for n := range 8 {
			p := must.Get(svc.Payments.Create(t.Context(), caller, payment.CreateParams{
				Amount: 500, MobileMoney: payment.MobileMoney{PhoneNumber: fmt.Sprintf("024123456%d", n)},
			}))(t)
			ids = append(ids, p.ID)
			for _, d := range []time.Duration{0, 5 * time.Second, time.Minute, 20 * time.Minute} {
				pass(d)
			}
			r, err := svc.Refunds.Create(t.Context(), caller, refund.CreateParams{Payment: p.ID})
			if err == nil {
				refunds = append(refunds, r.ID)
			}
		}
		chaos.Settle()
		pass(time.Hour)
		pass(time.Hour)
		for _, id := range ids {
			p := must.Get(svc.Payments.Get(t.Context(), caller, id))(t)
			outcomes[string(p.Status)]++
			expect.Equal(t, p.Status, map[int]payment.Status{0: payment.Failed, 1: payment.Completed}[chaos.Moved(id)], "seed %d: the status of a payment", seed)
		}
		for _, id := range refunds {
			r := must.Get(svc.Refunds.Get(t.Context(), caller, id))(t)
			outcomes["refund "+string(r.Status)]++
			expect.Equal(t, r.Status, map[int]refund.Status{0: refund.Failed, 1: refund.Succeeded}[chaos.Moved(id)], "seed %d: the status of a refund", seed)
		}
		verified := must.Get(svc.Accounts.Verify(t.Context()))(t)
		expect.Equal(t, len(verified.Problems), 0, "seed %d: %v: problems", seed, verified.Problems)
	}
	expect.Equal(t, len(outcomes), 4, "%v: outcomes", outcomes)
}
