package event

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Telling is what is done with the events somebody waits for.
type Telling struct {
	// Teller returns what tells of the events of one transaction.
	Teller func() Teller
	// Room says how many of a mode are to be told at a time. It may wait a little for room.
	Room func(live bool) int
}

// Teller writes down who is to be told of an event, and returns how many they are.
type Teller func(tx *engine.Tx, o *Open) (waiting int, err error)

// Open is an event that is fanned out.
type Open struct {
	service *Service
	object  *storage.Object[record]
	hold    bool
	release func()
}

// Event is what is told.
func (o *Open) Event() *Event { return &o.object.Value.Event }

// Again reports that the event was held before, by who did not come to close it: of
// some it may be written down that they were told.
func (o *Open) Again() bool { return o.object.Value.Held }

// Hold says that it is written down only afterwards who was told, and that Close
// follows. If this process dies before, the event is fanned out again.
func (o *Open) Hold() { o.hold = true }

// Release ends the hold. When the lease is over, the event is fanned out again, unless it
// was closed.
func (o *Open) Release() {
	if o.release != nil {
		o.release()
	}
}

// Close notes that all is written down, in another transaction than the Teller's. If
// the event was fanned out again meanwhile, or changed, it is ErrConflict, and left to
// who finds it next.
func (o *Open) Close(tx *engine.Tx) error {
	r := *o.object // a run that is undone leaves the version as it is
	r.Value.told()
	return events.Replace(tx, &r)
}

// FanOut is the job that hands each event to a Teller, once, in a transaction. That is
// all there is to it, so many are done in one transaction, unleased, which spares
// two of three writes of an event.
func (s *Service) FanOut(t Telling) due.Job {
	f := &fanOut{service: s, Telling: t}
	f.each.Store(128) // until it is known
	return due.Job{Kind: events.Kind(), Limit: time.Minute, Batch: 256, InTx: f.inTx, Do: f.do}
}

type fanOut struct {
	Telling
	service *Service
	// each is how many an event was told to, on average, when last there were some.
	each atomic.Int64
}

// inTx fans out as many events as there is room for those who are to be told.
func (f *fanOut) inTx(ctx context.Context, c storage.Claim) (done []storage.Record, more bool, err error) {
	room := f.Room(c.Live)
	c.Limit = min(c.Limit, room/int(f.each.Load())+1)
	told := 0
	err = f.service.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		var err error
		if done, err = tx.Claim(events.Kind(), c); err != nil {
			return err
		}
		more = len(done) == c.Limit
		told = 0
		tell := f.Teller()
		for i, r := range done {
			if told > room {
				done, more = done[:i], true
				return nil
			}
			o, err := events.Decode(r)
			if err != nil {
				return err
			}
			n, err := f.one(tx, o, tell)
			if err != nil {
				return err
			}
			told += n
		}
		return nil
	})
	if len(done) > 0 {
		f.each.Store(int64(max(1, told/len(done))))
		due.Report(ctx, due.Outcome{Name: "fanned_out", Level: slog.LevelDebug})
	}
	return done, more, err
}

// do fans out one event that is held with a lease.
func (f *fanOut) do(ctx context.Context, claimed storage.Record) error {
	o, err := events.Decode(claimed)
	if err != nil {
		return err
	}
	due.Report(ctx, due.Outcome{Name: "fanned_out", RequestID: callerOf(&o.Value.Event, o.Scope).RequestID, Level: slog.LevelDebug})
	err = f.service.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		r := *o // a run that is undone leaves the claimed version as it is
		_, err := f.one(tx, &r, f.Teller())
		return err
	})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil // another worker took it over, and tells
	}
	return err
}

// one tells of an event.
func (f *fanOut) one(tx *engine.Tx, r *storage.Object[record], tell Teller) (waiting int, err error) {
	tx, err = tx.For(callerOf(&r.Value.Event, r.Scope))
	if err != nil {
		return 0, err
	}
	if r.Value.Told {
		r.Value.Due = nil // an earlier release made it due when it was to be removed
		return 0, events.Replace(tx, r)
	}
	open := &Open{service: f.service, object: r}
	if waiting, err = tell(tx, open); err != nil {
		return 0, err
	}
	if !r.Value.Held {
		if err := f.service.subscribersTx(tx, &r.Value.Event); err != nil {
			return 0, err
		}
	}
	r.Value.PendingWebhooks = waiting
	if !open.hold {
		r.Value.told()
		return waiting, events.Replace(tx, r)
	}
	r.Value.Held = true // and it stays due
	if err := events.Replace(tx, r); err != nil {
		return 0, err
	}
	open.release, err = tx.Hold(events.Kind(), r.ID, r.Version)
	return waiting, err
}

// callerOf stands for the merchant whose event it is, and for the call that
// caused it.
func callerOf(e *Event, scope storage.Scope) api.Caller {
	caller := api.Caller{Merchant: scope.Merchant, Live: scope.Live}
	if e.Request.ID != nil {
		caller.RequestID = *e.Request.ID
	}
	if e.Request.IdempotencyKey != nil {
		caller.IdempotencyKey = *e.Request.IdempotencyKey
	}
	return caller
}
