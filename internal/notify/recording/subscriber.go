package recording

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

func (s *Service) Subscribe(name string, fn event.Subscriber) {
	if s.engine.Host != nil {
		panic(fmt.Sprintf("event: Subscribe(%q): it is called on the service itself, not inside the host's transaction", name))
	}
	if name == "" || len(name) > 40 || fn == nil || s.subscribers[name] != nil {
		panic(fmt.Sprintf("event: Subscribe(%q): the name is taken or not well formed, or there is no function", name))
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && c != '_' {
			panic(fmt.Sprintf("event: Subscribe(%q): a name has lower-case letters and underscores", name))
		}
	}
	if s.subscribers == nil {
		s.subscribers = map[string]event.Subscriber{}
	}
	s.subscribers[name] = fn
	s.names = append(s.names, name)
}

// subscriberCall is a queued call of a subscriber with an event.
type subscriberCall struct {
	Subscriber string   `json:"subscriber"`
	Event      string   `json:"event"`
	Attempts   int      `json:"attempts,omitempty"`
	Due        api.Time `json:"due"`
}

var subscriberCalls = storage.NewCollection("subscriber_calls", []storage.Field[subscriberCall]{
	storage.NullTimeColumn("due", func(c *subscriberCall) *api.Time { return &c.Due }),
}, storage.DueBy("due"))

// retrySchedule is how long to wait after each failure of a subscriber. The last entry stands
// for all later failures.
var retrySchedule = retry.Schedule{
	time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
}

// subscriberTimeout bounds one call of a subscriber.
const subscriberTimeout = 30 * time.Second

// addSubscriberCalls queues a call of each subscriber with an event.
func (s *Service) addSubscriberCalls(tx *engine.Tx, e *event.Event) error {
	for _, name := range s.names {
		c := subscriberCall{Subscriber: name, Event: e.ID, Due: api.At(tx.Now)}
		if _, err := subscriberCalls.Insert(tx, engine.Scope(tx.Caller), tx.NewID("call_"), c); err != nil {
			return fmt.Errorf("event: notify %s: %w", name, err)
		}
	}
	if len(s.names) > 0 {
		tx.WakeAfterCommit(subscriberCalls.Kind())
	}
	return nil
}

// CallSubscribers returns the job that calls the subscribers.
func (s *Service) CallSubscribers() work.Job {
	const atATime = 32
	return work.Job{Kind: subscriberCalls.Kind(), Timeout: 2 * subscriberTimeout, Batch: atATime, RunOne: s.runCall}
}

// runCall calls a subscriber with one event, and deletes the queued call or puts it off.
func (s *Service) runCall(ctx context.Context, claimed storage.Record) error {
	o, err := subscriberCalls.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}
	fn := s.subscribers[o.Value.Subscriber]
	if fn == nil {
		err = fmt.Errorf("event: this process has no subscriber %s", o.Value.Subscriber)
	} else {
		err = s.callSubscriber(ctx, fn, caller, o.Value.Event)
	}
	outcome := work.Report{Name: "told", Attempt: o.Value.Attempts + 1}
	if err != nil {
		// The host's error may quote anything; the log must not.
		outcome.Name, outcome.Level, outcome.Err = "again", slog.LevelWarn, err
	}
	work.SetReport(ctx, outcome)
	written := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
		if err == nil {
			return subscriberCalls.Delete(tx, o)
		}
		again := *o
		again.Value.Attempts++
		again.Value.Due = api.At(tx.Now.Add(retrySchedule.AfterOrLast(again.Value.Attempts)))
		return subscriberCalls.Replace(tx, &again)
	})
	if errors.Is(written, storage.ErrConflict) || errors.Is(written, storage.ErrNotFound) {
		return nil // the lease has run out, and another worker has the call
	}
	return written
}

// callSubscriber calls a subscriber with an event. A panic is an error.
func (s *Service) callSubscriber(ctx context.Context, fn event.Subscriber, caller api.Caller, id string) error {
	e, err := s.Get(ctx, caller, id)
	if api.CodeOf(err) == api.ResourceMissing {
		return nil // the event was removed
	}
	if err != nil {
		return err
	}
	_, err = work.CallHost(ctx, subscriberTimeout, func(ctx context.Context) (_ struct{}, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("event: panic: %v", p)
				s.engine.Log.ErrorContext(ctx, "a subscriber panicked", "event", id, "stack", string(debug.Stack()))
			}
		}()
		return struct{}{}, fn(ctx, caller, *e)
	})
	return err
}
