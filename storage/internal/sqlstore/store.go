package sqlstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-7082ffec/payments/storage"
)

// Store is a [storage.Store] over a [Driver].
type Store struct {
	*Dialect
	driver   Driver
	writer   writer
	tables   atomic.Pointer[map[*storage.Kind]*Table]
	counters counters
	ledger   ledgerSQL
	room     atomic.Pointer[Writes] // nil while a call has it
	schema   atomic.Pointer[int64]  // the last that held nothing unknown; nil for none

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // Update, View and Define
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	// Commits counts the transactions that wrote something, Updates the callers that
	// were in them. Updates/Commits is the mean size of a batch.
	Updates, Commits int64
	// Reruns counts functions that ran again because of what others did.
	Reruns int64
}

type counters struct{ updates, commits, reruns atomic.Int64 }

// New returns a store. maxBatch is how many updates share a commit at most.
func New(driver Driver, dialect *Dialect, maxBatch int) *Store {
	s := &Store{Dialect: dialect, driver: driver, ledger: newLedgerSQL(dialect)}
	s.tables.Store(&map[*storage.Kind]*Table{})
	s.writer = writer{store: s, max: maxBatch}
	return s
}

// Table returns what Define made of a kind.
func (s *Store) Table(k *storage.Kind) (*Table, error) {
	if b, ok := (*s.tables.Load())[k]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("%w: kind is not defined", storage.ErrInvalid)
}

// View implements [storage.Store].
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	if err := s.Enter(); err != nil {
		return err
	}
	defer s.Leave()
	return s.ViewEntered(ctx, fn)
}

// ViewEntered is View between Enter and Leave.
func (s *Store) ViewEntered(ctx context.Context, fn func(storage.ReadTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	session, err := s.driver.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("%s: view: %w", s.Name, err)
	}
	t := &readTx{ctx: ctx, io: ctx, store: s, session: func() (Session, error) { return session, nil }}
	defer func() {
		t.ended = true
		session.Close()
	}()
	return fn(t)
}

// Update implements [storage.Store].
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if err := s.Enter(); err != nil {
		return err
	}
	defer s.Leave()
	return s.writer.update(ctx, func(t *tx) error { return fn(t) }, false)
}

// Define implements [storage.Store].
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	if err := CheckKinds(kinds); err != nil {
		return err
	}
	if err := s.Enter(); err != nil {
		return err
	}
	defer s.Leave()
	err := s.writer.update(ctx, func(t *tx) error {
		if err := t.usable(); err != nil {
			return err
		}
		session, err := t.session()
		if err != nil {
			return err
		}
		// A batch that has not written is rolled back.
		changed, err := s.driver.Define(ctx, session, kinds)
		if err == nil && changed {
			t.batch.wrote, t.batch.changes.all = true, true // what is remembered has other columns
		}
		return err
	}, true)
	if err == nil {
		s.learn(kinds)
	}
	return err
}

// upToDate returns [storage.ErrNewer] if a newer program has changed the tables so that
// this one must not write any more. It asks the database only when the number of the
// schema is another one.
func (s *Store) upToDate(ctx context.Context, session Session, schema int64) error {
	if known := s.schema.Load(); known != nil && *known == schema {
		return nil
	}
	kinds := slices.Collect(maps.Keys(*s.tables.Load()))
	if err := s.driver.Known(ctx, session, kinds); err != nil {
		return err
	}
	s.schema.Store(&schema)
	return nil
}

// Learn makes kinds known whose tables are there.
func (s *Store) Learn(kinds []*storage.Kind) { s.learn(kinds) }

// CheckKinds refuses kinds that no table can be made for.
func CheckKinds(kinds []*storage.Kind) error {
	for _, k := range kinds {
		if err := k.Validate(); err != nil {
			return err
		}
		if len(k.Columns) > 200 {
			return fmt.Errorf("%w: kind %s has more than 200 columns", storage.ErrInvalid, k.Name)
		}
	}
	return nil
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	return Stats{Updates: s.counters.updates.Load(), Commits: s.counters.commits.Load(), Reruns: s.counters.reruns.Load()}
}

// Waiting returns how many updates wait for the write turn.
func (s *Store) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// Shut lets no further call in. It reports whether it is the first to do so.
func (s *Store) Shut() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, s.closed = !s.closed, true
	return first
}

// Wait waits for the calls that run.
func (s *Store) Wait() { s.running.Wait() }

// Enter counts the caller as running, until Leave, or returns ErrClosed.
func (s *Store) Enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: %w", s.Name, storage.ErrClosed)
	}
	s.running.Add(1)
	return nil
}

// Leave ends what Enter began.
func (s *Store) Leave() { s.running.Done() }

// Go runs f in a goroutine that Close waits for. The caller has entered.
func (s *Store) Go(f func()) { s.running.Go(f) }

func hashOf(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
