package reference_test

import (
	"compress/gzip"
	"encoding/json"
	"go/format"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

const base = "https://pay.example.com/shop"

func get(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return getFrom(t, base, path, headers...)
}

func getFrom(t *testing.T, baseURL, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	h := reference.New(reference.Config{BaseURL: baseURL})
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// description is what the page is made from, as far as the test looks at it.
type description struct {
	Servers []struct {
		Variables map[string]struct{ Default string }
	}
	Paths      map[string]map[string]any
	Components struct {
		Schemas struct {
			ErrorCode struct{ Enum []string } `yaml:"ErrorCode"`
		}
	}
}

func TestPage(t *testing.T) {
	w := get(t, "/")
	page := w.Body.String()
	must.True(t, w.Code == 200 && w.Header().Get("Content-Type") == "text/html; charset=utf-8", "got %d %v", w.Code, w.Header())
	var d description
	must.Do(t, yaml.Unmarshal(httpapi.OpenAPI(), &d))
	operations := 0
	for path, item := range d.Paths {
		for method := range item {
			if method == "parameters" {
				continue
			}
			operations++
			method = strings.ToUpper(method)
			expect.True(t, strings.Contains(page, `<span class="src">`+method+`</span> <code>`+path+`</code>`), "the page lacks %s %s", method, path)
		}
	}
	for _, code := range d.Components.Schemas.ErrorCode.Enum {
		expect.True(t, strings.Contains(page, `<div id="code-`+code+`">`), "the page lacks the code %s", code)
	}
	expect.True(t, operations >= 50, "only %d operations were looked for", operations)
	expect.True(t, len(d.Components.Schemas.ErrorCode.Enum) >= 50, "only %d operations were looked for", operations)
	for _, part := range []string{
		"curl &#39;" + base + "/v1/payouts&#39;",
		"<code>destination</code></dt><dd><span class=\"soft\">object, <b>required</b></span>",
		"http.NewRequestWithContext(ctx, &#34;POST&#34;, &#34;" + base + "/v1/payouts&#34;, body)",
		"list of <a href=\"#object-Invoice\">Invoice</a>",
		"integer, at least 1, at most 100, default 10",
		"<code>usage_limit</code> times",
		"<code>Service-Signature</code>",
	} {
		expect.True(t, strings.Contains(page, part), "the page lacks %s", part)
	}
	for _, broken := range []string{"&lt;nil&gt;", "ZgotmplZ", "<script", "http://127.0.0.1:8080", "raw HTML omitted", "Try it"} {
		expect.True(t, !strings.Contains(page, broken), "the page has %s", broken)
	}
}

// The address is written for HTML, and in calls for the shell's single quotes.
func TestAddress(t *testing.T) {
	if page := getFrom(t, "", "/").Body.String(); !strings.Contains(page, "curl &#39;http://127.0.0.1:8080/v1/payouts&#39;") {
		t.Error("without an address, the page lacks the example")
	}
	page := getFrom(t, "https://pay.example.com/it's<b>&x", "/").Body.String()
	for _, want := range []string{
		"<code>https://pay.example.com/it&#39;s&lt;b&gt;&amp;x</code>",
		`curl &#39;https://pay.example.com/it&#39;\&#39;&#39;s&lt;b&gt;&amp;x/v1/payouts&#39;`,
		`&#34;https://pay.example.com/it&#39;s&lt;b&gt;&amp;x/v1/payouts&#34;`,
	} {
		expect.True(t, strings.Contains(page, want), "the page lacks %s", want)
	}
}

// Every link leads to a place on the page, and every place is there once.
func TestLinks(t *testing.T) {
	page := get(t, "/").Body.String()
	places := map[string]int{}
	for _, match := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if places[match[1]]++; places[match[1]] > 1 {
			t.Errorf("the place %s is there twice", match[1])
		}
	}
	links := regexp.MustCompile(` href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	expect.True(t, len(links) >= 200, "there are only %d links", len(links))
	for _, match := range links {
		if place, ok := strings.CutPrefix(match[1], "#"); ok {
			expect.True(t, places[place] != 0, "a link leads to %s, which is not there", place)
		} else if w := get(t, "/"+match[1]); w.Code != 200 {
			t.Errorf("a link leads to %s: %d", match[1], w.Code)
		}
	}
}

func TestHeaders(t *testing.T) {
	for _, path := range []string{"/", "/openapi.json", "/openapi.yaml", "/style.css", "/search?q=payout"} {
		w := get(t, path)
		policy := w.Header().Get("Content-Security-Policy")
		expect.True(t, strings.HasPrefix(policy, "default-src 'none'; style-src 'self'; form-action 'self'"), "%s: the policy is %q", path, policy)
		expect.True(t, !strings.Contains(policy, "unsafe"), "%s: the policy is %q", path, policy)
		expect.True(t, !strings.Contains(policy, "script"), "%s: the policy is %q", path, policy)
		expect.Equal(t, w.Header().Get("X-Frame-Options"), "DENY", "%s: X-Frame-Options", path)
		expect.Equal(t, w.Header().Get("X-Content-Type-Options"), "nosniff", "%s: X-Content-Type-Options", path)
		if strings.HasPrefix(path, "/search") {
			continue // made for the request
		}
		again := get(t, path, "If-None-Match", w.Header().Get("ETag"))
		expect.Equal(t, again.Code, http.StatusNotModified, "%s, unchanged: status", path)
		expect.Equal(t, again.Body.Len(), 0, "%s, unchanged: number of bytes", path)
	}
	if w := get(t, "/nothing"); w.Code != http.StatusNotFound {
		t.Errorf("nothing: %d", w.Code)
	}
}

// A client that reads packed files gets the same bytes packed, under another tag.
func TestPacked(t *testing.T) {
	plain := get(t, "/")
	for coding, packed := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "": false, "br": false, "gzip;q=0": false, "gzip; q=0.0": false} {
		w := get(t, "/", "Accept-Encoding", coding)
		expect.Equal(t, w.Header().Get("Content-Encoding") == "gzip", packed, "%q: is packed", coding)
		if !packed {
			expect.Equal(t, w.Header().Get("ETag"), plain.Header().Get("ETag"), "%q: the tag", coding)
			continue
		}
		expect.True(t, w.Body.Len() < plain.Body.Len()/5, "%q: %d bytes", coding, w.Body.Len())
		expect.True(t, w.Header().Get("ETag") != plain.Header().Get("ETag"), "%q: %d bytes", coding, w.Body.Len())
		data := must.Get(io.ReadAll(must.Get(gzip.NewReader(w.Body))(t)))(t)
		expect.True(t, string(data) == plain.Body.String(), "%q: unpacked, the page is another", coding)
	}
}

// Each example in Go is a program's text, in the form that gofmt gives it.
func TestGoExamples(t *testing.T) {
	examples := regexp.MustCompile(`(?s)<summary>Go</summary><pre tabindex="0">(.*?)</pre>`).FindAllStringSubmatch(get(t, "/").Body.String(), -1)
	expect.True(t, len(examples) >= 80, "there are only %d", len(examples))
	for _, match := range examples {
		code := html.UnescapeString(match[1])
		formatted, err := format.Source([]byte(code))
		must.Do(t, err)
		expect.Equal(t, string(formatted), code, "formatted")
	}
}

// The sheet has the rules that apply, and is as small as a page's may be.
func TestStyle(t *testing.T) {
	sheet := get(t, "/style.css").Body.String()
	expect.True(t, len(sheet) <= 12_000, "%d bytes of styles", len(sheet))
	for part, want := range map[string]bool{":root{": true, ".frame": true, ".kv>div": true, ".src{": true, "nav:target": true, ".plot": false, ".needs": false} {
		expect.Equal(t, strings.Contains(sheet, part), want, "has %s", part)
	}
	expect.Equal(t, strings.Count(sheet, "{"), strings.Count(sheet, "}"), "braces")
}

func TestSearch(t *testing.T) {
	for query, wants := range map[string][]string{
		"/v1/payouts":             {`href="./#createPayout"`, `href="./#listPayouts"`},
		"post payouts":            {`href="./#createPayout"`},
		"Payout Failure_Reason":   {`href="./#object-Payout"`},
		"insufficient_balance":    {`href="./#code-insufficient_balance"`, `href="./#createPayout"`},
		"<b>'\"":                  {"Nothing found for “&lt;b&gt;&#39;&#34;”"},
		"   ":                     {"What are you looking for?"},
		"a":                       {"50 or more found"},
		strings.Repeat("é", 1000): {"Nothing found"},
	} {
		page := get(t, "/search?q="+url.QueryEscape(query)).Body.String()
		for _, want := range wants {
			expect.True(t, strings.Contains(page, want), "%q: the page lacks %s", query, want)
		}
	}
	// What has the words in its title comes first.
	page := get(t, "/search?q=payout").Body.String()
	expect.True(t, strings.Index(page, "#createPayout") < strings.Index(page, "#code-otp_verification_required"), "an error code stands before the operation")
	page = get(t, "/search?q=is+refunded").Body.String()
	for _, match := range regexp.MustCompile(`href="\./#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		expect.True(t, strings.Contains(get(t, "/").Body.String(), ` id="`+match[1]+`"`), "a link leads to %s, which is not there", match[1])
	}
}

func TestDescriptionForPrograms(t *testing.T) {
	var d description
	must.Do(t, json.Unmarshal(get(t, "/openapi.json").Body.Bytes(), &d))
	expect.Equal(t, d.Servers[0].Variables["base_url"].Default, base, "the server is %+v", d.Servers)
	expect.Equal(t, get(t, "/openapi.yaml").Body.String(), string(httpapi.OpenAPI()), "the YAML is another")
}
