package providers

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
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
	// Provider is the name in a [provider.Router]; otherwise "rail" or "charger". One provider that is
	// both is "rail".
	Provider string
	Balance  provider.Balance
	// At is the time of the balance; zero until the provider has told one.
	At time.Time
}

// balanceWatch is an Account, and whom to ask about it.
type balanceWatch struct {
	balancer provider.Balancer

	mu     sync.Mutex // not held while the provider is asked
	known  Account
	asked  time.Time // when the last call began
	asking bool
	silent bool // the last call failed
}

// watchBalances returns the accounts at the live providers that tell their balance.
func watchBalances(rail provider.Rail, charger provider.Charger) (all []*balanceWatch) {
	var seen []any
	add := func(name string, from any) {
		b, tells := from.(provider.Balancer)
		if !tells || slices.ContainsFunc(seen, func(other any) bool { return same(other, from) }) {
			return
		}
		seen = append(seen, from)
		all = append(all, &balanceWatch{balancer: b, known: Account{Provider: name}})
	}
	if r, ok := rail.(*provider.Router); ok {
		for _, name := range slices.Sorted(maps.Keys(r.Rails)) {
			add(cmp.Or(name, "rail"), r.Rails[name])
		}
	} else {
		add("rail", rail)
	}
	if r, ok := charger.(*provider.Router); ok {
		for _, name := range slices.Sorted(maps.Keys(r.Chargers)) {
			add(cmp.Or(name, "charger"), r.Chargers[name])
		}
	} else {
		add("charger", charger)
	}
	return all
}

// same reports whether two values are one. Values that cannot be compared are not.
func same(a, b any) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Accounts returns the operator's accounts at the live providers, as far as they are known. It does not
// wait: where a balance is a minute old, a goroutine asks the provider, for a later call.
func (s *Service) Accounts(ctx context.Context) (all []Account) {
	for _, a := range s.accounts {
		all = append(all, a.look(ctx, s.engine))
	}
	return all
}

func (a *balanceWatch) look(ctx context.Context, e *engine.Engine) Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := e.Clock(); !a.asking && now.Sub(a.asked) >= balanceAge {
		a.asking, a.asked = true, now
		go a.ask(context.WithoutCancel(ctx), e, now)
	}
	return a.known
}

// ask asks the provider. An error keeps the balance that is known.
func (a *balanceWatch) ask(ctx context.Context, e *engine.Engine, now time.Time) {
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
