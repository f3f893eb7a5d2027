package main

import (
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// text returns the scalar at a path of names, or "".
func text(n *yaml.Node, names ...string) string {
	if n = get(n, names...); n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// pairs yields the names and values of a mapping, in order.
func pairs(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the elements of a sequence.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// anchor makes a name fit for an address.
func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// follow returns what a reference points to.
func (r *parser) follow(ref string) *yaml.Node {
	return get(r.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
}

// resolve returns what n is, or refers to.
func (r *parser) resolve(n *yaml.Node) *yaml.Node {
	if ref := text(n, "$ref"); ref != "" {
		return r.follow(ref)
	}
	return n
}

// fields returns the fields of an object's schema.
func (r *parser) fields(schema *yaml.Node) []field {
	var required []string
	for _, name := range items(get(schema, "required")) {
		required = append(required, name.Value)
	}
	var list []field
	for name, n := range pairs(get(schema, "properties")) {
		f := r.field(name, n)
		f.Required = slices.Contains(required, name)
		list = append(list, f)
	}
	return list
}

// field describes one value. What stands beside a reference goes before what it
// refers to.
func (r *parser) field(name string, n *yaml.Node) field {
	target := r.resolve(n)
	f := field{Name: name, Limits: limits(target)}
	f.Type, f.Of = r.typeOf(n)
	if f.Description = r.describe(n); f.Description == "" {
		f.Description = r.describe(target)
	}
	element := target
	if inner := get(target, "items"); inner != nil {
		element = r.resolve(inner)
	}
	for _, v := range items(get(element, "enum")) {
		f.Values = append(f.Values, v.Value)
	}
	if f.Of == "" {
		f.Fields = r.fields(element)
	}
	return f
}

// typeOf names the type of a schema, and the object that it is, or is a list of,
// where that has a place of its own.
func (r *parser) typeOf(n *yaml.Node) (name, of string) {
	if ref := text(n, "$ref"); ref != "" {
		if name := ref[strings.LastIndex(ref, "/")+1:]; r.objects[name] {
			return "object", name
		}
		n = r.follow(ref)
	}
	if isList(n) {
		_, of := r.typeOf(get(n, "properties", "data", "items"))
		return "list", of
	}
	if c := get(n, "const"); c != nil {
		return "always " + c.Value, ""
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		if list := items(get(n, choice)); list != nil && get(n, "type") == nil {
			return r.typeOf(list[0])
		}
	}
	if inner := get(n, "items"); inner != nil {
		name, of := r.typeOf(inner)
		return "array of " + name, of
	}
	kind := get(n, "type")
	if kind != nil && kind.Kind == yaml.SequenceNode {
		names := make([]string, len(kind.Content))
		for i, c := range kind.Content {
			names[i] = c.Value
		}
		return strings.Join(names, " or "), ""
	}
	return text(n, "type"), ""
}

// limits says what a value must keep to.
func limits(n *yaml.Node) string {
	var list []string
	for _, l := range []struct{ name, before, after string }{
		{"minimum", "at least ", ""},
		{"exclusiveMinimum", "above ", ""},
		{"maximum", "at most ", ""},
		{"minItems", "at least ", " elements"},
		{"maxLength", "at most ", " characters"},
		{"default", "default ", ""},
	} {
		if v := text(n, l.name); v != "" {
			list = append(list, l.before+v+l.after)
		}
	}
	return strings.Join(list, ", ")
}

// example returns the example of a schema, or makes one of what it consists of.
// It is nil where the schema says nothing of what it holds.
func (r *parser) example(n *yaml.Node) *yaml.Node {
	n = r.resolve(n)
	if list := items(get(n, "examples")); len(list) > 0 {
		return list[0]
	}
	if c := get(n, "const"); c != nil {
		return c
	}
	if list := items(get(n, "enum")); len(list) > 0 {
		return list[0]
	}
	if inner := get(n, "items"); inner != nil {
		return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{r.example(inner)}}
	}
	if properties := get(n, "properties"); properties != nil {
		made := &yaml.Node{Kind: yaml.MappingNode}
		for name, p := range pairs(properties) {
			if v := r.example(p); v != nil {
				made.Content = append(made.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, v)
			}
		}
		return made
	}
	if text(n, "type") == "boolean" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
	}
	return nil
}
