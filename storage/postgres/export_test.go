package postgres

import (
	"context"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// What tests of lost commits look into.

func (s *Store) Newest(t *testing.T) (number, token int64) {
	t.Helper()
	c := must.Get(driver{s}.NewestCommit())(t)
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

// CheckVersion is what Open does with the server's answer to version().
func CheckVersion(version string) error { return checkVersion(version) }
