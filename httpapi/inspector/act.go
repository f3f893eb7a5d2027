package inspector

import (
	"context"
	"reflect"

	"github.com/seed-7082ffec/payments/api"
)

// create calls a service's method with params that were read from a form, unless one was wrong.
func create[P, T any](v *visit, in *input, method func(context.Context, api.Caller, P) (*T, error), p P) (any, error) {
	if err := in.err(); err != nil {
		return nil, err
	}
	return method(v.Context(), v.caller, p)
}

// update is create for a method that changes the page's object.
func update[P, T any](v *visit, in *input, method func(context.Context, api.Caller, string, P) (*T, error), p P) (any, error) {
	if err := in.err(); err != nil {
		return nil, err
	}
	return method(v.Context(), v.caller, v.id, p)
}

// act makes an action of a method that takes the id of the page's object alone.
func act[T any](method func(context.Context, api.Caller, string) (*T, error)) action {
	return func(v *visit, _ *input) (any, error) { return method(v.Context(), v.caller, v.id) }
}

// switchForms turn an object on or off, and delete it. gone says what becomes of what names it.
func switchForms[T any](active bool, turn func(v *visit, on *bool) (any, error), gone string, remove func(context.Context, api.Caller, string) (*T, error)) []*form {
	b := &form{Name: "deactivate", Button: "Switch off"}
	if !active {
		b = &form{Name: "activate", Button: "Switch on"}
	}
	b.do = func(v *visit, _ *input) (any, error) { return turn(v, new(!active)) }
	return []*form{b, {Name: "delete", Title: "Delete", Button: "Delete", Danger: true, Note: gone, do: act(remove)}}
}

// after is the page that follows an action: that of the object that it made or changed, the list of
// an object that is gone, or the same page.
func (v *visit) after(done any) string {
	if _, gone := done.(*api.Deleted); gone {
		return v.url(v.kind())
	}
	if at := v.source(textField(done, "Object"), textField(done, "ID")); at != "" {
		return at
	}
	return v.here()
}

// textField is a field of the object to which o points; "" if there is none.
func textField(o any, name string) string {
	p := reflect.ValueOf(o)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return ""
	}
	if f := p.Elem().FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}
