package httpapi_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/contract"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
)

func described(t *testing.T) *contract.Contract {
	t.Helper()
	return must.Get(contract.Load())(t)
}

// handlerOf is the handler with all routes, to be asked without a network.
func handlerOf(s *paymentstest.Shop) http.Handler {
	return httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Logger: slog.New(slog.DiscardHandler)})
}

// same compares two sets of names.
func same(t *testing.T, what string, code, description []string) {
	t.Helper()
	slices.Sort(code)
	slices.Sort(description)
	expect.Same(t, description, code, "%s (wanted by the code, got from openapi.yaml)", what)
}

func TestEveryRouteIsDescribed(t *testing.T) {
	c := described(t)
	var code, description []string
	for _, r := range httpapi.Routes(handlerOf(paymentstest.New(t))) {
		code = append(code, r[0]+" "+r[1])
	}
	tags := map[string]bool{}
	for _, tag := range c.Doc.Tags {
		tags[tag.Name] = true
	}
	for _, o := range c.Operations() {
		description = append(description, o.Name())
		expect.True(t, o.Security == nil || len(*o.Security) != 0 || !strings.HasPrefix(o.Path, "/v1/"), "%s is described as public", o.Name())
		expect.True(t, o.Security != nil || strings.HasPrefix(o.Path, "/v1/"), "%s is described with a key", o.Name())
		must.True(t, len(o.Tags) == 1, "%s has the tags %v, of which there should be one", o.Name(), o.Tags)
		expect.True(t, tags[o.Tags[0]], "%s has the tags %v, of which there should be one", o.Name(), o.Tags)
	}
	same(t, "routes", code, description)
}

// constants returns the values of the constants of a type in a file.
func constants(t *testing.T, file, typeName string) (values []string) {
	t.Helper()
	f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName {
			for _, v := range spec.Values {
				text := must.Get(strconv.Unquote(v.(*ast.BasicLit).Value))(t)
				values = append(values, text)
			}
		}
		return true
	})
	must.True(t, len(values) != 0, "%s has no constants of type %s", file, typeName)
	return values
}

func enum(t *testing.T, c *contract.Contract, schema string) []string {
	t.Helper()
	var values []string
	for _, v := range c.Doc.Components.Schemas[schema].Value.Enum {
		values = append(values, fmt.Sprint(v))
	}
	return values
}

func texts[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = string(v)
	}
	return all
}

func TestEveryCodeIsDescribed(t *testing.T) {
	c := described(t)
	codes := constants(t, "../api/code.go", "Code")
	same(t, "error codes", codes, enum(t, c, "ErrorCode"))
	same(t, "error codes in x-codes", codes, slices.Collect(maps.Keys(c.Codes)))
	same(t, "types of errors", constants(t, "../api/code.go", "ErrorType"), enum(t, c, "ErrorType"))
	same(t, "types of events", texts(event.Types()), enum(t, c, "EventType"))
	same(t, "statuses of payouts", texts(payout.Statuses()), enum(t, c, "PayoutStatus"))
	same(t, "statuses of disbursements", texts(disbursement.Statuses()), enum(t, c, "DisbursementStatus"))
	for name, code := range c.Codes {
		status, kind := httpapi.StatusOf(api.Code(name)), string(api.Code(name).Type())
		expect.Equal(t, code.Status, status, "%s: described as: status", name)
		expect.Equal(t, code.Type, kind, "%s: described as: type", name)
		expect.True(t, code.Description != "", "%s is %d and %s, and described as %+v", name, status, kind, code)
	}
	for _, o := range c.Operations() {
		for _, name := range o.Codes {
			if code, ok := c.Codes[name]; !ok || code.Everywhere {
				t.Errorf("%s lists %s, which is no code, or one of every operation", o.Name(), name)
			}
		}
	}
}

// literals returns the texts in this package's code, and in the tags of the structs of params
// in all packages, that could name a parameter: whatever a handler reads is among them.
func literals(t *testing.T) []string {
	t.Helper()
	here := must.Get(filepath.Glob("*.go"))(t)
	nouns := must.Get(filepath.Glob("../*/*.go"))(t)
	name := regexp.MustCompile(`^[a-z][a-z_]*$`)
	found := map[string]bool{}
	add := func(text string) {
		if name.MatchString(text) {
			found[text] = true
		}
	}
	for i, file := range append(here, nouns...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && i < len(here) {
					add(text)
				}
			case *ast.TypeSpec:
				return i < len(here) || strings.HasSuffix(n.Name.Name, "Params") || n.Name.Name == "Fields"
			case *ast.Field:
				if n.Tag != nil {
					tag := reflect.StructTag(strings.Trim(n.Tag.Value, "`"))
					for _, key := range []string{"json", "param"} {
						text, _, _ := strings.Cut(tag.Get(key), ",")
						add(text)
					}
				}
			}
			return true
		})
	}
	for _, known := range []string{"amount", "line_items", "otp_code", "coupon", "due_date", "account_id"} {
		must.True(t, found[known], "%s is not among the names", known)
	}
	return slices.Sorted(maps.Keys(found))
}

// prober asks the handler for what it reads, without looking at its code: the answer names a parameter that it
// does not know, and refuses a field of the wrong type by its name where it is read.
type prober struct {
	t *testing.T
	s *paymentstest.Shop
	h http.Handler
	// names are all that could be a parameter's.
	names []string
	// draft is an invoice, whose fields are looked at only when it is there.
	draft string
}

// path fills in an id, mostly of nothing.
func (p *prober) path(o contract.Operation) string {
	id := "xx_0"
	if o.OperationID == "updateInvoice" || o.OperationID == "addInvoiceLine" {
		id = p.draft
	}
	return regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(o.Path, id)
}

// ask returns the code and the parameter of a refusal, or "".
func (p *prober) ask(o contract.Operation, query, body string, headers ...string) (code, param string) {
	p.t.Helper()
	r := httptest.NewRequest(o.Method, p.path(o)+query, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+p.s.Key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, r)
	var answer struct{ Error struct{ Code, Param string } }
	if w.Code >= 400 && w.Code < 500 {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			p.t.Fatalf("%s: %v in %s", o.Name(), err, w.Body)
		}
	}
	expect.True(p.t, w.Code < 500, "%s%s with %s: %s", o.Name(), query, body, w.Body)
	return answer.Error.Code, answer.Error.Param
}

func TestEveryParameterIsDescribed(t *testing.T) {
	oneGoroutine(t)
	c := described(t)
	s := paymentstest.New(t)
	p := &prober{t: t, s: s, h: handlerOf(s), names: literals(t)}
	p.draft, _ = newInvoice(t, s, `{}`)
	for _, o := range c.Operations() {
		described := map[string][]string{} // by where they are
		for _, ref := range o.Parameters {
			described[ref.Value.In] = append(described[ref.Value.In], ref.Value.Name)
		}
		var wildcards []string
		for _, match := range regexp.MustCompile(`\{([a-z]+)\}`).FindAllStringSubmatch(o.Path, -1) {
			wildcards = append(wildcards, match[1])
		}
		same(t, o.Name()+" in the path", wildcards, described["path"])
		if !strings.HasPrefix(o.Path, "/v1/") {
			expect.True(t, len(described["query"])+len(described["header"]) == 0, "%s is a page, and pages read neither queries nor headers", o.Name())
			continue
		}
		p.queries(o, described["query"])
		p.headers(o, described["header"])
		p.bodies(o)
	}
}

func (p *prober) queries(o contract.Operation, described []string) {
	p.t.Helper()
	for _, name := range p.ignored(o, described) {
		p.t.Errorf("%s does not read the parameter %s that openapi.yaml has", o.Name(), name)
	}
	var others []string
	for _, name := range p.names {
		for _, suffix := range []string{"", "[gte]"} {
			if !slices.Contains(described, name+suffix) {
				others = append(others, name+suffix)
			}
		}
	}
	for some := range slices.Chunk(others, 20) { // as many as the header names
		ignored := p.ignored(o, some)
		for _, name := range some {
			expect.True(p.t, slices.Contains(ignored, name), "%s reads the parameter %s that openapi.yaml has not", o.Name(), name)
		}
	}
}

// ignored returns those of the parameters of a query that an operation does not know, by its own word.
func (p *prober) ignored(o contract.Operation, names []string) []string {
	p.t.Helper()
	query := url.Values{}
	for _, name := range names {
		query.Set(name, "x")
	}
	r := httptest.NewRequest(o.Method, p.path(o)+"?"+query.Encode(), nil)
	r.Header.Set("Authorization", "Bearer "+p.s.Key)
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, r)
	return slices.DeleteFunc(strings.Split(w.Header().Get("Ignored-Parameters"), ", "), func(name string) bool { return name == "" })
}

func (p *prober) headers(o contract.Operation, described []string) {
	p.t.Helper()
	var read []string
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if code, _ := p.ask(o, "", "", name, strings.Repeat("k", 256)); code == "idempotency_key_invalid" {
			read = append(read, name)
		}
	}
	same(p.t, o.Name()+" in headers", read, described)
}

// bodies probes the fields of the body, over its example.
func (p *prober) bodies(o contract.Operation) {
	p.t.Helper()
	if o.Method == http.MethodGet || o.Method == http.MethodDelete {
		expect.True(p.t, o.RequestBody == nil, "%s is described with a body", o.Name())
		return
	}
	schema, example := &openapi3.Schema{}, map[string]any{}
	if o.RequestBody != nil {
		schema = o.RequestBody.Value.Content["application/json"].Schema.Value
		if len(schema.Examples) == 0 {
			p.t.Errorf("%s: its body needs an example", o.Name())
			return
		}
		example = schema.Examples[0].(map[string]any)
	}
	valid := func(body any) bool { return schema.VisitJSON(body, openapi3.EnableJSONSchema2020()) == nil }
	p.object(o, schema, "", valid, func(object map[string]any) any { return laid(example, object) })
	expect.True(p.t, o.RequestBody == nil || o.RequestBody.Value.Required != valid(map[string]any{}), "%s: required of its body and of its fields contradict each other", o.Name())
}

// absent stands for a field that is left out.
var absent = any(&struct{ absent bool }{})

// object probes the fields of an object at a path. within puts it, laid over its
// example, into a whole body, of which valid says whether it is as described.
func (p *prober) object(o contract.Operation, schema *openapi3.Schema, path string, valid func(any) bool, within func(map[string]any) any) {
	p.t.Helper()
	send := func(object map[string]any) (code, param string) {
		p.t.Helper()
		text := must.Get(json.Marshal(within(object)))(p.t)
		return p.ask(o, "", string(text))
	}
	for name, ref := range schema.Properties {
		field := ref.Value
		wrong := any([]any{})
		if field.Type.Includes("array") {
			wrong = map[string]any{}
		}
		if code, param := send(map[string]any{name: wrong}); param != path+name || code != "parameter_invalid" {
			p.t.Errorf("%s does not read the field %s that openapi.yaml has: got %s %s", o.Name(), path+name, code, param)
		}
		without := map[string]any{name: absent}
		required := !valid(within(without))
		if code, param := send(without); required != (param == path+name) {
			p.t.Errorf("%s: %s is required: %t in openapi.yaml, but without it the answer is %s %s", o.Name(), path+name, required, code, param)
		}
		// Null is taken where the field may be null, and refused by its name where not.
		null := map[string]any{name: nil}
		taken := valid(within(null))
		if code, param := send(null); taken == (param == path+name) {
			p.t.Errorf("%s: %s may be null: %t in openapi.yaml, but the answer to null is %s %s", o.Name(), path+name, taken, code, param)
		}
		switch {
		case field.Type.Includes("object") && len(field.Properties) > 0:
			inner, _ := field.Examples[0].(map[string]any)
			p.object(o, field, path+name+".", valid, func(object map[string]any) any { return within(map[string]any{name: laid(inner, object)}) })
		case field.Items != nil && len(field.Items.Value.Properties) > 0:
			inner, _ := field.Items.Value.Examples[0].(map[string]any)
			p.object(o, field.Items.Value, path+name+"[0].", valid, func(object map[string]any) any {
				return within(map[string]any{name: []any{laid(inner, object)}})
			})
		}
	}
	for _, wrong := range []any{[]any{}, map[string]any{}} {
		others := map[string]any{}
		for _, name := range p.names {
			if schema.Properties[name] == nil {
				others[name] = wrong
			}
		}
		_, param := send(others)
		if name, ok := strings.CutPrefix(param, path); ok && others[name] != nil {
			p.t.Errorf("%s reads the field %s that openapi.yaml has not", o.Name(), param)
		}
	}
}

// laid returns base with the fields of over in place of its own.
func laid(base, over map[string]any) map[string]any {
	object := maps.Clone(base)
	maps.Copy(object, over)
	maps.DeleteFunc(object, func(_ string, v any) bool { return v == absent })
	return object
}

// Generators of clients make a type of the properties of an object, and of each content
// that has a schema. Alternatives beside the properties make it unknown: if and then say
// which fields are needed together.
func TestGeneratorsUnderstandTheDescription(t *testing.T) {
	var document any
	must.Do(t, json.Unmarshal(httpapi.OpenAPIJSON(""), &document))
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, word := range []string{"anyOf", "oneOf"} {
				expect.True(t, v["properties"] == nil || v[word] == nil, "%s has %s beside properties", path, word)
			}
			contents, _ := v["content"].(map[string]any)
			for name, content := range contents {
				if c, ok := content.(map[string]any); ok && c["schema"] == nil {
					t.Errorf("%s: %s has no schema", path, name)
				}
			}
			for name, inner := range v {
				walk(path+"/"+name, inner)
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprint(path, "/", i), inner)
			}
		}
	}
	walk("", document)
}

// Every test of this module that asks a server of paymentstest has the contract checked.
func TestEveryTestServerIsChecked(t *testing.T) {
	users, checked := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		asks := false
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && len(call.Args) >= 3 { // (method, path, body), of Shop
				s, ok := call.Fun.(*ast.SelectorExpr)
				asks = asks || ok && s.Sel.Name == "Do"
			}
			return true
		})
		for _, spec := range f.Imports {
			switch name := strings.Trim(spec.Path.Value, `"`); {
			case strings.HasSuffix(name, "/httpapi/paymentstest"):
				users[filepath.Dir(path)] = users[filepath.Dir(path)] || asks
			case strings.HasSuffix(name, "/internal/test/contract"):
				checked[filepath.Dir(path)] = true
			}
		}
		return nil
	})
	must.True(t, err == nil && users["../httpapi"], "looked at %v, %v", users, err)
	for folder, asks := range users {
		expect.True(t, !asks || checked[folder], "the tests in %s use paymentstest: import internal/test/contract in one of their files", folder)
	}
}
