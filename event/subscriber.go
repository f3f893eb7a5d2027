package event

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// Subscriber is told of events in the process of the host. caller stands for the
// merchant whose event it is. An error, or a panic, means that it is told again.
type Subscriber func(ctx context.Context, caller api.Caller, e Event) error

// Subscribe has fn told of every event of every merchant, in both modes, from now
// on: at least once each, in no certain order, several at a time, by the
// background work. An event that fn fails is told again for as long as it takes,
// up to an hour apart; fn has 30 seconds. What fn fails with goes to the Observer
// of payments.Config, and not to the log. A name stands for the same subscriber in
// every process and after every restart, and has lower-case letters and
// underscores.
//
// It is called before anything else, in every process that works on the store:
// what is recorded by a process that does not know of a subscriber is not told to
// it. It panics on a name that is taken or not well formed, which is a bug found
// when the program starts.
func (s *Service) Subscribe(name string, fn Subscriber) {
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
		s.subscribers = map[string]Subscriber{}
	}
	s.subscribers[name] = fn
	s.names = append(s.names, name)
}

// ShareSubscribers has events of this service told to the subscribers of another. A service
// inside the host's transaction, which has none of its own, records for them.
func (i *Internal) ShareSubscribers(other *Internal) { i.svc.names = slices.Clip(other.svc.names) }

// notification is an event that a subscriber is to be told of.
type notification struct {
	Subscriber string   `json:"subscriber"`
	Event      string   `json:"event"`
	Attempts   int      `json:"attempts,omitempty"`
	Due        api.Time `json:"due"`
}

var notifications = storage.NewCollection("event_tellings", []storage.Field[notification]{
	storage.NullTimeColumn("due", func(t *notification) *api.Time { return &t.Due }),
}, storage.DueBy("due"))

// notifyAfter is how long to wait after each failure of a subscriber; the last entry
// stands for all later ones.
var notifyAfter = retry.Schedule{
	time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
}

// notifyTimeout bounds one call of a subscriber.
const notifyTimeout = 30 * time.Second

// notifyTx writes a notification of an event for every subscriber.
func (s *Service) notifyTx(tx *engine.Tx, e *Event) error {
	for _, name := range s.names {
		t := notification{Subscriber: name, Event: e.ID, Due: api.At(tx.Now)}
		if _, err := notifications.Insert(tx, engine.Scope(tx.Caller), tx.NewID("tell_"), t); err != nil {
			return fmt.Errorf("event: tell %s: %w", name, err)
		}
	}
	if len(s.names) > 0 {
		tx.WakeAfterCommit(notifications.Kind())
	}
	return nil
}

// NotifySubscribers is the job that tells subscribers of events.
func (i *Internal) NotifySubscribers() work.Job {
	const atATime = 32
	return work.Job{Kind: notifications.Kind(), Timeout: 2 * notifyTimeout, Batch: atATime, RunOne: i.svc.notifyOne}
}

func (s *Service) notifyOne(ctx context.Context, claimed storage.Record) error {
	o, err := notifications.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}
	fn := s.subscribers[o.Value.Subscriber]
	if fn == nil {
		err = fmt.Errorf("event: this process has no subscriber %s", o.Value.Subscriber)
	} else {
		err = s.call(ctx, fn, caller, o.Value.Event)
	}
	said := work.Report{Name: "told", Attempt: o.Value.Attempts + 1}
	if err != nil {
		// The host's error may quote anything; the log must not.
		said.Name, said.Level, said.Err = "again", slog.LevelWarn, err
	}
	work.SetReport(ctx, said)
	stored := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
		if err == nil {
			return notifications.Delete(tx, o)
		}
		again := *o
		again.Value.Attempts++
		again.Value.Due = api.At(tx.Now.Add(notifyAfter.AfterOrLast(again.Value.Attempts)))
		return notifications.Replace(tx, &again)
	})
	if errors.Is(stored, storage.ErrConflict) || errors.Is(stored, storage.ErrNotFound) {
		return nil // the lease has run out, and another worker tells
	}
	return stored
}

// call tells one subscriber; its panic is an error.
func (s *Service) call(ctx context.Context, fn Subscriber, caller api.Caller, id string) (err error) {
	e, err := s.Get(ctx, caller, id)
	if api.CodeOf(err) == api.ResourceMissing {
		return nil // it was forgotten
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("event: panic: %v", p)
			s.engine.Log.ErrorContext(ctx, "a subscriber panicked", "event", id, "stack", string(debug.Stack()))
		}
	}()
	return fn(ctx, caller, *e)
}
