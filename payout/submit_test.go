package payout_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// slowRail tells what it is asked, and answers Submit when the test does.
type slowRail struct {
	asked   chan string
	answers chan error // nil for Paid
}

func (r slowRail) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	r.asked <- "submit"
	return provider.Result{Outcome: provider.Paid}, <-r.answers
}

func (r slowRail) Status(context.Context, provider.Transfer) (provider.Result, error) {
	r.asked <- "status"
	return provider.Result{Outcome: provider.Paid}, nil
}

// A free slot submits a transfer right after the commit. Its caller sees it as pending, and
// all others as processing: the rail may have it, so it cannot be cancelled any more.
func TestFreeSlotSubmitsAfterCommit(t *testing.T) {
	for name, lost := range map[string]error{"answered": nil, "lost": errors.New("a broken connection")} {
		t.Run(name, func(t *testing.T) {
			rail := slowRail{make(chan string, 2), make(chan error)}
			s := open(t, payments.Config{Test: payments.Providers{Rail: rail}})
			s.Service.Start(t.Context())
			made := must.Get(s.disburse("10", momo("0241234567")))(t)
			expect.True(t, made.Status == payout.Pending, "the answer is %s, want pending", made.Status)
			expect.Equal(t, <-rail.asked, "submit", "the question to the rail")
			if now := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t); now.Status != payout.Processing {
				t.Errorf("with the rail it is %s, want processing", now.Status)
			}
			testkit.WantCode(t, "cancel", testkit.Err(s.Disbursements.Cancel(t.Context(), s.Caller, made.ID)), api.DisbursementNotCancellable)
			rail.answers <- lost
			must.Do(t, s.Service.Drain(t.Context()))
			must.Do(t, s.Service.Stop(t.Context()))
			if lost != nil {
				s.Pass(time.Minute)
				must.Do(t, s.Service.Drain(t.Context()))
				expect.Equal(t, <-rail.asked, "status", "the question to the rail after a lost answer")
			}
			if now := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t); now.Status != payout.Completed {
				t.Errorf("in the end it is %s, want completed", now.Status)
			}
			var got []event.Type
			for _, e := range must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{}))(t).Data {
				got = append(got, e.Type)
			}
			slices.Reverse(got)
			want := []event.Type{"disbursement.created", "disbursement.pending", "disbursement.processing", "disbursement.completed"}
			expect.True(t, slices.Equal(got, want), "events %v, want %v", got, want)
			s.Verified()
		})
	}
}
