package inspector

import (
	"context"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
)

// eachParam calls do for each field of a struct of params, under its name in the API.
func eachParam(of reflect.Value, do func(name string, field reflect.Value)) {
	if of.Kind() != reflect.Struct || of.Type() == reflect.TypeFor[api.Page]() {
		do("", of)
		return
	}
	for f, field := range of.Fields() {
		if !f.IsExported() {
			continue
		}
		if f.Anonymous {
			eachParam(field, do)
			continue
		}
		name := strings.ToLower(f.Name)
		for _, tag := range []string{"json", "param"} {
			if named, _, _ := strings.Cut(f.Tag.Get(tag), ","); named != "" && named != "-" {
				name = named
			}
		}
		do(name, field)
	}
}

// searchedPeople bounds the customers whose objects a search finds.
const searchedPeople = 10

// choose lists by a service's method, whose params the page's query sets. What is searched for is an
// id of what a param names, the text, or else what customers are found by.
func choose[P, T any](v *visit, list func(context.Context, api.Caller, P) (*api.List[T], error)) (*api.List[T], error) {
	var p P
	q, text, customer := v.param("q"), (*string)(nil), (*string)(nil)
	eachParam(reflect.ValueOf(&p).Elem(), func(name string, field reflect.Value) {
		switch to := field.Addr().Interface().(type) {
		case *api.Page:
			*to = v.page()
		case *api.Times:
			if name == "created" {
				*to = v.created()
			}
		case **bool:
			if is := v.param(name); is == "active" || is == "inactive" {
				*to = new(is == "active")
			}
		case *string:
			switch name {
			case "text", "to":
				text = to
			case "customer":
				customer = to
			}
			*to = v.param(name)
			if l, ok := links[name]; ok && l.prefix != "" && *to == "" && isID(q, l.prefix) {
				*to, q = q, ""
			}
		default:
			field.SetString(v.param(name))
		}
	})
	switch {
	case q == "":
	case text != nil:
		*text = q
	case customer != nil:
		return ofCustomers(v, q, func(id string) (*api.List[T], error) {
			*customer = id
			return list(v.Context(), v.caller, p)
		})
	default: // nothing here is found by it
		return &api.List[T]{}, nil
	}
	return list(v.Context(), v.caller, p)
}

// isID reports whether a text is an id with that prefix. A reference may begin alike.
func isID(text, prefix string) bool {
	rest, found := strings.CutPrefix(text, prefix)
	return found && len(rest) == ids.Length && ids.IsBase62(rest)
}

// ofCustomers lists a page of the objects of the customers that a search finds. of lists the same page for
// one of them.
func ofCustomers[T any](v *visit, q string, of func(customer string) (*api.List[T], error)) (*api.List[T], error) {
	people, err := v.svc.Accounts.SearchCustomers(v.Context(), v.caller, q, account.ListCustomersParams{Page: api.Page{Limit: searchedPeople}})
	if err != nil {
		return nil, err
	}
	var pages []*api.List[T]
	for _, c := range people.Data {
		list, err := of(c.ID)
		if err != nil {
			return nil, err
		}
		pages = append(pages, list)
	}
	return engine.Union(pages, func(o *T) string { return textField(o, "ID") }, v.page()), nil
}

// fill sets the params that the form has fields for. An empty field leaves a param as it is, or
// clears it where the form changes an object.
func (in *input) fill(params reflect.Value, clears bool) {
	eachParam(params, func(name string, field reflect.Value) {
		switch to := field.Addr().Interface().(type) {
		case *[]invoice.LineParams:
			if in.values.Has("unit_amount") {
				*to = make([]invoice.LineParams, 1)
				in.fill(field.Index(0), false)
			}
		case *account.WalletRef:
			if in.values.Has("wallet") {
				*to = in.wallet("wallet")
			}
		case *payout.DestinationParams:
			if in.values.Has("number") {
				*to = in.destination()
			}
		case **bool:
			if is := in.text(name); is != "" || name == "taxable" && in.text("tax_percent") != "" {
				*to = new(is != "false")
			}
		default:
			if in.values.Has(name) {
				in.set(name, field, clears)
			}
		}
	})
}

// set sets a param of one value, or of several words.
func (in *input) set(name string, field reflect.Value, clears bool) {
	whole, number := in.integer, in.number
	if strings.Contains(name, "amount") {
		whole, number = in.pesewas, in.ghs
	}
	switch to := field.Addr().Interface().(type) {
	case *int64:
		*to = required(in, name, whole(name))
	case *decimal.Decimal:
		*to = required(in, name, number(name))
	case **int64:
		*to = whole(name)
	case **decimal.Decimal:
		*to = number(name)
	case *bool:
		*to = in.text(name) != ""
	case *time.Time:
		*to = in.day(name)
	case **string:
		if *to = api.TextOrNil(in.text(name)); clears {
			*to = new(in.text(name))
		}
	default:
		if field.Kind() == reflect.String {
			field.SetString(in.text(name))
			return
		}
		for word := range strings.FieldsSeq(strings.ReplaceAll(in.text(name), ",", " ")) {
			field.Set(reflect.Append(field, reflect.ValueOf(word).Convert(field.Type().Elem())))
		}
	}
}

// create calls a service's method with params that the form's fields fill, on top of those that are
// given, unless a field is wrong.
func create[P, T any](v *visit, in *input, method func(context.Context, api.Caller, P) (*T, error), p P) (any, error) {
	if in.fill(reflect.ValueOf(&p).Elem(), false); in.problem != nil {
		return nil, in.problem
	}
	return method(v.Context(), v.caller, p)
}

// makes is the action of a form that fills all params of a method.
func makes[P, T any](method func(context.Context, api.Caller, P) (*T, error)) action {
	return func(v *visit, in *input) (any, error) {
		return create(v, in, method, *new(P))
	}
}

// changes is makes for a method that changes the page's object.
func changes[P, T any](method func(context.Context, api.Caller, string, P) (*T, error)) action {
	return func(v *visit, in *input) (any, error) {
		var p P
		if in.fill(reflect.ValueOf(&p).Elem(), true); in.problem != nil {
			return nil, in.problem
		}
		return method(v.Context(), v.caller, v.id, p)
	}
}

// act makes an action of a method that takes the id of the page's object alone.
func act[T any](method func(context.Context, api.Caller, string) (*T, error)) action {
	return func(v *visit, _ *input) (any, error) { return method(v.Context(), v.caller, v.id) }
}

// switchForms turn an object on or off, and delete it. gone says what becomes of what names it.
func switchForms[P, T, D any](active bool, change func(context.Context, api.Caller, string, P) (*T, error), gone string, remove func(context.Context, api.Caller, string) (*D, error)) []*form {
	b := &form{Name: "deactivate", Button: "Switch off"}
	if !active {
		b = &form{Name: "activate", Button: "Switch on"}
	}
	to := []string{strconv.FormatBool(!active)}
	b.do = func(v *visit, _ *input) (any, error) {
		return changes(change)(v, &input{values: url.Values{"active": to, "is_active": to}})
	}
	return []*form{b, {Name: "delete", Title: "Delete", Button: "Delete", Danger: true, Note: gone, do: act(remove)}}
}
