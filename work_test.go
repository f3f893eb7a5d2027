package payments_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestTheZeroConfig(t *testing.T) {
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{}))(t)
	if svc.BaseURL() != payments.DefaultBaseURL || svc.Sandbox() {
		t.Errorf("base %s, sandbox %t", svc.BaseURL(), svc.Sandbox())
	}
	if a, b := svc.NewID("req_"), svc.NewID("req_"); !strings.HasPrefix(a, "req_") || a >= b {
		t.Errorf("ids %s, %s", a, b)
	}
	caller := api.Caller{Merchant: "mer_1"}
	testkit.WantCode(t, "the clock moves without a sandbox", testkit.Err(svc.MoveClock(t.Context(), caller, payments.ClockParams{By: time.Hour})), api.PermissionDenied)
}

func TestAHostsOwnIDs(t *testing.T) {
	n := 0
	svc := testkit.New(t, memory.New(), payments.Config{NewID: func(prefix string) string {
		n++
		return prefix + strings.Repeat("0", 8-n) + "x"
	}})
	m, err := svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"})
	expect.True(t, err == nil && m.ID == "mer_0000000x", "got %+v, %v", m, err)
}

// slow is a Texter that takes until it is let go.
type slow struct{ began, proceed chan struct{} }

func (s slow) SendSMS(ctx context.Context, _ message.SMS) error {
	s.began <- struct{}{}
	select {
	case <-s.proceed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// paid returns a service whose merchant in live mode was paid, which queued a
// message to each side.
func paid(t *testing.T, texter message.Texter) (*payments.Service, api.Caller) {
	t.Helper()
	svc := testkit.New(t, memory.New(), payments.Config{Live: payments.Providers{Texter: texter}, Sandbox: true})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	ama := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Ama", Phone: "0241000001", PIN: "4826"}))(t)
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: ama.ID, Amount: decimal.NewFromInt(1), Source: "bank"}))
	caller, amount := api.Caller{Merchant: m.ID, Live: true}, int64(1)
	code := must.Get(svc.QRCodes.Create(t.Context(), caller, qrcode.CreateParams{Amount: &amount}))(t)
	must.Get(svc.QRCodes.Pay(t.Context(), caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "4826"}))(t)
	return svc, caller
}

// Work under way is waited for, by a call that stops or drains; a clock that is moved
// waits two seconds twice, and Stop waits for what it left behind.
func TestWorkUnderWayIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texter := slow{make(chan struct{}, 2), make(chan struct{})}
		svc, live := paid(t, texter)
		svc.Start(t.Context())
		<-texter.began
		<-texter.began

		start := time.Now()
		caller := api.Caller{Merchant: live.Merchant}
		expect.NoError(t, testkit.Err(svc.MoveClock(t.Context(), caller, payments.ClockParams{By: time.Hour})), "MoveClock")
		expect.Equal(t, time.Since(start), 4*time.Second, "the clock waited, before the move and after it")
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expect.ErrorIs(t, svc.Stop(gone), context.DeadlineExceeded, "Stop")
		var both sync.WaitGroup
		both.Go(func() {
			expect.NoError(t, svc.Stop(t.Context()), "Stop")
		})
		both.Go(func() {
			expect.NoError(t, svc.Drain(t.Context()), "Drain")
		})
		ended := make(chan struct{})
		go func() {
			both.Wait()
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("Stop and Drain came back before the work had ended")
		default:
		}
		close(texter.proceed)
		<-ended
	})
}

// A clock whose caller goes away does not keep the caller, and the work is done
// all the same.
func TestAClockWhoseCallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texter := slow{make(chan struct{}, 2), make(chan struct{})}
		svc, live := paid(t, texter)
		const patience = 2*time.Second + time.Millisecond // the move comes after two seconds
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
		list, err := svc.Messages.List(t.Context(), caller, message.ListParams{})
		expect.True(t, err == nil && len(list.Data) == step.want, "%s on: %d messages, want %d, %v", step.by, len(list.Data), step.want, err)
	}
}
