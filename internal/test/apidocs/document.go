package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"go.yaml.in/yaml/v3"
)

// pageData is what the template sees.
type pageData struct {
	Title, Summary, BaseURL string
	Intro                   template.HTML
	Tags                    []*tag
	Webhooks                []operation
	Objects                 []object
	Codes                   []code
}

// tag is the operations on one kind of object.
type tag struct {
	ID, Name    string
	Description template.HTML
	Operations  []operation
}

type operation struct {
	ID, Method, Path, Summary string
	Description               template.HTML
	// Key says that it needs a key, Repeatable that it takes an idempotency key.
	Key, Repeatable bool
	Groups          []group
	Answers         []answer
	Codes           []string
	Request, Result string // examples
	GoCode          string // the request as a Go program makes it
	// Body is the example of the request's body, Params the parameters in path and query.
	Body   string
	Params []param
	// Try says that a page with a key can send it: it takes JSON or nothing.
	Try bool
}

// param is a parameter of a request's address.
type param struct {
	Name string `json:"name"`
	In   string `json:"in"` // path or query
	Hint string `json:"hint,omitempty"`
}

// group is parameters or fields that stand together.
type group struct {
	Title  string
	Fields []field
}

// answer is what an operation answers with when it succeeds.
type answer struct {
	Status      string
	Description template.HTML
	// Type is what it holds, and Of the object that it is, or is a list of.
	Type, Of string
}

// field is a parameter, or a field of an object.
type field struct {
	Name, Type, Limits string
	Required           bool
	Description        template.HTML
	Values             []string
	// Of is the object that it is, or is a list of, where that has a place of its own.
	Of     string
	Fields []field
}

// object is a kind of object in answers.
type object struct {
	Name        string
	Description template.HTML
	Fields      []field
	Example     string
}

type code struct {
	Name, Status, Type string
	Everywhere         bool
	Description        template.HTML
}

// parser makes a view of a document. The first thing that it does not understand
// is kept in err.
type parser struct {
	root *yaml.Node
	// objects are the names of the schemas that get a place of their own.
	objects map[string]bool
	err     error
}

// read makes the view of a whole document.
func read(root *yaml.Node) (*pageData, error) {
	r := &parser{root: root, objects: map[string]bool{}}
	v := &pageData{
		Title:   text(root, "info", "title"),
		Summary: text(root, "info", "summary"),
		Intro:   r.markdown(text(root, "info", "description")),
	}
	if servers := get(root, "servers"); servers != nil && len(servers.Content) > 0 {
		v.BaseURL = text(servers.Content[0], "variables", "base_url", "default")
	}
	r.findObjects()
	tags := map[string]*tag{}
	for _, n := range items(get(root, "tags")) {
		t := &tag{ID: anchor(text(n, "name")), Name: text(n, "name"), Description: r.markdown(text(n, "description"))}
		v.Tags = append(v.Tags, t)
		tags[t.Name] = t
	}
	for path, item := range pairs(get(root, "paths")) {
		for method, n := range pairs(item) {
			if method == "parameters" {
				continue
			}
			o := r.operation(strings.ToUpper(method), path, item, n)
			o.Request, o.GoCode = curl(v.BaseURL, o), goCode(v.BaseURL, o)
			o.Body, o.Try = o.body, o.Key && !o.form
			name := text(items(get(n, "tags"))[0])
			if tags[name] == nil {
				return nil, fmt.Errorf("%s %s: there is no tag %q", method, path, name)
			}
			tags[name].Operations = append(tags[name].Operations, o.operation)
		}
	}
	for name, item := range pairs(get(root, "webhooks")) {
		for method, n := range pairs(item) {
			o := r.operation(strings.ToUpper(method), name, item, n)
			o.Path, o.Request = "your address", o.body
			v.Webhooks = append(v.Webhooks, o.operation)
		}
	}
	for name, n := range pairs(get(root, "components", "schemas")) {
		if r.objects[name] {
			v.Objects = append(v.Objects, object{name, r.describe(n), r.fields(n), r.indented(r.example(n))})
		}
	}
	for name, n := range pairs(get(root, "components", "schemas", "ErrorCode", "x-codes")) {
		v.Codes = append(v.Codes, code{
			name, text(n, "status"), text(n, "type"), text(n, "everywhere") == "true", r.describe(n),
		})
	}
	return v, r.err
}

// findObjects finds the schemas of what is answered: those with an id or a name
// of their own, in an example of their own, but lists.
func (r *parser) findObjects() {
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		if ref := text(n, "$ref"); ref != "" {
			name := ref[strings.LastIndex(ref, "/")+1:]
			target := r.follow(ref)
			if strings.HasPrefix(ref, "#/components/schemas/") && get(target, "properties", "object", "const") != nil &&
				!isList(target) {
				if r.objects[name] {
					return
				}
				r.objects[name] = true
			}
			visit(target)
			return
		}
		for _, c := range n.Content {
			visit(c)
		}
	}
	for _, item := range pairs(get(r.root, "paths")) {
		for method, n := range pairs(item) {
			if responses := get(n, "responses"); method != "parameters" && responses != nil {
				visit(responses)
			}
		}
	}
	r.objects["TestHolder"] = true // a consumer or a cash agent: an object of two kinds
	r.objects["Error"] = true
}

func isList(schema *yaml.Node) bool {
	return text(schema, "properties", "object", "const") == "list"
}

// operationExample is an operation with what its example request needs.
type operationExample struct {
	operation
	body   string
	sample string // an id of what it works on
	form   bool
}

func (r *parser) operation(method, path string, item, n *yaml.Node) operationExample {
	o := operationExample{operation: operation{
		ID: text(n, "operationId"), Method: method, Path: path, Summary: text(n, "summary"),
		Description: r.markdown(text(n, "description")), Key: get(n, "security") == nil,
	}}
	in := map[string][]field{}
	for _, list := range []*yaml.Node{get(item, "parameters"), get(n, "parameters")} {
		for _, p := range items(list) {
			p = r.resolve(p)
			name := text(p, "name")
			if name == "X-Idempotency-Key" || name == "Idempotency-Key" {
				o.Repeatable = true
				continue
			}
			f := r.field(name, get(p, "schema"))
			f.Required = text(p, "required") == "true"
			if d := text(p, "description"); d != "" {
				f.Description = r.markdown(d)
			}
			in[text(p, "in")] = append(in[text(p, "in")], f)
			if where := text(p, "in"); where != "header" {
				o.Params = append(o.Params, param{Name: name, In: where, Hint: f.hint()})
			}
		}
	}
	o.group("Path", in["path"])
	o.group("Query", in["query"])
	o.group("Headers", in["header"])
	for contentType, media := range pairs(get(n, "requestBody", "content")) {
		schema := get(media, "schema")
		o.group("Body", r.fields(r.resolve(schema)))
		o.form = contentType != "application/json"
		if !o.form {
			o.body = r.indented(r.example(schema))
		}
	}
	for status, response := range pairs(get(n, "responses")) {
		if status == "4XX" || status == "5XX" {
			continue // errors have one shape, which the page shows once
		}
		response = r.resolve(response)
		a := answer{Status: status, Description: r.describe(response)}
		for contentType, media := range pairs(get(response, "content")) {
			schema := get(media, "schema")
			if contentType != "application/json" {
				if a.Type != "" {
					a.Type += " or "
				}
				a.Type += contentType
				continue
			}
			a.Type, a.Of = r.typeOf(schema)
			if !r.objects[a.Of] && !isList(r.resolve(schema)) {
				o.group("Answer", r.fields(r.resolve(schema)))
			}
			example := r.example(schema)
			o.Result, o.sample = r.indented(example), text(example, "id")
		}
		o.Answers = append(o.Answers, a)
	}
	for _, c := range items(get(n, "x-error-codes")) {
		o.Codes = append(o.Codes, c.Value)
	}
	return o
}

func (o *operationExample) group(title string, fields []field) {
	if len(fields) > 0 {
		o.Groups = append(o.Groups, group{title, fields})
	}
}

// hint says in one line what a field takes.
func (f *field) hint() string {
	parts := []string{f.Type}
	if len(f.Values) > 0 {
		parts = []string{strings.Join(f.Values, ", ")}
	}
	if f.Limits != "" {
		parts = append(parts, f.Limits)
	}
	return strings.Join(parts, ", ")
}

// path is the operation's, with an id of its object.
func (o *operationExample) path() string {
	if o.sample == "" {
		return o.Path
	}
	return strings.Replace(o.Path, "{id}", o.sample, 1)
}

// curl writes an operation as a call from a shell.
func curl(base string, o operationExample) string {
	var b strings.Builder
	b.WriteString("curl ")
	if o.Method != "GET" && (o.Method != "POST" || o.body == "") {
		b.WriteString("-X " + o.Method + " ")
	}
	b.WriteString(quote(base + o.path()))
	if o.Key {
		b.WriteString(" \\\n  -H 'Authorization: Bearer sk_test_…'")
	}
	if o.body != "" {
		b.WriteString(" \\\n  -H 'Content-Type: application/json' \\\n  -d " + quote(o.body))
	}
	return b.String()
}

// goCode writes an operation as a call from a Go program, which has the key in the variable key.
func goCode(base string, o operationExample) string {
	var b strings.Builder
	body := "nil"
	if o.body != "" {
		body = "body"
		b.WriteString("body := strings.NewReader(`" + o.body + "`)\n")
	}
	fmt.Fprintf(&b, "request, err := http.NewRequestWithContext(ctx, %q, %q, %s)\nif err != nil {\n\treturn err\n}\n", o.Method, base+o.path(), body)
	if o.Key {
		b.WriteString("request.Header.Set(\"Authorization\", \"Bearer \"+key)\n")
	}
	if o.body != "" {
		b.WriteString("request.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	if o.Repeatable {
		b.WriteString("request.Header.Set(\"X-Idempotency-Key\", orderID)\n")
	}
	b.WriteString("response, err := http.DefaultClient.Do(request)")
	return b.String()
}

// quote writes a text as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// describe renders a node's description.
func (r *parser) describe(n *yaml.Node) template.HTML { return r.markdown(text(n, "description")) }

// markdown renders text of the description. Goldmark leaves out HTML that is
// written in it.
func (r *parser) markdown(s string) template.HTML {
	var b bytes.Buffer
	if err := goldmark.Convert([]byte(s), &b); err != nil && r.err == nil {
		r.err = err
	}
	return template.HTML(strings.TrimSpace(b.String()))
}

// indented renders an example.
func (r *parser) indented(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	data, err := marshalJSON(n)
	var b bytes.Buffer
	if err == nil {
		err = json.Indent(&b, data, "", "  ")
	}
	if err != nil && r.err == nil {
		r.err = err
	}
	return b.String()
}
