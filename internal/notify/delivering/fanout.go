package delivering

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// fanOut makes the deliveries of the events that are due, many events in one transaction. Its claim takes
// no leases, which saves two of three writes for each event. It takes only as many events as the limiter is
// likely to have room for.
func (s *Service) fanOut(ctx context.Context, c storage.Claim) (work.Claimed, error) {
	room := s.senderFor(c.Live).limiter.AwaitRoom()
	c.Limit = min(c.Limit, room/int(s.avgEndpoints.Load())+1)
	var done []storage.Record
	planned, more := 0, false
	err := s.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		var err error
		if done, err = tx.Claim(s.events.Kind(), c); err != nil {
			return err
		}
		more = len(done) == c.Limit
		planned = 0
		fanout := s.newFanoutTx()
		for i, r := range done {
			if planned > room {
				done, more = done[:i], true
				return nil
			}
			claimed, err := s.events.NewFanout(r)
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
		s.avgEndpoints.Store(int64(max(1, planned/len(done))))
		work.SetReport(ctx, work.Report{Name: "fanned_out", Level: slog.LevelDebug})
	}
	return work.Claimed{Done: done, More: more}, err
}

// fanOutClaimed fans out one event that the runner has claimed, after fanOut failed.
func (s *Service) fanOutClaimed(ctx context.Context, claimed storage.Record) error {
	f, err := s.events.NewFanout(claimed)
	if err != nil {
		return err
	}
	work.SetReport(ctx, work.Report{Name: "fanned_out", RequestID: f.Caller().RequestID, Level: slog.LevelDebug})
	err = s.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		_, err := s.newFanoutTx().fanOutEvent(tx, f.Clone())
		return err
	})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil // another worker took it over
	}
	return err
}

// partlyStored is an event some of whose deliveries are not stored yet: the first outcome of
// each inserts it. These deliveries share the partlyStored.
type partlyStored struct {
	fanout      *recording.Fanout
	unstored    atomic.Int32 // deliveries whose first attempt is not over
	writeFailed atomic.Bool  // whether the write of an outcome failed
}

// firstAttemptOver notes that the first attempt of a delivery is over, and whether its outcome is
// written. The last one stops the renewal of the event's lease. It reports whether all deliveries
// are stored now, so that the caller calls FinishRest.
func (p *partlyStored) firstAttemptOver(written bool) (allStored bool) {
	if !written {
		p.writeFailed.Store(true)
	}
	if p.unstored.Add(-1) > 0 {
		return false
	}
	p.fanout.StopRenewal()
	return !p.writeFailed.Load()
}

// fanoutTx fans out the events of one transaction.
//
// This process attempts a delivery to a healthy endpoint right after the commit and stores
// it once, with the outcome. It leases the event until then. If it dies, another process fans
// the event out again and may deliver twice. fanoutTx stores all other deliveries before they
// start. So a slow endpoint keeps no event leased, and a worker can claim a delivery that
// must wait.
type fanoutTx struct {
	*Service
	// The transaction reads these once: many events share a merchant.
	subscriptions map[storage.Scope][]recording.Subscription
	endpoints     map[string]*endpointRecord // by id
}

func (s *Service) newFanoutTx() *fanoutTx {
	return &fanoutTx{s, map[storage.Scope][]recording.Subscription{}, map[string]*endpointRecord{}}
}

// fanOutEvent fans out one event, and returns the number of its endpoints.
func (s *fanoutTx) fanOutEvent(tx *engine.Tx, f *recording.Fanout) (endpoints int, err error) {
	if tx, err = tx.As(f.Caller()); err != nil {
		return 0, err
	}
	endpoints, unstored, err := s.makeDeliveries(tx, f)
	if err != nil {
		return 0, err
	}
	if unstored {
		return endpoints, s.events.FinishPartly(tx, f, endpoints)
	}
	return endpoints, s.events.Finish(tx, f, endpoints)
}

// makeDeliveries makes the deliveries of an event. It starts those that the limiter has room
// for, and stores the others. It returns the number of endpoints, and whether some of the
// started deliveries are not stored yet.
func (s *fanoutTx) makeDeliveries(tx *engine.Tx, f *recording.Fanout) (endpoints int, unstored bool, err error) {
	subscriptions, err := s.cachedSubscriptions(tx)
	if err != nil {
		return 0, false, err
	}
	e := f.Event()
	for i := range subscriptions {
		if f.Match(&subscriptions[i]) != "" {
			endpoints++
		}
	}
	partly := &partlyStored{fanout: f}
	payload := *e
	payload.PendingWebhooks = endpoints
	var body []byte // the JSON of payload
	for i := range subscriptions {
		sub := &subscriptions[i]
		name := f.Match(sub)
		if name == "" {
			continue
		}
		id := s.events.FirstDeliveryID(e.ID, sub.Endpoint)
		if f.WasPartlyStored() {
			if is, err := s.events.HasDelivery(tx, engine.Scope(tx.Caller), id); err != nil {
				return 0, false, err
			} else if is {
				continue
			}
		}
		m := &outgoing{Object: newDelivery(tx, id, sub.Endpoint, e.ID, name), caller: tx.Caller, sent: e.Data.Object, now: tx.Now, reserved: true}
		started, backoff, err := s.start(tx, m, partly)
		if err != nil {
			return 0, false, err
		}
		if !started {
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
	return endpoints, partly.unstored.Load() > 0, nil
}

// start has this process attempt a delivery right after the commit, if the limiter has room.
// Without room it returns how long to put the delivery off. The first outcome stores a
// delivery to a healthy endpoint; start stores and leases any other.
func (s *fanoutTx) start(tx *engine.Tx, m *outgoing, partly *partlyStored) (started bool, backoff time.Duration, err error) {
	d, limiter := &m.Value, &s.senderFor(tx.Caller.Live).limiter
	ok, healthy, backoff := limiter.ReserveRoom(d.Endpoint, s.engine.Clock())
	if !ok {
		return false, backoff, nil
	}
	slot := tx.AcquireSlot(s.deliveries.Kind())
	if slot == nil {
		limiter.FreeRoom(d.Endpoint)
		return false, 0, nil
	}
	slot.Run(d.ID, func(ctx context.Context) error { return s.attemptFirst(ctx, m) })
	tx.OnRollback(func() { limiter.FreeRoom(d.Endpoint) })
	if healthy {
		m.unstoredOf = partly
		partly.unstored.Add(1)
		return true, 0, nil
	}
	if err := s.insert(tx, m.Object); err != nil {
		return false, 0, err
	}
	m.stopRenewal, err = tx.LeaseAndRenew(s.deliveries.Kind(), m.ID, m.Version)
	return true, 0, err
}

// cachedSubscriptions returns the subscriptions of the transaction's merchant.
func (s *fanoutTx) cachedSubscriptions(tx *engine.Tx) ([]recording.Subscription, error) {
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

// cachedEndpoint returns an endpoint, or nil when it is off or was deleted.
func (s *fanoutTx) cachedEndpoint(tx *engine.Tx, id string) (*endpointRecord, error) {
	cached, ok := s.endpoints[id]
	if ok {
		return cached, nil
	}
	cached, err := activeEndpoint(tx, engine.Scope(tx.Caller), id)
	if err == nil {
		s.endpoints[id] = cached
	}
	return cached, err
}
