package chargertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/conformance"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The simulated charger of test mode keeps all promises that need no memory. It does not remember
// which charges and refunds it has seen, so it skips four checks.
func TestSimulated(t *testing.T) {
	needMemory := map[string]bool{
		"charge: an unknown order": true, "refund: an unknown order": true,
		"refund: more than the charge": true, "refund: of a refused charge": true,
	}
	for _, c := range checks {
		if needMemory[c.Name] {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			expect.NoError(t, c.Run(t, &Rig{
				Charger: provider.Simulated{}, Paid: Payer{"pm_1"}, Refused: Payer{"pm_fail_1"},
				RefundRefused: Payer{"pm_refund_fail_1"}, RefundSlow: Payer{"pm_refund_slow_1"},
			}), "run")
		})
	}
}

// fake is a provider and its charger in one.
type fake struct {
	mu       sync.Mutex
	orders   map[string]*order
	moved    map[string]int
	loseNext string
	// a fault to switch on, such as "refund: moves twice"
	fault string
}

type order struct {
	provider.Order
	method, charge string // charge is empty for a charge
	outcome        provider.Outcome
	back           int64 // refunded of a charge
}

// bad reports whether the provider has that fault for the flow of the order.
func (p *fake) bad(o *order, fault string) bool {
	return o.charge == "" && p.fault == "charge: "+fault || o.charge != "" && p.fault == "refund: "+fault
}

const (
	paid, refused, slow       = "pm_paid_241234561", "pm_refused_241234562", "pm_slow_241234563"
	refundRefused, refundSlow = "pm_refund_refused_241234564", "pm_refund_slow_241234565"
	key                       = "sk_fake"
)

func (p *fake) Charge(ctx context.Context, c provider.Charge) (provider.Result, error) {
	return p.submit(ctx, &order{Order: c.Order, method: c.PaymentMethod})
}

func (p *fake) ChargeStatus(_ context.Context, c provider.Charge) (provider.Result, error) {
	return p.status(&order{Order: c.Order, method: c.PaymentMethod})
}

func (p *fake) Refund(ctx context.Context, r provider.Refund) (provider.Result, error) {
	return p.submit(ctx, &order{Order: r.Order, method: r.PaymentMethod, charge: r.Charge})
}

func (p *fake) RefundStatus(_ context.Context, r provider.Refund) (provider.Result, error) {
	return p.status(&order{Order: r.Order, method: r.PaymentMethod, charge: r.Charge})
}

// submit takes an order. The second call for an id has the outcome of the first.
func (p *fake) submit(ctx context.Context, o *order) (provider.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lose := p.loseNext
	p.loseNext = ""
	if ctx.Err() != nil && p.bad(o, "moves though cancelled") {
		p.moved[o.ID]++
	}
	if ctx.Err() != nil || lose == "request" {
		return p.lost(o)
	}
	known := p.orders[o.ID]
	switch {
	case known == nil:
		o.outcome = p.decide(o)
		p.orders[o.ID] = o
		known = o
		if o.outcome == provider.Paid && !(p.bad(o, "takes orders alike for one") && p.has(o)) {
			p.moved[o.ID]++
		}
	case p.bad(o, "refuses repetitions"):
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "Duplicate reference."}}, nil
	case p.bad(o, "moves twice") && known.outcome == provider.Paid:
		p.moved[o.ID]++
	case p.bad(o, "pays what it refused") && known.outcome == provider.Refused:
		p.moved[o.ID]++
	}
	if lose == "answer" {
		return p.lost(o)
	}
	return p.answer(known), nil
}

// decide decides an order. A refund is refused if the charge has no money left for it.
func (p *fake) decide(o *order) provider.Outcome {
	charge := p.orders[o.charge]
	switch {
	case o.charge == "" && o.method == refused, o.charge != "" && o.method == refundRefused:
		return provider.Refused
	case o.charge == "" && o.method == slow, o.charge != "" && o.method == refundSlow:
		return provider.InProgress
	case o.charge == "" || p.bad(o, "pays anything"):
		return provider.Paid
	case charge == nil || charge.outcome != provider.Paid || o.Amount > charge.Amount-charge.back:
		return provider.Refused
	}
	charge.back += o.Amount
	if p.bad(o, "pays all of a charge at once") {
		charge.back = charge.Amount
	}
	return provider.Paid
}

// has reports whether there is another order like this one.
func (p *fake) has(o *order) bool {
	for id, other := range p.orders {
		if id != o.ID && other.method == o.method && (other.charge != "") == (o.charge != "") {
			return true
		}
	}
	return false
}

func (p *fake) lost(o *order) (provider.Result, error) {
	switch {
	case p.bad(o, "takes loss for no"):
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "Time-out."}}, nil
	case p.bad(o, "quotes payers"):
		return provider.Result{}, errors.New("no answer for " + o.method)
	case p.bad(o, "quotes its key"):
		return provider.Result{}, errors.New("no answer with key " + key)
	}
	return provider.Result{}, errors.New("no answer")
}

func (p *fake) answer(o *order) provider.Result {
	outcome := o.outcome
	if p.bad(o, "guesses") && outcome == provider.InProgress {
		outcome = provider.Paid
	}
	if p.bad(o, "takes back what is refunded") && o.back > 0 {
		outcome = provider.Refused
	}
	r := provider.Result{Outcome: outcome, Reference: "r"}
	if outcome == provider.Refused {
		switch {
		case p.bad(o, "refuses without words"):
		case p.bad(o, "refuses by code only"):
			r.Reason.Code = api.RecipientUnavailable
		case p.bad(o, "quotes payers in refusals"):
			r.Reason.Message = o.method + " was declined."
		default:
			r.Reason.Message = "The payer declined."
		}
	}
	return r
}

func (p *fake) status(o *order) (provider.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lose := p.loseNext
	p.loseNext = ""
	if lose != "" {
		return p.lost(o)
	}
	if known := p.orders[o.ID]; known != nil && !p.bad(o, "forgets") {
		return p.answer(known), nil
	}
	switch {
	case p.bad(o, "moves when asked"):
		p.moved[o.ID]++
	case p.bad(o, "refuses the unknown"):
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "No such reference."}}, nil
	}
	return provider.Result{Outcome: provider.NotFound}, nil
}

// rig returns a rig on a new provider with that fault.
func rig(fault string) *Rig {
	p := &fake{orders: map[string]*order{}, moved: map[string]int{}, fault: fault}
	lose := func(what string) func() {
		return func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.loseNext = what
		}
	}
	return &Rig{
		Charger: p, Paid: Payer{paid}, Refused: Payer{refused}, Slow: Payer{slow},
		RefundRefused: Payer{refundRefused}, RefundSlow: Payer{refundSlow}, Secrets: []string{key},
		Moved: func(id string) int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.moved[id]
		},
		Received: func(id string) decimal.Decimal {
			p.mu.Lock()
			defer p.mu.Unlock()
			amount := api.FromPesewas(p.orders[id].Amount).Decimal
			if p.bad(p.orders[id], "rounds the amount") {
				return amount.Round(1)
			}
			return amount
		},
		LoseRequest: lose("request"), LoseAnswer: lose("answer"),
	}
}

func TestAGoodCharger(t *testing.T) {
	conformance.TestComplete(t, checks, func() *Rig { return rig("") })
	Run(t, func(*testing.T) Rig { return *rig("") })
}

// A charger with a fault fails the checks that must find it.
func TestBadChargers(t *testing.T) {
	faults := map[string]conformance.Fault[*Rig]{}
	for fault, found := range map[string][]string{
		"moves twice":                {"submitted twice", "submitted by many", "a lost answer"},
		"refuses repetitions":        {"submitted twice", "submitted by many", "a lost answer"},
		"moves when asked":           {"an unknown order"},
		"moves though cancelled":     {"a cancelled context"},
		"pays what it refused":       {"a refused order"},
		"refuses the unknown":        {"an unknown order", "a lost request"},
		"takes orders alike for one": {"two orders alike"},
		"takes loss for no":          {"a lost request", "a lost answer", "a cancelled context", "a status that gets lost"},
		"quotes payers":              {"a lost request", "a lost answer", "a cancelled context", "a status that gets lost"},
		"quotes its key":             {"a lost request", "a lost answer"},
		"rounds the amount":          {"what the provider is told"},
		"refuses without words":      {"a refused order"},
		"refuses by code only":       {"a refused order"},
		"quotes payers in refusals":  {"a refused order"},
		"guesses":                    {"a slow order"},
		"forgets":                    {"a paid order"},
	} {
		for _, flow := range []string{"charge: ", "refund: "} {
			prefixed := make([]string, len(found))
			for i, name := range found {
				prefixed[i] = flow + name
			}
			faults[flow+fault] = conformance.Fault[*Rig]{Open: func() *Rig { return rig(flow + fault) }, Found: prefixed}
		}
	}
	for fault, found := range map[string][]string{
		"refund: pays anything":                {"refund: more than the charge", "refund: of a refused charge"},
		"refund: pays all of a charge at once": {"refund: several of one charge"},
		"charge: takes back what is refunded":  {"refund: leaves its charge paid"},
	} {
		faults[fault] = conformance.Fault[*Rig]{Open: func() *Rig { return rig(fault) }, Found: found}
	}
	conformance.TestFaults(t, checks, faults)
}

// A charger that gives no refunds passes without the checks of refunds.
func TestChargerWithoutRefunds(t *testing.T) {
	Run(t, func(*testing.T) Rig {
		r := rig("")
		r.Charger = struct{ provider.Charger }{r.Charger}
		return *r
	})
}

func TestChaosKeepsTheContract(t *testing.T) {
	refunded := 0
	for seed := range uint64(200) {
		c := NewChaos(seed)
		charge := provider.Charge{Order: provider.Order{ID: "att_1", Amount: 100}}
		refunds := make([]provider.Refund, 3) // there is money for one only
		for i := range refunds {
			refunds[i] = provider.Refund{Order: provider.Order{ID: fmt.Sprint("re_", i), Amount: 60}, Charge: charge.ID}
		}
		for range 10 {
			_, _ = c.Charge(t.Context(), charge)
			_, _ = c.ChargeStatus(t.Context(), charge)
		}
		for range 10 {
			for _, r := range refunds {
				_, _ = c.Refund(t.Context(), r)
				_, _ = c.RefundStatus(t.Context(), r)
			}
		}
		c.Settle()
		reported := map[string]provider.Result{}
		for _, b := range c.Callbacks() {
			reported[b.ID] = b.Result
		}
		check := func(id string, result provider.Result, err error) int {
			moved := c.Moved(id)
			if err != nil || (result.Outcome == provider.Paid) != (moved == 1) || moved > 1 ||
				result.Outcome != provider.NotFound && (result.Outcome == provider.InProgress || reported[id] != result) {
				t.Errorf("seed %d, %s: %+v, %v, moved %d, reported %+v", seed, id, result, err, moved, reported[id])
			}
			return moved
		}
		result, err := c.ChargeStatus(t.Context(), charge)
		taken, back := check(charge.ID, result, err), 0
		for _, r := range refunds {
			result, err := c.RefundStatus(t.Context(), r)
			back += check(r.ID, result, err)
		}
		expect.True(t, back <= taken && len(c.Callbacks()) == 0, "seed %d: %d charges and %d refunds, or a callback twice", seed, taken, back)
		refunded += back
	}
	expect.True(t, refunded > 50, "only %d refunds in 200 runs", refunded)
}
