package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// A random commit loses its connection: before the server has the commit, or before the client
// has the answer. Every successful update is there once, and every other one is not there.
func TestCommitWithLostAnswerIsResolved(t *testing.T) {
	proxy := newProxy(t)
	schema := pgtest.Schema(t)
	store := proxy.open(t, schema)
	must.Do(t, store.Define(t.Context(), notes))
	const callers, each = 8, 40
	var mu sync.Mutex
	written := map[string]bool{}
	proxy.cutting.Store(true)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for n := range each {
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
	proxy.cutting.Store(false)
	if cuts := proxy.cuts.Load(); cuts < 10 {
		t.Errorf("%d connections were cut, too few to show anything", cuts)
	}
	stats := store.Stats()
	t.Logf("%d connections cut, %d commits resolved, %d runs repeated", proxy.cuts.Load(), stats.Resolved, stats.Reruns)
	expect.True(t, stats.Resolved != 0, "no answer of a commit was lost")

	// This reads the database directly, without the store's cache.
	direct := must.Get(postgres.Open(t.Context(), pgtest.Pool(t, 4), postgres.Config{Schema: schema}))(t)
	must.Do(t, direct.Define(t.Context(), notes))
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
		expect.True(t, b.Amount == succeeded && b.Entries == succeeded, "balance %+v after %d transfers", b, succeeded)
		return err
	}))
	expect.True(t, succeeded != 0, "no update succeeded")
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

// proxy stands before the server and cuts connections at commits.
type proxy struct {
	listener net.Listener
	target   string
	url      *pgxpool.Config
	cutting  atomic.Bool
	cuts     atomic.Int64
}

func newProxy(t *testing.T) *proxy {
	config := must.Get(pgxpool.ParseConfig(pgtest.URL(t)))(t)
	if config.ConnConfig.TLSConfig != nil {
		t.Skip("the proxy must see what is sent, and the server wants TLS")
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &proxy{listener: listener, target: net.JoinHostPort(config.ConnConfig.Host, fmt.Sprint(config.ConnConfig.Port)), url: config}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		expect.NoError(t, listener.Close(), "Close")
		running.Wait()
	})
	return p
}

func (p *proxy) open(t *testing.T, schema string) *postgres.Store {
	at := p.listener.Addr().(*net.TCPAddr)
	p.url.ConnConfig.Host, p.url.ConnConfig.Port = "127.0.0.1", uint16(at.Port)
	p.url.MaxConns = 4
	pool := must.Get(pgxpool.NewWithConfig(context.Background(), p.url))(t)
	t.Cleanup(pool.Close)
	return must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema, MaxBatchSize: 4}))(t)
}

// serve forwards everything. While it is cutting, it ends the connection at one in four messages
// with the commit's row. It does so before it forwards the message, or before the answer comes
// back.
func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close() // the client sees it
		return
	}
	var mute atomic.Bool
	var both sync.WaitGroup
	both.Go(func() {
		defer client.Close()
		answers := make([]byte, 64<<10)
		for {
			n, err := server.Read(answers)
			if n > 0 && !mute.Load() {
				_, err = client.Write(answers[:n])
			}
			if err != nil || mute.Load() && n > 0 {
				// The server has answered, and the client does not get the answer.
				_ = server.Close()
				return
			}
		}
	})
	both.Go(func() {
		defer server.Close()
		requests := make([]byte, 64<<10)
		for {
			n, err := client.Read(requests)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					_ = client.Close()
				}
				return
			}
			if p.cutting.Load() && n > 600 && rand.IntN(4) == 0 { // many parameters: the message that a batch ends with
				p.cuts.Add(1)
				if rand.IntN(2) == 0 {
					_ = client.Close() // the server never hears of it
					return
				}
				mute.Store(true)
			}
			if _, err := server.Write(requests[:n]); err != nil {
				_ = client.Close()
				return
			}
		}
	})
	both.Wait()
}
