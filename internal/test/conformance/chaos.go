package conformance

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Chaos is a faulty provider that still keeps the contract: it carries out one order for one id.
// railtest.Chaos and chargertest.Chaos describe it.
type Chaos struct {
	mu        sync.Mutex
	dice      *rand.Rand
	orders    map[string]*fate
	callbacks []callback
	calm      bool
}

type callback struct {
	id     string
	result provider.Result
}

type fate struct {
	outcome provider.Outcome
	moved   int
	amount  int64
	charge  string // of a refund
	back    int64  // refunded of a charge
}

var errLost = errors.New("conformance: the provider does not answer")

// NewChaos returns a provider without orders.
func NewChaos(seed uint64) *Chaos {
	return &Chaos{dice: rand.New(rand.NewPCG(seed, seed)), orders: map[string]*fate{}}
}

// Submit submits an order. charge is the id of the charge that a refund gives back, and empty
// for other orders.
func (c *Chaos) Submit(o provider.Order, charge string) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.calm && c.dice.IntN(4) == 0 {
		return provider.Result{}, errLost // and so was the request
	}
	if c.orders[o.ID] == nil {
		c.orders[o.ID] = &fate{outcome: provider.InProgress, amount: o.Amount, charge: charge}
	}
	return c.answer(o.ID)
}

// Status returns the state of an order.
func (c *Chaos) Status(id string) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.orders[id] == nil {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return c.answer(id)
}

func (c *Chaos) answer(id string) (provider.Result, error) {
	c.decide(id)
	if !c.calm && c.dice.IntN(3) == 0 {
		return provider.Result{}, errLost
	}
	return c.result(id), nil
}

// decide may decide an order that is in progress. It then calls back, perhaps twice.
func (c *Chaos) decide(id string) {
	f := c.orders[id]
	if f.outcome != provider.InProgress {
		return
	}
	switch n := c.dice.IntN(6); {
	case n < 2, c.calm && n < 4:
		c.pay(f)
	case n < 3, c.calm:
		f.outcome = provider.Refused
	default:
		return
	}
	for range 1 + c.dice.IntN(2) {
		at := c.dice.IntN(len(c.callbacks) + 1)
		c.callbacks = slices.Insert(c.callbacks, at, callback{id, c.result(id)})
	}
}

// pay moves the money. It refuses a refund for which the charge has no money left.
func (c *Chaos) pay(f *fate) {
	if f.charge != "" {
		charge := c.orders[f.charge]
		if charge == nil || charge.outcome != provider.Paid || f.amount > charge.amount-charge.back {
			f.outcome = provider.Refused
			return
		}
		charge.back += f.amount
	}
	f.outcome = provider.Paid
	f.moved++
}

func (c *Chaos) result(id string) provider.Result {
	r := provider.Result{Outcome: c.orders[id].outcome, Reference: "chaos-" + id}
	if r.Outcome == provider.Refused {
		r.Reason = provider.Refusal{Code: api.RecipientUnavailable, Message: "The provider refused the order."}
	}
	return r
}

// TakeCallbacks passes the new callbacks to report.
func (c *Chaos) TakeCallbacks(report func(id string, r provider.Result)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.callbacks {
		report(b.id, b.result)
	}
	c.callbacks = nil
}

// Moved returns how often money moved for an order.
func (c *Chaos) Moved(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.orders[id]; f != nil {
		return f.moved
	}
	return 0
}

// Settle decides every order. From then on every call is answered.
func (c *Chaos) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
	for _, id := range slices.Sorted(maps.Keys(c.orders)) { // charges, att_… and pay_…, before their refunds, re_…
		c.decide(id)
	}
}
