package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// fanOutJob is the job that writes the deliveries of events, each event once. It does many
// in one transaction, without leases, which spares two of three writes of an event.
func (s *Service) fanOutJob() work.Job {
	f := &fanoutWorker{Service: s}
	f.avgEndpoints.Store(128) // until the first transaction
	return work.Job{Kind: s.events.Kind(), Timeout: time.Minute, Batch: 256, RunInTx: f.inTx, RunOne: f.do}
}

// fanoutWorker writes the deliveries of events.
type fanoutWorker struct {
	*Service
	// avgEndpoints is the average number of endpoints of the last events.
	avgEndpoints atomic.Int64
}

// inTx fans out as many events as there is room for their deliveries.
func (f *fanoutWorker) inTx(ctx context.Context, c storage.Claim) (done []storage.Record, more bool, err error) {
	room := f.senderFor(c.Live).limiter.room()
	c.Limit = min(c.Limit, room/int(f.avgEndpoints.Load())+1)
	planned := 0
	err = f.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		var err error
		if done, err = tx.Claim(f.events.Kind(), c); err != nil {
			return err
		}
		more = len(done) == c.Limit
		planned = 0
		fanout := f.newFanoutTx()
		for i, r := range done {
			if planned > room {
				done, more = done[:i], true
				return nil
			}
			claimed, err := f.events.NewFanout(r)
			if err != nil {
				return err
			}
			n, err := fanout.fanOutEvent(tx, claimed)
			if err != nil {
				return err
			}
			planned += n
		}
		return nil
	})
	if len(done) > 0 {
		f.avgEndpoints.Store(int64(max(1, planned/len(done))))
		work.SetReport(ctx, work.Report{Name: "fanned_out", Level: slog.LevelDebug})
	}
	return done, more, err
}

// do fans out one event that is leased.
func (f *fanoutWorker) do(ctx context.Context, claimed storage.Record) error {
	leased, err := f.events.NewFanout(claimed)
	if err != nil {
		return err
	}
	work.SetReport(ctx, work.Report{Name: "fanned_out", RequestID: leased.Caller().RequestID, Level: slog.LevelDebug})
	err = f.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		_, err := f.newFanoutTx().fanOutEvent(tx, leased.Retry())
		return err
	})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil // another worker took it over
	}
	return err
}

// leasedEvent is shared by the deliveries of one event that are written only with their
// first result.
type leasedEvent struct {
	fanout      *event.Fanout
	unsettled   atomic.Int32 // deliveries whose first result is not written yet
	writeFailed atomic.Bool  // whether the write of a delivery failed
}

// fanoutTx fans out the events of one transaction.
//
// A delivery to a healthy endpoint starts right after the commit and is written once, with
// its first result; the event stays leased until then. If this process dies, another fans
// the event out again and may deliver twice. All other deliveries are written before they
// start: a slow endpoint then keeps no event leased, and a worker can claim a delivery that
// must wait.
type fanoutTx struct {
	*Service
	// What the transaction has read so far: many events share a merchant.
	subscriptions map[storage.Scope][]event.Subscription
	endpoints     map[string]*endpointRecord // by id
}

func (s *Service) newFanoutTx() *fanoutTx {
	return &fanoutTx{s, map[storage.Scope][]event.Subscription{}, map[string]*endpointRecord{}}
}

// fanOutEvent fans out one event, and returns the number of its endpoints.
func (s *fanoutTx) fanOutEvent(tx *engine.Tx, f *event.Fanout) (endpoints int, err error) {
	if tx, err = tx.As(f.Caller()); err != nil {
		return 0, err
	}
	if done, err := s.events.SkipIfDone(tx, f); done || err != nil {
		return 0, err
	}
	endpoints, unwritten, err := s.deliver(tx, f)
	if err != nil {
		return 0, err
	}
	if unwritten {
		return endpoints, s.events.Lease(tx, f, endpoints)
	}
	return endpoints, s.events.Finish(tx, f, endpoints)
}

// deliver writes the deliveries of an event, or starts them. It returns the number of
// endpoints, and whether some deliveries are not written yet.
func (s *fanoutTx) deliver(tx *engine.Tx, f *event.Fanout) (endpoints int, unwritten bool, err error) {
	subscriptions, err := s.cachedSubscriptions(tx)
	if err != nil {
		return 0, false, err
	}
	e := f.Event()
	payload := *e
	payload.PendingWebhooks = 0
	for i := range subscriptions {
		if subscriptions[i].Match(e) != "" {
			payload.PendingWebhooks++
		}
	}
	all := &leasedEvent{fanout: f}
	var body []byte // the JSON of payload
	for i := range subscriptions {
		sub := &subscriptions[i]
		name := sub.Match(e)
		if name == "" {
			continue
		}
		id := s.events.FirstDeliveryID(e.ID, sub.Endpoint)
		if f.WasLeased() {
			if is, err := s.events.HasDelivery(tx, engine.Scope(tx.Caller), id); err != nil {
				return 0, false, err
			} else if is {
				continue
			}
		}
		m := &outgoing{claimedDelivery: claimedDelivery{newDelivery(tx, id, sub.Endpoint, e.ID, name), tx.Caller}, now: tx.Now, expected: true}
		begun, backoff, err := s.begin(tx, m, all)
		if err != nil {
			return 0, false, err
		}
		if !begun {
			if err := s.enqueue(tx, m.Object, backoff); err != nil {
				return 0, false, err
			}
			continue
		}
		if m.endpoint, err = s.cachedEndpoint(tx, sub.Endpoint); err != nil {
			return 0, false, err
		}
		if payload.Type != name || body == nil {
			payload.Type = name
			if body, err = plainjson.Marshal(&payload); err != nil {
				return 0, false, fmt.Errorf("webhook: queue delivery: %w", err)
			}
		}
		m.body = body
	}
	return payload.PendingWebhooks, all.unsettled.Load() > 0, nil
}

// begin has this process start a delivery after the commit, if the limiter has room; if
// not, it returns how long to put the delivery off.
func (s *fanoutTx) begin(tx *engine.Tx, m *outgoing, all *leasedEvent) (begun bool, backoff time.Duration, err error) {
	d, limiter := &m.Value, &s.senderFor(tx.Caller.Live).limiter
	ok, healthy, backoff := limiter.reserve(d.Endpoint, s.engine.Clock())
	if !ok {
		return false, backoff, nil
	}
	if !tx.RunAfterCommit(s.deliveries.Kind(), d.ID, func(ctx context.Context) error { return s.attempt(ctx, m) }) {
		limiter.release(d.Endpoint)
		return false, 0, nil
	}
	tx.OnRollback(func() { limiter.release(d.Endpoint) })
	if healthy {
		m.leasedEvent = all
		all.unsettled.Add(1)
		return true, 0, nil
	}
	if err := s.insert(tx, m.Object); err != nil {
		return false, 0, err
	}
	m.release, err = tx.KeepLease(s.deliveries.Kind(), m.ID, m.Version)
	return true, 0, err
}

// cachedSubscriptions returns the subscriptions of the transaction's merchant.
func (s *fanoutTx) cachedSubscriptions(tx *engine.Tx) ([]event.Subscription, error) {
	scope := engine.Scope(tx.Caller)
	cached, ok := s.subscriptions[scope]
	if ok {
		return cached, nil
	}
	cached, err := s.events.Subscriptions(tx, scope)
	if err == nil {
		s.subscriptions[scope] = cached
	}
	return cached, err
}

// cachedEndpoint is activeEndpoint, read once in a transaction.
func (s *fanoutTx) cachedEndpoint(tx *engine.Tx, id string) (*endpointRecord, error) {
	cached, ok := s.endpoints[id]
	if ok {
		return cached, nil
	}
	cached, err := s.activeEndpoint(tx, engine.Scope(tx.Caller), id)
	if err == nil {
		s.endpoints[id] = cached
	}
	return cached, err
}

// newDelivery returns a delivery that is due now, and not yet written.
func newDelivery(tx *engine.Tx, id, endpoint, eventID string, name event.Type) *storage.Object[Delivery] {
	return &storage.Object[Delivery]{Scope: engine.Scope(tx.Caller), ID: id, Value: Delivery{
		ID: id, Object: "webhook_delivery", Endpoint: endpoint, Event: eventID, Type: name,
		Status: Pending, Attempts: []Attempt{}, NextAttemptAt: api.AtOrNil(tx.Now), CreatedAt: api.At(tx.Now),
	}}
}

// enqueue writes a new delivery that is due after backoff.
func (s *Service) enqueue(tx *engine.Tx, o *storage.Object[Delivery], backoff time.Duration) error {
	o.Value.NextAttemptAt = api.AtOrNil(tx.Now.Add(backoff))
	tx.WakeAfter(s.deliveries.Kind(), backoff)
	return s.insert(tx, o)
}

// insert writes a new delivery.
func (s *Service) insert(tx storage.Tx, o *storage.Object[Delivery]) error {
	made, err := s.deliveries.Insert(tx, o.Scope, o.ID, o.Value)
	if err != nil {
		return fmt.Errorf("webhook: write delivery: %w", err)
	}
	o.Version = made.Version
	return nil
}
