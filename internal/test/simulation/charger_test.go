package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/provider"
)

// charger is the world as a charger: of payment methods, and of phones whose owners approve late,
// enter codes, decline, and now and then are charged though the charger reported a refusal.
type charger struct{ *world }

// prompt is a charge of a phone.
type prompt struct {
	deadline time.Time
	// asksCode says that the payer must enter a code, and typed that the right one came.
	asksCode, typed bool
	// late says that the payer decides after the deadline.
	late bool
	// contradicts says that the charger takes the money after it has reported a refusal, and
	// reports that when it is asked again (recheck), or by a callback.
	contradicts, recheck bool
	// refused says that the service was told of the refusal.
	refused bool
}

// rightCode is the code that every payer gets.
const rightCode = "123456"

func (c charger) Charge(ctx context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.orders[charge.ID] != nil
	if err := c.told(charge.ID, charge.Amount); err != nil {
		return provider.Result{}, err
	}
	if o := c.orders[charge.ID]; !known && charge.Phone != "" {
		if !charge.Now.Before(charge.Deadline) {
			c.problems = append(c.problems, fmt.Sprintf("the payer of %s is asked at %s, after %s", charge.ID, charge.Now, charge.Deadline))
		}
		does := c.roll(8, charge.ID, "payer")
		o.phone = &prompt{
			deadline: charge.Deadline, asksCode: does < 2, late: does > 4,
			contradicts: c.roll(3, charge.ID, "contradicts") == 0, recheck: c.roll(2, charge.ID, "recheck") == 0,
		}
		if c.roll(4, charge.ID, "callback first") == 0 {
			c.callBackFirst(ctx, charge)
		}
	}
	return c.answer(charge)
}

// callBackFirst reports the charge before Charge has answered. If that fails, the callback comes
// again.
func (c charger) callBackFirst(ctx context.Context, charge provider.Charge) {
	c.waiting(charge)
	result := c.decide(charge.ID).chargeResult(charge.ID)
	c.mu.Unlock()
	err := c.notify(ctx, charge.ID, result)
	c.mu.Lock()
	if err != nil {
		c.callbacks = append(c.callbacks, charge.ID)
		return
	}
	c.reported(charge.ID, result)
}

func (c charger) ChargeStatus(_ context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.orders[charge.ID]
	if o == nil {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	if o.phone != nil && o.phone.recheck {
		c.contradict(charge.ID)
	}
	return c.answer(charge)
}

// ConfirmCharge makes the charger one that takes codes.
func (c charger) ConfirmCharge(_ context.Context, charge provider.Charge, code string) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.orders[charge.ID]
	if o == nil || !c.calm && c.roll(5, charge.ID, "confirmation") == 0 {
		return provider.Result{}, errLost
	}
	o.phone.typed = o.phone.typed || code == rightCode
	return c.answer(charge)
}

// SubmitAfter lets some payments of test mode wait before they are submitted.
func (charger) SubmitAfter(charge provider.Charge) time.Duration {
	if strings.HasSuffix(charge.Phone, "7") {
		return 25 * time.Second
	}
	return 0
}

// waiting notes whether the payer lets the charger wait.
func (c charger) waiting(charge provider.Charge) {
	if o := c.orders[charge.ID]; o.phone != nil {
		o.waits = !c.calm && (o.phone.asksCode && !o.phone.typed || o.phone.late && charge.Now.Before(o.phone.deadline))
	}
}

func (c charger) answer(charge provider.Charge) (provider.Result, error) {
	c.waiting(charge)
	o := c.decide(charge.ID)
	if c.lost(charge.ID) {
		return provider.Result{}, errLost
	}
	result := o.chargeResult(charge.ID)
	c.reported(charge.ID, result)
	return result, nil
}

// reported notes what the service was told.
func (w *world) reported(id string, r provider.Result) {
	if p := w.orders[id].phone; p != nil && r.Outcome == provider.Refused {
		p.refused = true
	}
}

// contradict takes the money of a charge that the charger has reported as refused.
func (w *world) contradict(id string) (now bool) {
	o := w.orders[id]
	if p := o.phone; p == nil || !p.contradicts || !p.refused || o.paid {
		return false
	}
	o.paid = true
	o.moved++
	return true
}

// contradictAll contradicts some refusals by callbacks, and all when the world is calm.
func (w *world) contradictAll() {
	for _, id := range slices.Sorted(maps.Keys(w.orders)) {
		if p := w.orders[id].phone; p == nil || p.recheck || !w.calm && w.roll(3, id, "contradict") != 0 {
			continue
		}
		if w.contradict(id) {
			w.callbacks = append(w.callbacks, id)
		}
	}
}

func (o *order) chargeResult(id string) provider.Result {
	switch {
	case !o.decided && o.phone == nil:
		return provider.Result{Outcome: provider.InProgress}
	case !o.decided:
		return provider.Result{Outcome: provider.InProgress, Prompt: "Approve it.", NeedsCode: o.phone.asksCode && !o.phone.typed}
	case o.reversed:
		return provider.Result{Outcome: provider.Reversed}
	case o.paid:
		return provider.Result{Outcome: provider.Paid, Network: "mtn", Reference: "ref-" + id}
	}
	refused := provider.Result{Outcome: provider.Refused}
	if o.phone != nil && o.phone.recheck {
		refused.PollAfter = time.Minute
	}
	return refused
}

// Refund and RefundStatus make the charger one that gives money back.
func (c charger) Refund(_ context.Context, r provider.Refund) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.told(r.ID, r.Amount); err != nil {
		return provider.Result{}, err
	}
	c.orders[r.ID].charge = r.Charge
	return c.refund(r.ID)
}

func (c charger) RefundStatus(_ context.Context, r provider.Refund) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.orders[r.ID] == nil {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return c.refund(r.ID)
}

func (c charger) refund(id string) (provider.Result, error) {
	o := c.decide(id)
	if c.lost(id) {
		return provider.Result{}, errLost
	}
	return o.refundResult(id), nil
}

// give takes what a refund gives back from its charge.
func (w *world) give(id string, o *order) {
	if o.charge == "" {
		return
	}
	charge := w.orders[o.charge]
	if charge == nil {
		w.problems = append(w.problems, fmt.Sprintf("%s gives back %s, which was never charged", id, o.charge))
		return
	}
	if charge.back += o.amount; charge.back > charge.amount*int64(charge.moved) {
		w.problems = append(w.problems, fmt.Sprintf("%s gives back more than %s has taken", id, o.charge))
	}
}

func (o *order) refundResult(id string) provider.Result {
	switch {
	case !o.decided:
		return provider.Result{Outcome: provider.InProgress, Reference: "ref-" + id}
	case o.paid:
		return provider.Result{Outcome: provider.Paid, Reference: "ref-" + id}
	}
	return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "The card is closed."}}
}
