package storage

import (
	"encoding/json"

	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// Verbatim names the field of T whose JSON goes into the document as it is. The writer of the field
// must ensure that it is valid and compact, as an encoder makes it. An event's object and an
// idempotency key's answer are such fields. Checking them again would cost time; see
// docs/notes/performance.md. Verbatim has no effect on a collection with [Collection.Passthrough]. Verbatim
// returns c; call it where c is declared.
func (c *Collection[T]) Verbatim(in func(*T) *json.RawMessage) *Collection[T] {
	c.verbatim = in
	return c
}

// marshal returns the document of a value, without a stamp.
func (c *Collection[T]) marshal(v *T) ([]byte, error) {
	if c.verbatim == nil || len(*c.verbatim(v)) == 0 {
		return plainjson.Marshal(v)
	}
	inner, around := *c.verbatim(v), *v
	*c.verbatim(&around) = plainjson.Hole
	data, found, err := plainjson.MarshalAround(&around, inner)
	if !found && err == nil {
		return plainjson.Marshal(v)
	}
	return data, err
}
