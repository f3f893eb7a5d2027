package recording

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Fanout is an event that package delivering has claimed, to make its deliveries. It ends with
// Finish if the same transaction stores all deliveries. Otherwise it ends with FinishPartly,
// and with FinishRest once all are stored.
type Fanout struct {
	object      *storage.Object[record]
	stopRenewal func()
}

// Kind returns the kind of events, which are due until they are fanned out.
func (*Service) Kind() *storage.Kind { return events.Kind() }

// NewFanout returns the fan-out of an event that the caller has claimed.
func (*Service) NewFanout(r storage.Record) (*Fanout, error) {
	o, err := events.Decode(r)
	if err != nil {
		return nil, err
	}
	o.Value.Person = o.Value.StoredPerson
	return &Fanout{object: o}, nil
}

// Clone returns a copy for one run of a transaction, so that a run that is rolled back leaves
// the claimed version as it is.
func (f *Fanout) Clone() *Fanout {
	o := *f.object
	return &Fanout{object: &o}
}

// Event returns the event.
func (f *Fanout) Event() *event.Event { return &f.object.Value.Event }

// Match returns the type name under which an endpoint receives the event; empty if it does not receive it.
func (f *Fanout) Match(s *Subscription) event.Type { return s.match(&f.object.Value) }

// WasPartlyStored reports whether an earlier fan-out of the event ended with FinishPartly alone:
// some deliveries may be stored.
func (f *Fanout) WasPartlyStored() bool { return f.object.Value.PartlyStored }

// Caller returns the merchant of the event as a caller, with the call that caused the event.
func (f *Fanout) Caller() api.Caller {
	e, scope := f.Event(), f.object.Scope
	caller := api.Caller{Merchant: scope.Merchant, Live: scope.Live}
	engine.SetGiven(&caller.RequestID, e.Request.ID)
	engine.SetGiven(&caller.IdempotencyKey, e.Request.IdempotencyKey)
	return caller
}

// Finish notes that the transaction stores all deliveries of the event. endpoints is their number.
func (s *Service) Finish(tx *engine.Tx, f *Fanout, endpoints int) error {
	if err := s.recordFanout(tx, f, endpoints); err != nil {
		return err
	}
	f.object.Value.markFannedOut()
	return events.Replace(tx, f.object)
}

// FinishPartly notes that some deliveries are stored only with their first outcome, and that
// FinishRest follows in another transaction. The event stays due, and this process has its
// lease until StopRenewal. If the process dies before FinishRest, another fans the event out
// again.
func (s *Service) FinishPartly(tx *engine.Tx, f *Fanout, endpoints int) error {
	if err := s.recordFanout(tx, f, endpoints); err != nil {
		return err
	}
	f.object.Value.PartlyStored = true
	if err := events.Replace(tx, f.object); err != nil {
		return err
	}
	var err error
	f.stopRenewal, err = tx.LeaseAndRenew(events.Kind(), f.object.ID, f.object.Version)
	return err
}

// recordFanout sets the number of endpoints. At the first fan-out of the event, it also queues the calls of the
// host's subscribers.
func (s *Service) recordFanout(tx *engine.Tx, f *Fanout, endpoints int) error {
	f.object.Value.PendingWebhooks = endpoints
	if f.WasPartlyStored() {
		return nil
	}
	return s.addSubscriberCalls(tx, f.Event())
}

// StopRenewal stops the renewal of the lease that FinishPartly took. When the lease runs out,
// a worker fans the event out again, unless FinishRest came first.
func (f *Fanout) StopRenewal() {
	if f.stopRenewal != nil {
		f.stopRenewal()
	}
}

// FinishRest notes that all deliveries of a partly stored event are stored. It returns
// ErrConflict if the event has changed, or another worker has fanned it out again: that worker
// finishes it.
func (*Service) FinishRest(tx *engine.Tx, f *Fanout) error {
	o := *f.object // a run that is rolled back leaves the version as it is
	o.Value.markFannedOut()
	return events.Replace(tx, &o)
}
