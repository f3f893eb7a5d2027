package httpapi

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// fields reads the members of a JSON object by their types. Every method takes
// the name of a field; a field that is absent or null gives the zero value, or
// nil from the methods whose name begins with optional. A field of another type
// is parameter_invalid with its path (destination.phone_number). The first error
// of a body is kept and all later reads go on, so that a handler reads all it
// needs and then asks err once. Fields that nobody asks for are ignored.
type fields struct {
	// prefix is the path to this object with what joins it to a name:
	// "destination.", "line_items[2].", and "" for the body.
	prefix  string
	members []jsonMember
	// firstErr is the first error, shared by all objects of one body.
	firstErr *error
}

// newFields reads a body's object.
func newFields(body jsonValue, err error) *fields {
	return &fields{members: body.members, firstErr: &err}
}

// err returns the first error of the whole body, or nil.
func (f *fields) err() error { return *f.firstErr }

// has reports whether the field was sent, be it as null.
func (f *fields) has(name string) bool { return f.find(name) != nil }

// null reports whether the field was sent as null, which in an update clears
// what can be cleared.
func (f *fields) null(name string) bool {
	v := f.find(name)
	return v != nil && v.kind == jsonNull
}

// require refuses a body in which one of the fields is absent or null.
func (f *fields) require(names ...string) {
	for _, name := range names {
		if v := f.find(name); v == nil || v.kind == jsonNull {
			f.fail(api.Missing(f.prefix + name))
		}
	}
}

// text returns a string.
func (f *fields) text(name string) string { return orZero(f.optionalText(name)) }

// optionalText returns a string or nil.
func (f *fields) optionalText(name string) *string {
	v := f.read(name, jsonString, "a string")
	if v == nil {
		return nil
	}
	return &v.text
}

// boolean returns a boolean.
func (f *fields) boolean(name string) bool { return orZero(f.optionalBoolean(name)) }

// optionalBoolean returns a boolean or nil.
func (f *fields) optionalBoolean(name string) *bool {
	v := f.read(name, jsonBool, "true or false")
	if v == nil {
		return nil
	}
	return new(v.text == "true")
}

// integer returns a whole number; 5 and 5.0 are the same.
func (f *fields) integer(name string) int64 { return orZero(f.optionalInteger(name)) }

// optionalInteger returns a whole number or nil.
func (f *fields) optionalInteger(name string) *int64 {
	return number(f, name, "a whole number, such as 5", parseInteger)
}

// pesewas returns a whole number of pesewas; 1000 and 1000.0 are the same.
func (f *fields) pesewas(name string) int64 { return orZero(f.optionalPesewas(name)) }

// optionalPesewas returns a whole number of pesewas or nil.
func (f *fields) optionalPesewas(name string) *int64 {
	return number(f, name, "a whole number of pesewas, such as 1000", parseInteger)
}

// ghs returns an amount of GHS with at most two decimals.
func (f *fields) ghs(name string) decimal.Decimal { return orZero(f.optionalGHS(name)) }

// optionalGHS returns an amount of GHS, or nil.
func (f *fields) optionalGHS(name string) *decimal.Decimal {
	return number(f, name, "a number of GHS with at most two decimals, such as 150 or 150.50", parseGHS)
}

// decimal returns a number with at most that many decimals.
func (f *fields) decimal(name string, places int) decimal.Decimal {
	return orZero(f.optionalDecimal(name, places))
}

// optionalDecimal returns a number with at most that many decimals, or nil.
func (f *fields) optionalDecimal(name string, places int) *decimal.Decimal {
	want := fmt.Sprintf("a number with at most %d decimals, such as 2.5", places)
	return number(f, name, want, func(literal string) (decimal.Decimal, error) {
		return parseDecimal(literal, places)
	})
}

// time returns a time, rounded down to the millisecond. A date alone stands for
// its midnight in UTC.
func (f *fields) time(name string) time.Time { return orZero(f.optionalTime(name)) }

// optionalTime returns a time, as time does, or nil.
func (f *fields) optionalTime(name string) *time.Time {
	v := f.read(name, jsonString, wantTime)
	if v == nil {
		return nil
	}
	t, _, err := parseTime(v.text)
	if err != nil {
		f.fail(api.Invalid(f.prefix+name, "%s must be %s.", f.prefix+name, wantTime))
		return nil
	}
	return new(api.At(t).Time)
}

// object returns a nested object. An absent one reads as an empty one; has tells
// the difference.
func (f *fields) object(name string) *fields {
	nested := &fields{prefix: f.prefix + name + ".", firstErr: f.firstErr}
	if v := f.read(name, jsonObject, "an object"); v != nil {
		nested.members = v.members
	}
	return nested
}

// objects returns the objects of an array: nil when it is absent, empty when it
// is empty.
func (f *fields) objects(name string) []*fields {
	v := f.read(name, jsonArray, "an array of objects")
	if v == nil {
		return nil
	}
	list := make([]*fields, len(v.elements))
	for i, e := range v.elements {
		path := fmt.Sprintf("%s%s[%d]", f.prefix, name, i)
		if e.kind != jsonObject {
			f.fail(api.Invalid(path, "%s must be an object.", path))
		}
		list[i] = &fields{prefix: path + ".", members: e.members, firstErr: f.firstErr}
	}
	return list
}

// texts returns the strings of an array: nil when it is absent, empty when it is
// empty.
func (f *fields) texts(name string) []string {
	v := f.read(name, jsonArray, "an array of strings")
	if v == nil {
		return nil
	}
	list := make([]string, len(v.elements))
	for i, e := range v.elements {
		if e.kind != jsonString {
			path := fmt.Sprintf("%s%s[%d]", f.prefix, name, i)
			f.fail(api.Invalid(path, "%s must be a string.", path))
		}
		list[i] = e.text
	}
	return list
}

// metadata returns an object of the caller's own: numbers as they were written,
// null as nil, so that an update can drop a key. Its limits, and that nothing is
// nested, are checked by [api.Metadata.Check].
func (f *fields) metadata(name string) api.Metadata {
	v := f.read(name, jsonObject, "an object of strings, numbers and booleans")
	if v == nil {
		return nil
	}
	m := make(api.Metadata, len(v.members))
	for _, member := range v.members {
		m[member.name] = member.value.plain()
	}
	return m
}

func (f *fields) find(name string) *jsonValue {
	for i := range f.members {
		if f.members[i].name == name {
			return &f.members[i].value
		}
	}
	return nil
}

// read returns the field's value, or nil when it is absent, null or of another
// kind, which it notes.
func (f *fields) read(name string, kind jsonKind, want string) *jsonValue {
	v := f.find(name)
	if v == nil || v.kind == jsonNull {
		return nil
	}
	if v.kind != kind {
		f.fail(api.Invalid(f.prefix+name, "%s must be %s.", f.prefix+name, want))
		return nil
	}
	return v
}

func (f *fields) fail(err error) {
	if *f.firstErr == nil {
		*f.firstErr = err
	}
}

// number reads a number field with a parser that refuses with one of the errors
// of numbers.
func number[T any](f *fields, name, want string, parse func(literal string) (T, error)) *T {
	v := f.read(name, jsonNumber, want)
	if v == nil {
		return nil
	}
	n, err := parse(v.text)
	if err != nil {
		path := f.prefix + name
		f.fail(api.Invalid(path, "%s must be %s; what was sent %v.", path, want, err))
		return nil
	}
	return &n
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
