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

// tombstone says that an object of a list was deleted. Its own id has the kind and the id of the object. The id,
// and the number if the kind is Ordered, are the object's place in the list.
type tombstone struct {
	Due    api.Time `json:"due"`
	Number int64    `json:"number,omitempty"`
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
	id, place := tombstoneID(c.Kind(), o.ID), tombstone{api.At(tx.Now.Add(tombstoneLife)), o.Number}
	_, err := tombstones.Insert(tx, o.Scope, id, place)
	if errors.Is(err, storage.ErrExists) { // the id was given again, and was deleted again
		var last *storage.Object[tombstone]
		if last, err = tombstones.Get(tx, o.Scope, id); err == nil {
			last.Value = place
			err = tombstones.Replace(tx, last)
		}
	}
	if err != nil {
		return fmt.Errorf("engine: keep the place of a deleted %s: %w", c.Kind().Name, err)
	}
	return nil
}

// placeOf returns the number of an object of the scope, which may have been deleted; see [storage.Query].Number.
// known is false if there was no such object: then no list can go on from it.
func placeOf(tx storage.ReadTx, kind *storage.Kind, scope storage.Scope, id string) (number int64, known bool, err error) {
	r, err := tx.Get(kind, scope, id)
	if err == nil {
		return r.Number, true, nil
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return 0, false, err
	}
	o, err := OrNil(tombstones.Get(tx, scope, tombstoneID(kind, id)))
	if o == nil || err != nil {
		return 0, false, err
	}
	return o.Value.Number, true, nil
}

// ForgetTombstones is the job that removes the places of objects that were deleted long ago.
func (e *Engine) ForgetTombstones() work.Job { return e.DeleteDue(tombstones.Kind()) }
