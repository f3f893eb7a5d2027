package event

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Fanout is an event that package webhook has claimed, to write its deliveries. It ends with
// Finish, or with Lease and later Close.
type Fanout struct {
	object  *storage.Object[record]
	release func()
}

// Kind is the kind of events, which are due while they are to be fanned out.
func (*Internal) Kind() *storage.Kind { return events.Kind() }

// NewFanout returns the fan-out of an event that the caller has claimed.
func (*Internal) NewFanout(r storage.Record) (*Fanout, error) {
	o, err := events.Decode(r)
	if err != nil {
		return nil, err
	}
	return &Fanout{object: o}, nil
}

// Retry returns a fresh copy for another run of the transaction: a run that is rolled back
// leaves the claimed version as it is.
func (f *Fanout) Retry() *Fanout {
	o := *f.object
	return &Fanout{object: &o}
}

// Event returns the event.
func (f *Fanout) Event() *Event { return &f.object.Value.Event }

// WasLeased reports that the event was leased before, by a process that has not closed it:
// some deliveries may be written.
func (f *Fanout) WasLeased() bool { return f.object.Value.Leased }

// Caller stands for the merchant whose event it is, and for the call that caused it.
func (f *Fanout) Caller() api.Caller {
	e, scope := f.Event(), f.object.Scope
	caller := api.Caller{Merchant: scope.Merchant, Live: scope.Live}
	if e.Request.ID != nil {
		caller.RequestID = *e.Request.ID
	}
	if e.Request.IdempotencyKey != nil {
		caller.IdempotencyKey = *e.Request.IdempotencyKey
	}
	return caller
}

// SkipIfDone reports that the event was fanned out before, and takes it off what is due: an
// earlier release made an event due again when it was to be removed.
func (*Internal) SkipIfDone(tx *engine.Tx, f *Fanout) (done bool, err error) {
	if !f.object.Value.FannedOut {
		return false, nil
	}
	f.object.Value.Due = nil
	return true, events.Replace(tx, f.object)
}

// Finish notes that all deliveries of the event, to so many endpoints, are written.
func (i *Internal) Finish(tx *engine.Tx, f *Fanout, endpoints int) error {
	if err := i.notify(tx, f, endpoints); err != nil {
		return err
	}
	f.object.Value.markFannedOut()
	return events.Replace(tx, f.object)
}

// Lease notes that some deliveries are written only after their first attempt, and that
// Close follows in another transaction. The event stays due, and is leased to this process
// until Release. If the process dies before Close, the event is fanned out again.
func (i *Internal) Lease(tx *engine.Tx, f *Fanout, endpoints int) error {
	if err := i.notify(tx, f, endpoints); err != nil {
		return err
	}
	f.object.Value.Leased = true
	if err := events.Replace(tx, f.object); err != nil {
		return err
	}
	var err error
	f.release, err = tx.KeepLease(events.Kind(), f.object.ID, f.object.Version)
	return err
}

// notify writes the notifications of subscribers, the first time that the event is fanned
// out, and keeps the number of its endpoints.
func (i *Internal) notify(tx *engine.Tx, f *Fanout, endpoints int) error {
	f.object.Value.PendingWebhooks = endpoints
	if f.WasLeased() {
		return nil
	}
	return i.svc.notifyTx(tx, f.Event())
}

// Release ends the renewals of the lease. When the lease is over, the event is fanned out
// again, unless it was closed.
func (f *Fanout) Release() {
	if f.release != nil {
		f.release()
	}
}

// Close notes that all deliveries of a leased event are written. If the event was fanned
// out again meanwhile, or changed, it is ErrConflict: the next worker closes it.
func (*Internal) Close(tx *engine.Tx, f *Fanout) error {
	o := *f.object // a run that is rolled back leaves the version as it is
	o.Value.markFannedOut()
	return events.Replace(tx, &o)
}
