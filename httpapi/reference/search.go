package reference

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// entry is a place of the page. apidocs makes the list of them.
type entry struct {
	ID, Kind, Title, Method, Path, About, Text, Body string
	// Try says that the page may send the operation.
	Try    bool
	Params []struct{ Name, In, Hint string }
}

//go:embed index.json
var indexJSON []byte

var index = sync.OnceValue(func() []entry {
	var entries []entry
	if err := json.Unmarshal(indexJSON, &entries); err != nil {
		panic(err) // it is embedded
	}
	return entries
})

const (
	maxQuery = 100 // bytes that the search looks at
	maxFound = 50
)

// find returns the places that have every word of a query: those with all words in their titles or
// paths first.
func find(query string) (found []entry, more bool) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil, false
	}
	var rest []entry
	for _, e := range index() {
		name := strings.ToLower(e.Title + " " + e.Method + " " + e.Path)
		switch has := func(text string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		}; {
		case has(name):
			found = append(found, e)
		case has(name + " " + e.Text):
			rest = append(rest, e)
		}
	}
	if found = append(found, rest...); len(found) > maxFound {
		return found[:maxFound], true
	}
	return found, false
}

// pageOf is what every page here has.
type pageOf struct {
	Title, Query string
	// Root is the way to the reference, Anchor the place there.
	Root, Anchor string
}

func (d *docs) search(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	query = strings.TrimSpace(strings.ToValidUTF8(query[:min(len(query), maxQuery)], ""))
	found, more := find(query)
	d.render(w, http.StatusOK, "search", struct {
		pageOf
		Found []entry
		More  bool
	}{pageOf{Title: "Search", Query: query, Root: "./"}, found, more})
}
