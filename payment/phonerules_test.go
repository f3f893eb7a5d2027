package payment_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// told is a charger that always gives the same answers, and counts its calls.
type told struct {
	charge, status, confirm    provider.Result
	charges, polls, confirming atomic.Int64
}

func (c *told) Charge(context.Context, provider.Charge) (provider.Result, error) {
	c.charges.Add(1)
	return c.charge, nil
}

func (c *told) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	c.polls.Add(1)
	return c.status, nil
}

func (c *told) ConfirmCharge(context.Context, provider.Charge, string) (provider.Result, error) {
	c.confirming.Add(1)
	return c.confirm, nil
}

func (c *told) calls() int64 { return c.charges.Load() + c.polls.Load() + c.confirming.Load() }

var (
	inProgress = provider.Result{Outcome: provider.InProgress}
	asksCode   = provider.Result{Outcome: provider.InProgress, NeedsCode: true}
)

// A hold is over at its time, though no worker has run since.
func TestHoldEndsWithoutWorker(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: &told{charge: inProgress, status: inProgress}}})
	s.caller.Live = true
	amount := int64(100)
	code := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount}))(t)
	pay := func() error {
		return testkit.Err(s.QRCodes.Pay(t.Context(), s.caller, code.ID, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: quick}}))
	}
	testkit.WantCode(t, "the first", pay(), "")
	now = now.Add(10*time.Minute - time.Millisecond)
	testkit.WantCode(t, "while it holds", pay(), api.PaymentInProgress)
	now = now.Add(time.Millisecond)
	testkit.WantCode(t, "the second", pay(), "")
}

// The clocks of two servers differ. One whose clock is behind still sees a hold that the other has seen end. It
// does not exceed the limit of the code.
func TestUsageLimitHoldsBetweenClocks(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: &told{charge: inProgress, status: inProgress}}})
	s.caller.Live = true
	code := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: new(int64(100))}))(t)
	pay := func(number string) string {
		p := must.Get(s.QRCodes.Pay(t.Context(), s.caller, code.ID, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}}))(t)
		return p.ID
	}
	first := pay(quick)
	must.Do(t, s.Drain(t.Context()))
	now = now.Add(10 * time.Minute)
	second := pay("0201234567")
	now = now.Add(-time.Millisecond)
	must.Do(t, s.Drain(t.Context()))
	for _, id := range []string{second, first} {
		must.Do(t, s.Providers.Notify(t.Context(), id, provider.Result{Outcome: provider.Paid}))
	}
	got := must.Get(s.QRCodes.Get(t.Context(), s.caller, code.ID))(t)
	expect.Equal(t, got.UsageCount, int64(1), "uses of a code that can be used once")
	stuck := must.Get(s.Providers.List(t.Context(), s.caller, provider.ListParams{}))(t).Data
	must.True(t, len(stuck) == 1, "orders that need a person: %+v", stuck)
	expect.Equal(t, stuck[0].ID, first, "orders that need a person: ID of the first")
}

// A server whose clock is behind gets the provider's first answer for a hold that another server has seen end. The
// payment goes on without it.
func TestAnswerComesAfterHoldBetweenClocks(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: &told{charge: inProgress, status: inProgress}}})
	s.caller.Live = true
	code := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: new(int64(100))}))(t)
	pay := func(number, from string) string {
		p := must.Get(s.QRCodes.Pay(t.Context(), s.caller, code.ID, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}, From: from}))(t)
		return p.ID
	}
	first := pay(quick, stranger)
	now = now.Add(2 * time.Minute)
	second := pay(other, "page 192.0.2.2")
	now = now.Add(-time.Millisecond)
	must.Do(t, s.Drain(t.Context()))
	is := s.get(t, first)
	expect.Equal(t, is.Status, payment.Processing, "the first")
	expect.True(t, is.HoldExpiresAt == nil, "HoldExpiresAt is set")
	is = s.get(t, second)
	expect.True(t, is.HoldExpiresAt != nil, "the second has lost its hold")
}

// A payment that ends after another prompt of its phone leaves that one open.
func TestLaterPromptStaysOpen(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: &told{charge: inProgress, status: inProgress}}})
	s.caller.Live = true
	first := s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	now = now.Add(10 * time.Minute)
	second := s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	refused := provider.Result{Outcome: provider.Refused}
	must.Do(t, s.Providers.Notify(t.Context(), first.ID, refused))
	params := payment.CreateParams{Amount: 100, MobileMoney: payment.MobileMoney{PhoneNumber: quick}}
	testkit.WantCode(t, "while the second is open", testkit.Err(s.Payments.Create(t.Context(), s.caller, params)), api.TooManyPrompts)
	must.Do(t, s.Providers.Notify(t.Context(), second.ID, refused))
	must.Get(s.Payments.Create(t.Context(), s.caller, params))(t)
}

// In test mode one number is refused, and nothing is kept.
func TestPromptRefusedInTestMode(t *testing.T) {
	s := newShop(t, payments.Config{})
	_, err := s.Payments.Create(t.Context(), s.caller, payment.CreateParams{Amount: 100, MobileMoney: payment.MobileMoney{PhoneNumber: "0241230908"}})
	testkit.WantCode(t, "the number", err, api.TooManyPrompts)
	expect.Equal(t, len(must.Get(s.Payments.List(t.Context(), s.caller, payment.ListParams{}))(t).Data), 0, "payments")
}

// The charger may have what was submitted, so it is not cancelled.
func TestSubmittedPaymentIsNotCancelled(t *testing.T) {
	s := newShop(t, payments.Config{})
	for _, number := range []string{never, quick, "0241230901"} {
		p := s.create(t, number)
		must.Do(t, s.Drain(t.Context()))
		testkit.WantCode(t, number, testkit.Err(s.Payments.Cancel(t.Context(), s.caller, p.ID)), api.PaymentNotCancellable)
	}
}

// A payment that a callback ends between two transactions of a call is not sent to the charger.
func TestEndedPaymentIsNotSent(t *testing.T) {
	store, charger := faultstore.New(memory.New()), &told{charge: asksCode, status: asksCode, confirm: asksCode}
	svc := testkit.New(t, store, payments.Config{Sandbox: true, Test: payments.Providers{Charger: charger}})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	s, early := &shop{svc, api.Caller{Merchant: m.ID}}, 0
	for k := 1; ; k++ {
		p := s.create(t, quick)
		must.Do(t, s.Drain(t.Context()))
		before, confirmed := int64(0), charger.confirming.Load()
		store.BetweenAt(k, func() {
			must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid}))
			before = charger.calls()
		})
		_, err := s.Payments.Confirm(t.Context(), s.caller, p.ID, payment.ConfirmParams{Code: "1"})
		if !store.Heal() {
			break
		}
		expect.True(t, err == nil || api.CodeOf(err) == api.PaymentNotConfirmable, "at transaction %d: %v", k, err)
		expect.Equal(t, charger.calls(), before, "at transaction %d: calls of the charger", k)
		if charger.confirming.Load() == confirmed {
			early++
		}
		expect.Equal(t, s.get(t, p.ID).Status, payment.Completed, "at transaction %d", k)
	}
	expect.True(t, early > 0, "%d callbacks came before the code was passed on", early)
}

// A charge that was refused may be reported as paid later. It is asked about, and never made again.
func TestRefusedPaymentIsNotChargedAgain(t *testing.T) {
	charger := &told{charge: provider.Result{Outcome: provider.Refused, PollAfter: time.Minute}, status: provider.Result{Outcome: provider.NotFound}}
	s := newShop(t, payments.Config{Test: payments.Providers{Charger: charger}})
	p := s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	s.after(t, time.Minute)
	expect.Equal(t, s.get(t, p.ID).Status, payment.Failed, "status")
	expect.Equal(t, charger.charges.Load(), 1, "charges")
	expect.True(t, charger.polls.Load() > 0, "nobody asked")
}

// The page of a payment is found by the whole token alone.
func TestPageOfPayment(t *testing.T) {
	s := newShop(t, payments.Config{})
	p, other := s.create(t, quick), s.create(t, quick)
	token := must.Get(s.Payments.PageToken(t.Context(), s.caller, p.ID))(t)
	expect.Equal(t, must.Get(s.Payments.Hosted(t.Context(), token))(t).Payment.ID, p.ID, "payment")
	for _, wrong := range []string{"", "-", p.ID, p.ID + "-", token[:len(token)-1], token + "0", other.ID + token[len(p.ID):]} {
		testkit.WantCode(t, wrong, testkit.Err(s.Payments.Hosted(t.Context(), wrong)), api.ResourceMissing)
	}
	expect.Equal(t, *must.Get(s.Payments.Payer(t.Context(), s.caller, p.ID))(t), payment.Payer{Number: "+233" + quick[1:], PageToken: token}, "payer")
	stranger := api.Caller{Merchant: s.caller.Merchant, Live: true}
	testkit.WantCode(t, "another mode", testkit.Err(s.Payments.PageToken(t.Context(), stranger, p.ID)), api.ResourceMissing)
}

// A code goes to the charger once. Later work polls.
func TestCodeIsPassedOnOnce(t *testing.T) {
	charger := &told{charge: asksCode, status: asksCode, confirm: inProgress}
	s := newShop(t, payments.Config{Test: payments.Providers{Charger: charger}})
	p := s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	got := must.Get(s.Payments.Confirm(t.Context(), s.caller, p.ID, payment.ConfirmParams{Code: "1"}))(t)
	expect.Equal(t, got.NextAction.Type, payment.Approve, "next action")
	s.after(t, time.Minute)
	expect.Equal(t, charger.confirming.Load(), 1, "confirmations")
	expect.True(t, charger.polls.Load() > 0, "nobody asked")
}

// A call that confirmed a payment, and did not return, is repeated with its key.
func TestConfirmIsRepeated(t *testing.T) {
	store, charger := faultstore.New(memory.New()), &told{charge: asksCode, status: asksCode, confirm: provider.Result{Outcome: provider.Paid}}
	svc := testkit.New(t, store, payments.Config{Sandbox: true, Test: payments.Providers{Charger: charger}})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	s := &shop{svc, api.Caller{Merchant: m.ID}}
	p := s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	caller := s.caller
	caller.IdempotencyKey = "confirm"
	store.LoseAt(2) // the payment is booked then
	_, err := s.Payments.Confirm(t.Context(), caller, p.ID, payment.ConfirmParams{Code: "1"})
	must.True(t, err != nil && store.Heal(), "no answer was lost")
	expect.Equal(t, s.get(t, p.ID).Status, payment.Completed, "status")
	for range 2 {
		expect.Equal(t, must.Get(s.Payments.Confirm(t.Context(), caller, p.ID, payment.ConfirmParams{Code: "1"}))(t).Status, payment.Completed, "repeated")
	}
	caller.IdempotencyKey = "another"
	testkit.WantCode(t, "another key", testkit.Err(s.Payments.Confirm(t.Context(), caller, p.ID, payment.ConfirmParams{Code: "1"})), api.PaymentNotConfirmable)
}

// An idempotency key is for one code. Under the key of a wrong code, the right one would be answered by a
// replay, and not passed on.
func TestKeyOfConfirmIsForOneCode(t *testing.T) {
	const wrong, right = "000000", "123456" // of the simulated charger
	store, old := memory.New(), bytes.Repeat([]byte{1}, 32)
	open := func(c payments.Config) *payments.Service {
		c.Sandbox = true
		return testkit.New(t, store, c)
	}
	svc := open(payments.Config{Key: old})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	s := &shop{svc, api.Caller{Merchant: m.ID}}
	p := s.create(t, "0241230907")
	must.Do(t, s.Drain(t.Context()))
	confirm := func(svc *payments.Service, key, code string) (status payment.Status, replayed bool, err error) {
		caller := api.Caller{Merchant: m.ID, IdempotencyKey: key, Replayed: &replayed}
		got, err := svc.Payments.Confirm(t.Context(), caller, p.ID, payment.ConfirmParams{Code: code})
		if err == nil {
			status = got.Status
		}
		return status, replayed, err
	}
	want := func(what string, svc *payments.Service, key, code string, status payment.Status, replay bool) {
		t.Helper()
		got, replayed, err := confirm(svc, key, code)
		expect.NoError(t, err, "%s", what)
		expect.Equal(t, got, status, "%s", what)
		expect.Equal(t, replayed, replay, "%s: replayed", what)
	}
	want("a wrong code", svc, "first", wrong, payment.Processing, false)
	want("the wrong code again", svc, "first", wrong, payment.Processing, true)
	_, _, err := confirm(svc, "first", right)
	testkit.WantCode(t, "the right code with the key of the wrong one", err, api.IdempotencyKeyReused)
	rotated := open(payments.Config{Key: bytes.Repeat([]byte{2}, 32), FallbackKeys: [][]byte{old}})
	want("the wrong code after a change of the server's key", rotated, "first", wrong, payment.Processing, true)
	_, _, err = confirm(rotated, "first", right)
	testkit.WantCode(t, "the right code after it", err, api.IdempotencyKeyReused)
	want("the right code with a key of its own", rotated, "second", right, payment.Completed, false)
	want("the right code again", rotated, "second", right, payment.Completed, true)
}

// A wallet's payment has no charge to settle.
func TestWalletPaymentIsNotSettled(t *testing.T) {
	s := newShop(t, payments.Config{})
	ctx, amount := t.Context(), int64(500)
	ama := must.Get(s.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama", Phone: quick, PIN: "1234"}))(t)
	must.Do(t, s.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: ama.ID, Amount: api.FromPesewas(amount).Decimal, Source: "test"}))
	code := must.Get(s.QRCodes.Create(ctx, s.caller, qrcode.CreateParams{Amount: &amount}))(t)
	p := must.Get(s.QRCodes.Pay(ctx, s.caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"}))(t)
	expect.Equal(t, *must.Get(s.Payments.Payer(ctx, s.caller, p.ID))(t), payment.Payer{Account: ama.ID}, "payer")
	testkit.WantCode(t, "a page of a payment from a wallet", testkit.Err(s.Payments.PageToken(ctx, s.caller, p.ID)), api.ResourceMissing)
	testkit.WantCode(t, "settle", s.Providers.Settle(ctx, s.caller, p.ID, provider.Result{Outcome: provider.Paid}), api.PaymentNotSettleable)
	testkit.WantCode(t, "callback", s.Providers.Notify(ctx, p.ID, provider.Result{Outcome: provider.Paid}), api.ResourceMissing)
}

// Callbacks come twice, and contradict one another. The first outcome stands.
func TestPaymentIsBookedOnce(t *testing.T) {
	for _, first := range []provider.Outcome{provider.Paid, provider.Refused} {
		s := newShop(t, payments.Config{})
		p := s.create(t, never)
		balance, second := "12.50", provider.Refused
		if first == provider.Refused {
			balance, second = "0.00", provider.Paid
		}
		for range 2 {
			must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: first}))
		}
		for range 2 {
			expect.ErrorIs(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: second}), provider.ErrContradicted, "after %s", first)
		}
		for _, outcome := range []provider.Outcome{provider.Paid, provider.Refused} {
			testkit.WantCode(t, "settle", s.Providers.Settle(t.Context(), s.caller, p.ID, provider.Result{Outcome: outcome}), api.PaymentNotSettleable)
		}
		got := must.Get(s.Accounts.Balance(t.Context(), s.caller))(t)
		expect.Equal(t, got.Available.StringFixed(2), balance, "balance after %s", first)
		end := " payment.succeeded"
		if first == provider.Refused {
			end = " payment.failed"
		}
		expect.Equal(t, s.eventsOf(t), "payment.created payment.pending payment.processing"+end, "events")
		expect.True(t, s.stuck(t) != "", "no contradiction is listed")
	}
}

// However long the charger wants to be left alone, it is asked when the payer's time is over.
func TestPhoneIsPolledAtDeadline(t *testing.T) {
	slow := provider.Result{Outcome: provider.InProgress, PollAfter: time.Hour}
	charger := &told{charge: slow, status: slow}
	s := newShop(t, payments.Config{Test: payments.Providers{Charger: charger}})
	s.create(t, quick)
	must.Do(t, s.Drain(t.Context()))
	s.after(t, 9*time.Minute)
	expect.Equal(t, charger.polls.Load(), 0, "polls before the deadline")
	s.after(t, time.Minute)
	expect.Equal(t, charger.polls.Load(), 1, "polls at the deadline")
}

// Payers who start at once hold no more uses than there are. They approve no more than that, also when
// others pay from wallets at the same time.
func TestHoldsUnderConcurrency(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		svc := testkit.New(t, store, payments.Config{Sandbox: true})
		ctx, amount, limit := t.Context(), int64(100), int64(3)
		m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		s := &shop{svc, api.Caller{Merchant: m.ID}}
		ama := must.Get(s.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama", Phone: quick, PIN: "1234"}))(t)
		must.Do(t, s.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: ama.ID, Amount: api.FromPesewas(10_00).Decimal, Source: "test"}))
		code := must.Get(s.QRCodes.Create(ctx, s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount, UsageLimit: &limit}))(t)
		var mu sync.Mutex
		var phones, wallets []string
		var all sync.WaitGroup
		for n := range 12 {
			all.Go(func() {
				from := qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: never}}
				if n%4 == 0 {
					from = qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"}
				}
				p, err := s.QRCodes.Pay(ctx, s.caller, code.ID, from)
				switch api.CodeOf(err) {
				case "":
					expect.NoError(t, err, "pay")
					mu.Lock()
					defer mu.Unlock()
					if p.PaymentMethod == payment.FromPhone {
						phones = append(phones, p.ID)
					} else {
						wallets = append(wallets, p.ID)
					}
				case api.PaymentInProgress, api.QRLimitReached, api.QRInactive:
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		expect.Equal(t, int64(len(phones)+len(wallets)), limit, "payments that were started")
		for _, id := range phones {
			all.Go(func() {
				expect.NoError(t, s.Providers.Notify(ctx, id, provider.Result{Outcome: provider.Paid}), "callback")
			})
		}
		all.Wait()
		expect.Equal(t, s.uses(t, code.ID), limit, "uses")
	})
}
