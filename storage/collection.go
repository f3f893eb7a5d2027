package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// Collection is the typed view of one kind: domain packages read and write values of T, and see
// neither documents nor columns. A package declares it once, as a variable:
//
//	var codes = storage.NewCollection("qr_codes",
//		[]storage.Field[code]{
//			storage.TextColumn("type", func(c *code) string { return c.Type }).Indexed(),
//		})
//
// Columns are derived from the value here and nowhere else, so they cannot
// drift from it.
type Collection[T any] struct {
	kind     *Kind
	fields   []Field[T]
	shape    *jsonShape
	verbatim func(*T) *json.RawMessage // may be nil
	stamp    *stamp                    // may be nil
}

// Object is a stored value with its scope, id and version.
type Object[T any] struct {
	Scope   Scope
	ID      string
	Version int64
	Value   T
	// Number is that of the [Record] as it was read.
	Number int64

	// stored is the document of that version, for [Collection.Replace]; nil if the object was not
	// read.
	stored []byte
}

// NewCollection declares a kind and its Go type. It panics if [Kind.Validate] refuses the
// declaration, which is a bug that shows at the program's start.
func NewCollection[T any](name string, fields []Field[T], options ...func(*Kind)) *Collection[T] {
	c := &Collection[T]{kind: &Kind{Name: name}, fields: fields}
	c.shape = shapeOf(reflect.TypeFor[T](), map[reflect.Type]*jsonShape{})
	for _, f := range fields {
		c.kind.Columns = append(c.kind.Columns, f.Column)
	}
	for _, option := range options {
		option(c.kind)
	}
	c.kind.Backfill = func(data []byte) ([]any, error) {
		var v T
		if err := json.Unmarshal(data, &v); err != nil {
			return nil, err
		}
		return c.columns(&v), nil
	}
	if err := c.kind.Validate(); err != nil {
		panic(err)
	}
	return c
}

// Unique adds a key that is unique in its scope.
func Unique(name string, columns ...string) func(*Kind) {
	return func(k *Kind) { k.Keys = append(k.Keys, Key{Name: name, Columns: columns}) }
}

// UniqueGlobally adds a key that is unique over all scopes.
func UniqueGlobally(name string, columns ...string) func(*Kind) {
	return func(k *Kind) { k.Keys = append(k.Keys, Key{Name: name, Columns: columns, Global: true}) }
}

// DueBy makes a time column the due column of a kind: workers claim records when that time has
// come.
func DueBy(column string) func(*Kind) {
	return func(k *Kind) { k.Due = column }
}

// OneQueueBy is DueBy and sets [Kind].OneQueue.
func OneQueueBy(column string) func(*Kind) {
	return func(k *Kind) { k.Due, k.OneQueue = column, true }
}

// InCommitOrder sets [Kind].Ordered.
func InCommitOrder(k *Kind) { k.Ordered = true }

// Kind returns the declaration for the store.
func (c *Collection[T]) Kind() *Kind { return c.kind }

// Get returns the object with that id, or ErrNotFound.
func (c *Collection[T]) Get(tx ReadTx, s Scope, id string) (*Object[T], error) {
	r, err := tx.Get(c.kind, s, id)
	if err != nil {
		return nil, err
	}
	return c.Decode(r)
}

// GetOrNew is Get, but returns a new object, without a Version, if there is none.
func (c *Collection[T]) GetOrNew(tx ReadTx, s Scope, id string) (*Object[T], error) {
	o, err := c.Get(tx, s, id)
	if errors.Is(err, ErrNotFound) {
		return &Object[T]{Scope: s, ID: id}, nil
	}
	return o, err
}

// Find returns the object with these values in a unique key, or ErrNotFound.
func (c *Collection[T]) Find(tx ReadTx, key string, s Scope, values ...any) (*Object[T], error) {
	r, err := tx.Find(c.kind, key, s, values...)
	if err != nil {
		return nil, err
	}
	return c.Decode(r)
}

// List returns one page, newest first, and whether there is more in the direction of the query.
// With q.Bytes the documents of a page have at most that many bytes in total, or the page has one
// record.
func (c *Collection[T]) List(tx ReadTx, q Query) (page []*Object[T], more bool, err error) {
	records, more, err := c.Records(tx, q)
	if err != nil {
		return nil, false, err
	}
	page, err = c.decodeAll(records)
	return page, more, err
}

// Records is List without decoding. The records have no Columns: those follow from the
// documents.
func (c *Collection[T]) Records(tx ReadTx, q Query) (page []Record, more bool, err error) {
	limit := q.Limit
	q.Limit, q.Bare = q.Limit+1, true
	records, err := tx.List(c.kind, q)
	if err != nil {
		return nil, false, err
	}
	bytes := 0
	for _, r := range records {
		bytes += len(r.Data)
	}
	if more = len(records) > limit || q.Bytes > 0 && len(records) > 1 && bytes > q.Bytes; more {
		// The last record only shows that there is more.
		if q.Before != "" {
			records = records[1:]
		} else {
			records = records[:len(records)-1]
		}
	}
	return records, more, nil
}

// Insert stores a new object and returns it.
func (c *Collection[T]) Insert(tx Tx, s Scope, id string, v T) (*Object[T], error) {
	o := &Object[T]{Scope: s, ID: id, Version: 1, Value: v}
	r, err := c.encode(o)
	if err != nil {
		return nil, err
	}
	return o, tx.Insert(c.kind, r)
}

// Replace writes the object's changed value if no other transaction has written it since
// it was read; else it returns ErrConflict. On success o carries the new version.
//
// Replace keeps members of the stored document that T has no field for, because a newer
// version of the program may have written them. It keeps them also in nested objects, and
// in those elements of lists that did not change or that have an id. Members that T has a
// field for come from the value alone.
func (c *Collection[T]) Replace(tx Tx, o *Object[T]) error {
	r, err := c.encode(o)
	if err != nil {
		return err
	}
	if r.Data, err = c.keepUnknownMembers(tx, o, r.Data); err != nil {
		return err
	}
	if err := tx.Replace(c.kind, r); err != nil {
		return err
	}
	o.Version++
	o.stored = r.Data
	return nil
}

// Put is Insert for an object without a Version, and else Replace. On success o carries
// the new version.
func (c *Collection[T]) Put(tx Tx, o *Object[T]) error {
	if o.Version > 0 {
		return c.Replace(tx, o)
	}
	made, err := c.Insert(tx, o.Scope, o.ID, o.Value)
	if err == nil {
		*o = *made
	}
	return err
}

// Delete removes the object if no other transaction has written it since it was read.
func (c *Collection[T]) Delete(tx Tx, o *Object[T]) error {
	return tx.Delete(c.kind, o.Scope, o.ID, o.Version)
}

// Lease keeps an object from being claimed until a time; see [Tx].
func (c *Collection[T]) Lease(tx Tx, o *Object[T], until time.Time) error {
	return tx.Lease(c.kind, o.Scope, o.ID, o.Version, until)
}

// Claim takes over due objects; see [Tx].
func (c *Collection[T]) Claim(tx Tx, claim Claim) ([]*Object[T], error) {
	records, err := tx.Claim(c.kind, claim)
	if err != nil {
		return nil, err
	}
	return c.decodeAll(records)
}

// Decode turns a record into an object, for callers that claim by kind.
func (c *Collection[T]) Decode(r Record) (*Object[T], error) {
	o := &Object[T]{Scope: r.Scope, ID: r.ID, Version: r.Version, Number: r.Number, stored: r.Data}
	if err := json.Unmarshal(r.Data, &o.Value); err != nil {
		return nil, fmt.Errorf("storage: decode %s: %w", c.kind.Name, err)
	}
	return o, nil
}

func (c *Collection[T]) decodeAll(records []Record) ([]*Object[T], error) {
	objects := make([]*Object[T], len(records))
	for i, r := range records {
		o, err := c.Decode(r)
		if err != nil {
			return nil, err
		}
		objects[i] = o
	}
	return objects, nil
}

func (c *Collection[T]) encode(o *Object[T]) (Record, error) {
	data, err := c.marshalStamped(&o.Value)
	if err != nil {
		return Record{}, fmt.Errorf("storage: encode %s: %w", c.kind.Name, err)
	}
	return Record{Scope: o.Scope, ID: o.ID, Version: o.Version, Columns: c.columns(&o.Value), Data: data}, nil
}

func (c *Collection[T]) columns(v *T) []any {
	values := make([]any, len(c.fields))
	for i, f := range c.fields {
		values[i] = f.Value(v)
	}
	return values
}
