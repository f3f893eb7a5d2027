package railtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
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
		if c.Name == "an unknown order" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			simulated := Rig{Rail: provider.Simulated{}, Name: "Kofi Mensah", Paid: to("+233241230000"), Refused: to("+233241230901"), Slow: to("+233241230903")}
			expect.NoError(t, c.Run(t, &simulated), "run")
		})
	}
}

// fake is a provider and its rail in one.
type fake struct {
	mu       sync.Mutex
	orders   map[string]provider.Transfer
	moved    map[string]int
	last     string // the id of the last submission
	loseNext string

	// a fault to switch on
	fault string
}

func (p *fake) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lose := p.loseNext
	p.loseNext = ""
	if ctx.Err() != nil || lose == "request" {
		return p.lost(o)
	}
	_, again := p.orders[o.ID]
	switch p.fault {
	case "a reference for each attempt":
		again = again && p.orders[o.ID].Attempts == o.Attempts
	case "a reference for each moment":
		again = again && p.orders[o.ID].Now.Equal(o.Now)
	case "remembers the last order only":
		again = again && p.last == o.ID
	case "changes the amount":
		o.Amount++
	}
	p.last = o.ID
	p.orders[o.ID] = o
	like := false
	for id, other := range p.orders {
		like = like || id != o.ID && other.Number == o.Number && other.Amount == o.Amount
	}
	if (!again || p.fault == "pays twice") && o.Number[len(o.Number)-1] == '1' && (!like || p.fault != "takes orders alike for one") {
		p.moved[o.ID]++
	}
	if lose == "answer" {
		return p.lost(o)
	}
	return p.answer(o), nil
}

func (p *fake) lost(o provider.Transfer) (provider.Result, error) {
	switch p.fault {
	case "takes loss for no":
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: api.RecipientUnavailable}}, nil
	case "quotes numbers":
		return provider.Result{}, errors.New("no answer for " + o.Number)
	}
	return provider.Result{}, errors.New("no answer")
}

func (p *fake) answer(o provider.Transfer) provider.Result {
	switch o.Number[len(o.Number)-1] {
	case '1':
		paid := provider.Result{Outcome: provider.Paid, Reference: "r", Amount: o.Amount}
		if p.fault == "reports cedis" {
			paid.Amount /= 100
		}
		return paid
	case '2':
		if p.fault == "refuses without words" {
			return provider.Result{Outcome: provider.Refused}
		}
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: api.InvalidDestination}}
	}
	if p.fault == "guesses" {
		return provider.Result{Outcome: provider.Paid}
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
	if _, ok := p.orders[o.ID]; ok && p.fault != "forgets" {
		return p.answer(o), nil
	}
	if p.fault == "pays when asked" {
		p.moved[o.ID]++
	}
	return provider.Result{Outcome: provider.NotFound}, nil
}

func (p *fake) RouteTransfer(t provider.Transfer) (string, bool) {
	switch {
	case p.fault == "has a name that is none":
		return "Fake Pay", true
	case p.fault == "changes its name" && t.Route != "":
		return "other", true
	}
	return "fake", true
}

func (p *fake) AccountName(context.Context, provider.Enquiry) (string, error) {
	if p.fault == "misnames" {
		return "Ama Owusu", nil
	}
	return "Kofi Mensah", nil
}

func (p *fake) Check(context.Context, provider.Transfer) error {
	if p.fault == "refuses good destinations" {
		return &provider.Refusal{Code: api.InvalidDestination}
	}
	return nil
}

// rig returns a rig on a new provider.
func (p *fake) rig() *Rig {
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
	return &Rig{
		Rail: p, Name: "Kofi Mensah", Paid: to("1"), Refused: to("2"), Slow: to("3"),
		Moved: func(id string) int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.moved[id]
		},
		Received: func(id string) (decimal.Decimal, string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return api.FromPesewas(p.orders[id].Amount).Decimal, p.orders[id].Number
		},
		LoseRequest: lose("request"), LoseAnswer: lose("answer"),
	}
}

func TestAGoodRail(t *testing.T) {
	conformance.TestComplete(t, checks, func() *Rig { return new(fake).rig() })
	Run(t, func(*testing.T) Rig { return *new(fake).rig() })
}

// A rail with a fault fails the checks that must find it.
func TestBadRails(t *testing.T) {
	faults := map[string]conformance.Fault[*Rig]{}
	for fault, found := range map[string][]string{
		"pays twice":                    {"submitted twice", "submitted by many"},
		"pays when asked":               {"an unknown order"},
		"takes orders alike for one":    {"two orders alike"},
		"takes loss for no":             {"a lost request", "a lost answer", "a cancelled context", "a status that gets lost"},
		"quotes numbers":                {"a lost request", "a lost answer"},
		"changes the amount":            {"what the provider is told"},
		"reports cedis":                 {"a paid order"},
		"a reference for each attempt":  {"submitted twice", "submitted by many", "a lost answer"},
		"a reference for each moment":   {"submitted twice", "a lost answer"},
		"remembers the last order only": {"two orders alike"},
		"has a name that is none":       {"the name of the provider"},
		"changes its name":              {"the name of the provider"},
		"refuses without words":         {"a refused order"},
		"guesses":                       {"a slow order"},
		"forgets":                       {"a paid order"},
		"misnames":                      {"the name of an account"},
		"refuses good destinations":     {"a destination that is looked at"},
	} {
		faults[fault] = conformance.Fault[*Rig]{Open: func() *Rig { return (&fake{fault: fault}).rig() }, Found: found}
	}
	conformance.TestFaults(t, checks, faults)
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
