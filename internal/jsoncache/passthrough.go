package jsoncache

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
)

// Passthrough returns the JSON of the O at the beginning of a document, without the closing
// brace. It returns nil if the caller must decode the document and encode the O instead.
// The document is a T as package storage encodes it, in this or another release. T is O, or
// embeds O as its first field. The result shares the document's memory.
//
// Another release may have written the document with fewer fields, or in another order. So
// Passthrough compares it with the type, member by member. Each value must have the type of
// its field and stand in the scanner in which the encoder writes it. Strings with escapes, for
// example, are left to the decoder. This takes a tenth of decoding and encoding. It raises
// a list's first read from 0.12 to 0.25 of the rate of a bare handler.
func Passthrough[T, O any](document []byte) []byte {
	key := pair{reflect.TypeFor[T](), reflect.TypeFor[O]()}
	known, ok := scanners.Load(key)
	if !ok {
		known, _ = scanners.LoadOrStore(key, scannerOf(key))
	}
	o := known.(object)
	if o == nil {
		return nil
	}
	n := o.members(document)
	if n == 0 || n == len(document) || (document[n] != '}' && document[n] != ',') {
		return nil
	}
	return document[:n]
}

type pair struct{ stored, shown reflect.Type }

// scanners holds the object of each pair; nil where Passthrough always returns nil.
var scanners sync.Map

// scanner returns the length of the value of one type that b begins with. It returns 0 if b
// begins with no such value, or if the encoder might write the value differently.
type scanner func(b []byte) int

// object scans a struct.
type object []member

type member struct {
	name  string // with quotes and colon
	value scanner
	// omit lists the values that the encoder leaves out; nil without omitempty.
	omit []string
}

// scannerOf returns the object that the documents of a pair begin with.
func scannerOf(p pair) object {
	all, ok := fieldsOf(p.stored)
	if !ok {
		return nil
	}
	if p.stored != p.shown {
		if f := p.stored.Field(0); !f.Anonymous || f.Type != p.shown || f.Tag.Get("json") != "" {
			return nil
		}
	}
	first, _ := fieldsOf(p.shown)
	o, ok := objectOf(all[:len(first)])
	if !ok {
		return nil
	}
	return o
}

// fieldsOf returns the fields of a struct as encoding/json sees them, in their order. It
// reports false for structs that it does not handle: with names that hide each other,
// embedded pointers or unusual names.
func fieldsOf(t reflect.Type) (all []reflect.StructField, ok bool) {
	if t.Kind() != reflect.Struct || t.NumField() == 0 || isMarshaler(t) {
		return nil, false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "":
			embedded, ok := fieldsOf(f.Type)
			if !ok {
				return nil, false
			}
			all = append(all, embedded...)
		case f.IsExported():
			all = append(all, f)
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		name := nameOf(f) // must be lower case: the decoder ignores case
		if seen[name] || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, false
		}
		seen[name] = true
	}
	return all, true
}

func nameOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}

func objectOf(fields []reflect.StructField) (object, bool) {
	o := make(object, 0, len(fields))
	for _, f := range fields {
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := valueScanner(f.Type)
		if value == nil || (options != "" && options != "omitempty") {
			return nil, false
		}
		m := member{name: `"` + nameOf(f) + `":`, value: value}
		if options != "" {
			m.omit = empty[f.Type.Kind()]
		}
		o = append(o, m)
	}
	return o, true
}

// empty lists the values that omitempty leaves out.
var empty = map[reflect.Kind][]string{
	reflect.Pointer: {"null"}, reflect.String: {`""`}, reflect.Bool: {"false"}, reflect.Int: {"0"}, reflect.Int64: {"0"},
	reflect.Slice: {"null", "[]"}, reflect.Map: {"{}"},
}

// valueScanner returns the scanner of a type, or nil.
func valueScanner(t reflect.Type) scanner {
	switch t {
	case reflect.TypeFor[api.Time]():
		return scanTime
	case reflect.TypeFor[api.GHS](), reflect.TypeFor[api.Number]():
		return scanDecimal
	case reflect.TypeFor[api.Metadata]():
		return scanMetadata
	}
	if t.Kind() == reflect.Pointer {
		if to := valueScanner(t.Elem()); to != nil {
			return orNull(to)
		}
		return nil
	}
	if isMarshaler(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return scanString
	case reflect.Bool:
		return scanBool
	case reflect.Int, reflect.Int64:
		return scanInt
	case reflect.Struct:
		fields, ok := fieldsOf(t)
		if !ok {
			return nil
		}
		if o, ok := objectOf(fields); ok {
			return o.whole
		}
	case reflect.Slice:
		if of := valueScanner(t.Elem()); of != nil {
			return orNull(arrayOf(of))
		}
	}
	return nil
}

// isMarshaler reports whether a type encodes or decodes itself.
func isMarshaler(t reflect.Type) bool {
	for _, own := range []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}

// members scans an object without its closing brace.
func (o object) members(b []byte) int {
	if len(b) == 0 || b[0] != '{' {
		return 0
	}
	at := 1
	for i := range o {
		m := &o[i]
		next := at
		if at > 1 && at < len(b) && b[at] == ',' {
			next++
		}
		if (at > 1 && next == at) || !hasPrefix(b[next:], m.name) {
			if m.omit != nil {
				continue
			}
			return 0
		}
		next += len(m.name)
		n := m.value(b[next:])
		if n == 0 {
			return 0
		}
		for _, left := range m.omit {
			if string(b[next:next+n]) == left { // slices.Contains would copy the value
				return 0
			}
		}
		at = next + n
	}
	return at
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// whole scans an object.
func (o object) whole(b []byte) int {
	if n := o.members(b); n > 0 && n < len(b) && b[n] == '}' {
		return n + 1
	}
	return 0
}

func orNull(of scanner) scanner {
	return func(b []byte) int {
		if hasPrefix(b, "null") {
			return 4
		}
		return of(b)
	}
}

func arrayOf(of scanner) scanner {
	return func(b []byte) int {
		if hasPrefix(b, "[]") {
			return 2
		}
		if len(b) == 0 || b[0] != '[' {
			return 0
		}
		for at := 1; ; at++ {
			n := of(b[at:])
			at += n
			if n == 0 || at == len(b) {
				return 0
			}
			switch b[at] {
			case ',':
			case ']':
				return at + 1
			default:
				return 0
			}
		}
	}
}

// scanString scans a string without escapes.
func scanString(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	ascii := true
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if !ascii && !isPlain(b[1:i]) {
				return 0
			}
			return i + 1
		case c == '\\', c < ' ':
			return 0
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return 0
}

// isPlain reports whether the encoder writes a string beyond ASCII unchanged. It escapes
// the two characters that end lines in JavaScript.
func isPlain(b []byte) bool {
	return utf8.Valid(b) && !bytes.Contains(b, []byte("\u2028")) && !bytes.Contains(b, []byte("\u2029"))
}

func scanBool(b []byte) int {
	switch {
	case hasPrefix(b, "true"):
		return 4
	case hasPrefix(b, "false"):
		return 5
	}
	return 0
}

// digits returns how many digits b begins with.
func digits(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

// scanInt scans an integer that fits 64 bits.
func scanInt(b []byte) int {
	sign := 0
	if len(b) > 0 && b[0] == '-' {
		sign = 1
	}
	n := digits(b[sign:])
	switch {
	case n == 0, n > 18, b[sign] == '0' && sign+n > 1:
		return 0
	case sign+n < len(b) && strings.IndexByte(".eE", b[sign+n]) >= 0:
		return 0
	}
	return sign + n
}

// scanDecimal scans a number without an exponent and without trailing zeros.
func scanDecimal(b []byte) int {
	n := scanNumber(b)
	switch {
	case n == 0, n > 32, string(b[:n]) == "-0", b[n-1] == '0' && bytes.IndexByte(b[:n], '.') >= 0:
		return 0
	}
	return n
}

// scanNumber scans a number without an exponent.
func scanNumber(b []byte) int {
	at := 0
	if len(b) > 0 && b[0] == '-' {
		at = 1
	}
	n := digits(b[at:])
	if n == 0 || (b[at] == '0' && n > 1) {
		return 0
	}
	at += n
	if at < len(b) && b[at] == '.' {
		n = digits(b[at+1:])
		if at += 1 + n; n == 0 {
			return 0
		}
	}
	if at < len(b) && strings.IndexByte(".eE", b[at]) >= 0 {
		return 0
	}
	return at
}

// scanTime scans a time as api.Time encodes it.
func scanTime(b []byte) int {
	const layout = `"0000-00-00T00:00:00.000Z"`
	if len(b) < len(layout) {
		return 0
	}
	for i := range len(layout) {
		if c := b[i]; layout[i] != '0' && c != layout[i] || layout[i] == '0' && (c < '0' || c > '9') {
			return 0
		}
	}
	two := func(at int) int { return 10*int(b[at]-'0') + int(b[at+1]-'0') }
	year, month, day := 100*two(1)+two(3), two(6), two(9)
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || two(12) > 23 || two(15) > 59 || two(18) > 59 {
		return 0
	}
	return len(layout)
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// scanMetadata scans an object of strings, booleans and numbers with its names in order.
func scanMetadata(b []byte) int {
	if hasPrefix(b, "{}") {
		return 2
	}
	if len(b) == 0 || b[0] != '{' {
		return 0
	}
	var last []byte
	for at := 1; ; at++ {
		n := scanString(b[at:])
		name := b[at : at+n]
		// Compare without the quotes, which sort after a space.
		if n == 0 || (last != nil && bytes.Compare(last[1:len(last)-1], name[1:n-1]) >= 0) {
			return 0
		}
		last = name
		if at += n; at == len(b) || b[at] != ':' {
			return 0
		}
		at++
		n = max(scanString(b[at:]), scanBool(b[at:]), scanNumber(b[at:]))
		at += n
		if n == 0 || at == len(b) {
			return 0
		}
		switch b[at] {
		case ',':
		case '}':
			return at + 1
		default:
			return 0
		}
	}
}
