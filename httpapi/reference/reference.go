// Package reference serves the API reference as one HTML page, made from httpapi's OpenAPI
// description. The page needs no key and no JavaScript, loads nothing from other servers, and holds
// no merchant's data.
//
//	docs := reference.New(reference.Config{BaseURL: svc.BaseURL()})
//	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
package reference

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments/httpapi"
)

// Config configures the page. The zero value works.
type Config struct {
	// BaseURL is the address of the API, without a slash at its end. The examples show it. Empty
	// stands for an address on this machine.
	BaseURL string
}

// exampleURL is the address in the page.
const exampleURL = "http://127.0.0.1:8080"

var (
	// page is made from the description by go generate in package httpapi, and has
	// style in it.
	//
	//go:embed page.html
	page string
	//go:embed style.css
	style string

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
// safe for concurrent use.
func New(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", file("text/html; charset=utf-8", []byte(pageFor(c.BaseURL))))
	mux.Handle("GET /openapi.json", file("application/json", httpapi.OpenAPIJSON(c.BaseURL)))
	mux.Handle("GET /openapi.yaml", file("application/yaml", httpapi.OpenAPI()))
	return mux
}

// pageFor returns the page with a host's address. In the calls from a shell the
// address stands in single quotes.
func pageFor(baseURL string) string {
	if baseURL == "" {
		return page
	}
	const quote = "&#39;" // in HTML
	inShell := strings.ReplaceAll(baseURL, "'", `'\''`)
	return strings.NewReplacer(
		quote+exampleURL, quote+html.EscapeString(inShell),
		exampleURL, html.EscapeString(baseURL),
	).Replace(page)
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
