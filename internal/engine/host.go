package engine

import (
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// Host is the host's transaction around several calls. Their commit hooks wait for the host's
// commit.
type Host struct {
	mu    sync.Mutex
	hooks []*commitHooks
}

func (h *Host) add(a *commitHooks) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks = append(h.hooks, a)
}

// In returns an engine that works on a store inside the host's transaction.
func (e *Engine) In(store storage.Store) *Engine {
	in := *e
	in.Store, in.Host = store, &Host{}
	return &in
}

// HostCommitted runs the commit hooks of the calls in the host's transaction, after the host's
// commit.
func (e *Engine) HostCommitted() {
	e.Host.mu.Lock()
	done := e.Host.hooks
	e.Host.hooks = nil
	e.Host.mu.Unlock()
	for _, a := range done {
		e.runCommitHooks(a)
	}
}
