package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Orders takes the orders that are records of type T from their first attempt to their outcome.
// The steps are the same for transfers, refunds and charges. Rules has what differs.
type Orders[T any] struct {
	Flow    *Flow
	Records *storage.Collection[T]
	// Object is that of [Ref], and Noun is what a refusal calls a record that is missing.
	Object, Noun string
	// Keep is how long a record keeps the number of the payer or recipient; zero keeps it for good.
	Keep  time.Duration
	Rules Rules[T]
	// Apply is ApplyResult of the [Maker], which calls ApplyResult of the Orders.
	Apply ApplyFunc
}

// Rules are what a package adds to the steps of its orders, in the transaction of the step.
type Rules[T any] interface {
	// State returns what the steps read and set of a record.
	State(r *T) State
	// Provider returns the provider that takes the order, or nil if none does now. It gives an order that
	// was not submitted yet its route.
	Provider(tx *engine.Tx, r *T, order provider.Order) (*Provider, error)
	// Processing notes that the provider may have the order from now on.
	Processing(tx *engine.Tx, r *T) error
	// Waiting notes a result that decides nothing. The zero result stands for a call that failed, and
	// for a provider that is missing.
	Waiting(tx *engine.Tx, r *T, result provider.Result) error
	// Ending prepares a record whose outcome is about to be recorded.
	Ending(tx *engine.Tx, r *T) error
	// Paid and Refused set the final status, and write what it moves in the ledger.
	Paid(ctx context.Context, tx *engine.Tx, r *T, providerFee int64) error
	Refused(ctx context.Context, tx *engine.Tx, r *T, result provider.Result) error
	// Ended does what follows from the outcome, after the record was written.
	Ended(tx *engine.Tx, r *T) error
}

// State is what the steps read and set of a record.
type State struct {
	Submission *Submission
	ID         string
	Amount     int64 // pesewas
	Network    string
	CreatedAt  api.Time
	// Recorded is what the status implies: a final outcome once the order has ended, and InProgress or
	// NotFound before. The steps set its amount.
	Recorded Recorded
	// Reference is the provider's; nil for none. SetReference sets it.
	Reference    *string
	SetReference func(*string)
	// Object is a pointer to what hosts see of the record.
	Object any
	// Forget removes the number of the payer or recipient.
	Forget func()
}

// Provider calls a provider for one order: it submits the order and asks for its status, one call at a time.
type Provider struct {
	Submit, Status func(context.Context, provider.Order) (provider.Result, error)
}

// Kind is what the records are stored as.
func (o *Orders[T]) Kind() *storage.Kind { return o.Records.Kind() }

// Ref names the order of a record.
func (o *Orders[T]) Ref(id string) Ref { return Ref{Object: o.Object, ID: id, Record: id} }

// Get reads a record of the caller's.
func (o *Orders[T]) Get(tx storage.ReadTx, caller api.Caller, id string) (*storage.Object[T], error) {
	return engine.GetTx(tx, o.Records, engine.Scope(caller), id, o.Noun)
}

// Write writes a changed record.
func (o *Orders[T]) Write(tx *engine.Tx, found *storage.Object[T]) error {
	if err := o.Records.Replace(tx, found); err != nil {
		return fmt.Errorf("orders: write %s: %w", o.Object, err)
	}
	return nil
}

// order returns the order of a record as the steps of this package drive it.
func (o *Orders[T]) order(s *State) *Order {
	return &Order{Submission: s.Submission, Ref: o.Ref(s.ID), Flow: o.Flow, Kind: o.Kind(), Since: s.CreatedAt.Time}
}

// provider returns the provider of an order, or nil; see [Rules].
func (o *Orders[T]) provider(tx *engine.Tx, r *T, s *State) (*Provider, error) {
	return o.Rules.Provider(tx, r, o.order(s).ProviderOrder(tx, s.Amount))
}

// Routed returns the provider of a new order, or nil.
func (o *Orders[T]) Routed(tx *engine.Tx, r *T) (*Provider, error) {
	s := o.Rules.State(r)
	return o.provider(tx, r, &s)
}

// Insert writes a new record, indexes its order, and queues it to be due after a wait. If p is not nil,
// the order is due now and this process has a free slot (see [engine.Slot]), it submits the order right
// after the commit, which spares the transaction in which a worker claims the record.
func (o *Orders[T]) Insert(tx *engine.Tx, r *T, p *Provider, wait time.Duration) error {
	if p != nil && wait == 0 {
		if slot := tx.AcquireSlot(o.Kind()); slot != nil {
			call, err := o.InsertBegun(tx, r, p)
			if err == nil {
				e := tx.Engine()
				slot.Run(call.ID, func(ctx context.Context) error { return call.Work(ctx, e, o.Apply) })
			}
			return err
		}
	}
	tx.WakeAfter(o.Kind(), wait)
	_, err := o.insert(tx, r)
	return err
}

// InsertBegun writes a new record as one that may have been submitted, and indexes its order. It returns
// the call of the provider, for the caller to run after the commit.
func (o *Orders[T]) InsertBegun(tx *engine.Tx, r *T, p *Provider) (*Call, error) {
	if _, err := o.CountAttempt(tx, r); err != nil {
		return nil, err
	}
	found, err := o.insert(tx, r)
	if err != nil {
		return nil, err
	}
	return o.Call(tx, found, p, true)
}

func (o *Orders[T]) insert(tx *engine.Tx, r *T) (*storage.Object[T], error) {
	id := o.Rules.State(r).ID
	if err := o.Flow.IndexOpen(tx, o.Ref(id), tx.Now); err != nil {
		return nil, err
	}
	found, err := o.Records.Insert(tx, engine.Scope(tx.Caller), id, *r)
	if err != nil {
		return nil, fmt.Errorf("orders: write %s: %w", o.Object, err)
	}
	return found, nil
}

// CountAttempt counts an attempt. With the first, the order is processing.
func (o *Orders[T]) CountAttempt(tx *engine.Tx, r *T) (first bool, err error) {
	if first = o.Rules.State(r).Submission.CountAttempt(tx.Now); first {
		err = o.Rules.Processing(tx, r)
	}
	return first, err
}

// Call leases a record, which the transaction has written with the counted attempt, and returns the
// call of the provider.
func (o *Orders[T]) Call(tx *engine.Tx, found *storage.Object[T], p *Provider, first bool) (*Call, error) {
	s := o.Rules.State(&found.Value)
	order := o.order(&s)
	to := order.ProviderOrder(tx, s.Amount)
	submit := func(ctx context.Context) (provider.Result, error) { return p.Submit(ctx, to) }
	if s.Recorded.Outcome.Final() { // the provider may contradict itself, and gets no other order
		submit = doNotSubmit
	}
	return order.NewCall(tx, found.Version, first, to, submit, func(ctx context.Context) (provider.Result, error) { return p.Status(ctx, to) })
}

// FindOwnOrder returns the order of the caller's with that id.
func (o *Orders[T]) FindOwnOrder(ctx context.Context, e *engine.Engine, caller api.Caller, id string) (Ref, error) {
	return o.Ref(id), e.View(ctx, caller, func(tx *engine.ReadTx) error {
		_, err := o.Get(tx, caller, id)
		return err
	})
}

// Begin counts an attempt and returns the call of the provider, or nil if there is nothing to call. It
// writes the attempt before the provider is called: so no caller cancels what may have been submitted,
// and the worker that finds the record after a crash polls first. An order that was not submitted
// before its deadline fails.
func (o *Orders[T]) Begin(ctx context.Context, tx *engine.Tx, id string) (*Call, error) {
	found, err := o.Get(tx, tx.Caller, id)
	if err != nil {
		return nil, err
	}
	r := &found.Value
	s := o.Rules.State(r)
	order := o.order(&s)
	if s.Recorded.Outcome.Final() && s.Submission.Due == nil { // a callback came first
		order.reportAlreadyEnded(ctx)
		return nil, nil
	}
	p, err := o.provider(tx, r, &s)
	if err != nil {
		return nil, err
	}
	defer s.Submission.AttributeEvents(tx)()
	switch {
	case s.Submission.SubmittedAt == nil && s.Submission.Deadline != nil && !tx.Now.Before(s.Submission.Deadline.Time):
		// A prompt long after the payer asked for it would look like fraud.
		late := provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: notSent}}
		return nil, o.End(tx, found, func() error { return o.Rules.Refused(ctx, tx, r, late) })
	case p == nil:
		order.PostponeWithoutProvider(ctx, tx)
		return nil, o.wait(tx, found, provider.Result{})
	}
	first, err := o.CountAttempt(tx, r)
	if err != nil {
		return nil, err
	}
	if err := o.Write(tx, found); err != nil {
		return nil, err
	}
	return o.Call(tx, found, p, first)
}

// wait writes a record whose order has no outcome yet.
func (o *Orders[T]) wait(tx *engine.Tx, found *storage.Object[T], result provider.Result) error {
	if err := o.Rules.Waiting(tx, &found.Value, result); err != nil {
		return err
	}
	return o.Write(tx, found)
}

// ApplyResult applies a provider's result, from a call or from a callback. The zero result stands for a call
// that failed. If the decision is [Reversed], the caller books the order back.
func (o *Orders[T]) ApplyResult(ctx context.Context, tx *engine.Tx, ref Ref, result provider.Result) (Decision, error) {
	found, err := o.Get(tx, tx.Caller, ref.Record)
	if err != nil {
		return 0, err
	}
	r := &found.Value
	s := o.Rules.State(r)
	order := o.order(&s)
	if s.Recorded.Outcome.Final() {
		recorded := s.Recorded
		recorded.Amount = s.Amount
		decision, err := order.Decide(ctx, tx, recorded, result)
		if err != nil || !order.endRecheck(tx, result) {
			return decision, err
		}
		return decision, o.writeEnded(tx, found, &s)
	}
	defer s.Submission.AttributeEvents(tx)()
	first, err := s.Submission.markReported(tx.Now, func() error { _, err := o.provider(tx, r, &s); return err })
	if first {
		err = o.Rules.Processing(tx, r)
	}
	if err != nil {
		return 0, err
	}
	s.SetReference(referenceAfter(s.Reference, result))
	if result, err = order.CheckAmount(ctx, tx, s.Amount, result); err != nil {
		return 0, err
	}
	decision, err := order.Decide(ctx, tx, Recorded{}, result)
	switch {
	case err != nil:
	case decision == Succeeded:
		fee := ProviderFee(result)
		err = o.end(tx, found, nil, fee, func() error { return o.Rules.Paid(ctx, tx, r, fee) })
	case decision == Failed:
		err = o.end(tx, found, order.dueAfterEnd(tx.Now), 0, func() error { return o.Rules.Refused(ctx, tx, r, result) })
	default:
		if result.Outcome == "" {
			s.Submission.UnansweredAt = api.AtOrNil(tx.Now)
		}
		err = o.wait(tx, found, result)
	}
	return decision, err
}

// End ends an order that the provider has never got. setStatus sets the final status.
func (o *Orders[T]) End(tx *engine.Tx, found *storage.Object[T], setStatus func() error) error {
	return o.end(tx, found, nil, 0, setStatus)
}

// end sets the final status by setStatus, and writes the record. due is the time of the one more poll; nil for none.
func (o *Orders[T]) end(tx *engine.Tx, found *storage.Object[T], due *api.Time, providerFee int64, setStatus func() error) error {
	r := &found.Value
	if err := o.Rules.Ending(tx, r); err != nil {
		return err
	}
	if err := setStatus(); err != nil {
		return err
	}
	s := o.Rules.State(r)
	s.Submission.Due = due
	if err := o.writeEnded(tx, found, &s); err != nil {
		return err
	}
	if err := o.Flow.IndexEnded(tx, s.ID, s.Submission, providerFee); err != nil {
		return err
	}
	return o.Rules.Ended(tx, r)
}

// writeEnded writes a record that has ended. It removes a number that retention has passed over already.
func (o *Orders[T]) writeEnded(tx *engine.Tx, found *storage.Object[T], s *State) error {
	if s.Submission.Due == nil {
		outlived, err := retention.Outlived(tx, o.Kind(), found.Scope, found.ID, s.CreatedAt, tx.Now, o.Keep)
		if err != nil {
			return err
		}
		if outlived {
			s.Forget()
		}
	}
	return o.Write(tx, found)
}

// NeedsPerson lists an order as contradicted; see [Order.NeedsPerson].
func (o *Orders[T]) NeedsPerson(ctx context.Context, tx *engine.Tx, id string, cause Cause, why string) error {
	order := Order{Ref: o.Ref(id), Flow: o.Flow, Kind: o.Kind()}
	return order.NeedsPerson(ctx, tx, cause, why)
}

// Load returns the object of an order as hosts see it, and its status as a word.
func (o *Orders[T]) Load(tx *engine.Tx, ref Ref) (object any, status string, err error) {
	found, err := o.Get(tx, tx.Caller, ref.Record)
	if err != nil {
		return nil, "", err
	}
	s := o.Rules.State(&found.Value)
	return s.Object, s.Recorded.Status, nil
}

// Info describes an order for the operator. The outcome of an order that was never submitted is NotFound, even if
// its record has ended.
func (o *Orders[T]) Info(tx *engine.ReadTx, ref Ref, _ *Entry) (*provider.OrderInfo, error) {
	found, err := o.Get(tx, tx.Caller, ref.Record)
	if err != nil {
		return nil, fmt.Errorf("orders: read order: %w", err)
	}
	s := o.Rules.State(&found.Value)
	info := &provider.OrderInfo{Amount: s.Amount, Outcome: provider.NotFound, Route: s.Submission.Route, Network: s.Network, Attempts: s.Submission.Attempts}
	if s.Submission.SubmittedAt != nil {
		info.Outcome, info.SubmittedAt = s.Recorded.Outcome, s.Submission.SubmittedAt.Time
	}
	if s.Submission.UnansweredAt != nil {
		info.UnansweredAt = s.Submission.UnansweredAt.Time
	}
	return info, nil
}

// TransferBy returns what takes a transfer, or nil without a rail. The steps set the order.
func TransferBy(rail provider.Rail, t provider.Transfer) *Provider {
	if rail == nil {
		return nil
	}
	return providerOf(t, func(t *provider.Transfer) *provider.Order { return &t.Order }, rail.Submit, rail.Status)
}

// RefundBy is TransferBy for a refund.
func RefundBy(rail provider.RefundRail, r provider.Refund) *Provider {
	if rail == nil {
		return nil
	}
	return providerOf(r, func(r *provider.Refund) *provider.Order { return &r.Order }, rail.Refund, rail.RefundStatus)
}

// ChargeBy is TransferBy for a charge.
func ChargeBy(charger provider.Charger, c provider.Charge) *Provider {
	if charger == nil {
		return nil
	}
	return providerOf(c, func(c *provider.Charge) *provider.Order { return &c.Order }, charger.Charge, charger.ChargeStatus)
}

// providerOf returns a Provider by two methods that take a request of type R. order points to its order.
func providerOf[R any](request R, order func(*R) *provider.Order, submit, status func(context.Context, R) (provider.Result, error)) *Provider {
	with := func(call func(context.Context, R) (provider.Result, error)) func(context.Context, provider.Order) (provider.Result, error) {
		return func(ctx context.Context, o provider.Order) (provider.Result, error) {
			r := request
			*order(&r) = o
			return call(ctx, r)
		}
	}
	return &Provider{Submit: with(submit), Status: with(status)}
}
