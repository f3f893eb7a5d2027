// Package memory is a store that keeps everything in the process: for unit tests, and as the
// plain reference for the contract of package storage. Its data is gone when the process ends.
//
// The whole state is a set of ordered maps that are copied on write. A transaction
// changes a copy, which replaces the state when it commits. A rollback drops the copy.
// Readers keep the state they began with while others write. One transaction writes at a
// time.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-7082ffec/payments/storage"
)

// Store is a store in memory. Its methods are safe for concurrent use.
type Store struct {
	state  atomic.Pointer[state]
	writer chan struct{} // holds one token while no transaction writes

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // the transactions that Close waits for
}

// New returns an empty store.
func New() *Store {
	s := &Store{writer: make(chan struct{}, 1)}
	s.writer <- struct{}{}
	s.state.Store(&state{})
	return s
}

// begin counts a transaction, so that Close waits for it.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.ErrClosed
	}
	s.running.Add(1)
	return nil
}

// lock waits until no other transaction writes.
func (s *Store) lock(ctx context.Context) error {
	select {
	case <-s.writer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) unlock() { s.writer <- struct{}{} }

// Define implements storage.Store.
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	for _, k := range kinds {
		if err := k.Validate(); err != nil {
			return err
		}
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	next := s.state.Load().clone()
	for _, k := range kinds {
		if err := next.define(k); err != nil {
			return fmt.Errorf("memory: define %s: %w", k.Name, err)
		}
	}
	s.state.Store(next)
	return nil
}

// View implements storage.Store.
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	tx := &tx{ctx: ctx, state: s.state.Load()}
	defer tx.end()
	return fn(tx)
}

// Update implements storage.Store.
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	tx := &tx{ctx: ctx, state: s.state.Load().clone()}
	defer tx.end() // also when fn panics: then nothing is stored
	err := fn(tx)
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return ended
	}
	if err != nil {
		return err
	}
	s.state.Store(tx.state)
	return nil
}

// Close implements storage.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	return nil
}
