package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// A commit may still be on its way to the server when the store resolves its outcome. Once
// the store has reported that it did not happen, it cannot happen any more.
func TestLateCommitFailsAfterResolve(t *testing.T) {
	pool, schema := pgtest.Pool(t, 4), pgtest.Schema(t)
	s := openNotes(t, pool, postgres.Config{Schema: schema})
	insert := func(id string) error {
		return s.Update(t.Context(), func(tx storage.Tx) error {
			return tx.Insert(notes, storage.Record{Scope: scope, ID: id, Columns: []any{int64(0), nil}})
		})
	}
	must.Do(t, insert("before"))
	const token = 4711
	number, newest := s.Newest(t)
	if lost, err := s.Resolve(number+1, token, context.DeadlineExceeded); !lost || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("it was resolved as %v", err)
	}
	// The second call stands for a caller whose answer was lost, too.
	if happened, err := s.Happened(t.Context(), number+1, token); happened || err != nil {
		t.Errorf("asked again: %t, %v", happened, err)
	}

	// The server reads the late commit now.
	conn := must.Get(pool.Acquire(t.Context()))(t)
	defer conn.Release()
	for what, statement := range map[string]struct {
		text string
		args []any
	}{
		"expects what it has run on": {s.ExpectCommit(), []any{newest}},
		"takes its number":           {s.InsertCommit(), []any{number + 1, token, []byte{}}},
	} {
		tx := must.Get(conn.Begin(t.Context()))(t)
		if _, err := tx.Exec(t.Context(), statement.text, statement.args...); err == nil {
			t.Errorf("%s, and may commit", what)
		}
		must.Do(t, tx.Rollback(t.Context()))
	}

	if happened, err := s.Happened(t.Context(), number, newest); !happened || err != nil {
		t.Errorf("one that happened: %t, %v", happened, err)
	}
	expect.NoError(t, insert("after"), "afterwards")
	expect.ErrorIs(t, insert("before"), storage.ErrExists, "again")
}
