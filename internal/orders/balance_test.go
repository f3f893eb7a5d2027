package orders_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// purse is a rail and a charger that tells its balance slowly.
type purse struct {
	provider.Simulated
	available int64
	err       error
	asked     int
}

func (p *purse) Balance(ctx context.Context, live bool) (provider.Balance, error) {
	p.asked++
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	if !live {
		return provider.Balance{}, errors.New("of test mode")
	}
	return provider.Balance{Available: p.available}, p.err
}

// A look at the balances does not wait, and asks a provider at most once a minute. An error keeps what is
// known, and is logged once.
func TestBalancesAreAskedForInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		from := &purse{available: 100_00}
		svc := testkit.New(t, memory.New(), payments.Config{
			Live: payments.Providers{Rail: from, Charger: from}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		look := func(pass time.Duration) payments.ProviderBalance {
			t.Helper()
			time.Sleep(pass)
			before := time.Now()
			all := must.Get(svc.Health(t.Context()))(t).ProviderBalances
			must.True(t, len(all) == 1 && all[0].Provider == "rail" && time.Since(before) == 0, "the accounts: %+v", all)
			return all[0]
		}
		begin := time.Now()
		for range 3 {
			expect.True(t, look(100*time.Millisecond).At == nil, "known before the provider has answered")
		}
		first := look(time.Second)
		must.True(t, first.At != nil && first.At.Equal(begin.Add(100*time.Millisecond)) && first.Available.String() == "100", "the first: %+v", first)
		from.available = 50_00
		for range 50 {
			expect.Same(t, look(time.Second), first, "within the minute")
		}
		look(10 * time.Second) // asks
		second := look(2 * time.Second)
		expect.Equal(t, second.Available.String(), "50", "after a minute: available")
		expect.Equal(t, from.asked, 2, "after a minute: calls of the provider")
		from.err = errors.New("the key sk_live_1 is wrong")
		for range 3 {
			look(time.Minute)
			expect.Same(t, look(2*time.Second), second, "while the provider does not answer")
		}
		expect.Equal(t, strings.Count(log.String(), "does not tell its balance"), 1, "warnings in the log %q", log.String())
		expect.True(t, !strings.Contains(log.String(), "sk_live"), "the log tells the key: %s", log.String())
	})
}

// Two providers have two accounts. One that tells no balance has none.
func TestBalancesOfRailAndCharger(t *testing.T) {
	named := &namedPurse{}
	router := &provider.Router{
		Rails:    map[string]provider.Rail{"mtnmomo": &purse{}, "paystack": named},
		Chargers: map[string]provider.Charger{"paystack": named, "other": provider.Simulated{}},
		Rail:     func(provider.Transfer) string { return "mtnmomo" },
		Charger:  func(provider.Charge) string { return "paystack" },
	}
	for _, c := range []struct {
		rail    provider.Rail
		charger provider.Charger
		want    string
	}{
		{nil, nil, ""},
		{provider.Simulated{}, provider.Simulated{}, ""},
		{&purse{}, nil, "rail"},
		{nil, &purse{}, "charger"},
		{&purse{}, &purse{}, "rail charger"},
		{incomparable{}, incomparable{}, "rail charger"},
		{named, named, "paystack"},
		{router, router, "mtnmomo paystack"},
		{router, named, "mtnmomo paystack"},
	} {
		synctest.Test(t, func(t *testing.T) {
			svc := testkit.New(t, memory.New(), payments.Config{Live: payments.Providers{Rail: c.rail, Charger: c.charger}})
			var names []string
			for _, a := range must.Get(svc.Health(t.Context()))(t).ProviderBalances {
				names = append(names, a.Provider)
			}
			expect.Equal(t, strings.Join(names, " "), c.want, "%T and %T", c.rail, c.charger)
			time.Sleep(2 * time.Second) // until the providers have answered
		})
	}
}

// namedPurse is a purse with a name of its own.
type namedPurse struct{ purse }

func (*namedPurse) RouteTransfer(provider.Transfer) (string, bool) { return "paystack", false }

// incomparable is a provider that the operator == cannot compare.
type incomparable struct {
	provider.Simulated
	_ []string
}

func (incomparable) Balance(context.Context, bool) (provider.Balance, error) {
	return provider.Balance{}, nil
}
