package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
)

// callTimeout bounds one call of a provider.
const callTimeout = 30 * time.Second

// WorkLimit bounds the work on an order: two calls, and the transactions around them.
const WorkLimit = 2*callTimeout + 15*time.Second

// The errors of a call. What a host's code panicked with may quote numbers, so the error
// leaves it out.
var (
	errPanicked = errors.New("dispatch: the host's code panicked")
	errNoAnswer = errors.New("dispatch: the provider's answer is no outcome")
)

// Ask asks a provider about one order.
type Ask = func(context.Context) (provider.Result, error)

// Call is one attempt to learn the outcome of an order. It runs outside of any
// transaction.
type Call struct {
	Ref
	// First says that the provider cannot know the order yet.
	First          bool
	Submit, Status Ask
	// Report is what the observer is told of the attempt, but for the outcome.
	Report work.Outcome

	release func() // ends the lease of the record
}

// Ask submits an order the first time. Later it asks for the status, and submits the order
// again only if the provider has never seen it. A panic is an error, and so is an answer
// that is no outcome. Ask ends the lease of the record.
func (c *Call) Ask(ctx context.Context) (provider.Result, error) {
	if c.release != nil {
		defer c.release()
	}
	if !c.First {
		result, err := try(ctx, c.Status)
		switch {
		case err != nil:
			return provider.Result{}, err
		case result.Outcome.Known():
			return result, nil
		case result.Outcome != provider.NotFound:
			return provider.Result{}, errNoAnswer
		}
	}
	result, err := try(ctx, c.Submit)
	if err == nil && !result.Outcome.Known() {
		err = errNoAnswer
	}
	if err != nil {
		return provider.Result{}, err
	}
	return result, nil
}

func try(ctx context.Context, ask Ask) (provider.Result, error) {
	return Try(ctx, func(ctx context.Context, _ struct{}) (provider.Result, error) { return ask(ctx) }, struct{}{})
}

// Try calls a host's code once, for at most 30 seconds. A panic is an error like any
// other.
func Try[I, R any](ctx context.Context, do func(context.Context, I) (R, error), in I) (result R, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	return do(ctx, in)
}
