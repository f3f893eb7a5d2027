// Package plainjson marshals JSON without the escapes that encoding/json makes
// for the sake of HTML: what people wrote is stored and given back as it came.
// Pages are rendered by html/template, which escapes for itself.
package plainjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest buffer that is kept for the next document.
const maxPooled = 64 << 10

// Marshal is json.Marshal with <, > and & left as they are.
func Marshal(v any) ([]byte, error) {
	return marshal(v, func(b []byte) []byte { return bytes.Clone(b) })
}

// Hole is a [json.RawMessage] that stands for another one, see [MarshalAround]. No
// string is encoded like that: a letter needs no escape.
var Hole = json.RawMessage(`"\u0041"`)

// MarshalAround is Marshal of a v with a member that is [Hole], in whose place the JSON
// given comes, as it is. encoding/json would go through it letter by letter, which for
// an object within another takes longer than all the rest. It is v's caller who knows
// that it is valid, and compact. found is false, and data nil, unless there is exactly
// one hole.
func MarshalAround(v any, inner []byte) (data []byte, found bool, err error) {
	data, err = marshal(v, func(b []byte) []byte {
		before, after, ok := bytes.Cut(b, Hole)
		if !ok || bytes.Contains(after, Hole) {
			return nil
		}
		return slices.Concat(before, inner, after)
	})
	return data, data != nil, err
}

// marshal returns what take makes of the JSON, which it must not keep.
func marshal(v any, take func([]byte) []byte) ([]byte, error) {
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
