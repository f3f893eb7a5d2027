package railtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Chaos is a faulty rail that still keeps the contract: one transfer for one id. It loses requests
// and answers, decides late or never, and repeats and delays callbacks. The same seed and the same
// order of calls give the same behaviour. It is safe for concurrent use.
type Chaos struct {
	mu        sync.Mutex
	dice      *rand.Rand
	orders    map[string]*fate
	callbacks []Callback
	calm      bool
}

// Callback is what a provider would report.
type Callback struct {
	ID     string
	Result provider.Result
}

type fate struct {
	outcome provider.Outcome
	moved   int
}

var errLost = errors.New("railtest: the provider does not answer")

// NewChaos returns a rail without orders.
func NewChaos(seed uint64) *Chaos {
	return &Chaos{dice: rand.New(rand.NewPCG(seed, seed)), orders: map[string]*fate{}}
}

// Submit implements [provider.Rail].
func (c *Chaos) Submit(_ context.Context, o provider.Transfer) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.calm && c.dice.IntN(4) == 0 {
		return provider.Result{}, errLost // and so was the request
	}
	if c.orders[o.ID] == nil {
		c.orders[o.ID] = &fate{outcome: provider.InProgress}
	}
	return c.answer(o.ID)
}

// Status implements [provider.Rail].
func (c *Chaos) Status(_ context.Context, o provider.Transfer) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.orders[o.ID] == nil {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return c.answer(o.ID)
}

func (c *Chaos) answer(id string) (provider.Result, error) {
	c.decide(id)
	if !c.calm && c.dice.IntN(3) == 0 {
		return provider.Result{}, errLost
	}
	return c.result(id), nil
}

// decide may make up the provider's mind, and then calls back, perhaps twice.
func (c *Chaos) decide(id string) {
	f := c.orders[id]
	if f.outcome != provider.InProgress {
		return
	}
	switch n := c.dice.IntN(6); {
	case n < 2, c.calm && n < 4:
		f.outcome = provider.Paid
		f.moved++
	case n < 3, c.calm:
		f.outcome = provider.Refused
	default:
		return
	}
	for range 1 + c.dice.IntN(2) {
		at := c.dice.IntN(len(c.callbacks) + 1)
		c.callbacks = append(c.callbacks, Callback{})
		copy(c.callbacks[at+1:], c.callbacks[at:])
		c.callbacks[at] = Callback{id, c.result(id)}
	}
}

func (c *Chaos) result(id string) provider.Result {
	r := provider.Result{Outcome: c.orders[id].outcome, Reference: "chaos-" + id}
	if r.Outcome == provider.Refused {
		r.Reason = provider.Refusal{Code: api.RecipientUnavailable}
	}
	return r
}

// Callbacks returns the provider's new callbacks: late, out of order, and some of them twice. The
// test passes them to Notify of [provider.Service].
func (c *Chaos) Callbacks() []Callback {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending := c.callbacks
	c.callbacks = nil
	return pending
}

// Moved returns how often money was sent for an order: never more than once.
func (c *Chaos) Moved(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.orders[id]; f != nil {
		return f.moved
	}
	return 0
}

// Settle ends the chaos: every order is decided, and every call is answered.
func (c *Chaos) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
	for id := range c.orders {
		c.decide(id)
	}
}
