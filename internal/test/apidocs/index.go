package main

import (
	"bytes"
	"encoding/json"
	"html"
	"html/template"
	"regexp"
	"strings"
)

// entry is a place of the page, as the search knows it.
type entry struct {
	ID    string `json:"id"` // of the element on the page
	Kind  string `json:"kind"`
	Title string `json:"title"`
	// Method and Path are an operation's.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	About  string `json:"about,omitempty"` // the first sentence
	// Text is what the search looks through besides, in small letters.
	Text string `json:"text"`
	// Try says that the page may send the operation, with Params and Body.
	Try    bool    `json:"try,omitempty"`
	Params []param `json:"params,omitempty"`
	Body   string  `json:"body,omitempty"`
}

// makeIndex lists the places of the page.
func makeIndex(view *pageData) ([]byte, error) {
	var entries []entry
	add := func(kind string, o operation) {
		entries = append(entries, entry{
			ID: o.ID, Kind: kind, Title: o.Summary, Method: o.Method, Path: o.Path, About: sentence(o.Description), Try: o.Try, Params: o.Params, Body: o.Body,
			Text: words(string(o.Description), groupTexts(o.Groups), strings.Join(o.Codes, " ")),
		})
	}
	for _, t := range view.Tags {
		for _, o := range t.Operations {
			add(t.Name, o)
		}
	}
	for _, o := range view.Webhooks {
		add("Webhook", o)
	}
	for _, o := range view.Objects {
		entries = append(entries, entry{ID: "object-" + o.Name, Kind: "Object", Title: o.Name, About: sentence(o.Description), Text: words(string(o.Description), fieldTexts(o.Fields))})
	}
	for _, c := range view.Codes {
		entries = append(entries, entry{ID: "code-" + c.Name, Kind: "Error code", Title: c.Name, About: sentence(c.Description), Text: words(c.Status, c.Type, string(c.Description))})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(entries)
	return b.Bytes(), err
}

func groupTexts(groups []group) string {
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(fieldTexts(g.Fields) + " ")
	}
	return b.String()
}

// fieldTexts are the names and descriptions of fields and of those within them.
func fieldTexts(fields []field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.Name + " " + string(f.Description) + " " + strings.Join(f.Values, " ") + " " + fieldTexts(f.Fields) + " ")
	}
	return b.String()
}

var elements = regexp.MustCompile(`<[^>]*>`)

// words joins texts, without their HTML.
func words(texts ...string) string {
	return strings.ToLower(plain(strings.Join(texts, " "), " "))
}

func sentence(description template.HTML) string {
	first, _, found := strings.Cut(plain(string(description), ""), ". ")
	if found {
		first += "."
	}
	return first
}

// plain puts a text in place of each element of HTML.
func plain(text, element string) string {
	return strings.Join(strings.Fields(html.UnescapeString(elements.ReplaceAllLiteralString(text, element))), " ")
}
