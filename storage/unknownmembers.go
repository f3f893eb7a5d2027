package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// A program that runs beside a newer one reads documents with members for which it has no
// fields. It must keep them when it replaces the object.

// keepUnknownMembers returns data, or, if the stored document has members that T has no
// fields for, a document with them and without a stamp. Nearly always there are none.
func (c *Collection[T]) keepUnknownMembers(tx Tx, o *Object[T], data []byte) ([]byte, error) {
	if c.shape == nil {
		return data, nil
	}
	stored := o.stored
	if stored == nil {
		r, err := tx.Get(c.kind, o.Scope, o.ID)
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && r.Version != o.Version:
			return data, nil // Replace will fail
		case err != nil:
			return nil, err
		}
		stored = r.Data
	}
	if c.stamp.wrote(stored) || c.shape.coversAll(stored) {
		return data, nil
	}
	var before T
	var known, value []byte
	err := json.Unmarshal(stored, &before)
	if err == nil {
		known, err = c.marshal(&before)
	}
	if err == nil {
		value, err = c.marshal(&o.Value)
	}
	if err == nil {
		data, err = c.shape.merge(stored, known, value)
	}
	if err != nil {
		return nil, fmt.Errorf("storage: encode %s: keep unknown members: %w", c.kind.Name, err)
	}
	return data, nil
}

// merge returns value with the members of the stored value that the shape has no fields
// for. known is the stored value without them.
//
// An element of a list keeps its members if known contains it, or an element with the
// same id: its position in the list means nothing.
func (s *jsonShape) merge(stored, known, value []byte) ([]byte, error) {
	switch {
	case len(stored) == 0 || len(known) == 0:
		return value, nil
	case bytes.Equal(known, value):
		return stored, nil
	case s == nil || stored[0] != value[0] || known[0] != value[0]:
		return value, nil
	case value[0] == '{':
		return s.mergeObjects(stored, known, value)
	case value[0] == '[' && s.element != nil:
		return s.mergeLists(stored, known, value)
	}
	return value, nil
}

func (s *jsonShape) mergeObjects(stored, known, value []byte) ([]byte, error) {
	var old, was, all map[string]json.RawMessage
	for into, from := range map[*map[string]json.RawMessage][]byte{&old: stored, &was: known, &all: value} {
		if err := json.Unmarshal(from, into); err != nil {
			return nil, err
		}
	}
	var err error
	for name, member := range all {
		below := s.element
		if s.fields != nil {
			below, _ = s.field([]byte(name))
		}
		if all[name], err = below.merge(old[name], was[name], member); err != nil {
			return nil, err
		}
	}
	if s.fields != nil { // the members of a map are data
		for name, member := range old {
			if _, ok := s.field([]byte(name)); !ok {
				all[name] = member
			}
		}
	}
	return plainjson.Marshal(all)
}

func (s *jsonShape) mergeLists(stored, known, value []byte) ([]byte, error) {
	var old, was, all []json.RawMessage
	for into, from := range map[*[]json.RawMessage][]byte{&old: stored, &was: known, &all: value} {
		if err := json.Unmarshal(from, into); err != nil {
			return nil, err
		}
	}
	if len(old) != len(was) {
		return value, nil
	}
	for i, element := range all {
		for j := range was {
			if was[j] == nil || !bytes.Equal(was[j], element) && (objectID(element) == "" || objectID(was[j]) != objectID(element)) {
				continue
			}
			merged, err := s.element.merge(old[j], was[j], element)
			if err != nil {
				return nil, err
			}
			all[i], was[j] = merged, nil // each element matches once
			break
		}
	}
	return plainjson.Marshal(all)
}

// objectID returns the id of an object, "" if it has none.
func objectID(object []byte) string {
	var named struct{ ID string }
	_ = json.Unmarshal(object, &named) // only an object has an id
	return named.ID
}
