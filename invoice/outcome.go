package invoice

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// OutcomeType is something that has become of a subscription's invoice.
type OutcomeType string

// The types of outcomes.
const (
	OutcomePaid          OutcomeType = "paid"
	OutcomePaymentFailed OutcomeType = "payment_failed"
	OutcomeUncollectible OutcomeType = "uncollectible"
	OutcomeVoided        OutcomeType = "voided"
)

var outcomeOf = map[event.Type]OutcomeType{
	event.InvoicePaid:                OutcomePaid,
	event.InvoicePaymentFailed:       OutcomePaymentFailed,
	event.InvoiceMarkedUncollectible: OutcomeUncollectible,
	event.InvoiceVoided:              OutcomeVoided,
}

// outcome is what the worker of package subscription is told of an invoice.
type outcome struct {
	Invoice      string `json:"invoice"`
	Subscription string `json:"subscription"`
	// Types are what has happened in one transaction, in order.
	Types []OutcomeType `json:"types"`
	// Scheduled is when the automatic charge was to be made that has failed; nil for none.
	Scheduled *api.Time `json:"scheduled,omitempty"`
	// By is the request that events name; nil for none.
	By  *eventRequest `json:"by,omitempty"`
	Due api.Time      `json:"due"`
}

var outcomes = storage.NewCollection("invoice_outcomes", []storage.Field[outcome]{
	storage.NullTimeColumn("due", func(o *outcome) *api.Time { return &o.Due }),
}, storage.DueBy("due"))

// queueOutcome queues what events say of a subscription's invoice for the worker of package
// subscription.
func (s *Service) queueOutcome(tx *engine.Tx, r *record, events []event.Type) error {
	if r.Subscription == nil {
		return nil
	}
	var types []OutcomeType
	for _, of := range events {
		if t, ok := outcomeOf[of]; ok {
			types = append(types, t)
		}
	}
	if len(types) == 0 {
		return nil
	}
	o := outcome{Invoice: r.ID, Subscription: *r.Subscription, Types: types, Scheduled: r.failedCharge, By: eventRequestOf(tx.Caller), Due: api.At(tx.Now)}
	if _, err := outcomes.Insert(tx, engine.Scope(tx.Caller), tx.NewID("out_"), o); err != nil {
		return fmt.Errorf("invoice: queue outcome: %w", err)
	}
	tx.WakeAfterCommit(outcomes.Kind())
	return nil
}

// Outcome is a record of [Internal.OutcomeKind] that the worker of package subscription has claimed.
// It ends with [Internal.FinishOutcome].
type Outcome struct {
	Invoice, Subscription string
	// Types are what has happened in one transaction, in order.
	Types []OutcomeType
	// Scheduled is when the automatic charge was to be made that has failed; nil for none.
	Scheduled *api.Time

	object *storage.Object[outcome]
}

// OutcomeKind is the kind of the outcomes of subscriptions' invoices. An outcome is due at once. It is
// written in the transaction in which such an invoice is paid, has a failed attempt, becomes
// uncollectible or is voided; not by [Internal.Issue] and [Internal.MarkUncollectible], whose caller
// knows.
func (*Internal) OutcomeKind() *storage.Kind { return outcomes.Kind() }

// Outcome returns an outcome that the caller has claimed.
func (*Internal) Outcome(r storage.Record) (*Outcome, error) {
	o, err := outcomes.Decode(r)
	if err != nil {
		return nil, err
	}
	return &Outcome{Invoice: o.Value.Invoice, Subscription: o.Value.Subscription, Types: o.Value.Types, Scheduled: o.Value.Scheduled, object: o}, nil
}

// Caller returns the merchant as a caller, with the request that events name.
func (o *Outcome) Caller() api.Caller {
	caller := api.Caller{Merchant: o.object.Scope.Merchant, Live: o.object.Scope.Live}
	if by := o.object.Value.By; by != nil {
		caller.RequestID, caller.IdempotencyKey = by.Request, by.IdempotencyKey
	}
	return caller
}

// FinishOutcome removes an outcome that was worked on. It returns [storage.ErrConflict] if another
// worker has done so.
func (*Internal) FinishOutcome(tx *engine.Tx, o *Outcome) error {
	copied := *o.object // a run that is rolled back leaves the version as it is
	return outcomes.Delete(tx, &copied)
}
