package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/storage"
)

// Within is the range of Rewrite: one scope, or, with all set, all scopes of the scope's mode.
type Within struct {
	Scope storage.Scope
	All   bool
}

// rewritePage bounds the reads of one View, and the writes of one Update.
const rewritePage = 200

// Rewrite reads all records of a kind, page by page, and writes those for which change returns
// true. change may run more than once for a record.
func Rewrite[T any](ctx context.Context, e *Engine, c *storage.Collection[T], in Within, change func(*storage.Object[T]) (bool, error)) error {
	var at storage.Scope
	if !in.All {
		at = in.Scope
	}
	for id, more := "", true; more; {
		var found []storage.Record
		err := e.Store.View(ctx, func(tx storage.ReadTx) error {
			found = found[:0]
			page, err := tx.Scan(c.Kind(), at, id, rewritePage)
			if err != nil {
				return err
			}
			more = len(page) > 0
			for _, r := range page {
				if at, id = r.Scope, r.ID; !in.All && r.Scope != in.Scope {
					more = false
					break
				}
				if r.Scope.Live != in.Scope.Live {
					continue
				}
				o, err := c.Decode(r)
				if err != nil {
					return err
				}
				if is, err := change(o); err != nil {
					return err
				} else if is {
					found = append(found, r)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("engine: rewrite %s: %w", c.Kind().Name, err)
		}
		if len(found) == 0 {
			continue
		}
		err = e.Store.Update(ctx, func(tx storage.Tx) error {
			for _, r := range found {
				o, err := c.Get(tx, r.Scope, r.ID)
				if errors.Is(err, storage.ErrNotFound) {
					continue
				}
				if err != nil {
					return err
				}
				if is, err := change(o); err != nil {
					return err
				} else if !is {
					continue
				}
				if err := c.Replace(tx, o); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("engine: rewrite %s: %w", c.Kind().Name, err)
		}
	}
	return nil
}
