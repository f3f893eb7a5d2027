package storage

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// shape is what a Go type keeps of a JSON value: the members of an object that have a
// field, and below them the same again. A nil shape stands for a type that keeps
// everything, or that reads JSON in its own way.
type shape struct {
	fields map[string]*shape // of a struct
	each   *shape            // of a map's values, or a list's elements
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf returns the shape of a type. seen holds those of the types around it.
func shapeOf(t reflect.Type, seen map[reflect.Type]*shape) *shape {
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
		s := &shape{fields: map[string]*shape{}}
		seen[t] = s
		s.addFields(t, seen)
		return s
	case reflect.Map, reflect.Slice, reflect.Array:
		if each := shapeOf(t.Elem(), seen); each != nil {
			return &shape{each: each}
		}
	}
	return nil
}

func (s *shape) addFields(t reflect.Type, seen map[reflect.Type]*shape) {
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

// field returns the shape of a member, and whether the struct has a field for it, which
// encoding/json finds whatever the case of its letters.
func (s *shape) field(name []byte) (*shape, bool) {
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

// knowsAll reports whether a type keeps every member of a JSON value. It is asked for
// every object that is written, so it looks at each letter once and makes nothing. What
// is not JSON it does not know.
func (s *shape) knowsAll(data []byte) bool {
	r := reader{data: data}
	return r.value(s)
}

// reader goes through JSON that an encoder has made.
type reader struct {
	data []byte
	at   int
}

// next returns the next character that is no white space, 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value goes through a value, unless it meets what the shape does not know.
func (r *reader) value(s *shape) bool {
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

func (r *reader) object(s *shape) bool {
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
		below := s.each
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

func (r *reader) list(s *shape) bool {
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
		if !r.value(s.each) {
			return false
		}
	}
}

// text goes through a string, and returns what is between its quotes.
func (r *reader) text() ([]byte, bool) {
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

// skip goes through an object or a list.
func (r *reader) skip() bool {
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
