package faulty

import (
	"context"
	"errors"

	"github.com/seed-7082ffec/payments/storage"
)

// errUndone undoes a transaction.
var errUndone = errors.New("faulty: to be run again")

// Undone wraps a store so that every update is run, undone and run again, as a
// database does which finds that two transactions cannot both be. What an update
// leaves outside its transaction when it is undone, then shows.
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
