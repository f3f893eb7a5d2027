// Package plainjson marshals JSON without the HTML escapes of encoding/json. So texts are stored
// and returned as people wrote them. html/template escapes the texts of pages.
package plainjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest buffer that the pool keeps.
const maxPooled = 64 << 10

// Marshal is json.Marshal with <, > and & left as they are.
func Marshal(v any) ([]byte, error) {
	return MarshalWith(v, bytes.Clone)
}

// Hole is a [json.RawMessage] that stands for another one, see [MarshalAround]. No encoded string
// looks like it, because a letter needs no escape.
var Hole = json.RawMessage(`"\u0041"`)

// MarshalAround is Marshal of a v with a member that is [Hole]. It puts inner in its place
// without a check; the caller ensures that inner is valid and compact. encoding/json would read
// inner again, letter by letter. found is false, and data nil, unless there is exactly one hole.
func MarshalAround(v any, inner []byte) (data []byte, found bool, err error) {
	data, err = MarshalWith(v, func(b []byte) []byte {
		before, after, ok := bytes.Cut(b, Hole)
		if !ok || bytes.Contains(after, Hole) {
			return nil
		}
		return slices.Concat(before, inner, after)
	})
	return data, data != nil, err
}

// MarshalWith is Marshal, but returns take's result for the JSON. take must not keep the JSON: its
// memory is used again.
func MarshalWith(v any, take func([]byte) []byte) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	defer func() {
		if b.Cap() <= maxPooled {
			buffers.Put(b)
		}
	}()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return take(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Edit returns a JSON object with its members changed by fn.
func Edit(doc []byte, fn func(name string, value json.RawMessage) (json.RawMessage, error)) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("plainjson: no object")
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for d.More() {
		var value json.RawMessage
		token, err := d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		name, _ := token.(string) // the name of a member always is one
		if err == nil {
			value, err = fn(name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("plainjson: edit: %w", err)
		}
		key, err := Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("plainjson: edit: %w", err)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
