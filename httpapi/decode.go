package httpapi

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// param is one field of a struct of params, as a request names it. Its name is the one in
// the tag json or, before all, in the tag param, which also has these words:
//
//	required  a body in which the field is absent or null is refused
//	clear     null clears: a pointer is to the zero value, which of a pointer to a pointer is nil
//	null      a boolean says that the parameter of that name, which another field has, is null
//	nonempty  an empty text is refused
//	pesewas   an int64 is an amount of money
//	rate      a decimal is no amount of GHS but any number, which is rounded to six decimals
//	unix      a time is a whole number of seconds since 1970
//	id        a text of a query is the id of an object
//
// A field with the tag param:"-", or without a name, is for Go callers only.
type param struct {
	index                                                      []int // of the field, for reflect
	name                                                       string
	required, clear, null, nonempty, pesewas, isRate, unix, id bool

	page, times bool // the type of a query's field: api.Page, api.Times

	kind   jsonKind
	want   string   // what a body must have here
	fields []param  // of an object, or of the objects in an array
	oneOf  []string // the values that a query may have; nil for any
}

// paramsOf returns the params of a struct. What reflect learns of a type is learned once,
// when the routes are made. A field that no request could fill panics.
func paramsOf(t reflect.Type) []param {
	if t == reflect.TypeFor[api.Page]() {
		return []param{{page: true}}
	}
	var params []param
	for i := range t.NumField() {
		f := t.Field(i)
		jsonName, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name, words, _ := strings.Cut(f.Tag.Get("param"), ",")
		switch {
		case f.Anonymous:
			for _, p := range paramsOf(f.Type) {
				p.index = append([]int{i}, p.index...)
				params = append(params, p)
			}
			continue
		case name == "":
			name = jsonName
		}
		if name == "" || name == "-" {
			continue
		}
		p := param{index: []int{i}, name: name}
		for word := range strings.SplitSeq(words, ",") {
			switch word {
			case "":
			case "required":
				p.required = true
			case "clear":
				p.clear = true
			case "null":
				p.null = true
			case "nonempty":
				p.nonempty = true
			case "pesewas":
				p.pesewas = true
			case "rate":
				p.isRate = true
			case "unix":
				p.unix = true
			case "id":
				p.id = true
			default:
				panic("httpapi: unknown word " + word + " in the tag of " + t.String() + "." + f.Name)
			}
		}
		p.learn(f.Type)
		params = append(params, p)
	}
	return params
}

// learn sets what a body must have for a field of that type.
func (p *param) learn(t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[decimal.Decimal]():
		p.kind, p.want = jsonNumber, "a number of GHS with at most two decimals, such as 150 or 150.50"
		if p.isRate {
			p.want = "a number, such as 2.5"
		}
		return
	case reflect.TypeFor[time.Time]():
		p.kind, p.want = jsonString, wantTime
		if p.unix {
			p.kind, p.want = jsonNumber, "a time in whole seconds since 1970, such as 1767225600"
		}
		return
	case reflect.TypeFor[api.Metadata]():
		p.kind, p.want = jsonObject, "an object of strings, numbers and booleans"
		return
	case reflect.TypeFor[api.Times]():
		p.times = true // queries alone have it
		return
	}
	switch t.Kind() {
	case reflect.String:
		p.kind, p.want = jsonString, "a string"
	case reflect.Bool:
		p.kind, p.want = jsonBool, "true or false"
	case reflect.Int64:
		p.kind, p.want = jsonNumber, "a whole number, such as 5"
		if p.pesewas {
			p.want = "a whole number of pesewas, such as 1000"
		}
	case reflect.Struct:
		p.kind, p.want, p.fields = jsonObject, "an object", paramsOf(t)
	case reflect.Slice:
		p.kind, p.want = jsonArray, "an array of strings"
		if t.Elem().Kind() == reflect.Struct {
			p.want, p.fields = "an array of objects", paramsOf(t.Elem())
		}
	default:
		panic("httpapi: no request can fill a " + t.String())
	}
}

// place is where an object stands in a body, for errors.
type place struct {
	in    *place // nil for the body
	name  string
	index int // in an array; -1 for none
}

// of returns the path of a field: rows[2].destination.phone_number.
func (at *place) of(name string) string {
	if at == nil {
		return name
	}
	path := at.in.of(at.name)
	if at.index >= 0 {
		path = fmt.Sprintf("%s[%d]", path, at.index)
	}
	if name == "" {
		return path
	}
	return path + "." + name
}

// decodeObject fills a struct from an object's members. A field that is absent or null stays
// zero. It returns the first error: of what is missing, and then of the fields in their
// order. It ignores members that the struct has not.
func decodeObject(members []jsonMember, params []param, at *place, into reflect.Value) error {
	for i := range params {
		if p := &params[i]; p.required {
			if v := find(members, p.name); v == nil || v.kind == jsonNull {
				return api.Missing(at.of(p.name))
			}
		}
	}
	for i := range params {
		p := &params[i]
		v := find(members, p.name)
		if p.null {
			into.FieldByIndex(p.index).SetBool(v != nil && v.kind == jsonNull)
			continue
		}
		if v == nil || v.kind == jsonNull && !p.clear {
			continue
		}
		field := into.FieldByIndex(p.index)
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		if v.kind == jsonNull {
			continue
		}
		if field.Kind() == reflect.Pointer { // to a pointer
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		if v.kind != p.kind {
			return api.Invalid(at.of(p.name), "%s must be %s.", at.of(p.name), p.want)
		}
		if p.nonempty && v.text == "" {
			return api.Invalid(at.of(p.name), "%s is empty. Give it a value or leave it out.", at.of(p.name))
		}
		if err := p.decode(v, at, field); err != nil {
			return err
		}
	}
	return nil
}

func find(members []jsonMember, name string) *jsonValue {
	for i := range members {
		if members[i].name == name {
			return &members[i].value
		}
	}
	return nil
}

// decode fills a field from a value of the right kind.
func (p *param) decode(v *jsonValue, at *place, into reflect.Value) error {
	var err error
	switch to := into.Addr().Interface().(type) {
	case *decimal.Decimal:
		if p.isRate {
			*to, err = parseRate(v.text)
		} else {
			*to, err = parseGHS(v.text)
		}
		return p.number(at, err)
	case *time.Time:
		if p.unix {
			*to, err = parseUnixNumber(v.text)
			return p.number(at, err)
		}
		if *to, _, err = parseTime(v.text); err != nil {
			return api.Invalid(at.of(p.name), "%s must be %s.", at.of(p.name), p.want)
		}
		*to = api.At(*to).Time // rounded down to the millisecond
		return nil
	case *api.Metadata:
		// Numbers stay as they were written. The service checks what it may hold.
		*to = make(api.Metadata, len(v.members))
		for _, m := range v.members {
			(*to)[m.name] = m.value.plain()
		}
		return nil
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(v.text)
	case reflect.Bool:
		into.SetBool(v.text == "true")
	case reflect.Int64:
		n, err := parseInteger(v.text)
		into.SetInt(n)
		return p.number(at, err)
	case reflect.Struct:
		return decodeObject(v.members, p.fields, &place{at, p.name, -1}, into)
	case reflect.Slice:
		return p.decodeArray(v.elements, at, into)
	}
	return nil
}

// decodeArray fills a slice of objects or texts; an empty array makes an empty slice.
func (p *param) decodeArray(elements []jsonValue, at *place, into reflect.Value) error {
	kind, want := jsonString, "a string"
	if p.fields != nil {
		kind, want = jsonObject, "an object"
	}
	for i := range elements {
		if elements[i].kind != kind {
			path := (&place{at, p.name, i}).of("")
			return api.Invalid(path, "%s must be %s.", path, want)
		}
	}
	into.Set(reflect.MakeSlice(into.Type(), len(elements), len(elements)))
	for i := range elements {
		if p.fields == nil {
			into.Index(i).SetString(elements[i].text)
		} else if err := decodeObject(elements[i].members, p.fields, &place{at, p.name, i}, into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// number returns the refusal of a number for one of the errors of numbers.
func (p *param) number(at *place, err error) error {
	if err == nil {
		return nil
	}
	path := at.of(p.name)
	return api.Invalid(path, "%s must be %s; what was sent %v.", path, p.want, err)
}

// decodeQuery fills a struct from a query.
func decodeQuery(q *query, params []param, into reflect.Value) error {
	for i := range params {
		p := &params[i]
		field := into.FieldByIndex(p.index)
		switch to := field.Addr().Interface().(type) {
		case *api.Page:
			*to = q.page()
		case *api.Times:
			*to = q.times(p.name)
		case **bool:
			*to = q.boolean(p.name)
		default:
			switch {
			case p.oneOf != nil:
				field.SetString(q.oneOf(p.name, p.oneOf))
			case p.id:
				field.SetString(q.id(p.name))
			default:
				field.SetString(q.text(p.name))
			}
		}
	}
	return q.err()
}
