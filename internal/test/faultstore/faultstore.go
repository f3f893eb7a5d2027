// Package faultstore wraps a store so that it fails where a test says. It counts the
// calls that reach the store. At the n-th call it fails, loses the answer, or runs a
// function of the test, for example a cancellation or a racing call. It is for tests.
package faultstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// Err is the fault. The errors of the store wrap it.
var Err = errors.New("the disk is gone")

// Store is a store with at most one fault ahead. It counts every call of a transaction,
// the beginning of each transaction and the commit of each update. It is safe for
// concurrent use.
type Store struct {
	storage.Store

	mu   sync.Mutex
	left int // calls until the fault; 0 for none
	on   point
	at   func()
	hit  bool

	written map[string]bool // since the last call of Written
}

// Ledger stands for postings and balances in what Written returns.
const Ledger = "ledger"

// point selects which calls count.
type point int

const (
	calls   point = iota // all: beginnings, operations and commits
	begins               // of transactions
	answers              // to commits
)

// New wraps a store that works.
func New(s storage.Store) *Store { return &Store{Store: s} }

// FailAt makes the n-th call from now fail, before it does anything.
func (s *Store) FailAt(n int) { s.arm(n, calls, nil) }

// LoseAt commits the n-th update from now and loses the answer, as when the process dies
// right after the commit.
func (s *Store) LoseAt(n int) { s.arm(n, answers, nil) }

// CallAt runs fn before the n-th call from now, which then goes on.
func (s *Store) CallAt(n int, fn func()) { s.arm(n, calls, fn) }

// BetweenAt runs fn before the n-th transaction from now. No transaction of the caller is
// open then, so fn may use the store itself.
func (s *Store) BetweenAt(n int, fn func()) { s.arm(n, begins, fn) }

// Heal removes a fault that is still ahead, and reports whether the fault has happened.
func (s *Store) Heal() (hit bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
	return s.hit
}

// Written returns the names of the kinds of which an update has written records since the
// last call of Written, and Ledger if one has posted. Updates that failed count, too.
func (s *Store) Written() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := s.written
	s.written = nil
	return written
}

func (s *Store) wrote(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == nil {
		s.written = map[string]bool{}
	}
	s.written[kind] = true
}

func (s *Store) arm(n int, on point, at func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.on, s.at, s.hit = n, on, at, false
}

// due counts a call, and reports whether the fault happens at it.
func (s *Store) due(here point) (at func(), now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.on == here || s.on == calls && here == begins
	if s.left == 0 || !counts {
		return nil, false
	}
	if s.left--; s.left > 0 {
		return nil, false
	}
	s.hit = true
	return s.at, true
}

// fault runs before each call. It returns the fault, runs the test's function, or does
// nothing.
func (s *Store) fault(here point) error {
	at, now := s.due(here)
	if !now {
		return nil
	}
	if at != nil {
		at()
		return nil
	}
	return fmt.Errorf("storage: %w", Err)
}

// View implements [storage.Store].
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	if err := s.fault(begins); err != nil {
		return err
	}
	return s.Store.View(ctx, func(tx storage.ReadTx) error { return fn(&readTx{tx, s}) })
}

// Update implements [storage.Store]. Where a store runs a transaction again
// because it has failed, it fails again.
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if err := s.fault(begins); err != nil {
		return err
	}
	var failed error
	err := s.Store.Update(ctx, func(stored storage.Tx) error {
		if failed != nil {
			return failed
		}
		err := fn(&tx{readTx{stored, s}, stored})
		if err == nil {
			err = s.fault(calls) // of the commit
		}
		if errors.Is(err, Err) {
			failed = err
		}
		return err
	})
	if err == nil {
		if _, now := s.due(answers); now {
			return fmt.Errorf("storage: %w", Err)
		}
	}
	return err
}

type readTx struct {
	storage.ReadTx
	by *Store
}

type tx struct {
	readTx
	tx storage.Tx
}

// guard makes a call, unless the fault happens at it.
func guard[V any](s *Store, call func() (V, error)) (result V, err error) {
	if err = s.fault(calls); err == nil {
		result, err = call()
	}
	return result, err
}

// write is guard for a call that writes a kind, or the ledger.
func (t *tx) write(kind string, call func() error) error {
	_, err := guard(t.by, func() (struct{}, error) {
		t.by.wrote(kind)
		return struct{}{}, call()
	})
	return err
}

func (t *readTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	return guard(t.by, func() (storage.Record, error) { return t.ReadTx.Get(k, s, id) })
}

func (t *readTx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	return guard(t.by, func() (storage.Record, error) { return t.ReadTx.Find(k, key, s, values...) })
}

func (t *readTx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	return guard(t.by, func() ([]storage.Record, error) { return t.ReadTx.List(k, q) })
}

func (t *readTx) Balance(account string) (storage.Balance, error) {
	return guard(t.by, func() (storage.Balance, error) { return t.ReadTx.Balance(account) })
}

func (t *readTx) Balances(after string, limit int) ([]storage.Balance, error) {
	return guard(t.by, func() ([]storage.Balance, error) { return t.ReadTx.Balances(after, limit) })
}

func (t *readTx) Entries(account string, before int64, limit int) ([]storage.Entry, error) {
	return guard(t.by, func() ([]storage.Entry, error) { return t.ReadTx.Entries(account, before, limit) })
}

func (t *readTx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	return guard(t.by, func() (storage.Backlog, error) { return t.ReadTx.Backlog(k, due, limit) })
}

func (t *readTx) NextDue(k *storage.Kind, from storage.Scope, limit int) ([]storage.Due, error) {
	return guard(t.by, func() ([]storage.Due, error) { return t.ReadTx.NextDue(k, from, limit) })
}

func (t *readTx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	return guard(t.by, func() ([]storage.Record, error) { return t.ReadTx.Scan(k, after, id, limit) })
}

func (t *readTx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	return guard(t.by, func() ([]storage.Sequence, error) { return t.ReadTx.Sequences(after, limit) })
}

func (t *readTx) Posting(id string) (storage.Booked, error) {
	return guard(t.by, func() (storage.Booked, error) { return t.ReadTx.Posting(id) })
}

func (t *readTx) Postings(after string, limit int) ([]storage.Booked, error) {
	return guard(t.by, func() ([]storage.Booked, error) { return t.ReadTx.Postings(after, limit) })
}

func (t *tx) Insert(k *storage.Kind, r storage.Record) error {
	return t.write(k.Name, func() error { return t.tx.Insert(k, r) })
}

func (t *tx) Replace(k *storage.Kind, r storage.Record) error {
	return t.write(k.Name, func() error { return t.tx.Replace(k, r) })
}

func (t *tx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	return t.write(k.Name, func() error { return t.tx.Delete(k, s, id, version) })
}

func (t *tx) Post(p storage.Posting) error {
	return t.write(Ledger, func() error { return t.tx.Post(p) })
}

func (t *tx) Next(sequence string) (int64, error) {
	return guard(t.by, func() (int64, error) { return t.tx.Next(sequence) })
}

func (t *tx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	return guard(t.by, func() ([]storage.Record, error) {
		t.by.wrote(k.Name)
		return t.tx.Claim(k, c)
	})
}

func (t *tx) Lease(k *storage.Kind, s storage.Scope, id string, version int64, until time.Time) error {
	return t.write(k.Name, func() error { return t.tx.Lease(k, s, id, version, until) })
}

func (t *tx) SetSequence(name string, value int64) error {
	if err := t.by.fault(calls); err != nil {
		return err
	}
	return t.tx.SetSequence(name, value)
}
