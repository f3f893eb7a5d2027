// Package reference serves the API reference as an HTML page, made from httpapi's OpenAPI description,
// with a search. The page needs no JavaScript, loads nothing from other servers, and holds no
// merchant's data. Where the host allows it, readers send requests in test mode from it; see [Try].
//
//	docs := reference.New(reference.Config{BaseURL: svc.BaseURL()})
//	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
package reference

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-7082ffec/payments/httpapi"
)

// Config configures the page. The zero value works.
type Config struct {
	// BaseURL is the address of the API, without a slash at its end. The examples show it. Empty
	// stands for an address on this machine.
	BaseURL string
	// Try lets readers send requests in test mode. Nil leaves it out.
	Try *Try
}

// exampleURL is the address in the page.
const exampleURL = "http://127.0.0.1:8080"

var (
	// page is made from the description by go generate in package httpapi.
	//
	//go:embed page.html
	page string
	//go:embed pages.html
	templatesText string

	templates = template.Must(template.New("").Parse(templatesText))
	tryLink   = regexp.MustCompile(`<a class="button" href="try/[^<]*</a>`)
)

// policy allows the pages their style sheet, forms of their own, and nothing else.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

type docs struct {
	config Config
	cross  *http.CrossOriginProtection
	hosts  map[string]bool
}

// New returns the handler of the page, at "/", of its search, and of the description that it is
// made from, at "/openapi.yaml" and "/openapi.json". Mount it under any prefix
// that ends with a slash, with http.StripPrefix. It answers GET and HEAD, and with [Config.Try] POST
// to its forms. It is safe for concurrent use. New panics if Try's key is not one of test mode.
func New(c Config) http.Handler {
	d := &docs{config: c, cross: http.NewCrossOriginProtection(), hosts: map[string]bool{}}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", file("text/html; charset=utf-8", func() []byte { return []byte(pageFor(c)) }))
	mux.Handle("GET /style.css", file("text/css; charset=utf-8", func() []byte { return []byte(style) }))
	mux.Handle("GET /openapi.json", file("application/json", func() []byte { return httpapi.OpenAPIJSON(c.BaseURL) }))
	mux.Handle("GET /openapi.yaml", file("application/yaml", httpapi.OpenAPI))
	mux.HandleFunc("GET /search", d.search)
	if c.Try != nil {
		if !strings.HasPrefix(c.Try.Key, "sk_test_") {
			panic("reference: Config.Try needs a key of test mode")
		}
		if u, err := url.Parse(c.BaseURL); err == nil && u.Host != "" {
			d.hosts[strings.ToLower(u.Hostname())] = true
		}
		for _, host := range c.Try.Hosts {
			d.hosts[strings.ToLower(host)] = true
		}
		mux.HandleFunc("GET /try/{operation}", d.try)
		mux.HandleFunc("POST /try/{operation}", d.try)
	}
	return mux
}

// pageFor returns the page with a host's address. In the calls from a shell the
// address stands in single quotes, and in those of Go in double ones.
func pageFor(c Config) string {
	shown := page
	if c.Try == nil {
		shown = tryLink.ReplaceAllLiteralString(shown, "")
	}
	if c.BaseURL == "" {
		return shown
	}
	const single, double = "&#39;", "&#34;" // in HTML
	inShell := strings.ReplaceAll(c.BaseURL, "'", `'\''`)
	inGo := strings.Trim(strconv.Quote(c.BaseURL), `"`)
	return strings.NewReplacer(
		single+exampleURL, single+html.EscapeString(inShell),
		double+exampleURL, double+html.EscapeString(inGo),
		exampleURL, html.EscapeString(c.BaseURL),
	).Replace(shown)
}

// content is a file, and the same packed.
type content struct {
	data, packed []byte
	tag          string
}

// file answers with the same bytes every time. They are made when they are first asked for.
func file(contentType string, read func() []byte) http.Handler {
	made := sync.OnceValue(func() content {
		c := content{data: read()}
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(c.data) // to memory
		_ = w.Close()
		c.packed = b.Bytes()
		sum := sha256.Sum256(c.data)
		c.tag = base64.RawURLEncoding.EncodeToString(sum[:12])
		return c
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := made()
		h := headers(w)
		h.Set("Vary", "Accept-Encoding")
		data, tag := c.data, `"`+c.tag+`"`
		if takesGzip(r) {
			data, tag = c.packed, `"`+c.tag+`-gzip"`
			h.Set("Content-Encoding", "gzip")
		}
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

// takesGzip reports whether a client reads packed files.
func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";q=")
		if name == "gzip" {
			q, err := strconv.ParseFloat(weight, 64)
			return weight == "" || err == nil && q > 0
		}
	}
	return false
}

// headers sets those that every answer has.
func headers(w http.ResponseWriter) http.Header {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	if h.Get("Referrer-Policy") == "" {
		h.Set("Referrer-Policy", "no-referrer")
	}
	return h
}

// render answers with a page that is made for the request.
func (d *docs) render(w http.ResponseWriter, status int, name string, v any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, v); err != nil {
		panic(err) // the templates are embedded
	}
	h := headers(w)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error means that the client has gone
}
