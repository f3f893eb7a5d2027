package reference_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
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
			expect.True(t, strings.Contains(page, `<span class="method `+method+`">`+method+`</span> <code>`+path+`</code>`), "the page lacks %s %s", method, path)
		}
	}
	for _, code := range d.Components.Schemas.ErrorCode.Enum {
		expect.True(t, strings.Contains(page, `<div id="code-`+code+`">`), "the page lacks the code %s", code)
	}
	expect.True(t, operations >= 50 && len(d.Components.Schemas.ErrorCode.Enum) >= 50, "only %d operations were looked for", operations)
	for _, part := range []string{
		"curl &#39;" + base + "/v1/payouts&#39;",
		"<code>destination</code> <span class=\"type\">object</span> <span class=\"required\">required</span>",
		"list of <a href=\"#object-Invoice\">Invoice</a>",
		"integer, at least 1, at most 100, default 10",
		"<code>usage_limit</code> times",
		"<code>Service-Signature</code>",
	} {
		expect.True(t, strings.Contains(page, part), "the page lacks %s", part)
	}
	for _, broken := range []string{"&lt;nil&gt;", "ZgotmplZ", "<script", "http://127.0.0.1:8080", "raw HTML omitted"} {
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
	for _, path := range []string{"/", "/openapi.json", "/openapi.yaml"} {
		w := get(t, path)
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		again := get(t, path, "If-None-Match", w.Header().Get("ETag"))
		expect.True(t, again.Code == http.StatusNotModified && again.Body.Len() == 0, "%s, unchanged: %d with %d bytes", path, again.Code, again.Body.Len())
	}
	if w := get(t, "/nothing"); w.Code != http.StatusNotFound {
		t.Errorf("nothing: %d", w.Code)
	}
}

func TestDescriptionForPrograms(t *testing.T) {
	var d description
	must.Do(t, json.Unmarshal(get(t, "/openapi.json").Body.Bytes(), &d))
	expect.Equal(t, d.Servers[0].Variables["base_url"].Default, base, "the server is %+v", d.Servers)
	expect.Equal(t, get(t, "/openapi.yaml").Body.String(), string(httpapi.OpenAPI()), "the YAML is another")
}
