package payment_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// shop is the whole library with one merchant, in a sandbox whose clock the test moves.
type shop struct {
	*payments.Service
	caller api.Caller
}

func newShop(t *testing.T, c payments.Config) *shop {
	t.Helper()
	c.Sandbox = true
	svc := testkit.New(t, memory.New(), c)
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(t)
	return &shop{svc, api.Caller{Merchant: m.ID}}
}

func (s *shop) create(t *testing.T, number string) *payment.Payment {
	t.Helper()
	return must.Get(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{
		Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: number},
	}))(t)
}

func (s *shop) get(t *testing.T, id string) *payment.Payment {
	t.Helper()
	return must.Get(s.Payments.Get(t.Context(), s.caller, id))(t)
}

func (s *shop) after(t *testing.T, by time.Duration) {
	t.Helper()
	must.Get(s.MoveClock(t.Context(), s.caller, payments.ClockParams{By: by}))(t)
	must.Do(t, s.Drain(t.Context()))
}

func (s *shop) eventsOf(t *testing.T) string {
	t.Helper()
	var types []string
	for _, e := range must.Get(s.Events.List(t.Context(), s.caller, event.ListParams{Page: api.Page{Limit: 100}}))(t).Data {
		types = append(types, string(e.Type))
	}
	slices.Reverse(types)
	return strings.Join(types, " ")
}

// The numbers to test with do what the table of the simulated charger says.
func TestPhonesToTestWith(t *testing.T) {
	for _, test := range []struct {
		digits string
		after  time.Duration // of the second look
		soon   payment.Status
		later  payment.Status
		reason string
		code   provider.Failure
	}{
		{"4567", 0, payment.Completed, payment.Completed, "", ""},
		{"0901", 0, payment.Failed, payment.Failed, "The payer declined.", provider.FailureDeclined},
		{"0902", 0, payment.Failed, payment.Failed, "The payer's balance is too low.", provider.FailureInsufficientFunds},
		{"0903", time.Hour, payment.Processing, payment.Processing, "", ""},
		{"0904", 25 * time.Second, payment.Processing, payment.Completed, "", ""},
		{"0905", time.Minute, payment.Processing, payment.Completed, "", ""},
		{"0906", 25 * time.Second, payment.Pending, payment.Completed, "", ""},
		{"0907", time.Hour, payment.Processing, payment.Processing, "", ""},
		{"0909", 10 * time.Minute, payment.Processing, payment.Failed, "The payer did not answer in time.", provider.FailureTimeout},
		{"0910", time.Minute, payment.Failed, payment.Failed, "The payer declined.", provider.FailureDeclined},
	} {
		t.Run(test.digits, func(t *testing.T) {
			s := newShop(t, payments.Config{})
			p := s.create(t, "024123"+test.digits)
			expect.Equal(t, p.Status, payment.Pending, "at first")
			must.Do(t, s.Drain(t.Context()))
			expect.Equal(t, s.get(t, p.ID).Status, test.soon, "soon")
			s.after(t, test.after)
			got := s.get(t, p.ID)
			expect.Equal(t, got.Status, test.later, "later")
			reason, code := "", provider.Failure("")
			if got.FailureReason != nil {
				reason, code = *got.FailureReason, *got.FailureCode
			}
			expect.Equal(t, reason, test.reason, "reason")
			expect.Equal(t, code, test.code, "failure code")
			balance := must.Get(s.Accounts.Balance(t.Context(), s.caller))(t)
			want := "0.00"
			if test.later == payment.Completed {
				want = "12.50"
			}
			expect.Equal(t, balance.Available.StringFixed(2), want, "balance")
			expect.Equal(t, s.eventsOf(t), "payment.created payment.pending"+map[payment.Status]string{
				payment.Completed: " payment.processing payment.succeeded", payment.Failed: " payment.processing payment.failed",
				payment.Processing: " payment.processing",
			}[test.later], "events")
			unanswered := must.Get(s.Providers.Get(t.Context(), s.caller, p.ID))(t).UnansweredAt
			expect.Equal(t, !unanswered.IsZero(), test.digits == "0905", "the first attempt was not answered")
			if test.digits == "0910" {
				expect.Equal(t, s.stuck(t), p.ID+": failed, and now paid", "stuck")
			}
		})
	}
}

// stuck lists the orders that a person must look at.
func (s *shop) stuck(t *testing.T) string {
	t.Helper()
	var all []string
	for _, o := range must.Get(s.Providers.List(t.Context(), s.caller, provider.ListParams{}))(t).Data {
		all = append(all, o.ID+": "+o.Contradiction)
	}
	return strings.Join(all, "\n")
}

func (s *shop) settle(t *testing.T, id string, outcome provider.Outcome) {
	t.Helper()
	must.Do(t, s.Providers.Settle(t.Context(), s.caller, id, provider.Result{Outcome: outcome}))
	must.Do(t, s.Drain(t.Context()))
}

// limited makes a code of GHS 5.00 for so many uses, and returns what pays it from a phone.
func (s *shop) limited(t *testing.T, uses int64) (code string, pay func(number string) (*payment.Payment, error)) {
	t.Helper()
	c := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: new(int64(500)), UsageLimit: &uses}))(t)
	return c.ID, func(number string) (*payment.Payment, error) {
		p, err := s.QRCodes.Pay(t.Context(), s.caller, c.ID, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}})
		must.Do(t, s.Drain(t.Context()))
		return p, err
	}
}

// paidLate returns a payment that was approved when another had used up the code.
func (s *shop) paidLate(t *testing.T) *payment.Payment {
	t.Helper()
	_, pay := s.limited(t, 1)
	late := must.Get(pay(never))(t)
	s.after(t, 10*time.Minute)
	must.Get(pay(quick))(t)
	s.settle(t, late.ID, provider.Paid)
	return late
}

func (s *shop) uses(t *testing.T, code string) int64 {
	t.Helper()
	return must.Get(s.QRCodes.Get(t.Context(), s.caller, code))(t).UsageCount
}

const (
	quick = "0241234567" // succeeds at once
	never = "0241230903" // stays processing
)

// A payment holds a use of a code with a limit until it ends, or until its deadline.
func TestPaymentHoldsUse(t *testing.T) {
	s := newShop(t, payments.Config{})
	code, pay := s.limited(t, 2)
	first := must.Get(pay(never))(t)
	expect.True(t, first.HoldExpiresAt.Equal(first.CreatedAt.Add(10*time.Minute)), "holds until %v", first.HoldExpiresAt)
	second := must.Get(pay(never))(t)
	testkit.WantCode(t, "a third", testkit.Err(pay(quick)), api.PaymentInProgress)
	testkit.WantCode(t, "a wallet", testkit.Err(s.QRCodes.Pay(t.Context(), s.caller, code, qrcode.PayParams{Wallet: account.WalletRef{Phone: quick}, PIN: "1234"})), api.PaymentInProgress)

	s.settle(t, second.ID, provider.Refused)
	third := must.Get(pay(quick))(t)
	expect.Equal(t, s.get(t, third.ID).Status, payment.Completed, "the third")
	expect.Equal(t, s.uses(t, code), 1, "uses")
	testkit.WantCode(t, "while the first holds", testkit.Err(pay(quick)), api.PaymentInProgress)
	s.after(t, 10*time.Minute)
	expect.True(t, s.get(t, first.ID).HoldExpiresAt == nil, "holds after its time")
	must.Get(pay(quick))(t)
	expect.Equal(t, s.uses(t, code), 2, "uses")
	testkit.WantCode(t, "used up", testkit.Err(pay(quick)), api.QRLimitReached)
}

// A payer who leaves the page gives the hold back, and may approve yet.
func TestLeaveEndsHold(t *testing.T) {
	s := newShop(t, payments.Config{})
	code, pay := s.limited(t, 1)
	first := must.Get(pay(never))(t)
	must.Do(t, s.Payments.Leave(t.Context(), s.caller, first.ID))
	must.Do(t, s.Payments.Leave(t.Context(), s.caller, first.ID))
	expect.True(t, s.get(t, first.ID).HoldExpiresAt == nil, "the payment still holds")
	s.settle(t, first.ID, provider.Paid)
	expect.Equal(t, s.get(t, first.ID).AmountRefunded, 0, "refunded of the late payment")
	expect.Equal(t, s.uses(t, code), 1, "uses")

	_, pay = s.limited(t, 1)
	waits := must.Get(pay("0241230906"))(t)
	must.Do(t, s.Payments.Leave(t.Context(), s.caller, waits.ID))
	expect.Equal(t, s.get(t, waits.ID).Status, payment.Cancelled, "a pending payment")
}

// A payer who approves when the last use is gone or held by another gets the money back.
func TestLateSuccessIsRefunded(t *testing.T) {
	for name, other := range map[string]string{"used": quick, "held": "0241230904"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, payments.Config{CollectionFees: &payment.Fees{MTN: payment.Fee{Percent: decimal.NewFromInt(1)}}})
			code, pay := s.limited(t, 1)
			late := must.Get(pay(never))(t)
			s.after(t, 10*time.Minute)
			kept := must.Get(pay(other))(t)
			s.settle(t, late.ID, provider.Paid)
			got := s.get(t, late.ID)
			expect.Equal(t, got.Status, payment.Completed, "the late payment")
			expect.Equal(t, *got.Fee, 0, "its fee")
			expect.Equal(t, got.AmountRefunded, 500, "refunded of it")
			back := must.Get(s.Refunds.List(t.Context(), s.caller, refund.ListParams{Payment: late.ID}))(t).Data
			must.True(t, len(back) == 1, "refunds %v", back)
			expect.Equal(t, back[0].Status, refund.Succeeded, "the refund")
			expect.Equal(t, *back[0].Reason, collect.CodeUsedUp, "its reason")
			s.after(t, time.Minute)
			expect.Equal(t, s.get(t, kept.ID).Status, payment.Completed, "the other payment")
			expect.Equal(t, s.get(t, kept.ID).AmountRefunded, 0, "refunded of it")
			expect.Equal(t, s.uses(t, code), 1, "uses")
			balance := must.Get(s.Accounts.Balance(t.Context(), s.caller))(t)
			expect.Equal(t, balance.Available.String(), "4.95", "balance")
			expect.Equal(t, s.stuck(t), "", "stuck")
		})
	}
}

// onlyCharges is a charger that gives no refunds.
type onlyCharges struct{ provider.Charger }

// Money that cannot be given back is listed.
func TestLateSuccessWithoutRefundIsListed(t *testing.T) {
	s := newShop(t, payments.Config{Test: payments.Providers{Charger: onlyCharges{provider.Simulated{}}}})
	late := s.paidLate(t)
	expect.Equal(t, s.stuck(t), late.ID+": completed, code used up, and the provider gives no refunds", "stuck")

	s = newShop(t, payments.Config{Test: payments.Providers{Charger: noRefunds{}}})
	late = s.paidLate(t)
	expect.Equal(t, s.stuck(t), late.ID+": completed, code used up, and its refund failed", "stuck")
	expect.Equal(t, s.get(t, late.ID).AmountRefunded, 0, "refunded")
}

// noRefunds refuses all refunds.
type noRefunds struct{ provider.Simulated }

func (noRefunds) Refund(context.Context, provider.Refund) (provider.Result, error) {
	return provider.Result{Outcome: provider.Refused}, nil
}

// A code of the payer's goes to the charger, which may find it wrong.
func TestConfirm(t *testing.T) {
	s := newShop(t, payments.Config{})
	p := s.create(t, "0201230907")
	confirm := func(code string) (*payment.Payment, error) {
		return s.Payments.Confirm(t.Context(), s.caller, p.ID, payment.ConfirmParams{Code: code})
	}
	testkit.WantCode(t, "too early", testkit.Err(confirm("123456")), api.PaymentNotConfirmable)
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.get(t, p.ID).NextAction.Type, payment.EnterCode, "next action")
	testkit.WantCode(t, "no code", testkit.Err(confirm("")), api.ParameterMissing)
	wrong := must.Get(confirm("654321"))(t)
	expect.Equal(t, wrong.Status, payment.Processing, "after a wrong code")
	expect.Equal(t, wrong.NextAction.Type, payment.EnterCode, "next action after a wrong code")
	for range 3 {
		must.Get(confirm("654321"))(t)
	}
	right := must.Get(confirm("123456"))(t)
	expect.Equal(t, right.Status, payment.Completed, "after the code")
	expect.True(t, right.NextAction == nil, "next action %v", right.NextAction)
	testkit.WantCode(t, "too late", testkit.Err(confirm("123456")), api.PaymentNotConfirmable)

	p = s.create(t, "0201230907")
	must.Do(t, s.Drain(t.Context()))
	for range 5 {
		must.Get(confirm("654321"))(t)
	}
	testkit.WantCode(t, "a sixth code", testkit.Err(confirm("123456")), api.OTPAttemptsExceeded)
}

// The merchant gets the amount less the fee, as one entry; a refund does not return the fee.
func TestCollectionFee(t *testing.T) {
	s := newShop(t, payments.Config{CollectionFees: &payment.Fees{
		MTN:     payment.Fee{Percent: decimal.RequireFromString("1.5")}, // of 12.50: 18.75 pesewas
		Telecel: payment.Fee{Flat: decimal.NewFromInt(20)},
	}})
	p := s.create(t, quick)
	expect.True(t, p.Fee == nil, "before the end: Fee is set")
	expect.True(t, p.Net == nil, "before the end: Net is set")
	expect.True(t, p.CompletedAt == nil, "before the end: CompletedAt is set")
	all := s.create(t, "0201234567")
	must.Do(t, s.Drain(t.Context()))
	got := s.get(t, p.ID)
	expect.Equal(t, *got.Fee, 19, "fee")
	expect.Equal(t, *got.Net, 1231, "net")
	got = s.get(t, all.ID)
	expect.Equal(t, *got.Fee, 1250, "fee above the amount")
	expect.Equal(t, *got.Net, 0, "net")
	entries := must.Get(s.Accounts.ListEntries(t.Context(), s.caller, account.ListEntriesParams{}))(t).Data
	must.True(t, len(entries) == 1, "entries %+v", entries)
	testkit.WantCode(t, "a refund above the balance", testkit.Err(s.Refunds.Create(t.Context(), s.caller, refund.CreateParams{Payment: p.ID})), api.InsufficientBalance)
	_, err := payments.New(t.Context(), memory.New(), payments.Config{CollectionFees: &payment.Fees{MTN: payment.Fee{Percent: decimal.NewFromInt(101)}}})
	testkit.WantCode(t, "a fee above all", err, api.ParameterInvalid)
}

// A payment that was not sent in time is not sent any more.
func TestPendingPaymentFailsAtItsDeadline(t *testing.T) {
	s := newShop(t, payments.Config{})
	p := s.create(t, "0241230906")
	s.after(t, 10*time.Minute)
	got := s.get(t, p.ID)
	expect.Equal(t, got.Status, payment.Failed, "status")
	expect.Equal(t, *got.FailureReason, "The payment could not be sent to the network in time.", "reason")
	expect.Equal(t, *got.FailureCode, provider.FailureOther, "failure code")
	expect.Equal(t, s.eventsOf(t), "payment.created payment.pending payment.failed", "events")
}

// down is a provider that cannot be reached until it is up again, and then has seen nothing.
type down struct {
	up      bool
	prompts int
}

func (c *down) Charge(context.Context, provider.Charge) (provider.Result, error) {
	if c.up {
		c.prompts++
		return provider.Result{Outcome: provider.Paid}, nil
	}
	return provider.Result{}, errors.New("down")
}

func (c *down) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	if c.up {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return provider.Result{}, errors.New("down")
}

// A payment that never reached the provider is submitted until its deadline, and fails afterwards:
// no phone rings long after its holder asked for it.
func TestNoPromptAfterDeadline(t *testing.T) {
	for wait, want := range map[time.Duration]payment.Status{9 * time.Minute: payment.Completed, 2 * time.Hour: payment.Failed} {
		charger := &down{}
		s := newShop(t, payments.Config{Test: payments.Providers{Charger: charger}})
		p := s.create(t, quick)
		must.Do(t, s.Drain(t.Context()))
		s.after(t, wait)
		charger.up = true
		s.after(t, 30*time.Second)
		s.after(t, time.Hour)
		got := s.get(t, p.ID)
		expect.Equal(t, got.Status, want, "after %s", wait)
		expect.Equal(t, charger.prompts, map[payment.Status]int{payment.Completed: 1}[want], "prompts after %s", wait)
		s.after(t, 3*time.Hour)
		expect.Equal(t, s.stuck(t), "", "stuck")
	}
}

// In live mode a phone is asked at most once at a time, and not too often.
func TestPromptLimits(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	answers := map[string]provider.Outcome{}
	s := newShop(t, payments.Config{
		Clock: func() time.Time { return now },
		Live:  payments.Providers{Charger: scripted{answers}},
	})
	s.caller.Live = true
	ask := func(number string) (string, error) {
		p, err := s.Payments.Create(t.Context(), s.caller, payment.CreateParams{Amount: 100, MobileMoney: payment.MobileMoney{PhoneNumber: number}})
		must.Do(t, s.Drain(t.Context()))
		if err != nil {
			return "", err
		}
		return p.ID, nil
	}
	refused := func(what, number string, after time.Duration) {
		t.Helper()
		_, err := ask(number)
		testkit.WantCode(t, what, err, api.TooManyPrompts)
		var e *api.Error
		if errors.As(err, &e) {
			expect.Equal(t, e.RetryAfter, after, "%s: retry after", what)
		}
	}
	end := func(id string) {
		must.Do(t, s.Providers.Notify(t.Context(), id, provider.Result{Outcome: provider.Refused}))
	}
	first := must.Get(ask(quick))(t)
	refused("an open prompt", "+233241234567", 10*time.Minute)
	must.Get(ask("0241234568"))(t) // another phone
	end(first)
	now = now.Add(time.Minute)
	end(must.Get(ask(quick))(t))
	now = now.Add(time.Minute)
	end(must.Get(ask(quick))(t))
	refused("a fourth in 10 minutes", quick, 8*time.Minute)
	now = now.Add(8 * time.Minute)
	last := must.Get(ask(quick))(t)
	now = now.Add(10 * time.Minute) // its deadline has passed
	end(must.Get(ask(quick))(t))
	end(last)
	for range 15 {
		now = now.Add(10 * time.Minute)
		end(must.Get(ask(quick))(t))
	}
	now = now.Add(10 * time.Minute)
	refused("the 21st of a day", quick, 24*time.Hour-now.Sub(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)))
	now = now.Add(24 * time.Hour)
	must.Do(t, s.Drain(t.Context()))
	must.Get(ask(quick))(t)
}

// scripted answers with the outcome of a payment, or leaves it in progress.
type scripted struct{ answers map[string]provider.Outcome }

func (c scripted) Charge(_ context.Context, o provider.Charge) (provider.Result, error) {
	if outcome := c.answers[o.ID]; outcome != "" {
		return provider.Result{Outcome: outcome}, nil
	}
	return provider.Result{Outcome: provider.InProgress}, nil
}

func (c scripted) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, o)
}

// Live mode without a charger refuses, and keeps nothing.
func TestNoCharger(t *testing.T) {
	s := newShop(t, payments.Config{})
	s.caller.Live, s.caller.IdempotencyKey = true, "k"
	testkit.WantCode(t, "without a charger", testkit.Err(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{Amount: 100, MobileMoney: payment.MobileMoney{PhoneNumber: quick}})), api.Unavailable)
	expect.Equal(t, len(must.Get(s.Payments.List(t.Context(), s.caller, payment.ListParams{}))(t).Data), 0, "payments")
	expect.True(t, !s.Payments.TakesPhones(true), "modes that take phones")
	expect.True(t, s.Payments.TakesPhones(false), "modes that take phones")
}

// A call that names no merchant, or one that does not exist, asks no phone.
func TestPaymentNeedsItsMerchant(t *testing.T) {
	s := newShop(t, payments.Config{})
	for _, merchant := range []string{"", "mer_1"} {
		caller := s.caller
		caller.Merchant = merchant
		_, err := s.Payments.Create(t.Context(), caller, payment.CreateParams{Amount: 100, MobileMoney: payment.MobileMoney{PhoneNumber: quick}})
		testkit.WantCode(t, "for merchant "+merchant, err, api.ResourceMissing)
	}
}

// directory is a host's record of customers.
type directory map[string]*account.Customer

func (d directory) Customer(_ context.Context, _ api.Caller, id string) (*account.Customer, error) {
	return d[id], nil
}

// A repetition is answered as the first call was, though the host has deleted the customer since.
func TestReplayAfterTheHostDeletedTheCustomer(t *testing.T) {
	hosts := directory{"customer-1": {ID: "customer-1", Email: "akua@example.com"}}
	s := newShop(t, payments.Config{Customers: hosts})
	caller := s.caller
	caller.IdempotencyKey = "k"
	p := payment.CreateParams{Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: "0241234567"}, Customer: "customer-1"}
	first := must.Get(s.Payments.Create(t.Context(), caller, p))(t)
	delete(hosts, "customer-1")
	expect.Equal(t, must.Get(s.Payments.Create(t.Context(), caller, p))(t).ID, first.ID, "the repetition")
	caller.IdempotencyKey = "another"
	_, err := s.Payments.Create(t.Context(), caller, p)
	expect.Equal(t, api.CodeOf(err), api.ResourceMissing, "%v", err)
}

// A report of another amount than the payment's is not booked: who knows the id may have opened a
// charge under it at the provider. The payment stays open, and is listed.
func TestAnotherAmountIsNotBooked(t *testing.T) {
	s := newShop(t, payments.Config{})
	p := s.create(t, never)
	must.Do(t, s.Drain(t.Context()))
	must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid, Amount: 1}))
	expect.Equal(t, s.get(t, p.ID).Status, payment.Processing, "after GHS 0.01")
	must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid, Amount: 1250}))
	expect.Equal(t, s.get(t, p.ID).Status, payment.Completed, "after the whole amount")
	expect.Equal(t, s.stuck(t), p.ID+": the provider reports 1 pesewas paid, and not 1250", "stuck")
}

// A completed payment of which the provider reports another amount later is listed: a part may have gone
// back.
func TestAmountThatChangesLaterIsListed(t *testing.T) {
	s := newShop(t, payments.Config{})
	p := s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	for range 2 {
		must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid, Amount: 1250}))
		expect.Equal(t, s.stuck(t), "", "stuck")
	}
	err := s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid, Amount: 1000})
	expect.ErrorIs(t, err, provider.ErrContradicted, "a part")
	expect.Equal(t, s.stuck(t), p.ID+": completed, and now 1000 pesewas of 1250", "stuck")
	expect.Equal(t, s.get(t, p.ID).Status, payment.Completed, "the payment")
}

// undecidedRecheck refuses a charge, is not sure a minute later, and then reports it paid.
type undecidedRecheck struct{ provider.Simulated }

func (c undecidedRecheck) Charge(ctx context.Context, o provider.Charge) (provider.Result, error) {
	switch age := o.Now.Sub(o.SubmittedAt); {
	case age < time.Minute:
		return provider.Result{Outcome: provider.Refused, PollAfter: time.Minute}, nil
	case age < time.Hour:
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c undecidedRecheck) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, o)
}

// A refused charge that is under way after all is polled until the provider has decided.
func TestRecheckGoesOnUntilDecided(t *testing.T) {
	s := newShop(t, payments.Config{Test: payments.Providers{Charger: undecidedRecheck{}}})
	p := s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	s.after(t, time.Minute)
	expect.Equal(t, s.stuck(t), "", "stuck while the provider has not decided")
	s.after(t, 2*time.Hour)
	expect.Equal(t, s.stuck(t), p.ID+": failed, and now paid", "stuck")
}
