package faultstore

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// ErrDead is what the updates of a dead process return.
var ErrDead = errors.New("the process is dead")

// Mortal is the store of a process that dies in one of its updates. Another process may go on with the
// store inside.
type Mortal struct {
	storage.Store

	mu        sync.Mutex
	left      int // updates until the death; 0 for never
	committed bool
	dead      bool
}

// DieAt makes the n-th update from now fail, after its commit or before it, and all that follow. With 0
// no update fails.
func (m *Mortal) DieAt(n int, committed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.committed, m.dead = n, committed, false
}

// Update implements [storage.Store].
func (m *Mortal) Update(ctx context.Context, fn func(storage.Tx) error) error {
	m.mu.Lock()
	dead, last, committed := m.dead, m.left == 1, m.committed
	m.left = max(m.left-1, 0)
	m.dead = dead || last
	m.mu.Unlock()
	if dead || last && !committed {
		return ErrDead
	}
	err := m.Store.Update(ctx, fn)
	if err == nil && last {
		return ErrDead
	}
	return err
}
