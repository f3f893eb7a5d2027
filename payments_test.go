package payments_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
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
		"a short key":           {Key: []byte("short")},
	} {
		if _, err := payments.New(t.Context(), memory.New(), c); err == nil || !strings.HasPrefix(err.Error(), "payments: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	closed := memory.New()
	must.Do(t, closed.Close())
	expect.ErrorIs(t, testkit.Err(payments.New(t.Context(), closed, payments.Config{})), storage.ErrClosed, "a closed store")
}

// What a consumer's code was signed with outlives the process.
func TestTheServerKeyIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payments.db")
	var text string
	var caller api.Caller
	for start := range 2 {
		store := must.Get(sqlite.Open(t.Context(), path, sqlite.Config{}))(t)
		svc := testkit.New(t, store, payments.Config{})
		if start == 0 {
			m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
			c := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001"}))(t)
			caller = api.Caller{Merchant: m.ID}
			code := must.Get(svc.QRCodes.IssueConsumerCode(t.Context(), caller, qrcode.IssueConsumerCodeParams{Account: c.ID}))(t)
			text = code.Payload
		}
		expect.NoError(t, testkit.Err(svc.QRCodes.Resolve(t.Context(), caller, text)), "start %d", start)
		other := testkit.New(t, store, payments.Config{Key: []byte(strings.Repeat("k", 32))})
		testkit.WantCode(t, "with another key", testkit.Err(other.QRCodes.Resolve(t.Context(), caller, text)), api.InvalidConsumerQR)
		must.Do(t, store.Close())
	}
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
		if got, err := move(step.by, step.to); err != nil || got != step.want {
			t.Errorf("%+v: got %s, %v", step, got, err)
		}
	}
	testkit.WantCode(t, "back", testkit.Err(move(0, now)), api.ParameterInvalid)
	testkit.WantCode(t, "by less than nothing", testkit.Err(move(-time.Second, time.Time{})), api.ParameterInvalid)
	testkit.WantCode(t, "by a century", testkit.Err(move(101*365*24*time.Hour, time.Time{})), api.ParameterInvalid)
	live := api.Caller{Merchant: m.ID, Live: true}
	testkit.WantCode(t, "live", testkit.Err(svc.MoveClock(t.Context(), live, payments.ClockParams{By: time.Hour})), api.PermissionDenied)
	code, err := svc.QRCodes.Create(t.Context(), live, qrcode.CreateParams{})
	expect.True(t, err == nil && code.Created == now.Unix(), "a live code was made at %d, %v", code.Created, err)
}
