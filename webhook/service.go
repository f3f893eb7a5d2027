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
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Events *event.Service
	// Allow opens address ranges that are not public, such as loopback, to the
	// deliveries of test mode.
	Allow []netip.Prefix
}

// Service keeps endpoints and delivers events. It is safe for concurrent use.
type Service struct {
	engine *engine.Engine
	events *event.Service
	// live and test are apart, so that neither keeps the other from its turn.
	live, test carrier
	// read and written join the reading of what is delivered, and the writing of what
	// became of it.
	read    *engine.Group[*message]
	written *engine.Group[*result]
}

// carrier makes the deliveries of one mode.
type carrier struct {
	lanes     lanes
	transport *http.Transport
}

// of returns what makes the deliveries of a mode.
func (s *Service) of(live bool) *carrier {
	if live {
		return &s.live
	}
	return &s.test
}

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	s := &Service{engine: e, events: c.Events}
	s.live.transport, s.test.transport = transport(nil, nil), transport(c.Allow, nil)
	s.read = engine.NewGroup(maxInFlight, 1, s.messages)
	s.written = engine.NewGroup(maxInFlight, maxInHand/maxInFlight/2, s.results)
	return s
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

// held is a delivery that this worker has claimed.
type held struct {
	*storage.Object[deliveryRecord]
	caller api.Caller
}

// work acts on a delivery that was claimed.
func (s *Service) work(ctx context.Context, claimed storage.Record) error {
	o, err := deliveries.Decode(claimed)
	if err != nil {
		return err
	}
	return s.attempt(ctx, &message{held: held{o, api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}})
}

// attempt makes one attempt of a delivery, and writes down what became of it. The
// last of an event that is held closes that, or, where something could not be written,
// leaves it to who fans it out again when its lease is over.
func (s *Service) attempt(ctx context.Context, m *message) (err error) {
	written := false
	defer func() { // also when it panics
		if m.release != nil {
			m.release()
		}
		if m.telling == nil {
			return
		}
		if !written {
			m.telling.lost.Store(true)
		}
		if m.telling.left.Add(-1) > 0 {
			return
		}
		m.telling.open.Release()
		if !m.telling.lost.Load() {
			err = s.write(&result{held: m.held, closes: m.telling.open})
		}
	}()
	err = s.attemptOne(ctx, m)
	written = err == nil
	return err
}

func (s *Service) attemptOne(ctx context.Context, m *message) error {
	d, lanes := m.held, &s.of(m.caller.Live).lanes
	said := due.Outcome{Attempt: len(d.Value.Attempts) + 1}
	defer func() { due.Report(ctx, said) }()
	defer lanes.done()
	if ok, putOff := lanes.enter(d.Value.Endpoint, m.expected, s.engine.Clock()); !ok {
		said = due.Outcome{Name: "put_off", Level: slog.LevelDebug}
		return s.write(&result{held: d, first: m.telling != nil, putOff: putOff})
	}
	// The place is given back before the outcome is written down, which is nothing
	// to the endpoint.
	var made outcome
	leave := sync.OnceFunc(func() { lanes.leave(d.Value.Endpoint, made.well(), made.took, s.engine.Clock()) })
	defer leave()

	if m.body == nil {
		if err := s.read.Do(m); err != nil {
			return fmt.Errorf("webhook: read delivery: %w", err)
		}
	}
	if m.target == nil {
		said = due.Outcome{Name: "not_wanted"}
		return s.write(&result{held: d, first: m.telling != nil, status: Failed})
	}
	made = s.post(ctx, d.caller.Live, m.target.URL, d.Value.Event, m.body, m.target.secrets(m.now))
	leave()
	r := &result{held: d, first: m.telling != nil, made: &made, status: Pending}
	switch {
	case made.well():
		r.status, said.Name = Delivered, string(Delivered)
	case len(d.Value.Attempts)+1 >= len(attemptAfter) || made.StatusCode == http.StatusGone:
		r.status, said.Name = Failed, string(Failed)
	default:
		said.Name = "again"
	}
	if !made.well() {
		said.Level, said.Err = slog.LevelWarn, made.err()
	}
	return s.write(r)
}

// message is what a delivery brings, and to whom.
type message struct {
	held
	target *endpointRecord // nil when there is nobody to tell any more, or nothing
	body   []byte          // nil when it is yet to be read
	now    time.Time
	// expected says that the lanes have room for it.
	expected bool
	// telling is set when the delivery is not written before its outcome, and release when
	// it is written, and held.
	telling *telling
	release func()
}

// messages reads what many deliveries bring from one snapshot. Many are of the same
// endpoint, and some of the same event.
func (s *Service) messages(members []*message) error {
	return s.engine.View(context.Background(), api.Caller{}, func(tx *engine.ReadTx) error {
		targets := map[string]*endpointRecord{}
		bodies := map[[2]string][]byte{}
		for _, m := range members {
			mine, err := tx.For(m.caller)
			if err != nil {
				return err
			}
			m.now = mine.Now
			target, ok := targets[m.Value.Endpoint]
			if !ok {
				if target, err = s.target(mine, m.caller.Scope(), m.Value.Endpoint); err != nil {
					return err
				}
				targets[m.Value.Endpoint] = target
			}
			named := [2]string{m.Value.Event, string(m.Value.Type)}
			body, ok := bodies[named]
			if !ok && target != nil {
				if body, err = s.body(mine, &m.Value.Delivery); err != nil {
					return err
				}
				bodies[named] = body
			}
			if m.target, m.body = target, body; body == nil {
				m.target = nil
			}
		}
		return nil
	})
}

// target returns an endpoint that wants to be told, or nil.
func (s *Service) target(tx storage.ReadTx, scope storage.Scope, id string) (*endpointRecord, error) {
	o, err := endpoints.Get(tx, scope, id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !o.Value.Active {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// body returns the event under the name that the endpoint knows, or nil when it was
// forgotten.
func (s *Service) body(tx *engine.ReadTx, d *Delivery) ([]byte, error) {
	e, err := s.events.FannedOutTx(tx, tx.Caller.Scope(), d.Event)
	if api.CodeOf(err) == api.ResourceMissing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e.Type = d.Type
	return plainjson.Marshal(e)
}

// result is what became of a delivery, or of all those of an event that was held.
type result struct {
	held
	closes *event.Open // nil when it is of a delivery
	first  bool        // whether the delivery is yet to be written
	status DeliveryStatus
	made   *outcome // nil when no attempt was made
	// putOff is for how long a delivery is given back that found no place.
	putOff time.Duration
}

// write writes down a result. If the lease has run out and another worker holds the
// delivery, or has told in our place, nothing is written.
func (s *Service) write(r *result) error {
	err := s.written.Do(r)
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) || r.first && errors.Is(err, storage.ErrExists) {
		return nil
	}
	return err
}

// results writes down many in one transaction.
func (s *Service) results(members []*result) error {
	return s.engine.Update(context.Background(), api.Caller{}, func(tx *engine.Tx) error {
		well := map[string]bool{} // the endpoints that are known to have no failures behind them
		for _, r := range members {
			tx, err := tx.For(r.caller)
			if err != nil {
				return err
			}
			if err := s.resultTx(tx, r, well); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) resultTx(tx *engine.Tx, r *result, well map[string]bool) error {
	if r.closes != nil {
		return r.closes.Close(tx)
	}
	o := *r.Object // a run that is undone leaves the claimed version as it is
	d := &o.Value
	d.NextAttemptAt = nil
	if r.made != nil {
		r.made.At = api.At(tx.Now)
		d.Attempts = append(slices.Clip(d.Attempts), r.made.Attempt)
	}
	switch {
	case r.made == nil && r.status != Failed:
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(r.putOff))
		tx.DueIn(deliveries.Kind(), r.putOff)
	case r.status == Pending:
		wait := max(jitter(attemptAfter[len(d.Attempts)], d.ID), r.made.retryAfter)
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(wait))
		tx.DueIn(deliveries.Kind(), wait)
	default:
		d.Status = r.status
	}
	put := deliveries.Replace
	if r.first {
		put = insert
	}
	if err := put(tx, &o); err != nil {
		return err
	}
	switch {
	case r.made == nil, r.made.well() && well[d.Endpoint]:
		return nil
	case r.made.well():
		well[d.Endpoint] = true
		return s.succeeded(tx, d.Endpoint)
	}
	delete(well, d.Endpoint)
	return s.failed(tx, d.Endpoint, r.made.StatusCode == http.StatusGone)
}

// jitter takes up to a tenth off a time, so that what failed together does not come back
// together, and nothing comes later than the schedule says. It follows from the id of
// the delivery, and so a test that has chosen the ids knows it.
func jitter(d time.Duration, id string) time.Duration {
	h := fnv.New64a()
	fmt.Fprint(h, id, d)
	return d - time.Duration(h.Sum64()%uint64(d/10+1))
}

// succeeded ends a series of failures of an endpoint.
func (s *Service) succeeded(tx *engine.Tx, id string) error {
	o, err := endpoints.Get(tx, tx.Caller.Scope(), id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && o.Value.FailingSince == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("webhook: read endpoint: %w", err)
	}
	o.Value.FailingSince = nil
	return endpoints.Replace(tx, o)
}

// failed notes a failure of an endpoint, and switches it off when it is gone or
// has failed for too long.
func (s *Service) failed(tx *engine.Tx, id string, gone bool) error {
	o, err := endpoints.Get(tx, tx.Caller.Scope(), id)
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
	if err := resubscribe(tx, r, false); err != nil {
		return err
	}
	tx.Committed(func() {
		s.engine.Log.Warn("a webhook endpoint was switched off", "endpoint", id, "gone", gone)
	})
	return s.events.RecordTx(tx, &r.Endpoint, event.WebhookEndpointDisabled)
}

// Ping delivers an event of type "ping" to an endpoint at once, through the same
// guard, and returns the attempt. It is kept nowhere, but for the answer under the
// caller's key, which a repetition gets without another delivery.
func (s *Service) Ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("webhook: ping: %w", engine.ErrOutside)
	}
	call := engine.Call{Name: "webhook_endpoint.ping", Params: id}
	return engine.Kept(ctx, s.engine, caller, call, func() (*Delivery, error) { return s.ping(ctx, caller, id) })
}

func (s *Service) ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
	var target *endpointRecord
	var now time.Time
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := engine.GetTx(tx, endpoints, caller.Scope(), id, noun)
		if err == nil {
			target, now = &o.Value, tx.Now
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
	made := s.post(ctx, caller.Live, target.URL, e.ID, body, target.secrets(now))
	made.At = api.At(now)
	d := &Delivery{
		ID: s.engine.NewID("wd_"), Object: "webhook_delivery", Endpoint: id, Event: e.ID, Type: e.Type,
		Status: Failed, Attempts: []Attempt{made.Attempt}, CreatedAt: api.At(now),
	}
	if made.well() {
		d.Status = Delivered
	}
	return d, nil
}
