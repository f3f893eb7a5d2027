// Package plainjson marshals JSON without the escapes that encoding/json makes
// for the sake of HTML: what people wrote is stored and given back as it came.
// Pages are rendered by html/template, which escapes for itself.
package plainjson

import (
	"bytes"
	"encoding/json"
	"sync"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest buffer that is kept for the next document.
const maxPooled = 64 << 10

// Marshal is json.Marshal with <, > and & left as they are.
func Marshal(v any) ([]byte, error) {
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
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
