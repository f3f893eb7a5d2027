package providers

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

const (
	// balanceAge is how old a balance may become before the provider is asked again.
	balanceAge = time.Minute
	// balanceTimeout bounds the call.
	balanceTimeout = 10 * time.Second
)

// Account is the operator's account at a live provider that tells its balance.
type Account struct {
	// Provider is "rail" or "charger". One provider that is both is "rail".
	Provider string
	Balance  provider.Balance
	// At is the time of the balance; zero until the provider has told one.
	At time.Time
}

// account is an Account, and whom to ask about it.
type account struct {
	balancer provider.Balancer

	mu     sync.Mutex // not held while the provider is asked
	known  Account
	asked  time.Time // when the last call began
	asking bool
	silent bool // the last call failed
}

// accountsOf returns the accounts at the live providers.
func accountsOf(rail provider.Rail, charger provider.Charger) (all []*account) {
	if b, ok := rail.(provider.Balancer); ok {
		all = append(all, &account{balancer: b, known: Account{Provider: "rail"}})
	}
	if b, ok := charger.(provider.Balancer); ok && !same(rail, charger) {
		all = append(all, &account{balancer: b, known: Account{Provider: "charger"}})
	}
	return all
}

// same reports whether two values are one. Values that cannot be compared are not.
func same(a, b any) bool { return a != nil && reflect.TypeOf(a).Comparable() && a == b }

// Accounts returns the operator's accounts at the live providers, as far as they are known. It does not
// wait: where a balance is a minute old, a goroutine asks the provider, for a later call.
func (s *Service) Accounts(ctx context.Context) (all []Account) {
	for _, a := range s.accounts {
		all = append(all, a.look(ctx, s.engine))
	}
	return all
}

func (a *account) look(ctx context.Context, e *engine.Engine) Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := e.Clock(); !a.asking && now.Sub(a.asked) >= balanceAge {
		a.asking, a.asked = true, now
		go a.ask(context.WithoutCancel(ctx), e, now)
	}
	return a.known
}

// ask asks the provider. An error keeps the balance that is known.
func (a *account) ask(ctx context.Context, e *engine.Engine, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, balanceTimeout)
	defer cancel()
	balance, err := dispatch.CallHost(ctx, a.balancer.Balance, true)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && !a.silent { // its text is the host's
		e.Log.WarnContext(ctx, "a provider does not tell its balance", "provider", a.known.Provider)
	}
	a.asking, a.silent = false, err != nil
	if err == nil {
		a.known.Balance, a.known.At = balance, now
	}
}
