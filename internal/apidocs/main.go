// Command apidocs makes the two files that are published of httpapi/openapi.yaml:
// openapi.json beside it, and the reference page. go generate runs it in httpapi.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"log"
	"os"
)

// The paths of the files, from the folder httpapi.
const (
	source    = "openapi.yaml"
	jsonFile  = "openapi.json"
	pageFile  = "reference/page.html"
	styleFile = "reference/style.css"
)

//go:embed page.tmpl
var pageText string

func main() {
	log.SetFlags(0)
	log.SetPrefix("apidocs: ")
	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generate returns the made files by their paths.
func generate() (map[string][]byte, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	style, err := os.ReadFile(styleFile)
	if err != nil {
		return nil, err
	}
	root, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	data, err := marshalJSON(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	page, err := makePage(data, style)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pageFile, err)
	}
	return map[string][]byte{jsonFile: data, pageFile: page}, nil
}

// makePage makes the reference page of a description in JSON, which is YAML, too.
func makePage(description, style []byte) ([]byte, error) {
	root, err := parse(description)
	if err != nil {
		return nil, err
	}
	view, err := read(root)
	if err != nil {
		return nil, err
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, view); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
