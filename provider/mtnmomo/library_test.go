package mtnmomo_test

import (
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/chargertest"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
	"github.com/seed-7082ffec/payments/provider/railtest"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Behind the library, with all faults at once, the books say in the end what happened at MTN.
func TestBehindTheLibrary(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(10) {
		behindTheLibrary(t, seed, outcomes)
	}
	expect.Equal(t, len(outcomes), 6, "%v: outcomes", outcomes)
}

func behindTheLibrary(t *testing.T, seed uint64, outcomes map[string]int) {
	r, now := newRig(t, seed), time.Now()
	r.config.Now = func() time.Time { return now }
	r.SetClock(r.config.Now)
	r.client = newClient(t, r)
	r.SetFaults(mtnmomotest.Faults{
		LostRequest: 15, LostAnswer: 15, Doubled: 10, Late: 30, Hidden: 30, TooMany: 5, BadToken: 5,
		NoCallback: 20, TwoCallbacks: 20, ForgedCallback: 20,
	})
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{
		Live:  payments.Providers{Rail: r.client, Charger: r.client},
		Clock: r.config.Now, Logger: slog.New(slog.DiscardHandler), Serial: true,
	}))(t)
	r.SetReceiver(r.client.WebhookHandler(svc.Providers.Notify))
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	caller := api.Caller{Merchant: m.ID, Live: true}
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1000), Source: "bank"}))
	pass := func(passes int, step time.Duration) {
		for range passes {
			now = now.Add(step)
			must.Do(t, svc.Drain(t.Context()))
			r.Deliver()
		}
	}
	var sent, taken, back []string
	for i, last := range []string{"567", "568", "454", "457", "451"} {
		d := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
			Amount: decimal.NewFromInt(int64(10 + i)), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234" + last},
		}))(t)
		p := must.Get(svc.Payments.Create(t.Context(), caller, payment.CreateParams{
			Amount: int64(500 + i), MobileMoney: payment.MobileMoney{PhoneNumber: "0241234" + last},
		}))(t)
		sent, taken = append(sent, d.ID), append(taken, p.ID)
		pass(1, time.Minute)
	}
	pass(10, time.Minute)
	for _, id := range taken {
		if p := must.Get(svc.Payments.Get(t.Context(), caller, id))(t); p.Status == payment.Completed {
			back = append(back, must.Get(svc.Refunds.Create(t.Context(), caller, refund.CreateParams{Payment: id}))(t).ID)
		}
	}
	r.SetFloat(500)
	pass(5, time.Minute)
	r.Settle()
	pass(10, 20*time.Minute)
	check := func(kind, id, status string, failed bool) {
		outcomes[kind+" "+status]++
		expect.Equal(t, r.Moved(id), map[bool]int{true: 0, false: 1}[failed], "seed %d: how often money moved for a %s that is %s", seed, kind, status)
	}
	for _, id := range sent {
		d := must.Get(svc.Disbursements.Get(t.Context(), caller, id))(t)
		check("disbursement", id, string(d.Status), d.Status == payout.Failed)
	}
	for _, id := range taken {
		p := must.Get(svc.Payments.Get(t.Context(), caller, id))(t)
		check("payment", id, string(p.Status), p.Status == payment.Failed)
	}
	for _, id := range back {
		b := must.Get(svc.Refunds.Get(t.Context(), caller, id))(t)
		check("refund", id, string(b.Status), b.Status == refund.Failed)
	}
	for range api.All(t.Context(), api.Caller{Live: true}, provider.ListParams{}, svc.Providers.List) {
		t.Errorf("seed %d: an order needs a person", seed)
	}
	verified := must.Get(svc.Accounts.Verify(t.Context()))(t)
	expect.Equal(t, len(verified.Problems), 0, "seed %d: %v: problems", seed, verified.Problems)
	moved := int64(0)
	for _, entry := range r.Ledger() {
		moved += entry.Amount
	}
	position := must.Get(svc.Providers.Position(t.Context(), api.Caller{Live: true}, provider.PositionParams{Route: mtnmomo.Route}))(t)
	expect.Equal(t, position.Booked, moved, "seed %d: what lies with MTN by the books", seed)
	must.True(t, position.Reported != nil, "seed %d: MTN does not say what it holds", seed)
	expect.Equal(t, *position.Reported, r.Float()+r.Collected(), "seed %d: what MTN says", seed)
}

// The library lists a transfer that MTN takes back after a success. What was booked stays.
func TestReversalIsListed(t *testing.T) {
	r := newRig(t, 1)
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{
		Live: payments.Providers{Rail: r.client}, Logger: slog.New(slog.DiscardHandler), Serial: true,
	}))(t)
	r.SetReceiver(r.client.WebhookHandler(svc.Providers.Notify))
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	caller := api.Caller{Merchant: m.ID, Live: true}
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1000), Source: "bank"}))
	d := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(10), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	}))(t)
	must.Do(t, svc.Drain(t.Context()))
	expect.Same(t, r.Deliver(), []int{204}, "the callback of the success")
	r.Reverse(d.ID)
	expect.Same(t, r.Deliver(), []int{409}, "the callback of the reversal")
	d = must.Get(svc.Disbursements.Get(t.Context(), caller, d.ID))(t)
	expect.Equal(t, d.Status, payout.Completed, "status")
	listed := must.Get(svc.Providers.List(t.Context(), api.Caller{Live: true}, provider.ListParams{Contradicted: true}))(t)
	must.True(t, len(listed.Data) == 1, "listed: %+v", listed.Data)
	expect.Equal(t, listed.Data[0].ID, d.ID, "listed: ID of the first")
}

var (
	_ provider.Rail         = (*mtnmomo.Client)(nil)
	_ provider.Checker      = (*mtnmomo.Client)(nil)
	_ provider.NameEnquirer = (*mtnmomo.Client)(nil)
	_ provider.Charger      = (*mtnmomo.Client)(nil)
	_ provider.RefundRail   = (*mtnmomo.Client)(nil)
)

// overHTTP has the rig's client call the fake over a connection.
func (r *rig) overHTTP(t *testing.T) *rig {
	server := httptest.NewServer(r.Fake)
	t.Cleanup(server.Close)
	r.config.BaseURL, r.config.HTTPClient = server.URL, server.Client()
	r.client = must.Get(mtnmomo.New(r.config))(t)
	return r
}

var modes = map[string]func(t *testing.T) *rig{
	"described": func(t *testing.T) *rig { return newRig(t, 1) },
	"over HTTP": func(t *testing.T) *rig { return newRig(t, 1).overHTTP(t) },
}

func TestRail(t *testing.T) {
	for mode, open := range modes {
		t.Run(mode, func(t *testing.T) {
			railtest.Run(t, func(t *testing.T) railtest.Rig {
				r := open(t)
				to := func(last string) railtest.Destination {
					return railtest.Destination{Channel: provider.MobileMoney, Network: "mtn", Number: "+233241234" + last}
				}
				return railtest.Rig{
					Rail: r.client, Paid: to("567"), Refused: to("457"), Slow: to("453"), Name: mtnmomotest.Name, Moved: r.Moved,
					Received: func(id string) (decimal.Decimal, string) {
						amount, number, _ := r.Received(id)
						return api.FromPesewas(amount).Decimal, number
					},
					LoseRequest: r.LoseRequest, LoseAnswer: r.LoseAnswer,
				}
			})
		})
	}
}

func TestCharger(t *testing.T) {
	for mode, open := range modes {
		t.Run(mode, func(t *testing.T) {
			chargertest.Run(t, func(t *testing.T) chargertest.Rig {
				r := open(t)
				payer := func(last string) chargertest.Payer {
					return chargertest.Payer{Phone: "+233241234" + last, Network: "mtn"}
				}
				return chargertest.Rig{
					Charger: r.client, Paid: payer("567"), Refused: payer("451"), Slow: payer("453"),
					RefundRefused: payer("470"), RefundSlow: payer("471"), Secrets: secrets, Moved: r.Moved,
					Received: func(id string) decimal.Decimal {
						amount, _, _ := r.Received(id)
						return api.FromPesewas(amount).Decimal
					},
					LoseRequest: r.LoseRequest, LoseAnswer: r.LoseAnswer,
				}
			})
		})
	}
}
