// Package openapitest checks the calls of a provider's adapter against an OpenAPI document of the
// provider's interface. Only tests import it.
package openapitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// Transport returns a transport that passes calls on to next and checks each against the document at
// path: the request, without fields and parameters that the document does not list, and the answer
// if it is a success.
func Transport(t testing.TB, path string, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	doc.Servers = nil // the tests' servers have other addresses
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &transport{t: t, router: router, next: next}
}

type transport struct {
	t      testing.TB
	router routers.Router
	next   http.RoundTripper
}

var options = &openapi3filter.Options{
	AuthenticationFunc: authenticated, SkipSettingDefaults: true, IncludeResponseStatus: true,
}

// authenticated checks that a request has the header that a scheme of the document asks for.
func authenticated(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	header := in.RequestValidationInput.Request.Header
	switch is := in.SecurityScheme; is.Type {
	case "http":
		if kind, secret, _ := strings.Cut(header.Get("Authorization"), " "); !strings.EqualFold(kind, is.Scheme) || secret == "" {
			return fmt.Errorf("no Authorization of the scheme %s", is.Scheme)
		}
	default:
		if is.In != "header" || header.Get(is.Name) == "" {
			return fmt.Errorf("no header %s", is.Name)
		}
	}
	return nil
}

// Passes reports whether a document at path describes a request and the answer of next.
func Passes(t testing.TB, path string, next http.RoundTripper, r *http.Request) bool {
	t.Helper()
	w := &witness{TB: t}
	if _, err := Transport(w, path, next).RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	return !w.failed
}

// witness is a test that notes its failure.
type witness struct {
	testing.TB
	failed bool
}

func (w *witness) Errorf(string, ...any) { w.failed = true }

// RoundTrip implements http.RoundTripper.
func (c *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(sent))
	input := &openapi3filter.RequestValidationInput{Request: r, Options: options}
	var err error
	if input.Route, input.PathParams, err = c.router.FindRoute(r); err != nil {
		c.t.Errorf("%s %s is not described: %v", r.Method, r.URL.Path, err)
	} else if err = openapi3filter.ValidateRequest(r.Context(), input); err != nil {
		c.t.Errorf("%s %s %s is described otherwise: %v", r.Method, r.URL.Path, sent, err)
	}
	c.checkUnlisted(r, input.Route, sent)
	r.Body = io.NopCloser(bytes.NewReader(sent))
	answer, err := c.next.RoundTrip(r)
	if err != nil || input.Route == nil {
		return answer, err
	}
	got, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(got), failing{err}))
	if err == nil && answer.StatusCode < 300 && answer.Header.Get("Content-Type") != "" {
		err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: input, Status: answer.StatusCode, Header: answer.Header,
			Body: io.NopCloser(bytes.NewReader(got)), Options: options,
		})
		if err != nil {
			c.t.Errorf("%s %s: the fake answers %s, which is described otherwise: %v", r.Method, r.URL.Path, got, err)
		}
	}
	return answer, nil
}

// checkUnlisted refuses parameters of the query and bodies that the document does not list.
func (c *transport) checkUnlisted(r *http.Request, route *routers.Route, sent []byte) {
	if route == nil {
		return
	}
	for name := range r.URL.Query() {
		if route.Operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			c.t.Errorf("%s %s: the parameter %s is not described", r.Method, r.URL.Path, name)
		}
	}
	if len(sent) > 0 && route.Operation.RequestBody == nil {
		c.t.Errorf("%s %s has a body", r.Method, r.URL.Path)
	}
}

// failing is a reader that fails, or ends if err is nil.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
