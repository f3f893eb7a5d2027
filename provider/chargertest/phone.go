package chargertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/provider"
)

// timeToAnswer is how long the payers of phone charges have until the deadline.
const timeToAnswer = 10 * time.Minute

// phoneChecks are the promises that hold for charges of phones alone.
var phoneChecks = []conformance.Check[*Rig]{
	{Name: "charge: a code", Run: func(t *testing.T, r *Rig) error {
		c, err := r.asked(t)
		if err != nil {
			return err
		}
		return errors.Join(c.asks(t, c.Status), c.asks(t, c.wrong), c.WantMoved(0),
			c.accepts(t, c.right), c.WantMoved(1), c.accepts(t, c.right), c.WantMoved(1))
	}},
	{Name: "charge: the state after a code", Run: func(t *testing.T, r *Rig) error {
		c, err := r.asked(t)
		if err != nil {
			return err
		}
		return errors.Join(c.asks(t, c.wrong), c.asks(t, c.Status), c.accepts(t, c.right), c.accepts(t, c.Status),
			c.accepts(t, c.Submit), c.WantMoved(1))
	}},
	{Name: "charge: a code with a lost request", Run: func(t *testing.T, r *Rig) error {
		c, err := r.asked(t)
		if err != nil {
			return err
		}
		conformance.Lose(t, r.LoseRequest)
		return errors.Join(c.WantError(t, c.right), c.WantMoved(0), c.asks(t, c.Status), c.accepts(t, c.right), c.WantMoved(1))
	}},
	{Name: "charge: a code with a lost answer", Run: func(t *testing.T, r *Rig) error {
		c, err := r.asked(t)
		if err != nil {
			return err
		}
		conformance.Lose(t, r.LoseAnswer)
		return errors.Join(c.WantError(t, c.right), c.accepts(t, c.Status), c.accepts(t, c.right), c.WantMoved(1))
	}},
	{Name: "charge: waits until its deadline", Run: func(t *testing.T, r *Rig) error {
		c := r.charge(t, 435, r.Slow)
		if c.Phone == "" {
			t.Skip("the payer has no phone")
		}
		// The charge began a while ago. So the check finds chargers that go by Now, by Attempts or
		// by a clock of their own.
		began, now := c.Now.Add(-timeToAnswer*9/10), c.Now
		c.CreatedAt, c.SubmittedAt, c.Now, c.Deadline = began, began, began, began.Add(timeToAnswer)
		first := r.order(c)
		c.Now, c.Attempts = now, 20
		later := r.order(c)
		return errors.Join(first.Want(t, first.Submit, provider.InProgress), later.Want(t, later.Status, provider.InProgress),
			later.Want(t, later.Submit, provider.InProgress), later.WantMoved(0))
	}},
}

// codeCharge is a charge that waits for a code.
type codeCharge struct {
	*conformance.Order
	right, wrong conformance.Call
}

func (r *Rig) asked(t *testing.T) (*codeCharge, error) {
	t.Helper()
	charge := r.charge(t, 435, r.NeedsCode)
	confirmer, ok := r.Charger.(provider.ChargeConfirmer)
	switch {
	case !ok:
		return nil, errors.New("the rig has a payer who needs a code, and the charger is no provider.ChargeConfirmer")
	case r.Code == "":
		return nil, errors.New("the rig has a payer who needs a code, and no code")
	}
	confirm := func(name, code string) conformance.Call {
		return conformance.Call{Name: name, Do: func(ctx context.Context) (provider.Result, error) {
			return confirmer.ConfirmCharge(ctx, charge, code)
		}}
	}
	c := &codeCharge{r.order(charge), confirm("ConfirmCharge", r.Code), confirm("ConfirmCharge with a wrong code", otherCode(r.Code))}
	return c, errors.Join(c.asks(t, c.Submit), c.WantMoved(0))
}

// otherCode returns a wrong code of the same form.
func otherCode(code string) string {
	last := byte('1')
	if code[len(code)-1] == last {
		last = '2'
	}
	return code[:len(code)-1] + string(last)
}

// asks makes a call, and returns an error unless the charge asks for a code.
func (c *codeCharge) asks(t *testing.T, call conformance.Call) error {
	return c.answers(t, call, provider.InProgress, true)
}

// accepts makes a call after the right code. The charge is paid, or in progress without asking.
func (c *codeCharge) accepts(t *testing.T, call conformance.Call) error {
	return c.answers(t, call, provider.Paid, false)
}

func (c *codeCharge) answers(t *testing.T, call conformance.Call, want provider.Outcome, needsCode bool) error {
	var result provider.Result
	err := c.Want(t, conformance.Call{Name: call.Name, Do: func(ctx context.Context) (_ provider.Result, err error) {
		result, err = call.Do(ctx)
		return result, err
	}}, want)
	if err == nil && result.NeedsCode != needsCode {
		err = fmt.Errorf("%s answers %q with NeedsCode %t, want %t", call.Name, result.Outcome, result.NeedsCode, needsCode)
	}
	return err
}
