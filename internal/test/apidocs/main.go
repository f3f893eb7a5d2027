// Command apidocs makes the files that are published of httpapi/openapi.yaml: openapi.json beside
// it, the reference page, and what the page's search and its forms know of the operations. go
// generate runs it in httpapi.
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
	indexFile = "reference/index.json"
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
	root, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	data, err := marshalJSON(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	// The page is made of the JSON, which is YAML, too.
	if root, err = parse(data); err != nil {
		return nil, fmt.Errorf("%s: %w", jsonFile, err)
	}
	view, err := read(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	page, err := makePage(view)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pageFile, err)
	}
	index, err := makeIndex(view)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	return map[string][]byte{jsonFile: data, pageFile: page, indexFile: index}, nil
}

// makePage makes the reference page.
func makePage(view *pageData) ([]byte, error) {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, view); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
