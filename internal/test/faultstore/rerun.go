package faultstore

import (
	"context"
	"errors"

	"github.com/seed-7082ffec/payments/storage"
)

// errUndone rolls back the first run.
var errUndone = errors.New("faultstore: run again")

// Undone wraps a store so that it runs every update, rolls it back and runs it again, as
// a database does after a conflict. A test then sees the effects that an update leaves
// outside its transaction.
func Undone(s storage.Store) storage.Store { return &undone{s} }

type undone struct{ storage.Store }

// Update implements [storage.Store].
func (s *undone) Update(ctx context.Context, fn func(storage.Tx) error) error {
	err := s.Store.Update(ctx, func(tx storage.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errUndone
	})
	if err != nil && !errors.Is(err, errUndone) {
		return err
	}
	return s.Store.Update(ctx, fn)
}
