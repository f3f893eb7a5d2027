package orders

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

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
	// Provider is the name of the provider, as in [provider.Order]. One without a name is "rail", or
	// "charger" if it is no rail.
	Provider string
	Balance  provider.Balance
	// At is the time of the balance; zero until the provider has told one.
	At time.Time
}

// cachedBalance is an Account, and whom to ask about it.
type cachedBalance struct {
	route    string
	balancer provider.Balancer

	mu     sync.Mutex // not held while the provider is asked
	known  Account
	asked  time.Time // when the last call began
	asking bool
	silent bool // the last call failed
}

// balancesOf returns the balances at the live providers.
func balancesOf(rail provider.Rail, charger provider.Charger) (all []*cachedBalance) {
	add := func(route, otherwise string, of any) {
		b, ok := of.(provider.Balancer)
		known := slices.ContainsFunc(all, func(c *cachedBalance) bool { return c.route == route && (route != "" || sameValue(c.balancer, of)) })
		if ok && !known {
			all = append(all, &cachedBalance{route: route, balancer: b, known: Account{Provider: cmp.Or(route, otherwise)}})
		}
	}
	if r, ok := rail.(*provider.Router); ok {
		for _, name := range slices.Sorted(maps.Keys(r.Rails)) {
			add(name, "rail", r.Rails[name])
		}
	} else {
		add(nameOf(rail), "rail", rail)
	}
	if r, ok := charger.(*provider.Router); ok {
		for _, name := range slices.Sorted(maps.Keys(r.Chargers)) {
			add(name, "charger", r.Chargers[name])
		}
	} else {
		add(nameOf(charger), "charger", charger)
	}
	return all
}

// nameOf returns the name that a rail or a charger has by itself, or "". A host's code that panics has
// none.
func nameOf(of any) (name string) {
	defer func() { _ = recover() }()
	switch router := of.(type) {
	case provider.TransferRouter:
		name, _ = router.RouteTransfer(provider.Transfer{})
	case provider.ChargeRouter:
		name, _ = router.RouteCharge(provider.Charge{})
	}
	return name
}

// named reports whether the live providers have names.
func (s *Service) named() bool {
	for _, of := range []any{s.config.Rail, s.config.Charger} {
		if _, ok := of.(*provider.Router); ok || nameOf(of) != "" {
			return true
		}
	}
	return false
}

// sameValue reports whether two values are one. Values that cannot be compared are not.
func sameValue(a, b any) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Accounts returns the operator's accounts at the live providers, as far as they are known. It does not
// wait: where a balance is a minute old, a goroutine asks the provider, for a later call.
func (s *Service) Accounts(ctx context.Context) (all []Account) {
	for _, a := range s.balances {
		all = append(all, a.look(ctx, s.engine))
	}
	return all
}

func (a *cachedBalance) look(ctx context.Context, e *engine.Engine) Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := e.Clock(); !a.asking && now.Sub(a.asked) >= balanceAge {
		a.asking, a.asked = true, now
		go a.ask(context.WithoutCancel(ctx), e, now)
	}
	return a.known
}

// ask asks the provider. An error keeps the balance that is known.
func (a *cachedBalance) ask(ctx context.Context, e *engine.Engine, now time.Time) {
	balance, err := a.call(ctx)
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

// call asks the provider, for a limited time.
func (a *cachedBalance) call(ctx context.Context) (provider.Balance, error) {
	ctx, cancel := context.WithTimeout(ctx, balanceTimeout)
	defer cancel()
	return CallHost(ctx, a.balancer.Balance, true)
}

// askHeld asks a provider how much money it holds for the operator now. It returns nil if the provider does not
// say. Without names, the rail and the charger may have an account each; askHeld returns their sum.
func (s *Service) askHeld(ctx context.Context, route string) *int64 {
	var sum *int64
	for _, a := range s.balances {
		if a.route != route {
			continue
		}
		balance, err := a.call(ctx)
		if err != nil {
			s.engine.Log.WarnContext(ctx, "a provider does not tell its balance", "provider", a.known.Provider)
			return nil
		}
		if balance.Held == nil {
			return nil
		}
		if sum == nil {
			sum = new(int64)
		}
		*sum += *balance.Held
	}
	return sum
}
