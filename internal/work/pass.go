package work

import (
	"context"
	"errors"

	"github.com/seed-7082ffec/payments/storage"
)

// Pass returns the RunBatch of a job that makes a long pass in parts, and keeps its place in the claimed
// record. The job's Batch is 1. goOn does a part of the pass and moves the place. Pass writes the
// place even if goOn fails.
func Pass[T any](in *storage.Collection[T], store storage.Store, goOn func(context.Context, *T) error) func(context.Context, []storage.Record) error {
	return func(ctx context.Context, records []storage.Record) error {
		o, err := in.Decode(records[0])
		if err != nil {
			return err
		}
		failed := goOn(ctx, &o.Value)
		err = store.Update(ctx, func(tx storage.Tx) error {
			kept := *o // a rolled back run leaves the claimed version as it is
			return in.Replace(tx, &kept)
		})
		if errors.Is(err, storage.ErrConflict) {
			err = nil // the lease has ended, and another worker has continued
		}
		return errors.Join(failed, err)
	}
}
