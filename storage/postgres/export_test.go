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
	must.Do(t, s.pool.QueryRow(t.Context(), s.sql.newestCommit).Scan(&number, &token, nil, nil))
	return number, token
}

// Resolve reports whether a commit that is not there was given up for good.
func (s *Store) Resolve(token int64, cause error) (lost bool, err error) {
	_, err = s.resolve(token, cause)
	_, lost = err.(sqlstore.Retryable)
	return lost, err
}

// Happened returns the number of a commit; 0 if it did not happen.
func (s *Store) Happened(ctx context.Context, token int64) (int64, error) {
	return s.committed(ctx, token)
}

// MaxLog is how many commits one answer tells of.
const MaxLog = maxLog

// Validate and InsertCommit are what a batch sends.
func (s *Store) Validate() string     { return s.sql.validate }
func (s *Store) InsertCommit() string { return s.sql.insertCommit }

// CheckVersion is what Open does with the server's answer to version().
func CheckVersion(version string) error { return checkVersion(version) }
