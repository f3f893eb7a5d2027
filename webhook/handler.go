package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/event"
)

// ErrInProgress is the error of [Seen.Begin] for an event that another delivery has begun
// and not ended.
var ErrInProgress = errors.New("webhook: the event is being handled")

// errPanicked is the error that [Seen.End] gets when the function did not return.
var errPanicked = errors.New("webhook: the function panicked")

// Seen remembers which events were handled, by their ids. It must be safe for
// concurrent use.
//
// A receiver with a database lets its function store the event's id in the transaction of its own
// change. Begin then looks the id up there, and End has nothing to do.
type Seen interface {
	// Begin reports whether the event is new. An event that was handled without an error is
	// not. While another delivery of the event is being handled, Begin returns [ErrInProgress].
	// The [Handler] then answers 503, and the sender delivers the event again later.
	//
	// An implementation that stores events must, after some time, treat an event as new again
	// if it was begun and never ended, because the process may have died.
	Begin(ctx context.Context, id string) (fresh bool, err error)
	// End ends what Begin began, once for each event that Begin called new, also when the
	// function panicked. After an error the event is new again.
	End(ctx context.Context, id string, failed error) error
}

// maxDelivery bounds the body of a delivery, in bytes.
const maxDelivery = 1 << 20

// Handler receives deliveries: it verifies each, skips the events that seen knows, and calls
// fn with the others. A nil seen stands for NewMemory(10_000).
//
// It answers 200 once fn has handled the event, now or before, and 400 if the delivery does not verify.
// It answers 500 when fn fails, and 503 while it handles another delivery of the event, or if the
// secret is empty. After any answer but a 2xx the sender delivers the event again. A panic of fn counts
// as a failure and goes on to the server.
//
// The sender waits for 15 seconds. fn may take longer: its context does not end when the
// sender hangs up, and a repeated delivery is answered 200 once fn has returned nil.
func Handler(secret string, seen Seen, fn func(context.Context, event.Event) error) http.Handler {
	if seen == nil {
		seen = NewMemory(10_000)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
		if err != nil {
			http.Error(w, "the body could not be read", http.StatusBadRequest)
			return
		}
		switch err := Verify(r.Header, body, secret, 0, time.Now()); {
		case errors.Is(err, ErrNoSecret):
			http.Error(w, "the receiver has no secret", http.StatusServiceUnavailable)
			return
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var e event.Event
		if err := json.Unmarshal(body, &e); err != nil || e.ID == "" {
			http.Error(w, "the body is no event", http.StatusBadRequest)
			return
		}
		switch err := handle(context.WithoutCancel(r.Context()), seen, &e, fn); {
		case errors.Is(err, ErrInProgress):
			http.Error(w, "the event is being handled; try again", http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, "try again", http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"received":true}`)
		}
	})
}

// handle calls fn with a new event, and seen with the result.
func handle(ctx context.Context, seen Seen, e *event.Event, fn func(context.Context, event.Event) error) (err error) {
	fresh, err := seen.Begin(ctx, e.ID)
	if err != nil || !fresh {
		return err
	}
	err = errPanicked // until fn has returned
	defer func() {
		if ended := seen.End(ctx, e.ID, err); err == nil {
			err = ended
		}
	}()
	err = fn(ctx, *e)
	return err
}

// Memory is a [Seen] that forgets the oldest events, and all of them at a restart.
type Memory struct {
	mu sync.Mutex
	// known has an event from Begin on; true once it was handled without an error.
	known map[string]bool
	// order holds the events that were handled without an error, the oldest first.
	order []string
	most  int
}

// NewMemory returns a [Memory] of the last events that were handled. most is how many events it
// remembers, at least 1.
func NewMemory(most int) *Memory { return &Memory{known: map[string]bool{}, most: max(1, most)} }

// Begin implements [Seen].
func (m *Memory) Begin(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	handled, begun := m.known[id]
	if begun && !handled {
		return false, ErrInProgress
	}
	if !handled {
		m.known[id] = false
	}
	return !handled, nil
}

// End implements [Seen].
func (m *Memory) End(_ context.Context, id string, failed error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if failed != nil {
		delete(m.known, id)
		return nil
	}
	if m.known[id] {
		return nil
	}
	m.known[id] = true
	m.order = append(m.order, id)
	if len(m.order) > m.most {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	return nil
}
