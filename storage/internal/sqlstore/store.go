package sqlstore

import (
	"context"
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
	driver        Driver
	writer        writer
	tables        atomic.Pointer[map[*storage.Kind]*Table]
	counters      counters
	ledger        ledgerSQL
	ledgerWrites  ledgerWrites
	checkedSchema atomic.Pointer[int64] // the last version that passed CheckVersion; nil for none

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // Update, View and Define
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	// Commits counts the transactions that wrote something, Updates the calls in them.
	// Updates/Commits is the mean size of a batch.
	Updates, Commits int64
	// Reruns counts reruns of functions after another transaction interfered.
	Reruns int64
}

type counters struct{ updates, commits, reruns atomic.Int64 }

// New returns a store. maxBatch bounds how many updates share a commit.
func New(driver Driver, dialect *Dialect, maxBatch int) *Store {
	s := &Store{Dialect: dialect, driver: driver, ledger: newLedgerSQL(dialect)}
	s.ledgerWrites = s.newLedgerWrites()
	s.tables.Store(&map[*storage.Kind]*Table{})
	s.writer = writer{store: s, maxBatchSize: maxBatch}
	return s
}

// Table returns the table of a defined kind.
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
	return s.view(ctx, func(t *readTx) error { return fn(t) })
}

// ReadRow reads one record in a View. The caller has called Enter.
func (s *Store) ReadRow(ctx context.Context, q *RowQuery) (r storage.Record, err error) {
	err = s.view(ctx, func(t *readTx) (err error) {
		r, err = t.queryRecord(q)
		return err
	})
	return r, err
}

func (s *Store) view(ctx context.Context, fn func(*readTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	session, err := s.driver.BeginRead(ctx)
	if err != nil {
		return fmt.Errorf("%s: view: %w", s.Name, err)
	}
	t := &readTx{ctx: ctx, ioCtx: ctx, store: s, session: func() (Session, error) { return session, nil }}
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
	return s.writer.update(ctx, func(t *tx) error { return fn(t) }, nil)
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
	return s.writer.update(ctx, func(t *tx) error {
		if err := t.usable(); err != nil {
			return err
		}
		session, err := t.session()
		if err != nil {
			return err
		}
		// Without a write the batch would be rolled back.
		changed, err := s.driver.Define(ctx, session, kinds)
		if err == nil && changed {
			t.batch.wroteToDatabase, t.batch.changes.everything = true, true // cached records have the old columns
		}
		return err
	}, kinds)
}

// checkVersion returns [storage.ErrNewer] if a newer program has changed the tables, so
// that this one must not write any more. It queries the database only for a schema
// version that it has not checked.
func (s *Store) checkVersion(ctx context.Context, session Session, schema int64) error {
	if known := s.checkedSchema.Load(); known != nil && *known == schema {
		return nil
	}
	kinds := slices.Collect(maps.Keys(*s.tables.Load()))
	if err := session.CheckVersion(ctx, kinds); err != nil {
		return err
	}
	s.checkedSchema.Store(&schema)
	return nil
}

// CheckKinds refuses kinds for which no table can be made.
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

// QueueLength returns how many updates wait for the write turn.
func (s *Store) QueueLength() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// StopAccepting makes all later calls fail with ErrClosed. It reports whether it is the
// first call of StopAccepting.
func (s *Store) StopAccepting() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, s.closed = !s.closed, true
	return first
}

// Wait waits for the running calls.
func (s *Store) Wait() { s.running.Wait() }

// Enter counts the caller as a running call until Leave, or returns ErrClosed.
func (s *Store) Enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: %w", s.Name, storage.ErrClosed)
	}
	s.running.Add(1)
	return nil
}

// Leave ends the call that Enter began.
func (s *Store) Leave() { s.running.Done() }

// Go runs f in a goroutine that Close waits for. The caller has called Enter.
func (s *Store) Go(f func()) { s.running.Go(f) }
