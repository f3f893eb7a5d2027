package postgres

import (
	"context"
	"testing"

	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// What tests of lost commits look into.

func (s *Store) Newest(t *testing.T) (number, token int64) {
	t.Helper()
	c, err := driver{s}.NewestCommit()
	if err != nil {
		t.Fatal(err)
	}
	return c.Number, c.Token
}

// Resolve reports whether a commit that is not there was given up for good.
func (s *Store) Resolve(number, token int64, cause error) (lost bool, err error) {
	err = s.resolve(sqlstore.Commit{Number: number, Token: token}, cause)
	_, lost = err.(sqlstore.Retryable)
	return lost, err
}

func (s *Store) Happened(ctx context.Context, number, token int64) (bool, error) {
	return s.committed(ctx, sqlstore.Commit{Number: number, Token: token})
}

// ExpectCommit and InsertCommit are what a batch sends that has run on another.
func (s *Store) ExpectCommit() string { return s.sql.expectCommit }
func (s *Store) InsertCommit() string { return s.sql.insertCommit }
