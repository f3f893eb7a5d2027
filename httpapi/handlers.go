package httpapi

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
)

// handler answers a request; see render for its result. An error that is no [api.Error] is
// answered as an internal error.
type handler func(*request) (any, error)

// read returns a route that any key with the permission to read the resource may call. The
// endpoint is method and path.
func read(resource, endpoint string, handle handler) route {
	method, pattern, _ := strings.Cut(endpoint, " ")
	return route{method: method, pattern: pattern, resource: resource, handle: handle}
}

// write returns a route that needs the permission to change the resource.
func write(resource, endpoint string, handle handler) route {
	r := read(resource, endpoint, handle)
	r.write = true
	return r
}

// The handlers below make the call of a service and answer with what it returns. Their names
// say what the call gets besides the context and the caller.

func withCaller[T any](call func(context.Context, api.Caller) (T, error)) handler {
	return plain(func(r *request) (any, error) { return call(r.Context(), r.caller) })
}

func withID[T any](call func(context.Context, api.Caller, string) (T, error)) handler {
	return plain(func(r *request) (any, error) { return call(r.Context(), r.caller, r.id()) })
}

func withBody[P, T any](call func(context.Context, api.Caller, P) (T, error)) handler {
	return decoded(fromBody[P](), func(r *request, p P) (any, error) { return call(r.Context(), r.caller, p) })
}

func withIDBody[P, T any](call func(context.Context, api.Caller, string, P) (T, error)) handler {
	return decoded(fromBody[P](), func(r *request, p P) (any, error) { return call(r.Context(), r.caller, r.id(), p) })
}

func withQuery[P, T any](call func(context.Context, api.Caller, P) (T, error), enums ...enum) handler {
	return decoded(fromQuery[P](enums), func(r *request, p P) (any, error) { return call(r.Context(), r.caller, p) })
}

func withIDQuery[P, T any](call func(context.Context, api.Caller, string, P) (T, error), enums ...enum) handler {
	return decoded(fromQuery[P](enums), func(r *request, p P) (any, error) { return call(r.Context(), r.caller, r.id(), p) })
}

// redirectWithID sends the client to the address that the call returns.
func redirectWithID(call func(context.Context, api.Caller, string) (string, error)) handler {
	return plain(func(r *request) (any, error) {
		address, err := call(r.Context(), r.caller, r.id())
		if err != nil {
			return nil, err
		}
		return redirect(address), nil
	})
}

// plain is a handler of a request without parameters.
func plain(answer handler) handler {
	return func(r *request) (any, error) {
		if err := r.takes(nil, nil); err != nil {
			return nil, err
		}
		return answer(r)
	}
}

// decoded is a handler that decodes the params P of the request before it answers.
func decoded[P any](decode func(*request) (P, error), answer func(*request, P) (any, error)) handler {
	return func(r *request) (any, error) {
		p, err := decode(r)
		if err != nil {
			return nil, err
		}
		return answer(r, p)
	}
}

// fromBody returns what decodes params from the JSON body.
func fromBody[P any]() func(*request) (P, error) {
	params := paramsOf(reflect.TypeFor[P]())
	return func(r *request) (P, error) {
		var p P
		body, err := r.body()
		if err == nil {
			err = r.takes(params, nil)
		}
		if err == nil {
			err = decodeObject(body, params, nil, reflect.ValueOf(&p).Elem())
		}
		return p, err
	}
}

// enum is a parameter of a query that has one of a few values.
type enum struct {
	name   string
	values []string
}

func oneOf[T ~string](name string, values ...T) enum {
	e := enum{name: name}
	for _, v := range values {
		e.values = append(e.values, string(v))
	}
	return e
}

func fromQuery[P any](enums []enum) func(*request) (P, error) {
	params := paramsOf(reflect.TypeFor[P]())
	for _, e := range enums {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == e.name })
		params[i].oneOf = e.values
	}
	return func(r *request) (P, error) {
		var p P
		err := r.takes(nil, params)
		if err == nil {
			err = decodeQuery(r.query(), params, reflect.ValueOf(&p).Elem())
		}
		return p, err
	}
}
