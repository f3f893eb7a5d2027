package webhook

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// retrySchedule is how long each next attempt follows the one before, without the jitter.
// It is the schedule of Standard Webhooks, a day longer.
var retrySchedule = retry.Schedule{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// disableAfter is how long an endpoint may fail without a success before the service
// switches it off.
const disableAfter = 5 * 24 * time.Hour

// outgoing is a delivery that this process has claimed, with what its attempt needs.
type outgoing struct {
	*storage.Object[Delivery]
	caller   api.Caller
	endpoint *endpointRecord // nil when the endpoint is off or gone, or the event was removed
	body     []byte          // the event as JSON; nil until it is read
	now      time.Time
	// reserved says that the fan-out reserved room in the limiter.
	reserved bool
	// leasedEvent is set if the delivery is not stored yet; its first outcome inserts it.
	leasedEvent *leasedEvent
	// stopRenewal stops renewing the lease of a delivery that the fan-out stored. What is left of
	// the lease covers the write of the outcome.
	stopRenewal func()
}

// attemptClaimed attempts a stored delivery that the runner has claimed.
func (s *Service) attemptClaimed(ctx context.Context, claimed storage.Record) error {
	o, err := s.deliveries.Decode(claimed)
	if err != nil {
		return err
	}
	return s.attempt(ctx, &outgoing{Object: o, caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}})
}

// attemptFirst makes the first attempt of a delivery that the fan-out started, and stops
// renewing its lease. The last delivery of a leased event closes the event. If a write failed, the lease
// of the event runs out, and a worker fans the event out again.
func (s *Service) attemptFirst(ctx context.Context, m *outgoing) (err error) {
	written := false
	defer func() { // also when it panics
		if m.stopRenewal != nil {
			m.stopRenewal()
		}
		if m.leasedEvent != nil && m.leasedEvent.settle(written) {
			err = s.write(&deliveryUpdate{outgoing: m, closeEvent: true})
		}
	}()
	err = s.attempt(ctx, m)
	written = err == nil
	return err
}

// attempt makes one attempt of a delivery and writes its outcome. If the limiter has no
// slot, or the endpoint is gone, it writes that instead.
func (s *Service) attempt(ctx context.Context, m *outgoing) error {
	report := work.Report{Attempt: len(m.Value.Attempts) + 1}
	defer func() { work.SetReport(ctx, report) }()
	limiter := &s.senderFor(m.caller.Live).limiter
	defer limiter.done()
	if ok, backoff := limiter.acquire(m.Value.Endpoint, m.reserved, s.engine.Clock()); !ok {
		report = work.Report{Name: "put_off", Level: slog.LevelDebug}
		return s.write(&deliveryUpdate{outgoing: m, status: Pending, wait: backoff})
	}
	// The attempt releases its slot before it writes the outcome: the write takes nothing of
	// the endpoint.
	var result attemptResult
	release := sync.OnceFunc(func() { limiter.release(m.Value.Endpoint, result.ok(), result.took, s.engine.Clock()) })
	defer release()

	if m.body == nil {
		if err := s.readBatch.Do(m); err != nil {
			return fmt.Errorf("webhook: read delivery: %w", err)
		}
	}
	if m.endpoint == nil {
		report = work.Report{Name: "not_wanted"}
		return s.write(&deliveryUpdate{outgoing: m, status: Failed})
	}
	result = s.post(ctx, m.caller.Live, m.endpoint.URL, m.Value.Event, m.body, m.endpoint.secrets(m.now))
	release()

	status, wait := decide(&result, report.Attempt, m.ID)
	if report.Name = string(status); status == Pending {
		report.Name = "again"
	}
	if !result.ok() {
		report.Level, report.Err = slog.LevelWarn, result.err()
	}
	return s.write(&deliveryUpdate{outgoing: m, attempt: &result, status: status, wait: wait})
}

// decide returns the status of a delivery after its nth attempt. A pending one waits for so
// long before the next attempt.
func decide(result *attemptResult, n int, id string) (status DeliveryStatus, wait time.Duration) {
	wait, more := retrySchedule.After(n)
	switch {
	case result.ok():
		return Delivered, 0
	case !more || result.StatusCode == http.StatusGone:
		return Failed, 0
	}
	return Pending, max(jitter(wait, id), result.retryAfter)
}

// jitter takes up to a tenth off a wait, so that deliveries that failed together do not
// come back together, and none comes later than the schedule says. It follows from the id
// of the delivery, so a test that chooses the ids can predict it.
func jitter(wait time.Duration, id string) time.Duration {
	h := fnv.New64a()
	fmt.Fprint(h, id, wait)
	return wait - time.Duration(h.Sum64()%uint64(wait/10+1))
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
				if endpoint, err = activeEndpoint(mine, engine.Scope(m.caller), m.Value.Endpoint); err != nil {
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

// body returns the JSON of the event under the type that the endpoint asked for, or nil
// when the event was removed.
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

// deliveryUpdate is the outcome of a delivery, to be written, or the end of its leased event.
type deliveryUpdate struct {
	*outgoing
	closeEvent bool           // whether to close the leased event instead
	attempt    *attemptResult // nil when no attempt was made
	status     DeliveryStatus
	wait       time.Duration // how long a pending delivery waits
}

// write writes an update, together with others. If the lease has run out and another worker
// has taken or made the delivery, write changes nothing.
func (s *Service) write(u *deliveryUpdate) error {
	err := s.writeBatch.Do(u)
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) || u.leasedEvent != nil && errors.Is(err, storage.ErrExists) {
		return nil
	}
	return err
}

// writeUpdates writes many updates in one transaction.
func (s *Service) writeUpdates(members []*deliveryUpdate) error {
	return s.engine.Update(context.Background(), api.Caller{}, func(tx *engine.Tx) error {
		healthy := map[string]bool{} // endpoints without FailingSince
		for _, u := range members {
			tx, err := tx.As(u.caller)
			if err != nil {
				return err
			}
			if u.closeEvent {
				err = s.events.Close(tx, u.leasedEvent.fanout)
			} else {
				err = s.writeOutcome(tx, u, healthy)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// writeOutcome writes the outcome of a delivery, and what it says about the endpoint.
func (s *Service) writeOutcome(tx *engine.Tx, u *deliveryUpdate, healthy map[string]bool) error {
	o := *u.Object // a run that is rolled back leaves the claimed version as it is
	d := &o.Value
	d.Status, d.NextAttemptAt = u.status, nil
	if u.attempt != nil {
		u.attempt.At = api.At(tx.Now)
		d.Attempts = append(slices.Clip(d.Attempts), u.attempt.Attempt)
	}
	if u.status == Pending {
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(u.wait))
		tx.WakeAfter(s.deliveries.Kind(), u.wait)
	}
	put := s.deliveries.Replace
	if u.leasedEvent != nil {
		put = s.insert
	}
	if err := put(tx, &o); err != nil {
		return err
	}
	switch {
	case u.attempt == nil, u.attempt.ok() && healthy[d.Endpoint]:
		return nil
	case u.attempt.ok():
		healthy[d.Endpoint] = true
		return recordSuccess(tx, d.Endpoint)
	}
	delete(healthy, d.Endpoint)
	return s.recordFailure(tx, d.Endpoint, u.attempt.StatusCode == http.StatusGone)
}

// recordSuccess ends a series of failures of an endpoint.
func recordSuccess(tx *engine.Tx, id string) error {
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

// recordFailure notes a failure of an endpoint. It switches the endpoint off if the endpoint
// is gone or has failed for too long.
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
