package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
)

// callTimeout bounds one call of a provider, and bookTimeout the booking of its answer.
const (
	callTimeout = 30 * time.Second
	bookTimeout = 15 * time.Second
)

// WorkLimit bounds the work on an order: two calls, and the transactions around them.
const WorkLimit = 2*callTimeout + bookTimeout

// The errors of a call. They leave out the value of a host's panic, which may quote numbers.
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
	word           string // the name of the order in the log
	first          bool   // the provider cannot know the order yet
	submit, status Ask
	// report is the attempt for the observer, without its outcome.
	report  work.Outcome
	release func() // ends the lease of the record
}

// Book books a provider's result for an order, in the caller's transaction. The zero result
// stands for a lost answer.
type Book = func(context.Context, *engine.Tx, Ref, provider.Result) (Decision, error)

// Do asks the provider and books the answer. Workers call it, and so does a merchant's call
// that is answered with the outcome, so that both take the same steps.
//
// It returns the provider's result, which is zero if no answer came, and the decision. A
// contradiction is the error provider.ErrContradicted. Do books the answer of a call even if ctx
// ends meanwhile.
func (c *Call) Do(ctx context.Context, e *engine.Engine, caller api.Caller, book Book) (provider.Result, Decision, error) {
	result, failed := c.ask(ctx)
	said := c.report
	said.Name = string(result.Outcome)
	if failed != nil { // the error may quote the number; the log must not
		said.Name, said.Level, said.Err = "no_answer", slog.LevelWarn, failed
	}
	booking, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTimeout)
	defer cancel()
	caller.RequestID = said.RequestID
	decision, err := Apply(booking, e, caller, c.Ref, result, book)
	if errors.Is(err, provider.ErrContradicted) {
		said.Name, said.Level, said.Err = contradicted.Name, contradicted.Level, contradicted.Err
	}
	if !work.SetReport(ctx, said) && failed != nil {
		e.Log.WarnContext(ctx, "the provider did not answer, and is asked again later", c.Object, c.Record, c.word, c.ID)
	}
	return result, decision, err
}

// Apply books a result in its own transaction for the caller. It notes a contradiction, and
// returns it as provider.ErrContradicted.
func Apply(ctx context.Context, e *engine.Engine, caller api.Caller, ref Ref, r provider.Result, book Book) (decision Decision, err error) {
	err = e.Update(ctx, caller, func(tx *engine.Tx) (err error) {
		decision, err = book(ctx, tx, ref, r)
		return err
	})
	if err == nil && decision == Contradict {
		err = provider.ErrContradicted
	}
	return decision, err
}

// ask submits an order the first time. Later it asks for the status, and submits the order again
// only if the provider does not know it. A panic is an error, and so is an answer without a valid
// outcome. ask ends the lease of the record.
func (c *Call) ask(ctx context.Context) (provider.Result, error) {
	if c.release != nil {
		defer c.release()
	}
	if !c.first {
		result, err := try(ctx, c.status)
		switch {
		case err != nil:
			return provider.Result{}, err
		case result.Outcome.Known():
			return result, nil
		case result.Outcome != provider.NotFound:
			return provider.Result{}, errNoAnswer
		}
	}
	result, err := try(ctx, c.submit)
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
