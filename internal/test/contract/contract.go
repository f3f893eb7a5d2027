// Package contract checks requests and answers against httpapi/openapi.yaml. Only tests
// import it:
//
//	import _ "github.com/seed-7082ffec/payments/internal/test/contract"
//
// in a test file checks every request of the package's tests to a paymentstest server, and
// every answer. A difference fails the test in which it happened.
package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/internal/test/testhook"
)

func init() {
	// The description has files as strings; their content is not checked.
	for _, file := range []string{"image/png", "image/jpeg", "image/svg+xml", "application/pdf", "text/html"} {
		openapi3filter.RegisterBodyDecoder(file, openapi3filter.FileBodyDecoder)
	}
	testhook.Handler = func(tb testing.TB, next http.Handler) http.Handler {
		c, err := Load()
		if err != nil {
			tb.Fatal(err)
		}
		return c.Handler(tb, next)
	}
}

// Contract is a parsed description. It is safe for concurrent use.
type Contract struct {
	// Doc is the published description.
	Doc *openapi3.T
	// strict is Doc without unlisted fields, except in objects that allow them. Answers are
	// checked against it, so that a new field must be described.
	strict *openapi3.T
	// Codes has the description of each error code.
	Codes map[string]Code

	// paths are those described, in the order of their bytes, in which "{" comes after
	// every letter.
	paths []string

	// components are those of strict, to which its schemas refer.
	components any

	mu      sync.Mutex
	covered map[string]map[string]bool
	// compiled are schemas of strict. To compile one takes a millisecond.
	compiled map[*openapi3.SchemaRef]*jsonschema.Schema
}

// Code describes an error code.
type Code struct {
	Status int    `json:"status"`
	Type   string `json:"type"`
	// Everywhere says that every operation may answer with it.
	Everywhere  bool   `json:"everywhere"`
	Description string `json:"description"`
}

// Load returns the one Contract of the process, and an error where the
// description is no valid OpenAPI, or an example in it is not as its schema.
var Load = sync.OnceValues(load)

func load() (*Contract, error) {
	text := httpapi.OpenAPIJSON("")
	c := &Contract{covered: map[string]map[string]bool{}, compiled: map[*openapi3.SchemaRef]*jsonschema.Schema{}}
	var err error
	if c.Doc, err = parse(text); err != nil {
		return nil, err
	}
	if err := c.Doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.IsOpenAPI31OrLater()); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	forbidUnlistedFields(tree["components"].(map[string]any)["schemas"])
	c.components = tree["components"]
	if text, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	if c.strict, err = parse(text); err != nil {
		return nil, err
	}
	if c.Codes, err = codes(c.Doc); err != nil {
		return nil, err
	}
	c.paths = slices.Sorted(maps.Keys(c.strict.Paths.Map()))
	return c, nil
}

func parse(text []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return doc, nil
}

// forbidUnlistedFields has every schema with properties allow no others, unless it says
// something about them.
func forbidUnlistedFields(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			forbidUnlistedFields(inner)
		}
	case []any:
		for _, inner := range v {
			forbidUnlistedFields(inner)
		}
	}
}

// codes returns what the schema of error codes says of each.
func codes(doc *openapi3.T) (map[string]Code, error) {
	table := map[string]Code{}
	text, err := json.Marshal(doc.Components.Schemas["ErrorCode"].Value.Extensions["x-codes"])
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil || len(table) == 0 {
		return nil, fmt.Errorf("openapi.yaml: x-codes of ErrorCode: %d codes, %w", len(table), err)
	}
	return table, nil
}

// Operation is one method of one path.
type Operation struct {
	Method, Path string
	*openapi3.Operation
	// Codes are those of x-error-codes.
	Codes []string
}

// Name names the operation as people would: "GET /v1/payouts/{id}".
func (o Operation) Name() string { return o.Method + " " + o.Path }

// Operations returns all operations, in the order of their names.
func (c *Contract) Operations() []Operation {
	var all []Operation
	for path, item := range c.Doc.Paths.Map() {
		for method, operation := range item.Operations() {
			// The parameters of the path are the operation's, too.
			copied := *operation
			copied.Parameters = append(slices.Clone(item.Parameters), operation.Parameters...)
			all = append(all, Operation{method, path, &copied, operationCodes(operation)})
		}
	}
	slices.SortFunc(all, func(a, b Operation) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

func operationCodes(o *openapi3.Operation) []string {
	listed, _ := o.Extensions["x-error-codes"].([]any)
	names := make([]string, len(listed))
	for i, name := range listed {
		names[i] = fmt.Sprint(name)
	}
	return names
}

// exchange is a request with its answer.
type exchange struct {
	request *http.Request
	sent    []byte // as far as it was read
	status  int
	header  http.Header
	body    []byte
}

var options = &openapi3filter.Options{
	IncludeResponseStatus: true,
	SkipSettingDefaults:   true,
	AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
	ExcludeResponseBody:   true, // it would compile the schema each time
}

// check returns how an exchange differs from the description, or nil.
func (c *Contract) check(x exchange) error {
	path, values := c.findPath(x.request)
	route := routeOf(c.Doc, path, x.request.Method)
	if route == nil {
		return c.checkUndescribed(path, x)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: x.request, PathParams: values, Route: route, Options: options,
	}
	input.Request.Body = readCloser{bytes.NewReader(x.sent)}
	refused := openapi3filter.ValidateRequest(x.request.Context(), input)
	// A repetition is known by its key, and what need not match is not looked at.
	repeated := x.header.Get("Idempotent-Replayed") != ""
	if refused != nil && x.status < http.StatusBadRequest && !repeated {
		return fmt.Errorf("the request is taken but described otherwise: %w", refused)
	}
	name := route.Method + " " + route.Path
	input.Route = routeOf(c.strict, path, x.request.Method)
	err := openapi3filter.ValidateResponse(x.request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.status, Header: x.header, Options: options,
	})
	if err == nil {
		err = c.checkBody(input.Route.Operation.Responses.Status(x.status), x)
	}
	if err != nil {
		return fmt.Errorf("the answer is described otherwise: %w", err)
	}
	if x.status < http.StatusBadRequest {
		c.markCovered(name, "")
		return nil
	}
	if !isJSON(x.header) {
		return nil // a page, which names no code
	}
	code, err := c.checkCode(x)
	if err != nil {
		return err
	}
	c.markCovered(name, code)
	if own := operationCodes(route.Operation); !c.Codes[code].Everywhere && !slices.Contains(own, code) {
		return fmt.Errorf("the code %s is not one of the operation's: add it to its x-error-codes, which are %v", code, own)
	}
	return nil
}

// checkBody checks the body of an answer, which the options leave out.
func (c *Contract) checkBody(described *openapi3.ResponseRef, x exchange) error {
	if described == nil || len(described.Value.Content) == 0 {
		return nil // ValidateResponse refuses a status that is not described
	}
	kind := x.header.Get("Content-Type")
	content := described.Value.Content.Get(kind)
	if content == nil {
		return fmt.Errorf("the Content-Type %q is not described", kind)
	}
	if !isJSON(x.header) {
		return nil // a file
	}
	return c.matches(content.Schema, x.body)
}

// matches returns how a JSON text differs from a schema of the strict description, or nil.
func (c *Contract) matches(schema *openapi3.SchemaRef, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compiled[schema] == nil {
		if c.compiled[schema], err = c.compile(schema); err != nil {
			return err
		}
	}
	return c.compiled[schema].Validate(value)
}

func (c *Contract) compile(schema *openapi3.SchemaRef) (*jsonschema.Schema, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	document["components"] = c.components
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		return nil, err
	}
	return compiler.Compile("openapi.json")
}

// CheckDelivery returns how a webhook delivery differs from the description, or nil.
func (c *Contract) CheckDelivery(r *http.Request, body []byte) error {
	item := c.strict.Webhooks["event"]
	r = r.Clone(r.Context())
	r.Body = readCloser{bytes.NewReader(body)}
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, Options: options,
		Route: &routers.Route{Spec: c.strict, Path: "event", PathItem: item, Method: r.Method, Operation: item.Post},
	})
}

// checkUndescribed checks the answer for a path or method without a description, or HEAD.
func (c *Contract) checkUndescribed(path string, x exchange) error {
	if x.request.Method == http.MethodHead && routeOf(c.Doc, path, http.MethodGet) != nil {
		return nil // it has no body, and its status is that of GET
	}
	if x.status < http.StatusBadRequest {
		return errors.New("nothing of this is described")
	}
	if x.request.Method == http.MethodHead || !isJSON(x.header) {
		return nil
	}
	code, err := c.checkCode(x)
	if err == nil && !c.Codes[code].Everywhere {
		err = fmt.Errorf("the code %s is not one of every operation", code)
	}
	return err
}

func (c *Contract) checkCode(x exchange) (string, error) {
	var body struct {
		Error struct{ Code, Type, Param string }
	}
	if err := json.Unmarshal(x.body, &body); err != nil {
		return "", err
	}
	err := c.matches(c.strict.Components.Schemas["ErrorBody"], x.body)
	if err != nil {
		return "", fmt.Errorf("the error is described otherwise: %w", err)
	}
	e := body.Error
	want := c.Codes[e.Code]
	status := want.Status
	if status == http.StatusNotFound && e.Param != "" {
		status = http.StatusBadRequest // a parameter names what is missing, and not the path
	}
	if x.status != status || e.Type != want.Type {
		return "", fmt.Errorf("%s has status %d and type %s, but is described with %d and %s", e.Code, x.status, e.Type, status, want.Type)
	}
	return e.Code, nil
}

// findPath returns the described path, or "", and the values of its wildcards. A literal
// segment goes before a wildcard.
func (c *Contract) findPath(r *http.Request) (path string, values map[string]string) {
	asked := strings.Split(r.URL.EscapedPath(), "/")
	for _, path := range c.paths {
		if values := match(strings.Split(path, "/"), asked); values != nil {
			return path, values
		}
	}
	return "", nil
}

// match returns the values of the wildcards of a described path, or nil where the
// path asked for is another.
func match(described, asked []string) map[string]string {
	if len(described) != len(asked) {
		return nil
	}
	values := map[string]string{}
	for i, segment := range described {
		given, err := url.PathUnescape(asked[i])
		name, wild := strings.CutPrefix(segment, "{")
		switch {
		case err != nil, wild && given == "", !wild && given != segment:
			return nil
		case wild:
			values[strings.TrimSuffix(name, "}")] = given
		}
	}
	return values
}

// routeOf returns the operation of a described path, or nil.
func routeOf(doc *openapi3.T, path, method string) *routers.Route {
	item := doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return nil
	}
	return &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)}
}

// markCovered records that an operation answered with a code, or "" for success.
func (c *Contract) markCovered(operation, code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.covered[operation] == nil {
		c.covered[operation] = map[string]bool{}
	}
	c.covered[operation][code] = true
}

// Uncovered returns what no exchange has shown yet: operations that never succeeded, and
// codes of x-error-codes that the operation never answered with.
func (c *Contract) Uncovered() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []string
	for _, o := range c.Operations() {
		seen := c.covered[o.Name()]
		if !seen[""] {
			missing = append(missing, o.Name()+" never succeeded")
		}
		for _, code := range o.Codes {
			if !seen[code] {
				missing = append(missing, o.Name()+" was never refused with "+code)
			}
		}
	}
	return missing
}

func isJSON(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "application/json") }
