package payout_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/provider"
)

// contradictions are the works that the observer saw contradicted.
type contradictions struct {
	mu   sync.Mutex
	told []payments.Work
}

func (*contradictions) BeginWork(ctx context.Context, _ payments.Work) context.Context { return ctx }

func (c *contradictions) EndWork(_ context.Context, w payments.Work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Outcome == "contradicted" {
		c.told = append(c.told, w)
	}
}

// contradicting is a rail whose callback reports one outcome before it answers another.
type contradicting struct {
	s             *shop
	first, answer provider.Outcome
}

func (r *contradicting) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	err := r.s.Providers.Notify(ctx, o.ID, provider.Result{Outcome: r.first})
	return provider.Result{Outcome: r.answer}, err
}

func (r *contradicting) Status(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	return r.Submit(ctx, o)
}

// A rail that reports the opposite of what it reported before, in a callback or as an
// answer, changes nothing that is booked. The log and the observer are told, and people
// find the transfer in the list until they have resolved it.
func TestContradictionsBookNothing(t *testing.T) {
	silent := quiet{err: errors.New("no answer")}
	report := func(outcomes ...provider.Outcome) func(*testing.T, *shop, string) {
		return func(t *testing.T, s *shop, id string) {
			must.Do(t, s.Drain(t.Context()))
			for i, o := range outcomes {
				err := s.Providers.Notify(t.Context(), id, provider.Result{Outcome: o})
				if want := i > 0; errors.Is(err, provider.ErrContradicted) != want {
					t.Errorf("%s: %v", o, err)
				}
			}
		}
	}
	for name, test := range map[string]struct {
		rail provider.Rail
		do   func(*testing.T, *shop, string)
		how  string
	}{
		"paid, then refused":  {silent, report(provider.Paid, provider.Refused), "completed, and now refused"},
		"refused, then paid":  {silent, report(provider.Refused, provider.Paid), "failed, and now paid"},
		"told, then answered": {&contradicting{nil, provider.Refused, provider.Paid}, report(), "failed, and now paid"},
		"cancelled, then paid": {silent, func(t *testing.T, s *shop, id string) {
			must.Get(s.Disbursements.Cancel(t.Context(), s.Caller, id))(t)
			err := s.Providers.Notify(t.Context(), id, provider.Result{Outcome: provider.Paid})
			expect.True(t, errors.Is(err, provider.ErrContradicted), "paid: %v", err)
		}, "cancelled, and now paid"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			seen := &contradictions{}
			s := open(t, payments.Config{Test: payments.Providers{Rail: test.rail}, Observer: seen, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if r, ok := test.rail.(*contradicting); ok {
				r.s = s
			}
			made := must.Get(s.disburse("5", momo("0241234567")))(t)
			testkit.WantCode(t, "resolved too early", s.Providers.Resolve(t.Context(), made.ID), api.ResourceMissing)
			test.do(t, s, made.ID)

			before := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t)
			if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, `how="`+test.how+`"`) ||
				strings.Contains(text, "tried again") || strings.Contains(text, "1234567") {
				t.Errorf("the log says: %s", text)
			}
			want := []payments.Work{{
				Queue: "disbursements", ID: made.ID, Merchant: s.Caller.Merchant, Records: 1,
				Outcome: "contradicted", Level: slog.LevelError, Err: provider.ErrContradicted,
			}}
			if diff := cmp.Diff(want, seen.told, cmpopts.EquateErrors(), cmpopts.IgnoreFields(payments.Work{}, "Wait", "Duration", "Attempt")); diff != "" {
				t.Errorf("the observer (-want +got)\n%s", diff)
			}
			stuck := func() []provider.OrderInfo {
				t.Helper()
				s.Pass(2 * time.Hour)
				must.Do(t, s.Drain(t.Context()))
				list := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t)
				expect.Equal(t, must.Get(s.Health(t.Context()))(t).StuckTest, len(list.Data), "counted")
				return list.Data
			}
			if list := stuck(); len(list) != 1 || list[0].ID != made.ID || list[0].Merchant != s.Caller.Merchant || list[0].Contradiction != test.how {
				t.Errorf("listed %+v", list)
			}
			must.Do(t, s.Providers.Resolve(t.Context(), made.ID))
			if list := stuck(); len(list) != 0 {
				t.Errorf("listed when resolved: %+v", list)
			}
			testkit.WantCode(t, "resolved twice", s.Providers.Resolve(t.Context(), made.ID), api.ResourceMissing)
			after := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t)
			expect.Same(t, after, before, "the contents of the store")
			s.Verified()
		})
	}
}
