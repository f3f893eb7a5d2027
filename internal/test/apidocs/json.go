package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// parse reads one YAML document and returns its root, below the document node.
func parse(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("the text holds %d documents, not one", len(document.Content))
	}
	return document.Content[0], nil
}

// marshalJSON writes a node as compact JSON and keeps the order of its names. Of YAML it takes what JSON has: text
// names, each once, numbers in JSON's spelling, no anchors and no tags of one's own. What
// YAML reads as a time is a text.
func marshalJSON(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, n); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// get returns the value of a name in a mapping, or nil; it follows a path of
// names.
func get(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				found = n.Content[i+1]
				break
			}
		}
		n = found
	}
	return n
}

func write(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return writeAll(b, n, '{', '}')
	case yaml.SequenceNode:
		return writeAll(b, n, '[', ']')
	case yaml.ScalarNode:
		return writeScalar(b, n)
	}
	return fmt.Errorf("line %d: an anchor has no form in JSON", n.Line)
}

// writeAll writes what a mapping or a sequence holds.
func writeAll(b *bytes.Buffer, n *yaml.Node, open, end byte) error {
	b.WriteByte(open)
	seen := map[string]bool{}
	for i, c := range n.Content {
		isName := open == '{' && i%2 == 0
		switch {
		case isName && c.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: a name must be a text", c.Line)
		case isName && seen[c.Value]:
			return fmt.Errorf("line %d: the name %s is there already", c.Line, c.Value)
		case open == '{' && !isName:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		var err error
		if isName {
			seen[c.Value] = true
			err = writeText(b, c.Value)
		} else {
			err = write(b, c)
		}
		if err != nil {
			return err
		}
	}
	b.WriteByte(end)
	return nil
}

func writeScalar(b *bytes.Buffer, n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		b.WriteString("null")
	case "!!bool", "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			return fmt.Errorf("line %d: %q is not spelled as JSON spells it", n.Line, n.Value)
		}
		b.WriteString(n.Value)
	case "!!str", "!!timestamp":
		return writeText(b, n.Value)
	default:
		return fmt.Errorf("line %d: the tag %s has no form in JSON", n.Line, n.ShortTag())
	}
	return nil
}

func writeText(b *bytes.Buffer, s string) error {
	text, err := json.Marshal(s)
	b.Write(text)
	return err
}
