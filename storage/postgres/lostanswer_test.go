package postgres_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// sizeOf reads the size of a note in an Update, which may have it in memory.
func sizeOf(t *testing.T, s storage.Store, id string) (size any) {
	t.Helper()
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		r, err := tx.Get(notes, scope, id)
		if err == nil {
			size = r.Columns[0]
		}
		return err
	}))
	return size
}

// The answer of a commit says what other processes have changed before it. If that answer is lost, the store forgets
// what it has in memory.
func TestLostAnswerForgetsWhatOthersChanged(t *testing.T) {
	pool, schema := pgtest.Pool(t, 4), pgtest.Schema(t)
	address := newTCPProxy(t, serverAddress(t))
	var armed atomic.Bool
	address.lose = func(sent []byte) loss {
		if bytes.Contains(sent, []byte("COMMIT")) && armed.CompareAndSwap(true, false) {
			return answer
		}
		return nothing
	}
	s, other := openNotes(t, address.pool(t, 4), quiet(schema)), openNotes(t, pool, postgres.Config{Schema: schema})
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("read")) }))
	expect.Equal(t, sizeOf(t, s, "read"), any(int64(1)), "size at first")

	must.Do(t, other.Update(t.Context(), func(tx storage.Tx) error {
		r, err := tx.Get(notes, scope, "read")
		if err != nil {
			return err
		}
		r.Columns[0] = int64(7)
		return tx.Replace(notes, r)
	}))
	armed.Store(true)
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("beside")) }))
	expect.Equal(t, s.Stats().Resolved, 1, "commits whose answer was lost")
	expect.Equal(t, sizeOf(t, s, "read"), any(int64(7)), "size that the other has written")
}
