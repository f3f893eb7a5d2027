package webhook

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/event"
)

// Seen remembers which events were handled, by their ids. It must be safe for
// concurrent use. A receiver with a database keeps the id in the transaction of
// what it does.
type Seen interface {
	// Begin reports whether the event is new. While one is handled, and after it was
	// handled well, it is not.
	Begin(ctx context.Context, id string) (fresh bool, err error)
	// End is told how handling went; after an error the event is new again.
	End(ctx context.Context, id string, failed error) error
}

// maxDelivery bounds the body of a delivery, in bytes.
const maxDelivery = 1 << 20

// Handler receives deliveries: it verifies each, leaves out what seen knows, and
// hands the event to fn. It answers 400 to what does not verify, 500 when fn
// fails, so that the event is delivered again, and 200 else. fn should take less
// than ten seconds. A nil seen remembers in memory.
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
		if err := Verify(r.Header, body, secret, 0, time.Now()); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var e event.Event
		if err := json.Unmarshal(body, &e); err != nil || e.ID == "" {
			http.Error(w, "the body is no event", http.StatusBadRequest)
			return
		}
		fresh, err := seen.Begin(r.Context(), e.ID)
		if err == nil && fresh {
			err = fn(r.Context(), e)
			if ended := seen.End(context.WithoutCancel(r.Context()), e.ID, err); err == nil {
				err = ended
			}
		}
		if err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"received":true}`)
	})
}

// Memory is a [Seen] that forgets the oldest, and everything at a restart.
type Memory struct {
	mu    sync.Mutex
	known map[string]bool
	order []string
	most  int
}

// NewMemory returns one that remembers the last so many events.
func NewMemory(most int) *Memory { return &Memory{known: map[string]bool{}, most: max(1, most)} }

// Begin implements [Seen].
func (m *Memory) Begin(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[id] {
		return false, nil
	}
	m.known[id] = true
	m.order = append(m.order, id)
	if len(m.order) > m.most {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	return true, nil
}

// End implements [Seen].
func (m *Memory) End(_ context.Context, id string, failed error) error {
	if failed != nil {
		m.mu.Lock()
		delete(m.known, id)
		m.mu.Unlock()
	}
	return nil
}
