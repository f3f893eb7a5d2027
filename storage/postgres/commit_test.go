package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// A random commit loses its connection: before the server has the commit, or before the client
// has the answer. Every successful update is there once, and every other one is not there.
func TestCommitWithLostAnswerIsResolved(t *testing.T) {
	schema := pgtest.Schema(t)
	address := newTCPProxy(t, serverAddress(t))
	var cutting atomic.Bool
	var cuts atomic.Int64
	address.lose = func(sent []byte) loss {
		if !cutting.Load() || len(sent) <= 600 || rand.IntN(4) > 0 { // a commit has many parameters
			return nothing
		}
		cuts.Add(1)
		return []loss{message, answer}[rand.IntN(2)]
	}
	store := openNotes(t, address.pool(t, 4), postgres.Config{Schema: schema, MaxBatchSize: 4})
	wanted := int64(effort.Of(30, 200)) // cuts
	var mu sync.Mutex
	written := map[string]bool{}
	cutting.Store(true)
	var all sync.WaitGroup
	for c := range 8 {
		all.Go(func() {
			for n := 0; n < 200 && (cuts.Load() < wanted || store.Stats().Resolved < 5); n++ {
				id := fmt.Sprintf("n_%d_%d", c, n)
				err := store.Update(context.Background(), func(tx storage.Tx) error {
					if err := tx.Insert(notes, note(id)); err != nil {
						return err
					}
					return tx.Post(transfer(id))
				})
				expect.True(t, !errors.Is(err, storage.ErrExists), "%s was written twice: %v", id, err)
				expect.True(t, !errors.Is(err, postgres.ErrUnknown), "%s: %v", id, err)
				mu.Lock()
				written[id] = err == nil
				mu.Unlock()
			}
		})
	}
	all.Wait()
	cutting.Store(false)
	stats := store.Stats()
	t.Logf("%d connections cut, %d commits resolved, %d runs repeated", cuts.Load(), stats.Resolved, stats.Reruns)
	expect.True(t, cuts.Load() >= wanted, "too few were lost to show anything")
	expect.True(t, stats.Resolved >= 5, "too few were lost to show anything")

	// This reads the database directly, without the store's cache.
	direct := openNotes(t, pgtest.Pool(t, 4), postgres.Config{Schema: schema})
	succeeded := int64(0)
	must.Do(t, direct.View(t.Context(), func(tx storage.ReadTx) error {
		for id, wrote := range written {
			_, noteErr := tx.Get(notes, scope, id)
			_, bookErr := tx.Posting(id)
			if there := noteErr == nil; there != wrote || (bookErr == nil) != wrote {
				t.Errorf("%s: Update said %t, record there: %t, posting there: %t", id, wrote, there, bookErr == nil)
			}
			if wrote {
				succeeded++
			}
		}
		b, err := tx.Balance("guarded/to")
		expect.Equal(t, b.Amount, succeeded, "balance: amount")
		expect.Equal(t, b.Entries, succeeded, "balance: entries")
		return err
	}))
	expect.True(t, succeeded != 0, "no update succeeded")
}

// panickingTracer panics once the server has answered a statement that begins so, if armed.
type panickingTracer struct {
	statement string
	armed     atomic.Bool
}

func (p *panickingTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (p *panickingTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (p *panickingTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (p *panickingTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
func (p *panickingTracer) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if strings.HasPrefix(data.SQL, p.statement) && p.armed.CompareAndSwap(true, false) {
		panic("a tracer of the host")
	}
}

// openTraced opens a store with two connections, which the tracer sees.
func openTraced(t *testing.T, tracer pgx.QueryTracer) *postgres.Store {
	t.Helper()
	config := must.Get(pgxpool.ParseConfig(pgtest.URL(t)))(t)
	config.MaxConns, config.ConnConfig.Tracer = 2, tracer
	pool := must.Get(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	return openNotes(t, pool, postgres.Config{Schema: pgtest.Schema(t)})
}

// A tracer of the host panics after a batch has taken the lock, several times. Each update fails, and
// leaves neither the write turn, nor a connection, nor the lock behind.
func TestPanicOfTracerBesideLock(t *testing.T) {
	tracer := &panickingTracer{statement: "LOCK TABLE"}
	s := openTraced(t, tracer)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	query := func(tx storage.Tx) error {
		_, err := tx.List(notes, storage.Query{Scope: scope, Limit: 1})
		return err
	}
	for range 3 {
		tracer.armed.Store(true)
		expect.True(t, s.Update(ctx, query) != nil, "the update succeeds")
		expect.True(t, !tracer.armed.Load(), "the tracer has not panicked")
	}
	expect.NoError(t, s.Update(ctx, query), "the next update")
}

// A tracer of the host panics after a commit. The update does not claim that nothing was written.
func TestPanicOfTracerAfterCommit(t *testing.T) {
	tracer := &panickingTracer{statement: "COMMIT"}
	s := openTraced(t, tracer)
	insert := func(id string) error {
		return s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note(id)) })
	}
	must.Do(t, insert("before"))
	tracer.armed.Store(true)
	expect.NoError(t, insert("beside"), "Update")
	expect.True(t, !tracer.armed.Load(), "the tracer has not panicked")
	must.Do(t, insert("after"))
	must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
		_, err := tx.Get(notes, scope, "beside")
		return err
	}))
}

var (
	scope = storage.Scope{Merchant: "mer_1"}
	notes = &storage.Kind{
		Name:    "test_notes",
		Columns: []storage.Column{{Name: "size", Type: storage.Int}, {Name: "due", Type: storage.Time, Null: true}},
		Due:     "due",
	}
)

func note(id string) storage.Record {
	return storage.Record{Scope: scope, ID: id, Columns: []any{int64(1), nil}, Data: []byte("{}")}
}

// transfer moves one pesewa to an account that may not go below zero.
func transfer(id string) storage.Posting {
	return storage.Posting{ID: id, Type: "test", At: time.Unix(0, 0), Moves: []storage.Move{
		{Account: "guarded/to", Guarded: true, Amount: 1}, {Account: "open/from", Amount: -1},
	}}
}
