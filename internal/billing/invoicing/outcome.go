package invoicing

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// OutcomeType is something that can happen to a subscription's invoice.
type OutcomeType string

// The types of outcomes.
const (
	OutcomePaid          OutcomeType = "paid"
	OutcomePaymentFailed OutcomeType = "payment_failed"
	OutcomeUncollectible OutcomeType = "uncollectible"
	OutcomeVoided        OutcomeType = "voided"
	// OutcomeRefunded says that a part of the payment was given back, or taken back by the provider.
	OutcomeRefunded OutcomeType = "refunded"
)

// outcomeTypes maps the events of an invoice to outcomes.
var outcomeTypes = map[event.Type]OutcomeType{
	event.InvoicePaid:                OutcomePaid,
	event.InvoicePaymentFailed:       OutcomePaymentFailed,
	event.InvoiceMarkedUncollectible: OutcomeUncollectible,
	event.InvoiceVoided:              OutcomeVoided,
}

// outcome is the stored form of an [Outcome].
type outcome struct {
	Invoice      string `json:"invoice"`
	Subscription string `json:"subscription"`
	// Types are what has happened in one transaction, in order.
	Types []OutcomeType `json:"types"`
	// Scheduled is the scheduled time of the automatic charge that has failed; nil for none.
	Scheduled *api.Time `json:"scheduled,omitempty"`
	// Failure is why that charge has failed.
	Failure provider.Failure `json:"failure,omitempty"`
	// Phone is the phone that the charge was to ask. It is not stored: an erasure would have to find it.
	Phone string `json:"-"`
	// By is the request that events name; nil for none.
	By  *eventRequest `json:"by,omitempty"`
	Due api.Time      `json:"due"`
}

var outcomes = storage.NewCollection("invoice_outcomes", []storage.Field[outcome]{
	storage.TextColumn("subscription", func(o *outcome) string { return o.Subscription }).Indexed(),
	storage.NullTimeColumn("due", func(o *outcome) *api.Time { return &o.Due }),
}, storage.DueBy("due"))

// ApplyOutcomesBy registers apply, which applies the outcome of an invoice to its subscription in the
// transaction that brings the outcome about. If apply returns false, the outcome is queued for a worker. Later
// outcomes of the subscription are then queued too, until the worker has applied them.
func (s *Service) ApplyOutcomesBy(apply func(*engine.Tx, *Outcome) (applied bool, err error)) {
	s.applyOutcome = apply
}

// outcomesOf returns the outcomes that events stand for.
func outcomesOf(events []event.Type) (types []OutcomeType) {
	for _, of := range events {
		if t, ok := outcomeTypes[of]; ok {
			types = append(types, t)
		}
	}
	return types
}

// tellOutcome passes an outcome of a subscription's invoice to package subscribing: at once, or through the queue.
func (s *Service) tellOutcome(tx *engine.Tx, r *record, types ...OutcomeType) error {
	if r.Subscription == nil || len(types) == 0 {
		return nil
	}
	o := outcome{Invoice: r.ID, Subscription: *r.Subscription, Types: types, Scheduled: r.failedCharge, Phone: r.failedPhone, Failure: r.failedFor, By: eventRequestOf(tx.Caller), Due: api.At(tx.Now)}
	if s.applyOutcome != nil {
		q := storage.Query{Scope: engine.Scope(tx.Caller), Where: engine.Where(nil, "subscription", o.Subscription), Limit: 1}
		queued, _, err := outcomes.List(tx, q)
		if err != nil {
			return fmt.Errorf("invoice: list outcomes: %w", err)
		}
		if len(queued) == 0 {
			applied, err := s.applyOutcome(tx, outcomeFrom(&storage.Object[outcome]{Value: o}))
			if applied || err != nil {
				return err
			}
		}
	}
	if _, err := outcomes.Insert(tx, engine.Scope(tx.Caller), tx.NewID("out_"), o); err != nil {
		return fmt.Errorf("invoice: queue outcome: %w", err)
	}
	tx.WakeAfterCommit(outcomes.Kind())
	return nil
}

// Outcome is what has happened to a subscription's invoice in one transaction. [Service.FinishOutcome] removes one
// that was queued.
type Outcome struct {
	Invoice, Subscription string
	// Types are in the order in which they happened.
	Types []OutcomeType
	// Scheduled is the scheduled time of the automatic charge that has failed; nil for none.
	Scheduled *api.Time
	// Failure is why that charge has failed; empty for the charge of a payment method.
	Failure provider.Failure
	// Phone is the phone that the charge was to ask, +233…; empty for none, and in an outcome that was queued.
	Phone string

	object *storage.Object[outcome]
}

// OutcomeKind is the kind of the outcomes that are queued; see [Service.ApplyOutcomesBy]. They are due
// at once. An outcome arises in the transaction in which the invoice is paid, has a failed attempt,
// becomes uncollectible, is voided or refunded. [Service.Issue] and [Service.GiveUp] make no outcome: their
// callers know it.
func (*Service) OutcomeKind() *storage.Kind { return outcomes.Kind() }

// Outcome returns an outcome that the caller has claimed.
func (*Service) Outcome(r storage.Record) (*Outcome, error) {
	o, err := outcomes.Decode(r)
	if err != nil {
		return nil, err
	}
	return outcomeFrom(o), nil
}

func outcomeFrom(o *storage.Object[outcome]) *Outcome {
	return &Outcome{Invoice: o.Value.Invoice, Subscription: o.Value.Subscription, Types: o.Value.Types, Scheduled: o.Value.Scheduled, Failure: o.Value.Failure, Phone: o.Value.Phone, object: o}
}

// EarlierOutcome returns the oldest queued outcome of the same subscription; nil if that is the given one, or if
// none is left.
func (*Service) EarlierOutcome(tx storage.ReadTx, of *Outcome) (*Outcome, error) {
	q := storage.Query{Scope: of.object.Scope, Limit: api.MaxLimit}
	q.Where = engine.Where(q.Where, "subscription", of.Subscription)
	for {
		page, more, err := outcomes.List(tx, q)
		if err != nil {
			return nil, fmt.Errorf("invoice: list outcomes: %w", err)
		}
		if len(page) == 0 {
			return nil, nil
		}
		oldest := page[len(page)-1]
		if q.After = oldest.ID; more {
			continue
		}
		if oldest.ID >= of.object.ID {
			return nil, nil
		}
		return outcomeFrom(oldest), nil
	}
}

// Caller returns the merchant as a caller, with the request that events name.
func (o *Outcome) Caller() api.Caller {
	caller := api.Caller{Merchant: o.object.Scope.Merchant, Live: o.object.Scope.Live}
	if by := o.object.Value.By; by != nil {
		caller.RequestID, caller.IdempotencyKey = by.Request, by.IdempotencyKey
	}
	return caller
}

// FinishOutcome removes a queued outcome that the caller applies. It returns [storage.ErrConflict] if another
// worker has done so.
func (*Service) FinishOutcome(tx *engine.Tx, o *Outcome) error {
	copied := *o.object // a run that is rolled back leaves the version as it is
	return outcomes.Delete(tx, &copied)
}
