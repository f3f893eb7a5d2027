package storage

import "context"

// Reader is an optional interface of a [Store]: reads of one record that cost less than a
// [Store.View] each. They are safe for concurrent use, see every Update that returned before the
// call, and otherwise behave like Get and Find of [ReadTx].
type Reader interface {
	// GetOne is a View of one Get.
	GetOne(ctx context.Context, k *Kind, s Scope, id string) (Record, error)
	// FindOne is a View of one Find.
	FindOne(ctx context.Context, k *Kind, key string, s Scope, values ...any) (Record, error)
}

// GetOne reads one record by the store's [Reader], or else in a View of its own.
func GetOne(ctx context.Context, from Store, k *Kind, s Scope, id string) (record Record, err error) {
	if r, ok := from.(Reader); ok {
		return r.GetOne(ctx, k, s, id)
	}
	err = from.View(ctx, func(tx ReadTx) error {
		record, err = tx.Get(k, s, id)
		return err
	})
	return record, err
}

// GetOne is Get outside of any transaction.
func (c *Collection[T]) GetOne(ctx context.Context, from Store, s Scope, id string) (*Object[T], error) {
	record, err := GetOne(ctx, from, c.kind, s, id)
	if err != nil {
		return nil, err
	}
	return c.Decode(record)
}

// FindOne is Find outside of any transaction.
func (c *Collection[T]) FindOne(ctx context.Context, from Store, key string, s Scope, values ...any) (o *Object[T], err error) {
	if r, ok := from.(Reader); ok {
		record, err := r.FindOne(ctx, c.kind, key, s, values...)
		if err != nil {
			return nil, err
		}
		return c.Decode(record)
	}
	err = from.View(ctx, func(tx ReadTx) error {
		o, err = c.Find(tx, key, s, values...)
		return err
	})
	return o, err
}
