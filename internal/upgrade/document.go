package upgrade

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// document is a JSON object whose members keep their order.
type document struct {
	members []member
	changed bool
	gone    bool // the record is to be deleted
}

type member struct {
	name  string
	value json.RawMessage
}

func parse(data []byte) (*document, error) {
	d := &document{}
	_, err := plainjson.Edit(data, func(name string, value json.RawMessage) (json.RawMessage, error) {
		d.members = append(d.members, member{name, value})
		return value, nil
	})
	return d, err
}

func (d *document) encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range d.members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := plainjson.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (d *document) index(name string) int {
	return slices.IndexFunc(d.members, func(m member) bool { return m.name == name })
}

// has reports whether the document has a member other than null.
func (d *document) has(name string) bool {
	i := d.index(name)
	return i >= 0 && string(d.members[i].value) != "null"
}

// is reports whether a member is that text.
func (d *document) is(name, text string) bool {
	var value string
	return d.read(name, &value) == nil && value == text
}

// read decodes a member; a missing one leaves v as it is.
func (d *document) read(name string, v any) error {
	if !d.has(name) {
		return nil
	}
	return json.Unmarshal(d.members[d.index(name)].value, v)
}

// set changes a member, or adds it at the end.
func (d *document) set(name string, v any) error {
	value, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	i := d.index(name)
	switch {
	case i < 0:
		d.members = append(d.members, member{name, value})
	case bytes.Equal(d.members[i].value, value):
		return nil
	default:
		d.members[i].value = value
	}
	d.changed = true
	return nil
}

// remove removes a member, if there is one.
func (d *document) remove(name string) {
	if i := d.index(name); i >= 0 {
		d.members = slices.Delete(d.members, i, i+1)
		d.changed = true
	}
}

var errTwice = errors.New("a member has its earlier and its present name")

// rename gives a member another name, if there is one.
func (d *document) rename(from, to string) error {
	i := d.index(from)
	switch {
	case i < 0:
		return nil
	case d.index(to) >= 0:
		return errTwice
	}
	d.members[i].name = to
	d.changed = true
	return nil
}

// in runs fn on the object at a path of members, such as "attempt.origin", and on each object of a list
// there. It does nothing if a member is missing or null.
func (d *document) in(path string, fn func(*document) error) error {
	if path == "" {
		return fn(d)
	}
	name, rest, _ := strings.Cut(path, ".")
	if !d.has(name) {
		return nil
	}
	m := &d.members[d.index(name)]
	value, err := d.within(m.value, func(below *document) error { return below.in(rest, fn) })
	if err == nil {
		m.value = value
	}
	return err
}

// within changes an object, or each object of a list.
func (d *document) within(value json.RawMessage, fn func(*document) error) (json.RawMessage, error) {
	if value[0] != '[' {
		below, err := parse(value)
		if err == nil {
			err = fn(below)
		}
		if err != nil || !below.changed {
			return value, err
		}
		d.changed = true
		return below.encode()
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, err
	}
	before := d.changed
	d.changed = false
	for i := range list {
		var err error
		if list[i], err = d.within(list[i], fn); err != nil {
			return nil, err
		}
	}
	if !d.changed {
		d.changed = before
		return value, nil
	}
	return plainjson.Marshal(list)
}
