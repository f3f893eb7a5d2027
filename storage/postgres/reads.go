package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// readBatcher batches reads of single records outside of transactions: above all, the API key of
// each request. Reads that arrive while a round trip is under way share the next one on one
// connection. The server treats everything up to a Sync as one transaction, so the planner's
// settings hold without BEGIN and COMMIT. See docs/notes/performance.md.
type readBatcher struct {
	store *Store

	mu      sync.Mutex
	waiting []*batchedRead
	senders int
}

// maxSenders bounds the concurrent round trips, and maxBatchedReads the reads of one. The
// second sender goes on when the first one's connection hangs.
const (
	maxSenders      = 2
	maxBatchedReads = 64
)

type batchedRead struct {
	sqlstore.RowQuery
	done   chan struct{} // closed when the result is set
	record storage.Record
	found  bool
	err    error
}

// GetOne implements [storage.Reader].
func (s *Store) GetOne(ctx context.Context, k *storage.Kind, scope storage.Scope, id string) (storage.Record, error) {
	q, err := s.store.GetQuery(k, scope, id)
	return s.pointRead(ctx, q, err)
}

// FindOne implements [storage.Reader].
func (s *Store) FindOne(ctx context.Context, k *storage.Kind, key string, scope storage.Scope, values ...any) (storage.Record, error) {
	q, err := s.store.FindQuery(k, key, scope, values)
	return s.pointRead(ctx, q, err)
}

// pointRead runs a query together with others, unless answer is the answer. After an error it repeats
// the read alone in a View.
func (s *Store) pointRead(ctx context.Context, q sqlstore.RowQuery, answer error) (storage.Record, error) {
	if err := s.store.Enter(); err != nil {
		return storage.Record{}, err
	}
	defer s.store.Leave()
	if err := ctx.Err(); err != nil {
		return storage.Record{}, err
	}
	if answer != nil {
		return storage.Record{}, answer
	}
	r := &batchedRead{RowQuery: q, done: make(chan struct{})}
	if err := s.pointReads.wait(ctx, r); err != nil {
		return storage.Record{}, err
	}
	if r.err != nil {
		// Another read of the batch, or the connection, may have caused the error.
		return s.store.ReadRow(ctx, &q)
	}
	if !r.found {
		return storage.Record{}, s.store.ErrNotFound(q.Table)
	}
	return r.record, nil
}

// wait queues a read and waits for its result.
func (r *readBatcher) wait(ctx context.Context, one *batchedRead) error {
	r.mu.Lock()
	r.waiting = append(r.waiting, one)
	start := r.senders < maxSenders
	if start {
		r.senders++
	}
	r.mu.Unlock()
	if start {
		r.store.store.Go(r.sendAll)
	}
	select {
	case <-one.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendAll sends batches until no read waits.
func (r *readBatcher) sendAll() {
	for {
		r.mu.Lock()
		n := min(len(r.waiting), maxBatchedReads)
		if n == 0 {
			r.senders--
			r.mu.Unlock()
			return
		}
		batch := r.waiting[:n:n]
		r.waiting = r.waiting[n:]
		if len(r.waiting) == 0 {
			r.waiting = nil
		}
		r.mu.Unlock()
		r.roundTrip(batch)
	}
}

// roundTrip sends a batch. The reads without an answer get the error.
func (r *readBatcher) roundTrip(batch []*batchedRead) {
	left := batch
	err := r.exchange(&left)
	if err == nil && len(left) > 0 {
		err = errors.New("postgres: no answer")
	}
	for _, one := range left {
		one.err = err
		close(one.done)
	}
}

// exchange sends a batch and removes from it each read that was answered.
func (r *readBatcher) exchange(left *[]*batchedRead) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("postgres: panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), roundTripTimeout)
	defer cancel()
	conn, err := r.store.monitor.acquire(ctx)
	if err != nil {
		return err
	}
	defer r.store.monitor.release(conn)
	defer func() { noteFailure(conn.Conn(), err) }()
	var b pgx.Batch
	b.Queue(transactionSettings)
	for _, one := range *left {
		b.Queue(one.SQL, one.Args...)
	}
	results := conn.Conn().SendBatch(ctx, &b)
	defer func() { _ = results.Close() }() // repeats the error
	if _, err := results.Exec(); err != nil {
		return err
	}
	for len(*left) > 0 {
		one := (*left)[0]
		rows, err := results.Query()
		if err == nil {
			err = scanRows(rows, func(row sqlstore.Row) (err error) {
				one.found = true
				one.record, err = one.Decode(row)
				return err
			})
		}
		if err != nil {
			return err
		}
		*left = (*left)[1:]
		close(one.done)
	}
	return results.Close()
}
