package webhook

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Events *event.Internal
	// Allow opens address ranges that are not public, such as loopback, to the
	// deliveries of test mode.
	Allow []netip.Prefix
}

// Service keeps endpoints and delivers events. It is safe for concurrent use.
type Service struct {
	engine *engine.Engine
	events *event.Internal
	// deliveries are the records of package event.
	deliveries *storage.Collection[Delivery]
	// live and test are apart, so that neither keeps the other from its turn.
	live, test sender
	// readBatch reads the events and endpoints of many deliveries in one snapshot.
	// writeBatch writes the results of many attempts in one transaction.
	readBatch  *engine.Batcher[*outgoing]
	writeBatch *engine.Batcher[*deliveryUpdate]
}

// sender makes the deliveries of one mode.
type sender struct {
	limiter   limiter
	transport *http.Transport
}

// senderFor returns the sender of a mode.
func (s *Service) senderFor(live bool) *sender {
	if live {
		return &s.live
	}
	return &s.test
}

// Internal is what the packages of this module call. Only payments.New has one.
type Internal struct{ svc *Service }

// New returns the service for hosts and the one for the packages of this module.
func New(e *engine.Engine, c Config) (*Service, *Internal) {
	s := &Service{engine: e, events: c.Events, deliveries: c.Events.Deliveries()}
	s.live.transport, s.test.transport = transport(nil, nil), transport(c.Allow, nil)
	s.readBatch = engine.NewBatcher(maxInFlight, 1, s.readOutgoing)
	s.writeBatch = engine.NewBatcher(maxInFlight, maxInHand/maxInFlight/2, s.writeUpdates)
	return s, &Internal{s}
}

const (
	// attemptTimeout bounds one attempt in all: name, connection, answer.
	attemptTimeout = 15 * time.Second
	// workLimit bounds the work on a delivery: the wait for its turn, an attempt, and what
	// is written.
	workLimit = 2 * attemptTimeout
	// maxResponse is how much of an answer is kept, in bytes. No more is read.
	maxResponse = 4 << 10
	// disableAfter is after how long of nothing but failure an endpoint is switched
	// off.
	disableAfter = 5 * 24 * time.Hour
)

// claimedDelivery is a delivery that this worker has claimed.
type claimedDelivery struct {
	*storage.Object[Delivery]
	caller api.Caller
}

// work acts on a delivery that was claimed.
func (s *Service) work(ctx context.Context, claimed storage.Record) error {
	o, err := s.deliveries.Decode(claimed)
	if err != nil {
		return err
	}
	return s.attempt(ctx, &outgoing{claimedDelivery: claimedDelivery{o, api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}})
}

// attempt makes one attempt of a delivery and writes its result. The last delivery of a
// leased event closes the event. If a write failed, the lease runs out and the event is
// fanned out again.
func (s *Service) attempt(ctx context.Context, m *outgoing) (err error) {
	written := false
	defer func() { // also when it panics
		if m.release != nil {
			m.release()
		}
		if m.leasedEvent == nil {
			return
		}
		if !written {
			m.leasedEvent.writeFailed.Store(true)
		}
		if m.leasedEvent.unsettled.Add(-1) > 0 {
			return
		}
		m.leasedEvent.fanout.Release()
		if !m.leasedEvent.writeFailed.Load() {
			err = s.write(&deliveryUpdate{claimedDelivery: m.claimedDelivery, closeEvent: m.leasedEvent.fanout})
		}
	}()
	err = s.attemptOne(ctx, m)
	written = err == nil
	return err
}

func (s *Service) attemptOne(ctx context.Context, m *outgoing) error {
	d, limiter := m.claimedDelivery, &s.senderFor(m.caller.Live).limiter
	outcome := work.Report{Attempt: len(d.Value.Attempts) + 1}
	defer func() { work.SetReport(ctx, outcome) }()
	defer limiter.done()
	if ok, backoff := limiter.enter(d.Value.Endpoint, m.expected, s.engine.Clock()); !ok {
		outcome = work.Report{Name: "put_off", Level: slog.LevelDebug}
		return s.write(&deliveryUpdate{claimedDelivery: d, insert: m.leasedEvent != nil, backoff: backoff})
	}
	// The attempt leaves the limiter before its result is written: the write takes nothing
	// of the endpoint.
	var result attemptResult
	leave := sync.OnceFunc(func() { limiter.leave(d.Value.Endpoint, result.ok(), result.took, s.engine.Clock()) })
	defer leave()

	if m.body == nil {
		if err := s.readBatch.Do(m); err != nil {
			return fmt.Errorf("webhook: read delivery: %w", err)
		}
	}
	if m.endpoint == nil {
		outcome = work.Report{Name: "not_wanted"}
		return s.write(&deliveryUpdate{claimedDelivery: d, insert: m.leasedEvent != nil, status: Failed})
	}
	result = s.post(ctx, d.caller.Live, m.endpoint.URL, d.Value.Event, m.body, m.endpoint.secrets(m.now))
	leave()
	r := &deliveryUpdate{claimedDelivery: d, insert: m.leasedEvent != nil, attempt: &result, status: Pending}
	_, more := attemptAfter.After(outcome.Attempt)
	switch {
	case result.ok():
		r.status, outcome.Name = Delivered, string(Delivered)
	case !more || result.StatusCode == http.StatusGone:
		r.status, outcome.Name = Failed, string(Failed)
	default:
		outcome.Name = "again"
	}
	if !result.ok() {
		outcome.Level, outcome.Err = slog.LevelWarn, result.err()
	}
	return s.write(r)
}

// outgoing is a delivery with its body and its endpoint.
type outgoing struct {
	claimedDelivery
	endpoint *endpointRecord // nil when the endpoint is off or gone, or the event was removed
	body     []byte          // nil when it is yet to be read
	now      time.Time
	// expected says that the limiter has reserved room for it.
	expected bool
	// leasedEvent is set when the delivery is written only with its first result. release
	// ends the lease of a delivery that was written before.
	leasedEvent *leasedEvent
	release     func()
}

// readOutgoing reads the endpoints and bodies of many deliveries from one snapshot. Many
// deliveries share an endpoint, and some share an event.
func (s *Service) readOutgoing(members []*outgoing) error {
	return s.engine.View(context.Background(), api.Caller{}, func(tx *engine.ReadTx) error {
		active := map[string]*endpointRecord{}
		bodies := map[[2]string][]byte{}
		for _, m := range members {
			mine, err := tx.As(m.caller)
			if err != nil {
				return err
			}
			m.now = mine.Now
			endpoint, ok := active[m.Value.Endpoint]
			if !ok {
				if endpoint, err = s.activeEndpoint(mine, engine.Scope(m.caller), m.Value.Endpoint); err != nil {
					return err
				}
				active[m.Value.Endpoint] = endpoint
			}
			named := [2]string{m.Value.Event, string(m.Value.Type)}
			body, ok := bodies[named]
			if !ok && endpoint != nil {
				if body, err = s.body(mine, &m.Value); err != nil {
					return err
				}
				bodies[named] = body
			}
			if m.endpoint, m.body = endpoint, body; body == nil {
				m.endpoint = nil
			}
		}
		return nil
	})
}

// activeEndpoint returns an endpoint, or nil when it is off or was deleted.
func (s *Service) activeEndpoint(tx storage.ReadTx, scope storage.Scope, id string) (*endpointRecord, error) {
	o, err := endpoints.Get(tx, scope, id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !o.Value.Active {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// body returns the event under the type that the endpoint asked for, or nil when the event
// was removed.
func (s *Service) body(tx *engine.ReadTx, d *Delivery) ([]byte, error) {
	e, err := s.events.EventAsSent(tx, engine.Scope(tx.Caller), d.Event)
	if api.CodeOf(err) == api.ResourceMissing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e.Type = d.Type
	return plainjson.Marshal(e)
}

// deliveryUpdate is a write that follows an attempt: the new state of a delivery, or the
// end of a leased event.
type deliveryUpdate struct {
	claimedDelivery
	closeEvent *event.Fanout // nil for a delivery
	insert     bool          // whether the delivery is not stored yet
	status     DeliveryStatus
	attempt    *attemptResult // nil when no attempt was made
	// backoff is how long a delivery waits that the limiter turned away.
	backoff time.Duration
}

// write writes an update. If the lease has run out and another worker has taken or made the
// delivery, write changes nothing.
func (s *Service) write(r *deliveryUpdate) error {
	err := s.writeBatch.Do(r)
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) || r.insert && errors.Is(err, storage.ErrExists) {
		return nil
	}
	return err
}

// writeUpdates writes many updates in one transaction.
func (s *Service) writeUpdates(members []*deliveryUpdate) error {
	return s.engine.Update(context.Background(), api.Caller{}, func(tx *engine.Tx) error {
		healthy := map[string]bool{} // endpoints without FailingSince
		for _, r := range members {
			tx, err := tx.As(r.caller)
			if err != nil {
				return err
			}
			if err := s.writeUpdate(tx, r, healthy); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) writeUpdate(tx *engine.Tx, r *deliveryUpdate, healthy map[string]bool) error {
	if r.closeEvent != nil {
		return s.events.Close(tx, r.closeEvent)
	}
	o := *r.Object // a run that is rolled back leaves the claimed version as it is
	d := &o.Value
	d.NextAttemptAt = nil
	if r.attempt != nil {
		r.attempt.At = api.At(tx.Now)
		d.Attempts = append(slices.Clip(d.Attempts), r.attempt.Attempt)
	}
	switch {
	case r.attempt == nil && r.status != Failed:
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(r.backoff))
		tx.WakeAfter(s.deliveries.Kind(), r.backoff)
	case r.status == Pending:
		wait, _ := attemptAfter.After(len(d.Attempts))
		wait = max(jitter(wait, d.ID), r.attempt.retryAfter)
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(wait))
		tx.WakeAfter(s.deliveries.Kind(), wait)
	default:
		d.Status = r.status
	}
	put := s.deliveries.Replace
	if r.insert {
		put = s.insert
	}
	if err := put(tx, &o); err != nil {
		return err
	}
	switch {
	case r.attempt == nil, r.attempt.ok() && healthy[d.Endpoint]:
		return nil
	case r.attempt.ok():
		healthy[d.Endpoint] = true
		return s.recordSuccess(tx, d.Endpoint)
	}
	delete(healthy, d.Endpoint)
	return s.recordFailure(tx, d.Endpoint, r.attempt.StatusCode == http.StatusGone)
}

// jitter takes up to a tenth off a time, so that what failed together does not come back
// together, and nothing comes later than the schedule says. It follows from the id of
// the delivery, and so a test that has chosen the ids knows it.
func jitter(d time.Duration, id string) time.Duration {
	h := fnv.New64a()
	fmt.Fprint(h, id, d)
	return d - time.Duration(h.Sum64()%uint64(d/10+1))
}

// recordSuccess ends a series of failures of an endpoint.
func (s *Service) recordSuccess(tx *engine.Tx, id string) error {
	o, err := endpoints.Get(tx, engine.Scope(tx.Caller), id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && o.Value.FailingSince == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("webhook: read endpoint: %w", err)
	}
	o.Value.FailingSince = nil
	return endpoints.Replace(tx, o)
}

// recordFailure notes a failure of an endpoint, and switches the endpoint off when it is
// gone or has failed for too long.
func (s *Service) recordFailure(tx *engine.Tx, id string, gone bool) error {
	o, err := endpoints.Get(tx, engine.Scope(tx.Caller), id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !o.Value.Active {
		return nil
	}
	if err != nil {
		return fmt.Errorf("webhook: read endpoint: %w", err)
	}
	r := &o.Value
	if r.FailingSince == nil {
		r.FailingSince = api.AtOrNil(tx.Now)
	}
	if !gone && tx.Now.Sub(r.FailingSince.Time) < disableAfter {
		if o.Value.FailingSince.Equal(tx.Now) {
			return endpoints.Replace(tx, o)
		}
		return nil
	}
	r.Active, r.UpdatedAt = false, api.At(tx.Now)
	if err := endpoints.Replace(tx, o); err != nil {
		return err
	}
	if err := s.resubscribe(tx, r, false); err != nil {
		return err
	}
	tx.OnCommit(func() {
		s.engine.Log.Warn("a webhook endpoint was switched off", "endpoint", id, "gone", gone)
	})
	return s.events.Record(tx, &r.Endpoint, event.WebhookEndpointDisabled)
}

// Ping delivers an event of type "ping" to an endpoint at once, through the same
// guard, and returns the attempt. It is kept nowhere, but for the answer under the
// caller's key, which a repetition gets without another delivery.
func (s *Service) Ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("webhook: ping: %w", api.ErrNetworkInTx)
	}
	op := engine.Operation{Name: "webhook_endpoint.ping", Params: id}
	return engine.Memoize(ctx, s.engine, caller, op, func() (*Delivery, error) { return s.ping(ctx, caller, id) })
}

func (s *Service) ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
	var endpoint *endpointRecord
	var now time.Time
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := engine.GetTx(tx, endpoints, engine.Scope(caller), id, noun)
		if err == nil {
			endpoint, now = &o.Value, tx.Now
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	e := event.Event{
		ID: s.engine.NewID("evt_"), Object: "event", Type: "ping", CreatedAt: api.At(now),
		Data: event.Data{Object: []byte(`{"object":"ping"}`)},
	}
	body, err := plainjson.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("webhook: ping: %w", err)
	}
	result := s.post(ctx, caller.Live, endpoint.URL, e.ID, body, endpoint.secrets(now))
	result.At = api.At(now)
	d := &Delivery{
		ID: s.engine.NewID("wd_"), Object: "webhook_delivery", Endpoint: id, Event: e.ID, Type: e.Type,
		Status: Failed, Attempts: []Attempt{result.Attempt}, CreatedAt: api.At(now),
	}
	if result.ok() {
		d.Status = Delivered
	}
	return d, nil
}
