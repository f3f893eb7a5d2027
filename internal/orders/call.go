package orders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
)

// callTimeout bounds one call of a provider, and applyTimeout the transaction that applies its answer.
const (
	callTimeout  = 30 * time.Second
	applyTimeout = 15 * time.Second
)

// WorkLimit bounds the work on an order: two calls, and the transactions around them.
const WorkLimit = 2*callTimeout + applyTimeout

// errInvalidOutcome is the error of a call whose answer is none.
var errInvalidOutcome = fmt.Errorf("orders: the provider's answer is no outcome: %w", &provider.Error{Class: provider.ClassUnreadable})

// errTestMode is the error of a call about a live order that was answered in test mode, where no money moves.
var errTestMode = errors.New("orders: the provider answered in its test mode about a live order")

// providerFunc calls a provider for one order: it submits the order, or asks for its status.
type providerFunc = func(context.Context) (provider.Result, error)

// Call is one attempt at an order. The first submits the order. A later one polls for its
// status, and submits it again if the provider has never seen it. It runs outside of any
// transaction.
type Call struct {
	Ref
	worker         api.Caller // for whom a worker applies the result
	flow           *Flow
	to             provider.Order // as the provider gets it
	first          bool           // the provider cannot know the order yet
	submit, status providerFunc
	// report is what the observer gets for the attempt; Do adds the outcome.
	report work.Report
	// stopRenewal stops renewing the lease of the record.
	stopRenewal func()
}

// ApplyFunc applies a provider's result to an order in the caller's transaction. The zero result
// stands for a call that failed.
type ApplyFunc = func(context.Context, *engine.Tx, Ref, provider.Result) (Decision, error)

// Do submits the order, or polls for its status, and applies the result. On the first attempt
// this is the call that moves the money. Workers call it, and so does a merchant's call that
// is answered with the outcome, so that both take the same steps.
//
// It returns the provider's result, which is zero if the call failed, and the decision. A
// contradiction is the error provider.ErrContradicted. Do applies the result even if ctx ends
// after the provider was called.
func (c *Call) Do(ctx context.Context, e *engine.Engine, caller api.Caller, apply ApplyFunc) (provider.Result, Decision, error) {
	result, callErr := c.submitOrPoll(ctx)
	if result.TestMode && caller.Live {
		result, callErr = provider.Result{}, errTestMode
	}
	report, failed := c.report, classOf(callErr)
	report.Name, report.Provider, report.ErrorClass = string(result.Outcome), c.provider(callErr), string(failed)
	switch { // the error may quote the number; the log must not
	case failed == provider.ClassAmountMismatch:
		result = provider.Result{Outcome: provider.InProgress} // an answer, which decides nothing
		apply = c.listMismatch(apply, callErr)
	case callErr != nil:
		report.Name, report.Level, report.Err = "no_answer", slog.LevelWarn, callErr
		apply = c.noteClass(apply, failed)
	case movedOther(result, c.to.Amount):
		report.ErrorClass = string(provider.ClassAmountMismatch)
	}
	mismatch := report.ErrorClass == string(provider.ClassAmountMismatch)
	if mismatch { // the line that needs a person is the contradiction's own
		report.Name, report.Level, report.Err = contradictionReport.Name, slog.LevelWarn, contradictionReport.Err
	}
	applying, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	caller.RequestID = report.RequestID // a contradiction is reported under the request that made the order
	decision, err := applyInOwnTx(applying, e, caller, c.Ref, result, apply)
	if errors.Is(err, provider.ErrContradicted) {
		report.Name, report.Level, report.Err = contradictionReport.Name, contradictionReport.Level, contradictionReport.Err
	}
	observed := work.SetReport(ctx, report)
	if callErr != nil && !mismatch && !observed {
		e.Log.WarnContext(ctx, "the provider did not answer, and is asked again later", c.Object, c.Record, string(c.flow.Name), c.ID,
			"provider", report.Provider, "error", report.ErrorClass)
	}
	if e.NoteCall != nil && c.to.Live {
		e.NoteCall(report.Provider, report.ErrorClass, e.Clock())
	}
	return result, decision, err
}

// provider names the provider of the call: by the order's route, by the error's, or as "rail" or "charger".
func (c *Call) provider(failed error) string {
	var e *provider.Error
	switch {
	case c.to.Route != "":
		return c.to.Route
	case errors.As(failed, &e) && check.Route(e.Route):
		return e.Route
	case c.flow.Name == provider.Transfers:
		return "rail"
	}
	return "charger"
}

// classOf returns the class of a failed call's error; "" for nil.
func classOf(err error) provider.Class {
	var e *provider.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		switch e.Class {
		case provider.ClassUnauthorized, provider.ClassUnreachable, provider.ClassTimeout, provider.ClassThrottled,
			provider.ClassRefused, provider.ClassUnreadable, provider.ClassAmountMismatch:
			return e.Class
		}
	}
	return provider.ClassOther
}

// noteClass returns an ApplyFunc that also notes in the index how the call has failed.
func (c *Call) noteClass(apply ApplyFunc, failed provider.Class) ApplyFunc {
	return func(ctx context.Context, tx *engine.Tx, ref Ref, r provider.Result) (Decision, error) {
		decision, err := apply(ctx, tx, ref, r)
		if err == nil {
			err = c.flow.noteError(tx, ref.ID, failed)
		}
		return decision, err
	}
}

// listMismatch returns an ApplyFunc that also lists the order for a person, because the call has failed with
// another amount than the order's.
func (c *Call) listMismatch(apply ApplyFunc, failed error) ApplyFunc {
	cause, why := Cause{Problem: otherAmount}, fmt.Sprintf("the provider reports another amount or currency than %d pesewas", c.to.Amount)
	var e *provider.Error
	if errors.As(failed, &e) && e.Amount > 0 && e.Amount != c.to.Amount {
		cause.Amount, why = e.Amount, fmt.Sprintf("the provider reports %d pesewas, and not %d", e.Amount, c.to.Amount)
	}
	return func(ctx context.Context, tx *engine.Tx, ref Ref, r provider.Result) (Decision, error) {
		decision, err := apply(ctx, tx, ref, r)
		if err == nil {
			order := &Order{Submission: &Submission{Route: c.provider(failed)}, Ref: ref, Flow: c.flow}
			err = order.needsPerson(ctx, tx, cause, why, provider.ClassAmountMismatch)
		}
		return decision, err
	}
}

// Work is Do for a worker, in the order's scope. A contradiction is no error: it is on record,
// and not to be tried again.
func (c *Call) Work(ctx context.Context, e *engine.Engine, apply ApplyFunc) error {
	_, _, err := c.Do(ctx, e, c.worker, apply)
	if errors.Is(err, provider.ErrContradicted) {
		return nil
	}
	return err
}

// applyInOwnTx applies a result in a transaction of its own for the caller. It returns a contradiction as
// provider.ErrContradicted, and the transaction still commits what apply noted of it.
func applyInOwnTx(ctx context.Context, e *engine.Engine, caller api.Caller, ref Ref, r provider.Result, apply ApplyFunc) (decision Decision, err error) {
	err = e.Update(ctx, caller, func(tx *engine.Tx) (err error) {
		decision, err = apply(ctx, tx, ref, r)
		return err
	})
	if err == nil && decision == Contradicted {
		err = provider.ErrContradicted
	}
	return decision, err
}

// submitOrPoll submits the order on the first attempt. Later it polls for the status, and
// submits the order again only if the provider has never seen it. A panic is an error, and
// so is a result with an unknown outcome.
//
// It stops renewing the lease of the record. What is left of the lease, up to work.LeaseDuration,
// covers the transaction that applies the result.
func (c *Call) submitOrPoll(ctx context.Context) (provider.Result, error) {
	if c.stopRenewal != nil {
		defer c.stopRenewal()
	}
	if !c.first {
		result, err := callProvider(ctx, c.status)
		switch {
		case err != nil:
			return provider.Result{}, err
		case result.Outcome.Known():
			return result, nil
		case result.Outcome != provider.NotFound:
			return provider.Result{}, errInvalidOutcome
		}
	}
	result, err := callProvider(ctx, c.submit)
	if err == nil && !result.Outcome.Known() {
		err = errInvalidOutcome
	}
	if err != nil {
		return provider.Result{}, err
	}
	return result, nil
}

func callProvider(ctx context.Context, call providerFunc) (provider.Result, error) {
	return work.CallHost(ctx, callTimeout, call)
}

// CallHost calls a host's code once, for at most 30 seconds; see [work.CallHost].
func CallHost[I, R any](ctx context.Context, do func(context.Context, I) (R, error), in I) (R, error) {
	return work.CallHost(ctx, callTimeout, func(ctx context.Context) (R, error) { return do(ctx, in) })
}
