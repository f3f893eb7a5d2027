package refund_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// plain is a charger that cannot refund.
type plain struct{}

func (plain) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.Paid}, nil
}

func (p plain) ChargeStatus(ctx context.Context, c provider.Charge) (provider.Result, error) {
	return p.Charge(ctx, c)
}

// moody refunds as the test tells it.
type moody struct {
	plain
	mu     sync.Mutex
	answer func(status bool) (provider.Result, error)
	calls  []string
	orders []provider.Refund
}

func (m *moody) do(o provider.Refund, status bool) (provider.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orders = append(m.orders, o)
	m.calls = append(m.calls, fmt.Sprintf("%t %d", status, o.Attempts))
	return m.answer(status)
}

func (m *moody) Refund(_ context.Context, o provider.Refund) (provider.Result, error) {
	return m.do(o, false)
}

func (m *moody) RefundStatus(_ context.Context, o provider.Refund) (provider.Result, error) {
	return m.do(o, true)
}

func (m *moody) says(r provider.Result, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = func(bool) (provider.Result, error) { return r, err }
}

// When the answer of a refund is lost, the refund has neither failed nor succeeded. It stays
// reserved, and the worker asks again under its id until the answer is conclusive.
func TestLostRefundStaysReserved(t *testing.T) {
	for name, c := range map[string]struct {
		later provider.Result
		want  refund.Status
	}{
		"refunded": {provider.Result{Outcome: provider.Paid, Reference: "theirs"}, refund.Succeeded},
		"declined": {provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "The card has expired."}}, refund.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			m := &moody{}
			m.says(provider.Result{}, errors.New("no answer about 0245556666"))
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			v := s.paidInvoice(25_00, "pm_7")
			r := s.refund(refund.CreateParams{Invoice: v.ID, Amount: new(int64(5_00)), Reason: "Cold"})
			s.pass(0)
			m.says(provider.Result{Outcome: "perhaps"}, nil) // not an answer either
			s.pass(2 * time.Second)
			m.says(provider.Result{Outcome: provider.InProgress, PollAfter: time.Hour}, nil)
			s.pass(5 * time.Second)
			s.pass(59 * time.Minute) // not due yet
			s.holds("while nothing is known", "1020", "5", "1000")
			if is := s.get(r.ID); is.Status != refund.Processing || s.refunded(r.Payment) != 5_00 {
				t.Errorf("got %+v", is)
			}
			m.mu.Lock()
			m.answer = func(status bool) (provider.Result, error) {
				if status {
					return provider.Result{Outcome: provider.NotFound}, nil
				}
				return c.later, nil
			}
			m.mu.Unlock()
			s.pass(time.Minute)
			is := s.get(r.ID)
			expect.Equal(t, is.Status, c.want, "got %+v", is)
			if c.want == refund.Failed {
				s.holds("declined", "1025", "0", "1000")
				expect.Equal(t, *is.FailureCode, provider.FailureOther, "failure code")
				expect.Same(t, is.FailureReason, new("The card has expired."), "failure reason")
				expect.Equal(t, s.refunded(r.Payment), 0, "refunded of the payment")
				// The amount may be refunded anew.
				whole := s.refund(refund.CreateParams{Invoice: v.ID})
				expect.True(t, whole.Amount == 25_00, "all of it is %d", whole.Amount)
			} else {
				s.holds("refunded", "1020", "0", "1000")
			}
			expect.Equal(t, fmt.Sprint(m.calls), "[false 1 true 2 true 3 true 4 false 4]", "asked")
			for _, o := range m.orders {
				if o.ID != r.ID || o.Amount != 5_00 || !strings.HasPrefix(o.Charge, "att_") || o.PaymentMethod != "pm_7" ||
					o.Payment != r.Payment || o.Invoice != v.ID || o.Reason != "Cold" || o.Live || o.SubmittedAt.IsZero() {
					t.Errorf("told %+v", o)
				}
			}
			expect.True(t, !strings.Contains(log.String(), "5556666"), "log: %s", log.String())
			s.Verified()
		})
	}
}

// A charger that reports the opposite of what was booked is told so, whichever way
// round, and nothing is booked. The log and the observer are told, and people find the
// refund in the list until they have resolved it.
func TestContradictionsBookNothing(t *testing.T) {
	for _, reports := range [][2]provider.Outcome{
		{provider.Paid, provider.Refused},
		{provider.Refused, provider.Paid},
		{provider.Paid, provider.Reversed}, // the customer has lost the money again
		{provider.Reversed, provider.Paid},
	} {
		first, then := reports[0], reports[1]
		var log bytes.Buffer
		m := &moody{}
		m.says(provider.Result{Outcome: provider.InProgress}, nil)
		seen := testkit.Contradictions()
		s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}, Observer: seen, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		r := s.refund(refund.CreateParams{Invoice: s.paidInvoice(25_00, "").ID})
		s.pass(0)
		must.Do(t, s.Providers.Notify(t.Context(), r.ID, provider.Result{Outcome: first}))
		testkit.WantParam(t, "resolved too early", s.Providers.Resolve(t.Context(), r.ID), api.ResourceMissing, "")
		before := s.get(r.ID)
		for range 2 {
			err := s.Providers.Notify(t.Context(), r.ID, provider.Result{Outcome: then})
			expect.True(t, errors.Is(err, provider.ErrContradicted), "%s, then %s: %v", first, then, err)
		}
		must.Do(t, s.Providers.Notify(t.Context(), r.ID, provider.Result{Outcome: first})) // again, late
		expect.Same(t, s.get(r.ID), before, "%s, then %s", first, then)
		how := fmt.Sprintf("%s, and now %s", before.Status, then)
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), `how="`+how+`"`) || strings.Contains(log.String(), "tried again") {
			t.Errorf("%s, then %s: the log says: %s", first, then, &log)
		}
		want := payments.Work{
			Queue: "refunds", ID: r.ID, Merchant: s.Caller.Merchant, Records: 1,
			Outcome: "contradicted", Level: slog.LevelError, Err: provider.ErrContradicted,
		}
		must.True(t, len(seen.Ended) == 2, "%s, then %s: the observer is told %+v", first, then, seen.Ended)
		expect.True(t, seen.Ended[0] == want, "%s, then %s: the observer is told %+v, want %+v", first, then, seen.Ended[0], want)
		stuck := func() []provider.OrderInfo {
			t.Helper()
			s.pass(24 * time.Hour)
			list := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t)
			expect.Equal(t, must.Get(s.Health(t.Context()))(t).StuckTest, len(list.Data), "%s, then %s: counted", first, then)
			return list.Data
		}
		if list := stuck(); len(list) != 1 || list[0].ID != r.ID || list[0].Merchant != s.Caller.Merchant || list[0].Contradiction != how {
			t.Errorf("%s, then %s: listed %+v", first, then, list)
		}
		must.Do(t, s.Providers.Resolve(t.Context(), r.ID))
		if list := stuck(); len(list) != 0 {
			t.Errorf("%s, then %s: listed when resolved: %+v", first, then, list)
		}
		// The charger repeats what it reported.
		expect.ErrorIs(t, s.Providers.Notify(t.Context(), r.ID, provider.Result{Outcome: then}), provider.ErrContradicted, "%s, then %s again", first, then)
		if list := stuck(); len(list) != 0 {
			t.Errorf("%s, then %s: listed again: %+v", first, then, list)
		}
		expect.Equal(t, strings.Count(log.String(), "contradicts"), 1, "%s, then %s: how often the log tells of it", first, then)
		testkit.WantParam(t, "resolved twice", s.Providers.Resolve(t.Context(), r.ID), api.ResourceMissing, "")
		s.Verified()
	}
}

func TestCallbacksBookTheOutcomeOnce(t *testing.T) {
	var log bytes.Buffer
	m := &moody{}
	m.says(provider.Result{Outcome: provider.InProgress}, nil)
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}, StuckAfter: 30 * time.Minute, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r := s.refund(refund.CreateParams{Invoice: s.paidInvoice(25_00, "").ID})
	notify := func(o provider.Outcome) error {
		return s.Providers.Notify(t.Context(), r.ID, provider.Result{Outcome: o, Reference: "theirs"})
	}
	stuck := func() []provider.OrderInfo {
		t.Helper()
		list := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t)
		return list.Data
	}
	s.pass(0)
	if list := stuck(); len(list) != 0 {
		t.Errorf("at once: %+v", list)
	}
	s.pass(30 * time.Minute)
	if list := stuck(); len(list) != 1 || list[0].ID != r.ID || list[0].Merchant != s.Caller.Merchant || list[0].Live || list[0].Attempts != 2 || list[0].SubmittedAt.IsZero() {
		t.Errorf("got %+v", list)
	}
	h := must.Get(s.Health(t.Context()))(t)
	expect.Equal(t, h.StuckTest, 1, "health: stuck in test mode")
	expect.Equal(t, h.StuckLive, 0, "health: stuck in live mode")
	s.pass(time.Hour)
	expect.Equal(t, strings.Count(log.String(), "a refund is stuck"), 1, "how often the log tells of it")
	testkit.WantParam(t, "no outcome", notify("lost"), api.ParameterInvalid, "outcome")
	testkit.WantParam(t, "unseen", notify(provider.NotFound), api.ParameterInvalid, "outcome")
	testkit.WantParam(t, "the note of nothing", testkit.Err(s.Refunds.CreditNoteURL(t.Context(), s.Caller, "re_0")), api.ResourceMissing, "")
	testkit.WantParam(t, "settled nothing", s.Providers.Settle(t.Context(), s.Caller, "re_0", provider.Result{Outcome: provider.Paid}), api.ResourceMissing, "")
	testkit.WantParam(t, "an unknown id", s.Providers.Notify(t.Context(), "re_0", provider.Result{Outcome: provider.Paid}), api.ResourceMissing, "")
	must.Do(t, notify(provider.InProgress))
	must.Do(t, notify(provider.Paid))
	must.Do(t, notify(provider.Paid))
	must.Do(t, notify(provider.InProgress)) // late
	must.Do(t, s.Providers.Notify(t.Context(), r.ID, provider.Result{Outcome: provider.Paid, Amount: r.Amount}))
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), r.ID, provider.Result{Outcome: provider.Paid, Amount: r.Amount + 1}), provider.ErrContradicted, "more than was booked")
	expect.ErrorIs(t, notify(provider.Refused), provider.ErrContradicted, "the opposite")
	must.Do(t, s.Providers.Resolve(t.Context(), r.ID))
	if list := stuck(); len(list) != 0 {
		t.Errorf("when refunded: %+v", list)
	}
	err := s.Providers.Settle(t.Context(), s.Caller, r.ID, provider.Result{Outcome: provider.Refused})
	testkit.WantParam(t, "settled otherwise", err, api.TransferSettled, "")
	live := s.Caller
	live.Live = true
	err = s.Providers.Settle(t.Context(), live, r.ID, provider.Result{Outcome: provider.Paid})
	testkit.WantParam(t, "settled in live mode", err, api.PermissionDenied, "")
	is := s.get(r.ID)
	expect.Equal(t, is.Status, refund.Succeeded, "status of %+v", is)
	expect.Same(t, is.ProviderReference, new("theirs"), "the provider's reference")
	expect.Equal(t, s.told(r.ID), "[created succeeded]", "told")
	s.holds("afterwards", "1000", "0", "1000")
	s.Verified()
}

// If the charger cannot refund, nothing is reserved.
func TestNoRailReservesNothing(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: plain{}}})
	v := s.paidInvoice(25_00, "")
	testkit.WantParam(t, "without a refund rail", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID})), api.Unavailable, "")
	s.holds("afterwards", "1025", "0", "1000")
	expect.Equal(t, s.refunded(*v.Payment), 0, "pesewas are refunded")
}

// When the host removes a charger, its refunds stay as they are until it is back.
func TestRemovedRailKeepsRefundsPending(t *testing.T) {
	store := memory.New()
	m := &moody{}
	m.says(provider.Result{}, errors.New("lost"))
	var log bytes.Buffer
	config := payments.Config{Test: payments.Providers{Charger: m}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := open(t, store, config)
	r := s.refund(refund.CreateParams{Invoice: s.paidInvoice(25_00, "").ID})
	s.pass(0)
	config.Test.Charger, config.Clock = plain{}, func() time.Time { return s.Now() }
	without := must.Get(payments.New(t.Context(), store, config))(t)
	s.Pass(time.Minute)
	must.Do(t, without.Drain(t.Context()))
	expect.True(t, strings.Contains(log.String(), "no provider is configured"), "log: %s", log.String())
	s.holds("without", "1000", "25", "1000")
	m.says(provider.Result{Outcome: provider.Paid}, nil)
	s.pass(15 * time.Minute)
	is := s.get(r.ID)
	expect.True(t, is.Status == refund.Succeeded, "got %+v", is)
	s.Verified()
}
