package faults_test

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
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// collector is a charger that answers as the test says, and counts what it takes: once for an id.
type collector struct {
	mu     sync.Mutex
	taken  map[string]int64
	given  map[string]int64
	answer func(provider.Charge) (provider.Result, error) // nil: it takes the money
}

func (c *collector) Charge(_ context.Context, o provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer != nil {
		return c.answer(o)
	}
	c.taken[o.ID] = o.Amount
	return provider.Result{Outcome: provider.Paid, Reference: "r"}, nil
}

func (c *collector) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, o)
}

func (c *collector) ConfirmCharge(ctx context.Context, o provider.Charge, _ string) (provider.Result, error) {
	return c.Charge(ctx, o)
}

func (c *collector) Refund(_ context.Context, o provider.Refund) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given[o.ID] = o.Amount
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c *collector) RefundStatus(ctx context.Context, o provider.Refund) (provider.Result, error) {
	return c.Refund(ctx, o)
}

func (c *collector) answers(as func(provider.Charge) (provider.Result, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = as
}

// booth is a merchant who takes money from phones.
type booth struct {
	*payments.Service
	charger *collector
	caller  api.Caller
	now     time.Time
	log     bytes.Buffer
}

func openBooth(t *testing.T, store storage.Store) *booth {
	t.Helper()
	s := &booth{charger: &collector{taken: map[string]int64{}, given: map[string]int64{}}, now: time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)}
	s.Service = testkit.New(t, store, payments.Config{
		Serial: true, Live: payments.Providers{Charger: s.charger}, Clock: func() time.Time { return s.now },
		PromptLimits: payment.PromptLimits{Recent: -1, Day: -1}, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	m := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	s.caller = api.Caller{Merchant: m.ID, Live: true}
	return s
}

func (s *booth) pass(t *testing.T, d time.Duration) {
	t.Helper()
	s.now = s.now.Add(d)
	must.Do(t, s.Drain(t.Context()))
}

func (s *booth) get(t *testing.T, id string) *payment.Payment {
	t.Helper()
	return must.Get(s.Payments.Get(t.Context(), s.caller, id))(t)
}

// says is a charger that always gives one answer.
func says(r provider.Result) func(provider.Charge) (provider.Result, error) {
	return func(provider.Charge) (provider.Result, error) { return r, nil }
}

// Whatever a charger answers: only a conclusive answer ends a payment, texts are cut, and when
// the charger works again, the payment is completed once.
func TestHostileAnswersOfChargers(t *testing.T) {
	const number = "02412345" // and two digits
	huge := strings.Repeat("ɛ\x00\xff", 300_000)
	all := map[string]func(provider.Charge) (provider.Result, error){
		"panic": func(provider.Charge) (provider.Result, error) { panic(number) },
		"error": func(provider.Charge) (provider.Result, error) {
			return provider.Result{Outcome: provider.Paid}, errors.New(number)
		},
		"no outcome":        says(provider.Result{}),
		"unknown outcome":   says(provider.Result{Outcome: "perhaps", Reference: number}),
		"huge outcome":      says(provider.Result{Outcome: provider.Outcome(huge)}),
		"huge texts":        says(provider.Result{Outcome: provider.InProgress, Reference: huge, Prompt: huge, Network: huge, Reason: provider.Refusal{Message: huge}}),
		"huge code prompt":  says(provider.Result{Outcome: provider.InProgress, NeedsCode: true, Prompt: huge}),
		"a negative wait":   says(provider.Result{Outcome: provider.InProgress, PollAfter: -1 << 62, ProviderFee: -1 << 62}),
		"code, then nobody": says(provider.Result{Outcome: provider.InProgress, NeedsCode: true}),
	}
	// A conclusive answer ends the payment, whatever stands beside it.
	conclusive := map[string]payment.Status{}
	for outcome, status := range map[provider.Outcome]payment.Status{provider.Paid: payment.Completed, provider.Refused: payment.Failed} {
		name := string(outcome) + " and all else"
		conclusive[name], all[name] = status, says(provider.Result{
			Outcome: outcome, NeedsCode: true, Reference: huge, Prompt: huge, Network: huge, Reason: provider.Refusal{Message: huge}, ProviderFee: 1 << 62, PollAfter: -1,
		})
	}
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s := openBooth(t, store)
		answers, made := map[string]func(provider.Charge) (provider.Result, error){}, map[string]string{} // both by id
		s.charger.answers(func(o provider.Charge) (provider.Result, error) { return answers[o.ID](o) })
		for name, answer := range all {
			phone := payment.MobileMoney{PhoneNumber: fmt.Sprintf("%s%02d", number, len(made))}
			p := must.Get(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{Amount: 500, MobileMoney: phone}))(t)
			answers[p.ID], made[p.ID] = answer, name
		}
		for range 3 {
			s.pass(t, time.Minute)
		}
		for id, name := range made {
			if got := s.get(t, id); got.NextAction != nil && got.NextAction.Type == payment.EnterCode {
				_ = testkit.Err(s.Payments.Confirm(t.Context(), s.caller, id, payment.ConfirmParams{Code: "1"}))
			}
			got := s.get(t, id)
			if status := conclusive[name]; status != "" {
				expect.Equal(t, got.Status, status, "%s", name)
				expect.True(t, got.NextAction == nil, "%s: next action %+v", name, got.NextAction)
				expect.True(t, got.FailureReason == nil || len(*got.FailureReason) <= 500, "%s: the reason is not cut: %+v", name, got)
				continue
			}
			must.True(t, got.Status == payment.Processing, "%s: the payment is %+v", name, got)
			expect.True(t, got.NextAction == nil || len(got.NextAction.Message) <= 500, "%s: the message is not cut", name)
			expect.True(t, got.ProviderReference == nil || len(*got.ProviderReference) <= 255, "%s: the reference is not cut", name)
		}
		s.charger.answers(nil)
		s.pass(t, 5*time.Minute)
		s.pass(t, time.Hour)
		for id, name := range made {
			want := conclusive[name]
			if want == "" {
				want = payment.Completed
			}
			expect.Equal(t, s.get(t, id).Status, want, "%s: in the end", name)
		}
		balance := must.Get(s.Accounts.Balance(t.Context(), s.caller))(t)
		expect.Equal(t, balance.Available.String(), fmt.Sprint(5*(len(made)-1)), "balance")
		expect.True(t, !strings.Contains(s.log.String(), number[1:]), "the log quotes the number")
	})
}

// While the store fails at each operation of the work in turn, or loses the answer of each commit, a
// payer who has approved pays once, and one who paid for what was gone gets the money back once.
func TestPhonesPayOnceWhileTheStoreFails(t *testing.T) {
	oneGoroutine(t)
	for name, arm := range map[string]func(*faultstore.Store, int){"fails": (*faultstore.Store).FailAt, "loses answers": (*faultstore.Store).LoseAt} {
		t.Run(name, func(t *testing.T) {
			store := faultstore.New(memory.New())
			s := openBooth(t, store)
			amount, phones := int64(500), 0
			from := func() payment.MobileMoney { // another phone, because each has one open prompt
				phones++
				return payment.MobileMoney{PhoneNumber: fmt.Sprintf("024%07d", phones)}
			}
			var plain, late []string
			k := 1
			for hit := true; hit; k += effort.Of(3, 1) {
				must.True(t, k <= 1000, "the work has no end")
				code := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount}))(t)
				pay := func() string {
					return must.Get(s.QRCodes.Pay(t.Context(), s.caller, code.ID, qrcode.PayParams{MobileMoney: from()}))(t).ID
				}
				s.charger.answers(says(provider.Result{Outcome: provider.InProgress}))
				first := pay()
				s.pass(t, time.Second)
				must.Do(t, s.Payments.Leave(t.Context(), s.caller, first))
				second := pay()
				must.Do(t, s.Providers.Notify(t.Context(), second, provider.Result{Outcome: provider.Paid}))
				late = append(late, first)
				s.charger.answers(nil)
				plain = append(plain, must.Get(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{Amount: amount, MobileMoney: from()}))(t).ID)
				s.now = s.now.Add(time.Minute) // the worker asks about the first
				arm(store, k)
				err := s.Drain(t.Context())
				if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
					t.Fatal(err)
				}
				s.pass(t, 2*time.Minute)
			}
			s.pass(t, time.Hour)
			for _, id := range append(plain, late...) {
				p := s.get(t, id)
				expect.Equal(t, p.Status, payment.Completed, "%s", id)
				expect.Equal(t, s.charger.taken[id], amount, "taken of %s", id)
			}
			for _, id := range late {
				back := must.Get(s.Refunds.List(t.Context(), s.caller, refund.ListParams{Payment: id}))(t).Data
				must.True(t, len(back) == 1 && back[0].Status == refund.Succeeded && s.charger.given[back[0].ID] == amount, "%s was given back by %+v", id, back)
			}
			expect.Equal(t, len(s.charger.given), len(late), "refunds at the charger")
			v := must.Get(s.Accounts.Verify(t.Context()))(t)
			expect.Equal(t, len(v.Problems), 0, "after faults up to call %d: problems %v", k, v.Problems)
			expect.True(t, k > 10, "there are faults up to call %d only", k)
			t.Logf("faults up to call %d", k)
		})
	}
}
