package engine

import (
	"errors"
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// Host is a transaction of the host's in which calls are made. What follows a
// commit waits for the host's.
type Host struct {
	mu   sync.Mutex
	done []*after
}

// ErrHost refuses what counts a try of a PIN or a code inside the host's own
// transaction: the count would go when the host rolls back, and so would the
// limit of guesses.
var ErrHost = errors.New("a PIN or a code is compared before the host's transaction, not inside it")

// ErrOutside refuses what asks somebody outside while the host's transaction is
// open: everybody who writes would wait for the answer, and what was done outside
// would stay done when the host rolls back.
var ErrOutside = errors.New("it goes over the network, so call it on the service itself, before the host's transaction or after it")

func (h *Host) keep(a *after) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, a)
}

// In returns an engine that works on a store inside the host's transaction.
func (e *Engine) In(store storage.Store) *Engine {
	in := *e
	in.Store, in.Host = store, &Host{}
	in.Reserve = nil // a place among the workers would be lost when the host rolls back
	return &in
}

// HostCommitted does what follows the commits of an engine inside the host's transaction,
// once the host has committed.
func (e *Engine) HostCommitted() {
	e.Host.mu.Lock()
	done := e.Host.done
	e.Host.done = nil
	e.Host.mu.Unlock()
	for _, a := range done {
		e.committed(a)
	}
}
