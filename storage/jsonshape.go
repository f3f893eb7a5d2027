package storage

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// jsonShape describes which members of a JSON value a Go type keeps: those for which it
// has a field, and so on below them. A nil shape keeps everything; it also stands for a
// type that unmarshals JSON itself.
type jsonShape struct {
	fields  map[string]*jsonShape // of a struct
	element *jsonShape            // of a map's values, or a list's elements
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf returns the shape of a type. seen holds the shapes of enclosing types.
func shapeOf(t reflect.Type, seen map[reflect.Type]*jsonShape) *jsonShape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(unmarshaler) || p.Implements(textUnmarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		if s := seen[t]; s != nil {
			return s
		}
		s := &jsonShape{fields: map[string]*jsonShape{}}
		seen[t] = s
		s.addFields(t, seen)
		return s
	case reflect.Map, reflect.Slice, reflect.Array:
		if each := shapeOf(t.Elem(), seen); each != nil {
			return &jsonShape{element: each}
		}
	}
	return nil
}

func (s *jsonShape) addFields(t reflect.Type, seen map[reflect.Type]*jsonShape) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		is := f.Type
		for is.Kind() == reflect.Pointer {
			is = is.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && is.Kind() == reflect.Struct:
			if before := seen[is]; before != s { // or it embeds itself
				seen[is] = s
				s.addFields(is, seen)
				seen[is] = before
			}
		case !f.IsExported():
		default:
			if name == "" {
				name = f.Name
			}
			s.fields[name] = nil
			if !strings.Contains(options, "string") {
				s.fields[name] = shapeOf(f.Type, seen)
			}
		}
	}
}

// field returns the shape of a member, and whether the struct has a field for it. Like
// encoding/json, it ignores case.
func (s *jsonShape) field(name []byte) (*jsonShape, bool) {
	if f, ok := s.fields[string(name)]; ok {
		return f, true
	}
	for known, f := range s.fields {
		if bytes.EqualFold([]byte(known), name) {
			return f, true
		}
	}
	return nil, false
}

// coversAll reports whether a type keeps every member of a JSON value. Each Replace calls
// it, so it looks at each character once and allocates nothing. It returns false for
// invalid JSON.
func (s *jsonShape) coversAll(data []byte) bool {
	r := jsonWalker{data: data}
	return r.value(s)
}

// jsonWalker walks through JSON that an encoder has made.
type jsonWalker struct {
	data []byte
	at   int
}

// next returns the next character other than white space, 0 at the end.
func (r *jsonWalker) next() byte {
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value walks through a value. It returns false at a member that the shape does not have.
func (r *jsonWalker) value(s *jsonShape) bool {
	switch c := r.next(); {
	case c == '"':
		_, ok := r.text()
		return ok
	case c == '{' && s != nil:
		return r.object(s)
	case c == '[' && s != nil:
		return r.list(s)
	case c == '{' || c == '[':
		return r.skip()
	default:
		from := r.at
		for r.at < len(r.data) && !strings.ContainsRune(",]} \t\n\r", rune(r.data[r.at])) {
			r.at++
		}
		return r.at > from
	}
}

func (r *jsonWalker) object(s *jsonShape) bool {
	r.at++
	for first := true; ; first = false {
		switch c := r.next(); {
		case c == '}':
			r.at++
			return true
		case !first && c == ',':
			r.at++
		case !first:
			return false
		}
		if r.next() != '"' {
			return false
		}
		name, ok := r.text()
		if !ok || r.next() != ':' {
			return false
		}
		r.at++
		below := s.element
		if s.fields != nil {
			if below, ok = s.field(name); !ok {
				return false
			}
		}
		if !r.value(below) {
			return false
		}
	}
}

func (r *jsonWalker) list(s *jsonShape) bool {
	r.at++
	for first := true; ; first = false {
		switch c := r.next(); {
		case c == ']':
			r.at++
			return true
		case !first && c == ',':
			r.at++
		case !first:
			return false
		}
		if !r.value(s.element) {
			return false
		}
	}
}

// text walks through a string, and returns the part between the quotes.
func (r *jsonWalker) text() ([]byte, bool) {
	r.at++
	from := r.at
	for {
		n := bytes.IndexByte(r.data[r.at:], '"')
		if n < 0 {
			return nil, false
		}
		end := r.at + n
		r.at = end + 1
		escapes := 0
		for end-escapes > from && r.data[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return r.data[from:end], true
		}
	}
}

// skip walks through an object or a list without a shape.
func (r *jsonWalker) skip() bool {
	for depth := 0; r.at < len(r.data); {
		switch r.data[r.at] {
		case '"':
			if _, ok := r.text(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		r.at++
		if depth == 0 {
			return true
		}
	}
	return false
}
