package postgres

import "context"

// What tests of lost commits look into.

func (s *Store) Newest() (number, token int64) { return s.writer.cache.number, s.writer.cache.token }

// Resolve reports whether a commit that is not there was given up for good.
func (s *Store) Resolve(number, token int64, cause error) (lost bool, err error) {
	err = s.resolve(number, token, cause)
	_, lost = err.(errLost)
	return lost, err
}

func (s *Store) Happened(ctx context.Context, number, token int64) (bool, error) {
	return s.happened(ctx, number, token)
}

// ExpectCommit and InsertCommit are what a group sends that has run on another.
func (s *Store) ExpectCommit() string { return s.expectCommit }
func (s *Store) InsertCommit() string { return s.insertCommit }
