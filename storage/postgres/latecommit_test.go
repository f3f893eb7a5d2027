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
	if lost, err := s.Resolve(token, context.DeadlineExceeded); !lost || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("it was resolved as %v", err)
	}
	// The second call stands for a caller whose answer was lost, too.
	expect.Equal(t, must.Get(s.Happened(t.Context(), token))(t), 0, "its number, asked again")

	// The server reads the late commit now, before and after the row that gave its token away was removed. What it
	// is based on was removed before.
	late := func(statement string, args ...any) error {
		conn := must.Get(pool.Acquire(t.Context()))(t)
		defer conn.Release()
		tx := must.Get(conn.Begin(t.Context()))(t)
		_, err := tx.Exec(t.Context(), statement, args...)
		must.Do(t, tx.Rollback(t.Context()))
		return err
	}
	expect.NoError(t, late(s.Validate(), number, newest, []int64{}), "what it is based on")
	expect.True(t, late(s.InsertCommit(), token, []int64{}) != nil, "it takes its token, and may commit")
	must.Get(pool.Exec(t.Context(), "DELETE FROM "+schema+".storage_commits WHERE number <= $1", number))(t)
	expect.True(t, late(s.Validate(), number, newest, []int64{}) != nil, "it finds what it is based on, and may commit")

	must.Do(t, insert("last"))
	number, newest = s.Newest(t)
	expect.Equal(t, must.Get(s.Happened(t.Context(), newest))(t), number, "the number of one that happened")
	expect.NoError(t, insert("after"), "afterwards")
	expect.ErrorIs(t, insert("before"), storage.ErrExists, "again")
}
