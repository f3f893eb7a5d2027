package orders_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// hungRail never answers a submission, and does not heed its context. It tells the status.
type hungRail struct{ proceed chan struct{} }

func (r hungRail) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	<-r.proceed
	return provider.Result{Outcome: provider.Paid}, nil
}

func (hungRail) Status(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.Paid}, nil
}

// A call that does not return, though its time is over, keeps neither its order nor Stop.
func TestHungCallIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rail := hungRail{make(chan struct{})}
		defer close(rail.proceed)
		svc := testkit.New(t, memory.New(), payments.Config{Test: payments.Providers{Rail: rail}})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
		caller := api.Caller{Merchant: m.ID}
		must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(100), Source: "bank"}))
		svc.Start(t.Context())
		d := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
			Amount: decimal.NewFromInt(10), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: mtn, AccountName: "Yaw Darko"},
		}))(t)
		time.Sleep(5 * time.Minute)
		expect.Equal(t, must.Get(svc.Disbursements.Get(t.Context(), caller, d.ID))(t).Status, payout.Completed, "the disbursement after five minutes")
		gone, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		expect.NoError(t, svc.Stop(gone), "Stop")
	})
}

// eager wants to be polled at once, again and again.
type eager struct {
	provider.Simulated
	polls int
}

func (r *eager) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress, PollAfter: time.Nanosecond}, nil
}

func (r *eager) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	if r.polls++; r.polls > 100 {
		return provider.Result{Outcome: provider.Paid}, nil
	}
	return r.Submit(ctx, t)
}

// However soon a provider wants to be polled, a clock that stands still ends the polls.
func TestPollsAreApart(t *testing.T) {
	rail := &eager{}
	s := open(t, nil, rail)
	id := must.Get(s.disburse(mtn))(t)
	expect.Equal(t, rail.polls, 0, "polls of the new order")
	s.now = s.now.Add(time.Second)
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, rail.polls, 1, "polls a second later")
	expect.Equal(t, must.Get(s.Disbursements.Get(t.Context(), s.caller, id))(t).Status, payout.Processing, "status")
}
