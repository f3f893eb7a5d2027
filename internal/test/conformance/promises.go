package conformance

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/provider"
)

// amount is that of most orders, in pesewas.
const amount = 435

// promise is a promise of every flow. run gets a new order with that outcome.
type promise struct {
	name    string
	outcome provider.Outcome
	run     func(t *testing.T, f *Flow, o *Order) error
}

// Promises returns the checks of a flow. Their names begin with prefix.
func Promises[R any](prefix string, flow func(R) *Flow) []Check[R] {
	checks := make([]Check[R], 0, len(promises))
	for _, p := range promises {
		checks = append(checks, Check[R]{prefix + p.name, func(t *testing.T, r R) error {
			f := flow(r)
			o, err := f.New(t, amount, p.outcome)
			if err != nil {
				return err
			}
			return p.run(t, f, o)
		}})
	}
	return checks
}

var promises = []promise{
	{"a paid order", provider.Paid, func(t *testing.T, _ *Flow, o *Order) error {
		return errors.Join(o.Want(t, o.Submit, provider.Paid), o.Want(t, o.Status, provider.Paid), o.WantMoved(1))
	}},
	{"what the provider is told", provider.Paid, func(t *testing.T, f *Flow, o *Order) error {
		if o.Received == nil {
			t.Skip("the rig cannot tell what the provider received")
		}
		for _, amount := range []int64{1, 115, 435, 841, 1999, 100_00, 20_000_00} {
			o, err := f.New(t, amount, provider.Paid)
			if err != nil {
				return err
			}
			if err := errors.Join(o.Want(t, o.Submit, provider.Paid), o.Received()); err != nil {
				return err
			}
		}
		return nil
	}},
	{"submitted twice", provider.Paid, func(t *testing.T, _ *Flow, o *Order) error {
		for range 3 {
			if err := o.Want(t, o.Submit, provider.Paid); err != nil {
				return err
			}
		}
		return o.WantMoved(1)
	}},
	{"submitted by many", provider.Paid, func(t *testing.T, _ *Flow, o *Order) error {
		errs := make([]error, 16)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = o.Want(t, o.Submit, provider.Paid) })
		}
		all.Wait()
		return errors.Join(append(errs, o.WantMoved(1))...)
	}},
	{"two orders alike", provider.Paid, func(t *testing.T, f *Flow, o *Order) error {
		other, err := f.New(t, o.Amount, provider.Paid)
		if err != nil {
			return err
		}
		return errors.Join(o.Want(t, o.Submit, provider.Paid), other.Want(t, other.Submit, provider.Paid), other.WantMoved(1),
			o.Want(t, o.Status, provider.Paid), o.Want(t, o.Submit, provider.Paid), o.WantMoved(1))
	}},
	{"an unknown order", provider.Paid, func(t *testing.T, _ *Flow, o *Order) error {
		return errors.Join(o.Want(t, o.Status, provider.NotFound), o.WantMoved(0))
	}},
	{"a refused order", provider.Refused, func(t *testing.T, _ *Flow, o *Order) error {
		return errors.Join(o.Want(t, o.Submit, provider.Refused), o.Want(t, o.Status, provider.Refused),
			o.Want(t, o.Submit, provider.Refused), o.WantMoved(0))
	}},
	{"a slow order", provider.InProgress, func(t *testing.T, _ *Flow, o *Order) error {
		return errors.Join(o.Want(t, o.Submit, provider.InProgress), o.Want(t, o.Status, provider.InProgress), o.WantMoved(0))
	}},
	{"a lost request", provider.Paid, func(t *testing.T, f *Flow, o *Order) error {
		Lose(t, f.LoseRequest)
		return errors.Join(o.WantError(t, o.Submit), o.WantMoved(0), o.Want(t, o.Status, provider.NotFound),
			o.Want(t, o.Submit, provider.Paid), o.WantMoved(1))
	}},
	{"a lost answer", provider.Paid, func(t *testing.T, f *Flow, o *Order) error {
		Lose(t, f.LoseAnswer)
		return errors.Join(o.WantError(t, o.Submit), o.Want(t, o.Status, provider.Paid),
			o.Want(t, o.Submit, provider.Paid), o.WantMoved(1))
	}},
	{"a status that gets lost", provider.Paid, func(t *testing.T, f *Flow, o *Order) error {
		if err := o.Want(t, o.Submit, provider.Paid); err != nil {
			return err
		}
		Lose(t, f.LoseAnswer)
		return errors.Join(o.wantIfAnswered(t.Context(), o.Status), o.WantMoved(1))
	}},
	{"a cancelled context", provider.Paid, func(t *testing.T, _ *Flow, o *Order) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return errors.Join(o.wantIfAnswered(ctx, o.Submit), o.Want(t, o.Submit, provider.Paid), o.WantMoved(1))
	}},
}

// Lose has the next call lost, with a hook of the rig. Without the hook it skips the test.
func Lose(t *testing.T, hook func()) {
	t.Helper()
	if hook == nil {
		t.Skip("the rig cannot lose it")
	}
	hook()
}
