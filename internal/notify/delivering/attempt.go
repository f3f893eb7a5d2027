package delivering

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// retrySchedule holds the waits between one attempt and the next, without the jitter. It is the schedule of
// Standard Webhooks, a day longer.
var retrySchedule = retry.Schedule{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// disableAfter is how long an endpoint may fail without a success before the service
// switches it off.
const disableAfter = 5 * 24 * time.Hour

// outgoing is a delivery at hand, with the data that its attempt needs. Either a worker of this process has
// claimed it, or this process's fan-out has started it.
type outgoing struct {
	*storage.Object[webhook.Delivery]
	caller   api.Caller
	endpoint *endpointRecord // nil when the endpoint is off or gone, or the event was removed
	body     []byte          // the event as JSON; nil until it is read
	sent     json.RawMessage // the object of the event as the body has it
	now      time.Time
	// reserved says that the fan-out reserved room to wait in the limiter.
	reserved bool
	// unstoredOf is the event of a delivery that is not stored yet, else nil. The write of the first
	// outcome inserts the delivery.
	unstoredOf *partlyStored
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
// renewing its lease. The last delivery of a partly stored event finishes the event. If a
// write failed, the lease of the event runs out, and a worker fans the event out again.
func (s *Service) attemptFirst(ctx context.Context, m *outgoing) (err error) {
	written := false
	defer func() { // also when it panics
		if m.stopRenewal != nil {
			m.stopRenewal()
		}
		if p := m.unstoredOf; p != nil && p.firstAttemptOver(written) {
			err = s.inBatch(m.caller, func(tx *engine.Tx, _ *sharedWrites) error { return s.events.FinishRest(tx, p.fanout) })
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
	defer limiter.OutcomeWritten()
	if ok, backoff := limiter.AcquireSlot(m.Value.Endpoint, m.reserved, s.engine.Clock()); !ok {
		report = work.Report{Name: "put_off", Level: slog.LevelDebug}
		return s.writeOutcome(m, outcome{status: webhook.Pending, wait: backoff})
	}
	// The attempt releases its slot before it writes the outcome, because the write does not load
	// the endpoint. posted stays nil if nothing was posted: the limiter then learns nothing.
	var posted *pace.Result
	release := sync.OnceFunc(func() { limiter.ReleaseSlot(m.Value.Endpoint, posted, s.engine.Clock()) })
	defer release()

	if m.body == nil {
		if err := s.readBatch.Do(m); err != nil {
			return fmt.Errorf("webhook: read delivery: %w", err)
		}
	}
	if m.endpoint == nil {
		report = work.Report{Name: "not_wanted"}
		release()
		return s.writeOutcome(m, outcome{status: webhook.Failed})
	}
	body := m.body // other deliveries share it
	if m.endpoint.ForReader {
		var err error
		if body, err = s.events.BodyForReaders(m.Value.Type, body); err != nil {
			return fmt.Errorf("webhook: body of delivery: %w", err)
		}
	}
	result := new(s.post(ctx, m.caller.Live, m.endpoint.URL, m.Value.Event, body, m.endpoint.secrets(m.now)))
	posted = &pace.Result{OK: result.ok(), Took: result.took}
	release()

	status, wait := decide(result, report.Attempt, m.ID)
	if report.Name = string(status); status == webhook.Pending {
		report.Name = "again"
	}
	if !result.ok() {
		report.Level, report.Err = slog.LevelWarn, result.err()
	}
	return s.writeOutcome(m, outcome{result, status, wait})
}

// decide returns the status of a delivery after its nth attempt. A pending one waits for so
// long before the next attempt.
func decide(result *attemptResult, n int, id string) (status webhook.DeliveryStatus, wait time.Duration) {
	wait, more := retrySchedule.After(n)
	switch {
	case result.ok():
		return webhook.Delivered, 0
	case !more || result.StatusCode == http.StatusGone:
		return webhook.Failed, 0
	}
	return webhook.Pending, max(jitter(wait, id), result.retryAfter)
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
		bodies := map[[2]string]payload{}
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
				if body, err = s.payload(mine, &m.Value); err != nil {
					return err
				}
				bodies[named] = body
			}
			if m.endpoint, m.body, m.sent = endpoint, body.json, body.object; body.json == nil {
				m.endpoint = nil
			}
		}
		return nil
	})
}

// payload is what a delivery carries: the JSON of an event, and the event's object in it.
type payload struct {
	json   []byte
	object json.RawMessage
}

// payload returns the event under the type that the endpoint asked for. It is empty when the event
// was removed.
func (s *Service) payload(tx *engine.ReadTx, d *webhook.Delivery) (p payload, err error) {
	e, err := s.events.EventAsSent(tx, engine.Scope(tx.Caller), d.Event)
	if api.CodeOf(err) == api.ResourceMissing {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	e.Type = d.Type
	p.object = e.Data.Object
	p.json, err = plainjson.Marshal(e)
	return p, err
}

// batchedWrite is a write that shares its transaction with others.
type batchedWrite struct {
	caller api.Caller
	run    func(tx *engine.Tx, shared *sharedWrites) error
}

// sharedWrites is what the writes of one transaction know of each other.
type sharedWrites struct {
	notFailing map[string]bool // the endpoints that are known to have no FailingSince
	ended      ended
}

// inBatch runs a write in a transaction that other writes share. If the lease has run out and another worker
// has written the record, it changes nothing and returns nil.
func (s *Service) inBatch(caller api.Caller, run func(*engine.Tx, *sharedWrites) error) error {
	err := s.writeBatch.Do(&batchedWrite{caller, run})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// runWrites runs many writes in one transaction.
func (s *Service) runWrites(writes []*batchedWrite) error {
	return s.engine.Update(context.Background(), api.Caller{}, func(tx *engine.Tx) error {
		shared := &sharedWrites{notFailing: map[string]bool{}, ended: ended{}}
		for _, w := range writes {
			tx, err := tx.As(w.caller)
			if err != nil {
				return err
			}
			if err := w.run(tx, shared); err != nil {
				return err
			}
		}
		return shared.ended.write(tx)
	})
}

// outcome is the outcome of a delivery's work.
type outcome struct {
	attempt *attemptResult // nil when no attempt was made
	status  webhook.DeliveryStatus
	wait    time.Duration // how long a pending delivery waits
}

// writeOutcome writes the outcome of a delivery, and what it says about the endpoint.
func (s *Service) writeOutcome(m *outgoing, o outcome) error {
	err := s.inBatch(m.caller, func(tx *engine.Tx, shared *sharedWrites) error { return s.writeOutcomeTx(tx, m, o, shared) })
	if m.unstoredOf != nil && errors.Is(err, storage.ErrExists) {
		return nil // another worker has fanned the event out again, and made the delivery
	}
	return err
}

func (s *Service) writeOutcomeTx(tx *engine.Tx, m *outgoing, out outcome, shared *sharedWrites) error {
	o := *m.Object // a run that is rolled back leaves the claimed version as it is
	d := &o.Value
	moved, err := m.endpointMoved(tx, out.attempt)
	if err != nil {
		return err
	}
	if moved && out.attempt.StatusCode == http.StatusGone {
		if wait, more := retrySchedule.After(len(d.Attempts) + 1); more {
			out.status, out.wait = webhook.Pending, jitter(wait, m.ID)
		}
	}
	d.Status, d.NextAttemptAt = out.status, nil
	if out.attempt != nil {
		out.attempt.At = api.At(tx.Now)
		if err := s.eraseLateAnswer(tx, m, out.attempt); err != nil {
			return err
		}
		d.Attempts = append(slices.Clip(d.Attempts), out.attempt.Attempt)
	}
	if out.status == webhook.Pending {
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(out.wait))
		tx.WakeAfter(s.deliveries.Kind(), out.wait)
	}
	put := s.deliveries.Replace
	if m.unstoredOf != nil {
		put = s.insert
	}
	if err := put(tx, &o); err != nil {
		return err
	}
	if out.attempt != nil {
		shared.ended.count(o.Scope, d)
	}
	switch {
	case out.attempt == nil, moved, out.attempt.ok() && shared.notFailing[d.Endpoint]:
		return nil
	case out.attempt.ok():
		shared.notFailing[d.Endpoint] = true
		return recordSuccess(tx, d.Endpoint)
	}
	delete(shared.notFailing, d.Endpoint)
	return s.recordFailure(tx, d.Endpoint, out.attempt.StatusCode == http.StatusGone)
}

// endpointMoved reports whether the endpoint's URL has changed since an attempt that failed. The failure then
// says nothing about the new URL.
func (m *outgoing) endpointMoved(tx *engine.Tx, result *attemptResult) (bool, error) {
	if result == nil || result.ok() {
		return false, nil
	}
	is, err := activeEndpoint(tx, engine.Scope(tx.Caller), m.Value.Endpoint)
	if err != nil {
		return false, fmt.Errorf("webhook: read endpoint: %w", err)
	}
	return is != nil && is.URL != m.endpoint.URL, nil
}

// eraseLateAnswer removes the answer of an endpoint, which may quote the event, if an erasure has changed
// the event while the attempt was under way.
func (s *Service) eraseLateAnswer(tx *engine.Tx, m *outgoing, result *attemptResult) error {
	if result.Response == "" {
		return nil
	}
	e, err := s.events.EventAsSent(tx, engine.Scope(tx.Caller), m.Value.Event)
	switch {
	case api.CodeOf(err) == api.ResourceMissing: // retention has removed it
		result.Response = ""
		return nil
	case err != nil:
		return fmt.Errorf("webhook: read event: %w", err)
	case !bytes.Equal(e.Data.Object, m.sent):
		result.Response = ""
	}
	return nil
}

// recordSuccess ends a series of failures of an endpoint.
func recordSuccess(tx *engine.Tx, id string) error {
	o, err := engine.OrNil(endpoints.Get(tx, engine.Scope(tx.Caller), id))
	if o == nil || err != nil || o.Value.FailingSince == nil {
		return err
	}
	o.Value.FailingSince = nil
	return endpoints.Replace(tx, o)
}

// recordFailure notes a failure of an endpoint. It switches the endpoint off if the endpoint
// is gone or has failed for too long.
func (s *Service) recordFailure(tx *engine.Tx, id string, gone bool) error {
	o, err := engine.OrNil(endpoints.Get(tx, engine.Scope(tx.Caller), id))
	if o == nil || err != nil || !o.Value.Active {
		return err
	}
	r := &o.Value
	first := r.FailingSince == nil
	if first {
		r.FailingSince = api.AtOrNil(tx.Now)
	}
	if !gone && tx.Now.Sub(r.FailingSince.Time) < disableAfter {
		if first {
			return endpoints.Replace(tx, o)
		}
		return nil
	}
	r.Active, r.UpdatedAt = false, api.At(tx.Now)
	if err := endpoints.Replace(tx, o); err != nil {
		return err
	}
	if err := s.updateSubscription(tx, r); err != nil {
		return err
	}
	tx.OnCommit(func() {
		s.engine.Log.Warn("a webhook endpoint was switched off", "endpoint", id, "gone", gone)
	})
	return s.events.Append(tx, &r.Endpoint, event.WebhookEndpointDisabled)
}
