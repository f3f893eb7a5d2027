package payments_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// Now shows a merchant's test clock, and to all others the real time.
func TestNow(t *testing.T) {
	real := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc := testkit.New(t, memory.New(), payments.Config{Sandbox: true, Clock: func() time.Time { return real }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	must.Get(svc.MoveClock(t.Context(), caller, payments.ClockParams{By: time.Hour}))(t)
	for name, c := range map[string]struct {
		caller api.Caller
		ahead  time.Duration
	}{"the merchant": {caller, time.Hour}, "live mode": {api.Caller{Merchant: m.ID, Live: true}, 0}, "another": {api.Caller{Merchant: "mer_other"}, 0}} {
		expect.Equal(t, must.Get(svc.Now(t.Context(), c.caller))(t).Sub(real), c.ahead, "%s", name)
	}
}

func TestMoveClock(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc := testkit.New(t, memory.New(), payments.Config{Sandbox: true, Clock: func() time.Time { return now }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	move := func(by time.Duration, to time.Time) (time.Duration, error) {
		at, err := svc.MoveClock(t.Context(), caller, payments.ClockParams{By: by, To: to})
		return at.Sub(now), err
	}
	for _, step := range []struct {
		by   time.Duration
		to   time.Time
		want time.Duration
	}{{0, time.Time{}, 0}, {time.Hour, time.Time{}, time.Hour}, {0, now.Add(2 * time.Hour), 2 * time.Hour}, {time.Minute, time.Time{}, 2*time.Hour + time.Minute}} {
		expect.Equal(t, must.Get(move(step.by, step.to))(t), step.want, "%+v", step)
	}
	testkit.WantCode(t, "back", testkit.Err(move(0, now)), api.ParameterInvalid)
	testkit.WantCode(t, "by less than nothing", testkit.Err(move(-time.Second, time.Time{})), api.ParameterInvalid)
	testkit.WantParam(t, "by more than five years", testkit.Err(move(payments.MaxClockMove+1, time.Time{})), api.ParameterInvalid, "advance")
	testkit.WantParam(t, "to more than five years later", testkit.Err(move(0, now.AddDate(6, 0, 0))), api.ParameterInvalid, "now")
	testkit.WantParam(t, "the operator", testkit.Err(svc.MoveClock(t.Context(), api.Caller{}, payments.ClockParams{By: time.Hour})), api.ResourceMissing, "merchant")
	live := api.Caller{Merchant: m.ID, Live: true}
	testkit.WantCode(t, "live", testkit.Err(svc.MoveClock(t.Context(), live, payments.ClockParams{By: time.Hour})), api.PermissionDenied)
	code := must.Get(svc.QRCodes.Create(t.Context(), live, qrcode.CreateParams{}))(t)
	expect.Equal(t, code.Created, now.Unix(), "when the live code was made")
}

// One move begins at most 2,000 periods of subscriptions. It counts the periods of those that go on, also in
// trial and past due.
func TestMoveClockBoundsPeriods(t *testing.T) {
	const declines = "0241230901"
	type kind struct {
		plan  catalog.CreatePlanParams
		phone string // is charged automatically
		ends  bool
	}
	daily := catalog.CreatePlanParams{Interval: catalog.Day}
	yearly := catalog.CreatePlanParams{Interval: catalog.Day, IntervalCount: new(int64(365))}
	monthly := kind{plan: catalog.CreatePlanParams{Interval: catalog.Month}}
	for name, test := range map[string]struct {
		kinds []kind
		by    time.Duration
		want  api.Code
	}{
		"two daily ones":              {[]kind{{plan: daily}, {plan: daily}}, payments.MaxClockMove, api.ParameterInvalid},
		"in trial":                    {[]kind{{plan: daily}, {plan: catalog.CreatePlanParams{Interval: catalog.Day, TrialPeriodDays: new(int64(1))}}}, payments.MaxClockMove, api.ParameterInvalid},
		"past due":                    {[]kind{{plan: daily}, {plan: daily, phone: declines}}, payments.MaxClockMove, api.ParameterInvalid},
		"one that ends":               {[]kind{{plan: yearly}, {plan: daily, ends: true}, {plan: daily, ends: true}}, payments.MaxClockMove, ""},
		"two of 365 days each":        {[]kind{{plan: yearly}, {plan: yearly}}, payments.MaxClockMove, ""},
		"more than a page of a month": {slices.Repeat([]kind{monthly}, api.MaxLimit+1), 40 * 24 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := testkit.OpenShop(t, memory.New(), payments.Config{})
			ctx := t.Context()
			customer := must.Get(s.Accounts.CreateCustomer(ctx, s.Caller, account.CreateCustomerParams{Name: "Esi", Phone: "0241234567"}))(t)
			for _, k := range test.kinds {
				k.plan.Name, k.plan.Amount = "Gold", 1_00
				p := subscription.CreateParams{Customer: customer.ID, Plan: must.Get(s.Plans.Create(ctx, s.Caller, k.plan))(t).ID}
				if k.phone != "" {
					p.CollectionMethod, p.PhoneNumber = invoice.ChargeAutomatically, k.phone
				}
				made := must.Get(s.Subscriptions.Create(ctx, s.Caller, p))(t)
				if k.ends {
					must.Get(s.Subscriptions.Update(ctx, s.Caller, made.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true)}))(t)
				}
			}
			must.Do(t, s.Drain(ctx))
			_, err := s.MoveClock(ctx, s.Caller, payments.ClockParams{By: test.by})
			testkit.WantCode(t, "the move", err, test.want)
		})
	}
}

// heldCharger charges as the simulated charger does, once it may.
type heldCharger struct {
	provider.Charger
	began, proceed chan struct{}
}

func (c heldCharger) Charge(ctx context.Context, order provider.Charge) (provider.Result, error) {
	close(c.began)
	<-c.proceed
	return c.Charger.Charge(ctx, order)
}

// Work that is under way when the clock is moved plans its next step by the time before.
func TestClockWaitsForWorkUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charger := heldCharger{provider.Simulated{}, make(chan struct{}), make(chan struct{})}
		svc := testkit.New(t, memory.New(), payments.Config{Sandbox: true, Test: payments.Providers{Charger: charger}})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
		caller := api.Caller{Merchant: m.ID}
		svc.Start(t.Context())
		p := must.Get(svc.Payments.Create(t.Context(), caller, payment.CreateParams{
			Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: "0241230904"}, // succeeds after 25 seconds
		}))(t)
		<-charger.began
		moved := make(chan error)
		go func() {
			moved <- testkit.Err(svc.MoveClock(t.Context(), caller, payments.ClockParams{By: 26 * time.Second}))
		}()
		synctest.Wait()
		close(charger.proceed)
		must.Do(t, <-moved)
		expect.Equal(t, must.Get(svc.Payments.Get(t.Context(), caller, p.ID))(t).Status, payment.Completed, "the payment")
		must.Do(t, svc.Stop(t.Context()))
	})
}

// What became due by the clock's move is done when the call returns.
func TestMoveClockDoesWhatBecameDue(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc := testkit.New(t, memory.New(), payments.Config{Sandbox: true, Clock: func() time.Time { return now }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	ama := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama", Phone: "0241000001", PIN: "1234"}))(t)
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: ama.ID, Amount: decimal.NewFromInt(1), Source: "bank"}))
	caller, amount := api.Caller{Merchant: m.ID}, int64(1)
	code := must.Get(svc.QRCodes.Create(t.Context(), caller, qrcode.CreateParams{Amount: &amount}))(t)
	must.Get(svc.QRCodes.Pay(t.Context(), caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"}))(t)
	for _, step := range []struct {
		by   time.Duration
		want int
	}{{30*24*time.Hour - time.Second, 2}, {time.Second, 0}} {
		must.Get(svc.MoveClock(t.Context(), caller, payments.ClockParams{By: step.by}))(t)
		list := must.Get(svc.Messages.List(t.Context(), caller, message.ListParams{}))(t)
		expect.Equal(t, len(list.Data), step.want, "%s on: messages", step.by)
	}
}

// A clock whose caller goes away does not keep the caller, and the work is done
// all the same.
func TestAClockWhoseCallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texter := slow{make(chan struct{}, 2), make(chan struct{})}
		svc, live := paid(t, texter)
		const patience = time.Second + time.Millisecond // the move comes after a second
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		start := time.Now()
		expect.NoError(t, testkit.Err(svc.MoveClock(ctx, api.Caller{Merchant: live.Merchant}, payments.ClockParams{})), "MoveClock")
		expect.Equal(t, time.Since(start), patience, "the caller waited")
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expect.ErrorIs(t, svc.Stop(gone), context.DeadlineExceeded, "Stop did not wait for what the clock had left")
		close(texter.proceed)
		expect.NoError(t, svc.Stop(t.Context()), "Stop")
		expect.Equal(t, len(texter.began), 2, "%d messages were begun", len(texter.began))
	})
}

// hung is a Texter that does not heed its context.
type hung struct{ began, proceed chan struct{} }

func (h hung) SendSMS(context.Context, message.SMS) error {
	h.began <- struct{}{}
	<-h.proceed
	return nil
}

// However often a clock is moved while work hangs, one drain waits for that work.
func TestMovedClocksLeaveOneDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texter := hung{make(chan struct{}, 2), make(chan struct{})}
		svc, live := paid(t, texter)
		svc.Start(t.Context())
		<-texter.began
		<-texter.began
		move := func() int {
			expect.NoError(t, testkit.Err(svc.MoveClock(t.Context(), api.Caller{Merchant: live.Merchant}, payments.ClockParams{By: time.Second})), "MoveClock")
			synctest.Wait()
			return runtime.NumGoroutine()
		}
		once := move()
		for range 4 { // for less time than a message has
			move()
		}
		expect.Equal(t, move(), once, "goroutines after many moves")
		close(texter.proceed)
		must.Do(t, svc.Stop(t.Context()))
	})
}
