package storage

import "context"

// Reader is what a [Store] may have beside the contract: reads of one record that
// cost less than a [Store.View] of their own. They are for concurrent use, see every
// Update that returned before they were called, and otherwise are as the methods of
// [ReadTx] with the same names.
type Reader interface {
	// GetOne is a View of one Get.
	GetOne(ctx context.Context, k *Kind, s Scope, id string) (Record, error)
	// FindOne is a View of one Find.
	FindOne(ctx context.Context, k *Kind, key string, s Scope, values ...any) (Record, error)
}

// GetOne is Get in a View of its own, or what the store has for it as a [Reader].
func (c *Collection[T]) GetOne(ctx context.Context, from Store, s Scope, id string) (*Object[T], error) {
	if r, ok := from.(Reader); ok {
		record, err := r.GetOne(ctx, c.kind, s, id)
		if err != nil {
			return nil, err
		}
		return c.Decode(record)
	}
	var o *Object[T]
	err := from.View(ctx, func(tx ReadTx) error {
		var err error
		o, err = c.Get(tx, s, id)
		return err
	})
	return o, err
}

// FindOne is Find in a View of its own, or what the store has for it as a [Reader].
func (c *Collection[T]) FindOne(ctx context.Context, from Store, key string, s Scope, values ...any) (*Object[T], error) {
	if r, ok := from.(Reader); ok {
		record, err := r.FindOne(ctx, c.kind, key, s, values...)
		if err != nil {
			return nil, err
		}
		return c.Decode(record)
	}
	var o *Object[T]
	err := from.View(ctx, func(tx ReadTx) error {
		var err error
		o, err = c.Find(tx, key, s, values...)
		return err
	})
	return o, err
}
