package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
)

// CheckTotals compares the daily totals of a merchant with its payments, payouts and disbursements.
func CheckTotals(t *testing.T, svc *payments.Service, caller api.Caller) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	received := newCounted()
	for _, p := range All(api.All(ctx, caller, payment.ListParams{}, svc.Payments.List)) {
		network := api.OtherNetwork
		switch {
		case p.PaymentMethod == payment.ServiceWallet:
			network = api.WalletNetwork
		case p.Provider != nil:
			network = *p.Provider
		}
		if p.Status != payment.Pending && p.Status != payment.Processing {
			received.add(p.CreatedAt, network, api.Outcome(p.Status), p.Amount)
		}
	}
	received.check(t, "payments", caller, svc.Payments.DailyTotals)
	transfers := func(what string, list func(context.Context, api.Caller, payout.ListParams) (*api.List[payout.Transfer], error),
		days func(context.Context, api.Caller, api.Times) ([]api.DayTotals, error),
	) {
		sent := newCounted()
		for _, p := range All(api.All(ctx, caller, payout.ListParams{}, list)) {
			network := api.OtherNetwork
			switch p.Destination.Type {
			case payout.ServiceWallet:
				network = api.WalletNetwork
			case payout.MobileMoney:
				network = *p.Destination.Provider
			}
			amount := p.Amount.Shift(2).IntPart()
			switch p.Status {
			case payout.Succeeded, payout.Completed:
				sent.add(p.CreatedAt, network, api.OutcomeCompleted, amount)
			case payout.Failed, payout.Cancelled:
				sent.add(p.CreatedAt, network, api.Outcome(p.Status), amount)
			}
		}
		sent.check(t, what, caller, days)
	}
	transfers("payouts", svc.Payouts.List, svc.Payouts.DailyTotals)
	transfers("disbursements", svc.Disbursements.List, svc.Disbursements.DailyTotals)
}

// counted are the totals by day as objects say them.
type counted struct {
	days        map[time.Time]map[api.Total]api.Total // the keys have no numbers
	first, last time.Time
}

func newCounted() *counted { return &counted{days: map[time.Time]map[api.Total]api.Total{}} }

func (c *counted) add(at api.Time, network string, outcome api.Outcome, amount int64) {
	day := at.UTC().Truncate(24 * time.Hour)
	if len(c.days) == 0 || day.Before(c.first) {
		c.first = day
	}
	if day.After(c.last) {
		c.last = day
	}
	if c.days[day] == nil {
		c.days[day] = map[api.Total]api.Total{}
	}
	key := api.Total{Network: network, Outcome: outcome}
	is := c.days[day][key]
	c.days[day][key] = api.Total{Network: network, Outcome: outcome, Count: is.Count + 1, Amount: is.Amount + amount}
}

// check reads the totals, a year at a time.
func (c *counted) check(t *testing.T, what string, caller api.Caller, read func(context.Context, api.Caller, api.Times) ([]api.DayTotals, error)) {
	t.Helper()
	if len(c.days) == 0 {
		return
	}
	found := map[time.Time]map[api.Total]api.Total{}
	for from := c.first; !from.After(c.last); from = from.AddDate(1, 0, 0) {
		days := must.Get(read(context.WithoutCancel(t.Context()), caller, api.Times{From: from, Until: from.AddDate(1, 0, 0)}))(t)
		for _, d := range days {
			for _, total := range d.Totals {
				if found[d.Day] == nil {
					found[d.Day] = map[api.Total]api.Total{}
				}
				found[d.Day][api.Total{Network: total.Network, Outcome: total.Outcome}] = total
			}
		}
	}
	expect.Same(t, found, c.days, "daily totals of %s of %s, live %t", what, caller.Merchant, caller.Live)
}
