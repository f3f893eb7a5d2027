package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
)

// maxDepth is how many objects and arrays may stand within each other.
const maxDepth = 16

// jsonKind is the type of a JSON value.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// jsonValue is one value as it stood in the text. A number stays the literal
// that was sent, so that no digit of an amount is ever rounded.
type jsonValue struct {
	kind jsonKind
	// text is what a string says, and of a number or boolean the literal.
	text     string
	elements []jsonValue  // of an array
	members  []jsonMember // of an object, in the order sent
}

// jsonMember is one name of an object with its value.
type jsonMember struct {
	name  string
	value jsonValue
}

// parseJSON reads one JSON text as RFC 8259 defines it, and is stricter where a
// text can be read in two ways: duplicate names, invalid UTF-8, lone surrogates,
// NUL, a byte order mark and anything after the value are invalid_json, as is
// nesting deeper than 16. It takes time and memory linear in the text. What it returns shares nothing with data.
func parseJSON(data []byte) (jsonValue, error) {
	p := jsonParser{data: data}
	v, err := p.value()
	if err != nil {
		return jsonValue{}, err
	}
	if p.space(); p.at < len(data) {
		return jsonValue{}, p.fail(p.at, "something follows the end of the value")
	}
	return v, nil
}

// parseBody reads a body, which must be an object. An empty one is {}.
func parseBody(data []byte) (jsonValue, error) {
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return jsonValue{kind: jsonObject}, nil
	}
	v, err := parseJSON(data)
	if err != nil {
		return jsonValue{}, err
	}
	if v.kind != jsonObject {
		return jsonValue{}, api.Invalid("", "The body must be a JSON object, such as {}.")
	}
	return v, nil
}

// plain returns the value as encoding/json decodes it into an any with
// UseNumber.
func (v jsonValue) plain() any {
	switch v.kind {
	case jsonBool:
		return v.text == "true"
	case jsonNumber:
		return json.Number(v.text)
	case jsonString:
		return v.text
	case jsonArray:
		list := make([]any, len(v.elements))
		for i, e := range v.elements {
			list[i] = e.plain()
		}
		return list
	case jsonObject:
		object := make(map[string]any, len(v.members))
		for _, m := range v.members {
			object[m.name] = m.value.plain()
		}
		return object
	}
	return nil
}

type jsonParser struct {
	data  []byte
	at    int
	depth int
}

func (p *jsonParser) fail(at int, what string, args ...any) error {
	return api.Errorf(api.InvalidJSON, "", "The body is not valid JSON: %s at byte %d.", fmt.Sprintf(what, args...), at)
}

func (p *jsonParser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// next skips white space and returns the byte that follows, or 0 at the end. JSON has no zero
// byte outside a string, so the two cannot be confused.
func (p *jsonParser) next() byte {
	if p.space(); p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *jsonParser) value() (jsonValue, error) {
	switch c := p.next(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		s, err := p.string()
		return jsonValue{kind: jsonString, text: s}, err
	case c == '-' || isDigit(c):
		return p.number()
	case c == 't':
		return p.literal("true", jsonBool)
	case c == 'f':
		return p.literal("false", jsonBool)
	case c == 'n':
		return p.literal("null", jsonNull)
	case p.at == len(p.data):
		return jsonValue{}, p.fail(p.at, "it ends where a value is expected")
	case bytes.HasPrefix(p.data[p.at:], []byte("\uFEFF")):
		return jsonValue{}, p.fail(p.at, "a byte order mark is not allowed")
	}
	return jsonValue{}, p.fail(p.at, "a value is expected")
}

func (p *jsonParser) literal(text string, kind jsonKind) (jsonValue, error) {
	if !bytes.HasPrefix(p.data[p.at:], []byte(text)) {
		return jsonValue{}, p.fail(p.at, "a value is expected")
	}
	p.at += len(text)
	return jsonValue{kind: kind, text: text}, nil
}

// enter steps over an opening bracket.
func (p *jsonParser) enter() error {
	if p.depth == maxDepth {
		return p.fail(p.at, "objects and arrays are nested deeper than %d", maxDepth)
	}
	p.depth++
	p.at++
	return nil
}

// more steps over what ends an element: a comma, after which it returns true, or
// the closing bracket.
func (p *jsonParser) more(closing byte) (bool, error) {
	switch c := p.next(); c {
	case ',':
		p.at++
		return true, nil
	case closing:
		p.at++
		p.depth--
		return false, nil
	}
	return false, p.fail(p.at, "a comma or %q is expected", closing)
}

func (p *jsonParser) array() (jsonValue, error) {
	v := jsonValue{kind: jsonArray}
	if err := p.enter(); err != nil {
		return jsonValue{}, err
	}
	if p.next() == ']' {
		p.at++
		p.depth--
		return v, nil
	}
	for more := true; more; {
		element, err := p.value()
		if err != nil {
			return jsonValue{}, err
		}
		v.elements = append(v.elements, element)
		if more, err = p.more(']'); err != nil {
			return jsonValue{}, err
		}
	}
	return v, nil
}

func (p *jsonParser) object() (jsonValue, error) {
	v := jsonValue{kind: jsonObject}
	if err := p.enter(); err != nil {
		return jsonValue{}, err
	}
	if p.next() == '}' {
		p.at++
		p.depth--
		return v, nil
	}
	var names nameSet
	for more := true; more; {
		if p.next() != '"' {
			return jsonValue{}, p.fail(p.at, "a name in double quotes is expected")
		}
		at := p.at
		name, err := p.string()
		if err != nil {
			return jsonValue{}, err
		}
		if !names.add(v.members, name) {
			return jsonValue{}, p.fail(at, "a name is given twice")
		}
		if p.next() != ':' {
			return jsonValue{}, p.fail(p.at, "a colon is expected")
		}
		p.at++
		value, err := p.value()
		if err != nil {
			return jsonValue{}, err
		}
		v.members = append(v.members, jsonMember{name, value})
		if more, err = p.more('}'); err != nil {
			return jsonValue{}, err
		}
	}
	return v, nil
}

// nameSet finds duplicate names: by looking through the members while they are
// few, which is the rule and needs no memory, and with a map beyond that.
type nameSet struct{ many map[string]bool }

func (s *nameSet) add(members []jsonMember, name string) bool {
	const few = 16
	if len(members) < few {
		return !slices.ContainsFunc(members, func(m jsonMember) bool { return m.name == name })
	}
	if s.many == nil {
		s.many = make(map[string]bool, 2*few)
		for _, m := range members {
			s.many[m.name] = true
		}
	}
	if s.many[name] {
		return false
	}
	s.many[name] = true
	return true
}

func (p *jsonParser) number() (jsonValue, error) {
	start := p.at
	if p.data[p.at] == '-' {
		p.at++
	}
	zero := p.at < len(p.data) && p.data[p.at] == '0'
	if n := p.digits(); n == 0 {
		return jsonValue{}, p.fail(p.at, "a digit is expected")
	} else if zero && n > 1 {
		return jsonValue{}, p.fail(start, "a number has a leading zero")
	}
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if p.digits() == 0 {
			return jsonValue{}, p.fail(p.at, "a digit is expected after the decimal point")
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if p.digits() == 0 {
			return jsonValue{}, p.fail(p.at, "a digit is expected in the exponent")
		}
	}
	return jsonValue{kind: jsonNumber, text: string(p.data[start:p.at])}, nil
}

// digits steps over digits and returns how many there were.
func (p *jsonParser) digits() int {
	start := p.at
	for p.at < len(p.data) && isDigit(p.data[p.at]) {
		p.at++
	}
	return p.at - start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// string reads a string from its opening quote on.
func (p *jsonParser) string() (string, error) {
	start := p.at
	p.at++
	var b strings.Builder
	plain := p.at // what follows it is not yet in b
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			b.Write(p.data[plain:p.at])
			p.at++
			return b.String(), nil
		case c == '\\':
			b.Write(p.data[plain:p.at])
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			plain = p.at
		case c == 0:
			return "", p.fail(p.at, "NUL is not allowed")
		case c < ' ':
			return "", p.fail(p.at, "a control character must be escaped")
		case c < utf8.RuneSelf:
			p.at++
		default:
			r, size := utf8.DecodeRune(p.data[p.at:])
			if r == utf8.RuneError && size == 1 {
				return "", p.fail(p.at, "a string is not valid UTF-8")
			}
			p.at += size
		}
	}
	return "", p.fail(start, "a string has no end; it begins")
}

// escape reads what a backslash begins.
func (p *jsonParser) escape() (rune, error) {
	start := p.at
	if p.at+1 == len(p.data) {
		return 0, p.fail(start, "an escape is cut off")
	}
	c := p.data[p.at+1]
	p.at += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
	default:
		return 0, p.fail(start, "a backslash begins no escape of JSON's")
	}
	r, ok := p.hex()
	if !ok {
		return 0, p.fail(start, "four hexadecimal digits are expected in the escape")
	}
	if r == 0 {
		return 0, p.fail(start, "NUL is not allowed")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if bytes.HasPrefix(p.data[p.at:], []byte(`\u`)) {
		p.at += 2
		if second, ok := p.hex(); ok {
			if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
				return pair, nil
			}
		}
	}
	return 0, p.fail(start, "half of a surrogate pair stands alone")
}

// hex reads four hexadecimal digits.
func (p *jsonParser) hex() (rune, bool) {
	if len(p.data)-p.at < 4 {
		return 0, false
	}
	var r rune
	for _, c := range p.data[p.at : p.at+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	p.at += 4
	return r, true
}
