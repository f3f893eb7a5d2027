// Package reference is the reference of the interface for people: one page, made
// from the description that package httpapi serves to programs. It needs no key,
// no script and no other server, and holds nothing of any merchant.
//
//	docs, err := reference.New(reference.Config{BaseURL: svc.BaseURL()})
//	// …
//	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/internal/yamljson"
)

// Config is what the page says of this host. The zero value works.
type Config struct {
	// BaseURL is where the interface is reached, without a slash at its end; it
	// stands in the examples. Empty stands for an address on this machine.
	BaseURL string
}

var (
	//go:embed style.css
	style string
	//go:embed page.html
	pageText string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
	}).Parse(pageText))

	// policy allows the page its one style sheet and nothing else.
	policy = func() string {
		sum := sha256.Sum256([]byte(style))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
	}()
)

// New returns the handler of the page, at "/", and of the description that it is
// made from, at "/openapi.yaml" and "/openapi.json". Mount it under any prefix
// that ends with a slash, with http.StripPrefix. It answers GET and HEAD, and is
// safe for concurrent use. All work is done here, once; an error is a fault of
// the library.
func New(c Config) (http.Handler, error) {
	document, err := httpapi.OpenAPIJSON(c.BaseURL)
	if err != nil {
		return nil, err
	}
	// JSON is YAML, too, and has the host's address in it already.
	root, err := yamljson.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	view, err := read(root)
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, view); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", file("text/html; charset=utf-8", page.Bytes()))
	mux.Handle("GET /openapi.json", file("application/json", document))
	mux.Handle("GET /openapi.yaml", file("application/yaml", httpapi.OpenAPI()))
	return mux, nil
}

// file answers with the same bytes every time.
func file(contentType string, data []byte) http.Handler {
	sum := sha256.Sum256(data)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		// The browser keeps it, and asks each time whether it is still the same.
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", contentType)
		h.Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data) // an error means that the client has gone
	})
}
