package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
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
	lanes  lanes
	// test carries what test mode delivers, live what live mode does.
	test, live *http.Client
}

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	return &Service{engine: e, events: c.Events, test: client(c.Allow), live: client(nil)}
}

const (
	// attemptTimeout bounds one attempt in all: name, connection, answer.
	attemptTimeout = 15 * time.Second
	// lease is longer than an attempt, so that another worker takes over only what a
	// dead one held.
	lease = 2 * attemptTimeout
	// maxResponse is how much of an answer is kept, in bytes. No more is read.
	maxResponse = 4 << 10
	// disableAfter is after how long of nothing but failure an endpoint is switched
	// off.
	disableAfter = 5 * 24 * time.Hour
)

// work makes one attempt of a delivery, and writes down what became of it.
func (s *Service) work(ctx context.Context, claimed storage.Record) error {
	o, err := deliveries.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}
	said := due.Outcome{Attempt: len(o.Value.Attempts) + 1}
	defer func() { due.Report(ctx, said) }()
	if ok, putOff := s.lanes.enter(o.Value.Endpoint, s.engine.Clock()); !ok {
		said = due.Outcome{Name: "put_off", Level: slog.LevelDebug}
		return s.write(ctx, caller, o, func(tx *engine.Tx, d *Delivery) error {
			d.NextAttemptAt = api.AtOrNil(tx.Now.Add(putOff))
			return nil
		})
	}
	// The place is given back before the outcome is written down, which is nothing
	// to the endpoint.
	var made outcome
	leave := sync.OnceFunc(func() { s.lanes.leave(o.Value.Endpoint, made.well(), made.took, s.engine.Clock()) })
	defer leave()

	var target *endpointRecord
	var body []byte
	var now time.Time
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		now = tx.Now
		found, err := endpoints.Get(tx, caller.Scope(), o.Value.Endpoint)
		if errors.Is(err, storage.ErrNotFound) || err == nil && !found.Value.Active {
			return nil
		}
		if err != nil {
			return err
		}
		target = &found.Value
		e, err := s.events.GetTx(tx, caller.Scope(), o.Value.Event)
		if api.CodeOf(err) == api.ResourceMissing {
			target = nil // the event was forgotten
			return nil
		}
		if err != nil {
			return err
		}
		told := *e
		told.Type = o.Value.Type
		body, err = plainjson.Marshal(&told)
		return err
	})
	if err != nil {
		return fmt.Errorf("webhook: read delivery: %w", err)
	}
	if target == nil {
		said = due.Outcome{Name: "not_wanted"}
		return s.end(ctx, caller, o, Failed, nil)
	}
	made = s.post(ctx, caller.Live, target.URL, o.Value.Event, body, target.secrets(now))
	leave()
	if made.well() {
		said.Name = string(Delivered)
		return s.end(ctx, caller, o, Delivered, &made)
	}
	said.Name, said.Level, said.Err = string(Failed), slog.LevelWarn, made.err()
	if len(o.Value.Attempts)+1 >= len(attemptAfter) || made.StatusCode == http.StatusGone {
		return s.end(ctx, caller, o, Failed, &made)
	}
	said.Name = "again"
	return s.write(ctx, caller, o, func(tx *engine.Tx, d *Delivery) error {
		made.At = api.At(tx.Now)
		d.Attempts = append(d.Attempts, made.Attempt)
		wait := max(jitter(attemptAfter[len(d.Attempts)]), made.retryAfter)
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(wait))
		return s.failed(ctx, tx, d.Endpoint, false)
	})
}

// jitter spreads a time by a tenth to either side, so that what failed together
// does not come back together.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(rand.Int64N(int64(d/5)+1))
}

// write changes a delivery that this worker holds. If the lease has run out and
// another worker holds it, nothing is written.
func (s *Service) write(ctx context.Context, caller api.Caller, o *storage.Object[Delivery], do func(*engine.Tx, *Delivery) error) error {
	err := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
		held := *o // a run that is undone leaves the claimed version as it is
		if err := do(tx, &held.Value); err != nil {
			return err
		}
		return deliveries.Replace(tx, &held)
	})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// end writes down the end of a delivery.
func (s *Service) end(ctx context.Context, caller api.Caller, o *storage.Object[Delivery], status DeliveryStatus, made *outcome) error {
	return s.write(ctx, caller, o, func(tx *engine.Tx, d *Delivery) error {
		d.Status, d.NextAttemptAt = status, nil
		if made != nil {
			made.At = api.At(tx.Now)
			d.Attempts = append(d.Attempts, made.Attempt)
		}
		if err := s.events.ToldTx(tx, d.Event, -1); err != nil {
			return err
		}
		switch {
		case status == Delivered:
			return s.succeeded(tx, d.Endpoint)
		case made != nil:
			return s.failed(ctx, tx, d.Endpoint, made.StatusCode == http.StatusGone)
		}
		return nil
	})
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
func (s *Service) failed(ctx context.Context, tx *engine.Tx, id string, gone bool) error {
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
	if err := resubscribe(tx, &r.Endpoint, false); err != nil {
		return err
	}
	tx.Committed(func() {
		s.engine.Log.WarnContext(ctx, "a webhook endpoint was switched off", "endpoint", id, "gone", gone)
	})
	return s.events.RecordTx(tx, &r.Endpoint, event.WebhookEndpointDisabled)
}

// Ping delivers an event of type "ping" to an endpoint at once, through the same
// guard, and returns the attempt. It is kept nowhere.
func (s *Service) Ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
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
