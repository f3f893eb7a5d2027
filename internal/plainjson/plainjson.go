// Package plainjson marshals JSON without the escapes that encoding/json makes
// for the sake of HTML: what people wrote is stored and given back as it came.
// Pages are rendered by html/template, which escapes for itself.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal with <, > and & left as they are.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
