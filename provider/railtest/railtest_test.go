package railtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The simulated rail of test mode holds all that one without a memory can: it
// answers by the number alone, also for an order that it has never seen.
func TestSimulated(t *testing.T) {
	to := func(number string) Destination {
		return Destination{Channel: provider.MobileMoney, Network: "mtn", Number: number}
	}
	for _, c := range checks {
		if c.name == "an unknown order" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			simulated := Rig{Rail: provider.Simulated{}, Name: "Kofi Mensah", Paid: to("+233241230000"), Refused: to("+233241230901"), Slow: to("+233241230903")}
			expect.NoError(t, c.run(t, &rig{Rig: simulated}), "run")
		})
	}
}

// fake is a provider and its rail in one, with faults to switch on.
type fake struct {
	mu       sync.Mutex
	orders   map[string]provider.Transfer
	moved    map[string]int
	loseNext string

	twice, early, hasty, talks, cheats, mute bool
}

func (p *fake) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		if p.hasty {
			return provider.Result{Outcome: provider.Refused}, nil
		}
		return provider.Result{}, ctx.Err()
	}
	lose := p.loseNext
	p.loseNext = ""
	if lose == "request" {
		return p.lost(o)
	}
	_, again := p.orders[o.ID]
	if p.cheats {
		o.Amount++
	}
	p.orders[o.ID] = o
	if (!again || p.twice) && o.Number[len(o.Number)-1] == '1' {
		p.moved[o.ID]++
	}
	if lose == "answer" {
		return p.lost(o)
	}
	return p.answer(o), nil
}

func (p *fake) lost(o provider.Transfer) (provider.Result, error) {
	if p.hasty {
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: api.RecipientUnavailable}}, nil
	}
	if p.talks {
		return provider.Result{}, errors.New("no answer for " + o.Number)
	}
	return provider.Result{}, errLost
}

func (p *fake) answer(o provider.Transfer) provider.Result {
	switch o.Number[len(o.Number)-1] {
	case '1':
		return provider.Result{Outcome: provider.Paid, Reference: "r"}
	case '2':
		if p.mute {
			return provider.Result{Outcome: provider.Refused}
		}
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: api.InvalidDestination}}
	}
	return provider.Result{Outcome: provider.InProgress}
}

func (p *fake) Status(_ context.Context, o provider.Transfer) (provider.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lose := p.loseNext
	p.loseNext = ""
	if lose != "" {
		return p.lost(o)
	}
	if _, ok := p.orders[o.ID]; ok {
		return p.answer(o), nil
	}
	if p.early {
		p.moved[o.ID]++
		return provider.Result{Outcome: provider.Refused}, nil
	}
	return provider.Result{Outcome: provider.NotFound}, nil
}

// rig returns a rig on a new provider.
func (p *fake) rig() Rig {
	p.orders, p.moved = map[string]provider.Transfer{}, map[string]int{}
	to := func(last string) Destination {
		return Destination{Channel: provider.MobileMoney, Network: "mtn", Number: "+23324123456" + last}
	}
	lose := func(what string) func() {
		return func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.loseNext = what
		}
	}
	return Rig{
		Rail: p, Paid: to("1"), Refused: to("2"), Slow: to("3"),
		Moved: func(id string) int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.moved[id]
		},
		Received: func(id string) (decimal.Decimal, string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return api.Pesewas(p.orders[id].Amount).Decimal, p.orders[id].Number
		},
		LoseRequest: lose("request"), LoseAnswer: lose("answer"),
	}
}

func TestAGoodRail(t *testing.T) {
	Run(t, func(*testing.T) Rig { return new(fake).rig() })
}

// A rail with a fault fails what finds it.
func TestBadRails(t *testing.T) {
	for fault, c := range map[string]struct {
		begin  func(*fake)
		caught []string
	}{
		"pays twice":            {func(p *fake) { p.twice = true }, []string{"submitted twice", "submitted by many"}},
		"pays when asked":       {func(p *fake) { p.early = true }, []string{"an unknown order"}},
		"takes loss for no":     {func(p *fake) { p.hasty = true }, []string{"a lost request", "a lost answer", "a cancelled context", "a status that gets lost"}},
		"quotes numbers":        {func(p *fake) { p.talks = true }, []string{"a lost request", "a lost answer"}},
		"changes the amount":    {func(p *fake) { p.cheats = true }, []string{"what the provider is told"}},
		"refuses without words": {func(p *fake) { p.mute = true }, []string{"a refused order"}},
	} {
		for _, name := range c.caught {
			t.Run(fault+"/"+name, func(t *testing.T) {
				for _, check := range checks {
					if check.name == name {
						p := new(fake)
						c.begin(p)
						expect.True(t, check.run(t, &rig{Rig: p.rig()}) != nil, "is not found")
						return
					}
				}
				t.Error("there is no such check")
			})
		}
	}
}

func TestChaosMovesOnce(t *testing.T) {
	for seed := range uint64(200) {
		c := NewChaos(seed)
		o := provider.Transfer{Order: provider.Order{ID: "po_1"}}
		for range 10 {
			_, _ = c.Submit(t.Context(), o)
			_, _ = c.Status(t.Context(), o)
		}
		c.Settle()
		result, err := c.Status(t.Context(), o)
		if result.Outcome == provider.NotFound {
			continue // every request was lost
		}
		callbacks := c.Callbacks()
		paid := result.Outcome == provider.Paid
		if err != nil || paid != (c.Moved("po_1") == 1) || len(callbacks) == 0 || callbacks[0].Result != result || len(c.Callbacks()) != 0 {
			t.Errorf("seed %d: %+v, %v, moved %d, callbacks %+v", seed, result, err, c.Moved("po_1"), callbacks)
		}
	}
}
