package chargertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// fake is a provider and its charger in one.
type fake struct {
	mu       sync.Mutex
	orders   map[string]*order
	moved    map[string]int
	last     string // the id of the last order that was submitted
	loseNext string
	// a fault to switch on, such as "refund: moves twice"
	fault string
}

type order struct {
	provider.Order
	payer   string // phone or payment method
	charge  string // empty for a charge
	outcome provider.Outcome
	asks    bool  // for a code
	back    int64 // refunded of a charge
}

// chargeOrder and refundOrder return what the provider learns of a charge or a refund.
func chargeOrder(c provider.Charge) *order {
	return &order{Order: c.Order, payer: c.Phone + c.PaymentMethod}
}

func refundOrder(r provider.Refund) *order {
	return &order{Order: r.Order, payer: r.Phone + r.PaymentMethod, charge: r.Charge}
}

// bad reports whether the provider has that fault for the flow of the order.
func (p *fake) bad(o *order, fault string) bool {
	return o.charge == "" && p.fault == "charge: "+fault || o.charge != "" && p.fault == "refund: "+fault
}

// The last digits of payers.
const (
	paid          = "1"
	refused       = "2"
	slow          = "3"
	refundRefused = "4"
	refundSlow    = "5"
	needsCode     = "6"
)

const key, code = "sk_fake", "717171"

// is reports whether the order is of that payer.
func (o *order) is(payer string) bool { return strings.HasSuffix(o.payer, payer) }

func (p *fake) Charge(ctx context.Context, c provider.Charge) (provider.Result, error) {
	if p.fault == "charge: gives up early" && c.Now.Sub(c.SubmittedAt) > 5*time.Minute ||
		p.fault == "charge: gives up by its own clock" && time.Since(c.SubmittedAt) > 5*time.Minute {
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "Time-out."}}, nil
	}
	return p.submit(ctx, chargeOrder(c))
}

func (p *fake) ChargeStatus(_ context.Context, c provider.Charge) (provider.Result, error) {
	if p.fault == "charge: gives up after attempts" && c.Attempts > 10 {
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "Time-out."}}, nil
	}
	return p.status(chargeOrder(c))
}

func (p *fake) ConfirmCharge(_ context.Context, c provider.Charge, with string) (provider.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lose := p.loseNext
	p.loseNext = ""
	o := p.orders[c.ID]
	if lose == "request" {
		return p.lost(o)
	}
	switch {
	case o.asks && (with == code || p.bad(o, "takes any code")):
		o.outcome, o.asks = provider.Paid, false
		p.moved[o.ID]++
	case o.asks && p.bad(o, "refuses a wrong code"):
		o.outcome, o.asks = provider.Refused, false
	case !o.asks && p.bad(o, "takes a code twice"):
		p.moved[o.ID]++
	case !o.asks && p.bad(o, "refuses a code twice"):
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "No code is wanted."}}, nil
	}
	if lose == "answer" {
		return p.lost(o)
	}
	return p.answer(o), nil
}

func (p *fake) RouteCharge(c provider.Charge) (string, bool) {
	switch {
	case p.fault == "charge: has a name that is none":
		return "Fake Pay", true
	case p.fault == "charge: changes its name" && c.Route != "":
		return "other", true
	}
	return "fake", true
}

func (p *fake) Refund(ctx context.Context, r provider.Refund) (provider.Result, error) {
	return p.submit(ctx, refundOrder(r))
}

func (p *fake) RefundStatus(_ context.Context, r provider.Refund) (provider.Result, error) {
	return p.status(refundOrder(r))
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
	known, last := p.orders[o.ID], p.last
	p.last = o.ID
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
	case p.bad(o, "moves twice") && known.outcome == provider.Paid,
		p.bad(o, "has a reference for each attempt") && known.outcome == provider.Paid && known.Attempts != o.Attempts,
		p.bad(o, "has a reference for each moment") && known.outcome == provider.Paid && !known.Now.Equal(o.Now),
		p.bad(o, "remembers the last order only") && known.outcome == provider.Paid && last != o.ID:
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
	case o.charge == "" && o.is(refused), o.charge != "" && o.is(refundRefused):
		return provider.Refused
	case o.charge == "" && o.is(slow), o.charge != "" && o.is(refundSlow):
		return provider.InProgress
	case o.charge == "" && o.is(needsCode):
		o.asks = true
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
		if id != o.ID && other.payer == o.payer && (other.charge != "") == (o.charge != "") {
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
		return provider.Result{}, errors.New("no answer for " + o.payer)
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
	r := provider.Result{Outcome: outcome, Reference: "r", NeedsCode: o.asks && outcome == provider.InProgress}
	if outcome == provider.Paid {
		r.Amount = o.Amount
	}
	if p.bad(o, "reports cedis") {
		r.Amount /= 100
	}
	national := "0" + strings.TrimPrefix(o.payer, "+233")
	switch {
	case p.bad(o, "asks the paid for a code"):
		r.NeedsCode = true
	case p.bad(o, "prompts at length"):
		r.Prompt = strings.Repeat("Approve! ", 100)
	case outcome == provider.InProgress && p.bad(o, "prompts with the number"):
		r.Prompt = "Approve on " + o.payer
	case outcome == provider.InProgress && p.bad(o, "prompts with the national number"):
		r.Prompt = "Approve on " + national
	case p.bad(o, "has the number as its reference"):
		r.Reference = strings.TrimPrefix(o.payer, "+")
	case outcome == provider.Refused && p.bad(o, "groups the number in refusals"):
		r.Reason.Message = "No wallet at " + national[:3] + " " + national[3:6] + "-" + national[6:]
		return r
	case outcome == provider.Refused && p.bad(o, "quotes the e-mail address"):
		r.Reason.Message = "payer@example.com declined."
		return r
	}
	if outcome == provider.Refused {
		switch {
		case p.bad(o, "refuses without words"):
		case p.bad(o, "refuses by code only"):
			r.Reason.Code = api.RecipientUnavailable
		case p.bad(o, "quotes payers in refusals"):
			r.Reason.Message = o.payer + " was declined."
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
	known := p.orders[o.ID]
	if known != nil && known.is(needsCode) && p.bad(o, "forgets the code") {
		return provider.Result{Outcome: provider.InProgress, NeedsCode: true}, nil
	}
	if known != nil && !p.bad(o, "forgets") {
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

// rig returns a rig by payment method on a new provider with that fault.
func rig(fault string) *Rig {
	return rigOf(fault, func(payer string) Payer { return Payer{PaymentMethod: "pm_24123456" + payer} })
}

// phoneRig returns a rig by phone on a new provider with that fault.
func phoneRig(fault string) *Rig {
	r := rigOf(fault, phonePayer)
	r.NeedsCode, r.Code = phonePayer(needsCode), code
	return r
}

func phonePayer(payer string) Payer { return Payer{Phone: "+23324123456" + payer, Network: "mtn"} }

func rigOf(fault string, payer func(string) Payer) *Rig {
	p := &fake{orders: map[string]*order{}, moved: map[string]int{}, fault: fault}
	lose := func(what string) func() {
		return func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.loseNext = what
		}
	}
	return &Rig{
		Charger: p, Paid: payer(paid), Refused: payer(refused), Slow: payer(slow),
		RefundRefused: payer(refundRefused), RefundSlow: payer(refundSlow), Secrets: []string{key},
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
