package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// A stamp is the first member of a document. It names the encoding that wrote the
// document, and says how long the JSON of the object is that callers see:
//
//	{"_":"<encoding>.<length of the object's members>.<length of all members>", …
//
// Where the encoding is this program's, the object's JSON goes out as it is stored. All
// other documents are decoded, and get their stamp when they are next replaced: those of
// other releases, those with members that this program does not know, and those without a
// stamp. An edit of a document in the database must remove its stamp. An edit that changes
// the length is noticed without that.
type stamp struct {
	head  []byte       // the document up to the first length
	of    reflect.Type // of the part that callers see
	shown *jsonShape   // its members
}

// Passthrough declares the part of T that callers see unchanged. in returns a pointer to that part,
// which is T itself or the first, embedded field of T. [Shown] can then return the part's JSON
// without decoding. Passthrough panics if the part's members do not come first in the JSON. Call it
// where c is declared; it returns c.
//
// It spares a list the decoding and encoding of its objects; see docs/notes/performance.md.
func (c *Collection[T]) Passthrough(in func(*T) any) *Collection[T] {
	var zero, sample T
	fill(reflect.ValueOf(&sample).Elem(), 0)
	encode := func(v any) []byte {
		data, err := plainjson.Marshal(v)
		if err != nil {
			panic(fmt.Errorf("storage: %s: passthrough: %w", c.kind.Name, err))
		}
		return data
	}
	empty, all, part := encode(zero), encode(sample), encode(in(&sample))
	if !bytes.HasPrefix(all, part[:len(part)-1]) {
		panic(fmt.Errorf("storage: %s: passthrough: the members that callers see do not come first in %s", c.kind.Name, all))
	}
	hash := sha256.Sum256(slices.Concat(empty, all, part))
	encoding := base64.RawURLEncoding.EncodeToString(hash[:6])
	of := reflect.TypeOf(in(&sample)).Elem()
	c.stamp = &stamp{[]byte(`{"_":"` + encoding + `.`), of, shapeOf(of, map[reflect.Type]*jsonShape{})}
	c.shape.fields["_"] = nil
	return c
}

// Shown returns the JSON members of the part O of a document, without the outer braces. It works if
// O is the part that c.Passthrough declares. Otherwise it returns nil, and the caller must decode
// the document. The result shares the document's memory.
func Shown[O, T any](c *Collection[T], document []byte) []byte {
	if c.stamp == nil || c.stamp.of != reflect.TypeFor[O]() {
		return nil
	}
	members, shown := c.stamp.open(document)
	return members[:shown]
}

// open returns the members of a document after its stamp, and how many bytes of them
// callers see. It returns nothing if the stamp is not this one.
func (s *stamp) open(document []byte) (members []byte, shown int) {
	rest, ok := bytes.CutPrefix(document, s.head)
	if !ok {
		return nil, 0
	}
	lengths, members, _ := bytes.Cut(rest, []byte(`",`))
	first, second, _ := bytes.Cut(lengths, []byte("."))
	shown, err := strconv.Atoi(string(first))
	if err != nil || shown < 0 || shown >= len(members) || string(second) != strconv.Itoa(len(members)-1) {
		return nil, 0
	}
	return members, shown
}

// wrote reports whether this encoding has written a document.
func (s *stamp) wrote(document []byte) bool {
	if s == nil {
		return false
	}
	members, _ := s.open(document)
	return members != nil
}

// marshalStamped returns the document of a value with its stamp, if there are stamps.
func (c *Collection[T]) marshalStamped(v *T) ([]byte, error) {
	if c.stamp == nil {
		return c.marshal(v)
	}
	return plainjson.MarshalWith(v, c.stamp.put)
}

// put returns a copy of a document that has no stamp, with one.
func (s *stamp) put(document []byte) []byte {
	members := document[1:]
	w := jsonWalker{data: members}
	shown := 0
	for more := true; more; {
		name, ok := w.text()
		if _, ok2 := s.shown.fields[string(name)]; !ok || !ok2 {
			break
		}
		w.at++ // the colon
		if !w.value(nil) {
			break
		}
		shown = w.at
		more = w.next() == ','
		w.at++
	}
	if shown == 0 {
		return bytes.Clone(document)
	}
	stamped := make([]byte, 0, len(s.head)+len("1234.1234\",")+len(document))
	stamped = strconv.AppendInt(append(stamped, s.head...), int64(shown), 10)
	stamped = strconv.AppendInt(append(stamped, '.'), int64(len(members)-1), 10)
	return append(append(stamped, `",`...), members...)
}

// samples are values for types that decode themselves, the first that suits.
var samples = []string{`"2001-02-03T04:05:06.789Z"`, `1.25`, `{"a":"é<\u2028\"","b":1.5,"c":true}`, `"a"`}

// fill sets all that a type encodes to values other than zero, so that its JSON shows how
// each field is encoded.
func fill(v reflect.Value, depth int) {
	const deepest = 8 // of types that contain themselves
	if !v.CanSet() || depth > deepest {
		return
	}
	p := v.Addr().Interface()
	_, ownJSON := p.(json.Unmarshaler)
	_, ownText := p.(encoding.TextUnmarshaler)
	if ownJSON || ownText {
		for _, sample := range samples {
			if json.Unmarshal([]byte(sample), p) == nil && !v.IsZero() {
				return
			}
		}
		v.SetZero()
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("é<\u2028\"")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}
