package payments_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/arkesel"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A merchant makes a code, a consumer pays it, the money is there.
func Example() {
	ctx := context.Background()
	svc, err := payments.New(ctx, memory.New(), payments.Config{})
	check(err)
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"})
	check(err)
	ama, err := svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"})
	check(err)
	check(svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: ama.ID, Amount: decimal.NewFromInt(50), Source: "bank"}))

	caller := api.Caller{Merchant: merchant.ID, IdempotencyKey: "order-1001"}
	amount := int64(1250) // pesewas
	code, err := svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount})
	check(err)

	caller.IdempotencyKey = "payment-1001"
	paid, err := svc.QRCodes.Pay(ctx, caller, code.ID, qrcode.PayParams{
		Wallet: account.WalletRef{Phone: "024 100 0001"}, PIN: "1234",
	})
	check(err)
	balance, err := svc.Accounts.Balance(ctx, caller)
	check(err)
	fmt.Println(paid.Status, *paid.Phone)
	fmt.Println(balance.Available, balance.Currency)

	_, err = svc.QRCodes.Pay(ctx, api.Caller{Merchant: merchant.ID}, code.ID, qrcode.PayParams{
		Wallet: account.WalletRef{Phone: "0241000001"}, PIN: "1234",
	})
	fmt.Println(api.CodeOf(err))
	// Output:
	// completed 024****001
	// 12.5 GHS
	// qr_limit_reached
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func TestNewRefusesWrongConfigurations(t *testing.T) {
	for name, c := range map[string]payments.Config{
		"a relative address":    {BaseURL: "/pay"},
		"another scheme":        {BaseURL: "ftp://pay.example.com"},
		"a query":               {BaseURL: "https://pay.example.com?x=1"},
		"a user in the address": {BaseURL: "https://me@pay.example.com"},
		"a mark of a query":     {BaseURL: "https://pay.example.com?"},
		"a mark of a fragment":  {BaseURL: "https://pay.example.com/#"},
		"a space":               {BaseURL: "https://pay.example.com/my shop"},
		"a port without a host": {BaseURL: "https://:8080"},
		"a short key":           {Key: []byte("short")},
		"a tax below zero":      {DefaultTax: new(decimal.NewFromInt(-5))},
		"a tax above 100":       {DefaultTax: new(decimal.NewFromInt(150))},
		// A host that sets the variable only if it has a contract with the provider.
		"a rail that was never set":     {Live: payments.Providers{Rail: (*paystack.Client)(nil)}},
		"a charger that was never set":  {Test: payments.Providers{Charger: (*provider.Router)(nil)}},
		"a texter that was never set":   {Live: payments.Providers{Texter: (*arkesel.Client)(nil)}},
		"banks that were never set":     {Banks: (*paystack.Client)(nil)},
		"an observer that is never set": {Observer: (*workLog)(nil)},
	} {
		if _, err := payments.New(t.Context(), memory.New(), c); err == nil || !strings.HasPrefix(err.Error(), "payments: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	err := testkit.Err(payments.New(t.Context(), nil, payments.Config{}))
	expect.True(t, strings.HasPrefix(fmt.Sprint(err), "payments: "), "no store: %v", err)
	closed := memory.New()
	must.Do(t, closed.Close())
	expect.ErrorIs(t, testkit.Err(payments.New(t.Context(), closed, payments.Config{})), storage.ErrClosed, "a closed store")
}

func TestStartAndStop(t *testing.T) {
	svc := testkit.New(t, memory.New(), payments.Config{})
	expect.NoError(t, svc.Stop(t.Context()), "Stop before Start")
	for range 2 {
		svc.Start(t.Context())
		svc.Start(t.Context())
		for range 2 {
			expect.NoError(t, svc.Stop(t.Context()), "Stop")
		}
	}
	expect.NoError(t, svc.Drain(t.Context()), "Drain")
}

func TestTheZeroConfig(t *testing.T) {
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{}))(t)
	expect.Equal(t, svc.BaseURL(), payments.DefaultBaseURL, "the base URL")
	expect.True(t, !svc.Sandbox(), "the zero Config is a sandbox")
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
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	expect.Equal(t, m.ID, "mer_0000000x", "the merchant's id")
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
		expect.Equal(t, time.Since(start), 2*time.Second, "the clock waited, before the move and after it")
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expect.ErrorIs(t, svc.Stop(gone), context.DeadlineExceeded, "Stop")
		var both sync.WaitGroup
		both.Go(func() { expect.NoError(t, svc.Stop(t.Context()), "Stop") })
		both.Go(func() { expect.NoError(t, svc.Drain(t.Context()), "Drain") })
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

// deaf is a Texter that never comes back from one number, though its context ends.
type deaf struct {
	from    string
	proceed chan struct{}
	sent    chan message.SMS
}

func (d deaf) SendSMS(_ context.Context, m message.SMS) error {
	if m.To == d.from {
		<-d.proceed
		return nil
	}
	d.sent <- m
	return nil
}

// A message that hangs takes no place from others for good, and does not keep the service from stopping.
func TestHungMessageIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texter := deaf{"+233241000001", make(chan struct{}), make(chan message.SMS, 10)}
		defer close(texter.proceed)
		svc, live := paid(t, texter)
		svc.Start(t.Context())
		synctest.Wait()
		expect.Equal(t, len(texter.sent), 1, "messages to the merchant")
		time.Sleep(2 * time.Hour)
		code := must.Get(svc.QRCodes.Create(t.Context(), live, qrcode.CreateParams{Amount: new(int64(1))}))(t)
		must.Get(svc.QRCodes.Pay(t.Context(), live, code.ID, qrcode.PayParams{Wallet: account.WalletRef{Phone: "0241000001"}, PIN: "4826"}))(t)
		time.Sleep(time.Minute)
		expect.Equal(t, len(texter.sent), 2, "messages to the merchant two hours later")
		gone, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		expect.NoError(t, svc.Stop(gone), "Stop")
	})
}

// A subscriber that never comes back from one event takes no place from others for good.
func TestHungSubscriberIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := testkit.New(t, memory.New(), payments.Config{})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		proceed, told := make(chan struct{}), make(chan string, 10)
		defer close(proceed)
		var hangs atomic.Value // the id of the first event, read beside the call that is left behind
		svc.Events.Subscribe("host", func(_ context.Context, _ api.Caller, e event.Event) error {
			if hangs.CompareAndSwap(nil, e.ID) || hangs.Load() == e.ID {
				<-proceed
				return nil
			}
			told <- e.ID
			return nil
		})
		svc.Start(t.Context())
		must.Get(svc.QRCodes.Create(t.Context(), caller, qrcode.CreateParams{}))(t)
		time.Sleep(2 * time.Hour)
		must.Get(svc.QRCodes.Create(t.Context(), caller, qrcode.CreateParams{}))(t)
		time.Sleep(time.Minute)
		expect.Equal(t, len(told), 1, "events told two hours later")
		gone, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		expect.NoError(t, svc.Stop(gone), "Stop")
	})
}

// A call of the host's own is made once for a key, and its answer kept as those of the
// library are: not that of a failure, not for another call, for thirty days.
func TestOnce(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc := testkit.New(t, memory.New(), payments.Config{Clock: func() time.Time { return now }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	var failing error
	made := 0
	replayed := false
	caller := api.Caller{Merchant: m.ID, IdempotencyKey: "k", Replayed: &replayed}
	topUp := func(name string, amount int64) (int, error) {
		replayed = false
		receipt, err := payments.Once(t.Context(), svc, caller, name, amount, func() (*struct{ Number int }, error) {
			if failing != nil {
				return nil, failing
			}
			made++
			return &struct{ Number int }{made}, svc.Accounts.Deposit(t.Context(), api.Caller{IdempotencyKey: "acme/" + caller.IdempotencyKey}, account.DepositParams{
				To: m.ID, Amount: decimal.NewFromInt(amount), Source: "bank",
			})
		})
		if err != nil {
			return 0, err
		}
		return receipt.Number, nil
	}
	failing = errors.New("planned")
	expect.ErrorIs(t, testkit.Err(topUp("acme.top_up", 5)), failing, "a failure")
	failing = nil
	for i := range 3 {
		if n, err := topUp("acme.top_up", 5); n != 1 || err != nil || replayed != (i > 0) {
			t.Errorf("call %d: %d, %v, replayed %t", i, n, err, replayed)
		}
	}
	for name, amount := range map[string]int64{"acme.top_up": 6, "acme.tip": 5} {
		if _, err := topUp(name, amount); api.CodeOf(err) != api.IdempotencyKeyReused {
			t.Errorf("%s of %d: %v", name, amount, err)
		}
	}
	caller.IdempotencyKey = "another"
	if n, err := topUp("acme.top_up", 5); n != 2 || err != nil || replayed {
		t.Errorf("another key: %d, %v", n, err)
	}
	now = now.Add(31 * 24 * time.Hour)
	if n, err := topUp("acme.top_up", 5); n != 3 || err != nil || replayed {
		t.Errorf("after a month: %d, %v", n, err)
	}
	caller.IdempotencyKey = ""
	for range 2 {
		if _, err := topUp("acme.top_up", 5); err != nil || replayed {
			t.Errorf("without a key: %v", err)
		}
	}
	expect.Equal(t, made, 5, "made %d times", made)
}

// A route of the host's tops a wallet up, once for a key.
func ExampleOnce() {
	ctx := context.Background()
	svc, err := payments.New(ctx, memory.New(), payments.Config{})
	check(err)
	ama, err := svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001"})
	check(err)
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"})
	check(err)

	type receipt struct{ Wallet, Amount string }
	topUp := func(caller api.Caller, amount decimal.Decimal) (*receipt, error) {
		params := []string{ama.ID, amount.String()}
		return payments.Once(ctx, svc, caller, "acme.top_up", params, func() (*receipt, error) {
			err := svc.Accounts.Deposit(ctx, api.Caller{IdempotencyKey: "acme.top_up/" + caller.Merchant + "/" + caller.IdempotencyKey}, account.DepositParams{
				To: ama.ID, Amount: amount, Source: "bank",
			})
			return &receipt{ama.Name, amount.String()}, err
		})
	}
	for range 2 {
		again := false
		r, err := topUp(api.Caller{Merchant: merchant.ID, IdempotencyKey: "order-7", Replayed: &again}, decimal.NewFromInt(20))
		check(err)
		fmt.Println(r.Wallet, r.Amount, again)
	}
	balance, err := svc.Accounts.WalletBalance(ctx, api.Caller{}, ama.ID)
	check(err)
	fmt.Println(balance)
	// Output:
	// Ama Mensah 20 false
	// Ama Mensah 20 true
	// 20
}
