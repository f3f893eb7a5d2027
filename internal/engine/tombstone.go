package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// tombstoneLife is how long a list goes on from the place of a deleted object.
const tombstoneLife = 30 * 24 * time.Hour

// tombstone says that an object of a list was deleted. Its own id has the kind and the id of the object,
// which is the object's place in the list.
type tombstone struct {
	Due api.Time `json:"due"`
}

var tombstones = storage.NewCollection("tombstones", []storage.Field[tombstone]{
	storage.NullTimeColumn("due", func(t *tombstone) *api.Time { return &t.Due }),
}, storage.DueBy("due"))

func tombstoneID(kind *storage.Kind, id string) string { return kind.Name + " " + id }

// Delete deletes an object that a [Listing] shows, of the caller's scope. For 30 days, by the caller's clock, a
// list goes on from its place.
func Delete[T any](tx *Tx, c *storage.Collection[T], o *storage.Object[T]) error {
	if err := c.Delete(tx, o); err != nil {
		return err
	}
	_, err := tombstones.Insert(tx, o.Scope, tombstoneID(c.Kind(), o.ID), tombstone{api.At(tx.Now.Add(tombstoneLife))})
	if errors.Is(err, storage.ErrExists) { // the id was given again, and was deleted again
		return nil
	}
	if err != nil {
		return fmt.Errorf("engine: keep the place of a deleted %s: %w", c.Kind().Name, err)
	}
	return nil
}

// hasPlace reports whether a list can go on from an id: that of an object of the scope, which may have been
// deleted.
func hasPlace(tx storage.ReadTx, kind *storage.Kind, scope storage.Scope, id string) (bool, error) {
	_, err := tx.Get(kind, scope, id)
	if errors.Is(err, storage.ErrNotFound) {
		_, err = tx.Get(tombstones.Kind(), scope, tombstoneID(kind, id))
	}
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ForgetTombstones is the job that removes the places of objects that were deleted long ago.
func (e *Engine) ForgetTombstones() work.Job { return e.DeleteDue(tombstones.Kind()) }
