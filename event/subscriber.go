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
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
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

// SubscribersOf makes this service write down what the subscribers of another are
// to be told: a service that records inside the host's transaction, where nobody
// subscribes.
func (s *Service) SubscribersOf(other *Service) { s.names = slices.Clip(other.names) }

// telling is an event that a subscriber is to be told of.
type telling struct {
	Subscriber string   `json:"subscriber"`
	Event      string   `json:"event"`
	Attempts   int      `json:"attempts,omitempty"`
	Due        api.Time `json:"due"`
}

var tellings = storage.NewCollection("event_tellings", []storage.Field[telling]{
	{
		Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
		Value:  func(t *telling) any { return t.Due.Time },
	},
}, storage.DueBy("due"))

// tellAgain is how long to wait after each failure of a subscriber; the last entry
// stands for all later ones.
var tellAgain = []time.Duration{
	time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour,
}

// tellTimeout bounds one call of a subscriber.
const tellTimeout = 30 * time.Second

// subscribersTx writes down that every subscriber is to be told of an event.
func (s *Service) subscribersTx(tx *engine.Tx, e *Event) error {
	for _, name := range s.names {
		t := telling{Subscriber: name, Event: e.ID, Due: api.At(tx.Now)}
		if _, err := tellings.Insert(tx, tx.Caller.Scope(), tx.NewID("tell_"), t); err != nil {
			return fmt.Errorf("event: tell %s: %w", name, err)
		}
	}
	if len(s.names) > 0 {
		tx.Due(tellings.Kind())
	}
	return nil
}

// TellSubscribers is the job that tells them.
func (s *Service) TellSubscribers() due.Job {
	const atATime = 32
	return due.Job{Kind: tellings.Kind(), Limit: 2 * tellTimeout, Batch: atATime, Do: s.tellOne}
}

func (s *Service) tellOne(ctx context.Context, claimed storage.Record) error {
	o, err := tellings.Decode(claimed)
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
	said := due.Outcome{Name: "told", Attempt: o.Value.Attempts + 1}
	if err != nil {
		// The host's error may quote anything; the log must not.
		said.Name, said.Level, said.Err = "again", slog.LevelWarn, err
	}
	due.Report(ctx, said)
	stored := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
		if err == nil {
			return tellings.Delete(tx, o)
		}
		again := *o
		wait := tellAgain[min(again.Value.Attempts, len(tellAgain)-1)]
		again.Value.Attempts++
		again.Value.Due = api.At(tx.Now.Add(wait))
		return tellings.Replace(tx, &again)
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
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("event: panic: %v", p)
			s.engine.Log.ErrorContext(ctx, "a subscriber panicked", "event", id, "stack", string(debug.Stack()))
		}
	}()
	return fn(ctx, caller, *e)
}
