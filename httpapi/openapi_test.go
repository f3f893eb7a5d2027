package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/internal/test/browsertest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestOpenAPIOverHTTP(t *testing.T) {
	s := paymentstest.New(t)
	response, data := s.Do("GET", "/v1/openapi.json", nil)
	must.True(t, response.StatusCode == 200 && response.Header.Get("Content-Type") == "application/json" && json.Valid(data), "got %d %v %.100s", response.StatusCode, response.Header, data)
	expect.True(t, bytes.HasPrefix(data, []byte(`{"openapi":"3.1.0","info":{"title":`)), "the order is lost: %.60s", data)
	expect.Equal(t, field(t, data, "servers.0.variables.base_url.default"), s.Server.URL, "the server")
	if _, again := s.Do("GET", "/v1/openapi.json", nil); !bytes.Equal(data, again) {
		t.Error("it is another the second time")
	}
	stranger := *s
	stranger.Key = "sk_test_nobody"
	response, data = stranger.Do("GET", "/v1/openapi.json", nil)
	wants(t, "without a key", response, data, 401, "api_key_invalid", "")
}

// The caller may change what OpenAPI and OpenAPIJSON return.
func TestOpenAPI(t *testing.T) {
	text := httpapi.OpenAPI()
	must.True(t, strings.Contains(string(text), "\nopenapi: 3.1.0\n"), "got %.100s", text)
	clear(text)
	if text := httpapi.OpenAPI(); !strings.Contains(string(text), "\nopenapi: 3.1.0\n") {
		t.Errorf("changed, the YAML is %.100q", text)
	}
	for _, baseURL := range []string{"", "https://pay.example.com/a\"b&c"} {
		clear(httpapi.OpenAPIJSON(baseURL))
		text := httpapi.OpenAPIJSON(baseURL)
		want := baseURL
		if want == "" {
			want = "http://127.0.0.1:8080"
		}
		expect.Equal(t, field(t, text, "servers.0.variables.base_url.default"), want, "%q: the server", baseURL)
	}
}

func TestReferenceInABrowser(t *testing.T) {
	b := openReader(t)
	s := paymentstest.New(t)
	docs := reference.New(reference.Config{BaseURL: s.Server.URL, Try: &reference.Try{API: s.Handler, Key: s.Key}})
	mux := http.NewServeMux()
	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
	host := httptest.NewServer(mux)
	defer host.Close()

	b.Go(host.URL + "/docs") // the mux adds the slash
	b.See("Payments API", "Create a QR code", "POST", "/v1/qr_codes", "In pesewas", "insufficient_balance", "Service-Signature")
	b.Accessible(b.axe)
	// Whatever is unfolded, nothing makes the page wider.
	b.Ask(`document.querySelectorAll("main details").forEach(d => d.open = true), 0`, new(int))
	b.See("phone_number", "payment.succeeded", "http.NewRequestWithContext")
	b.Fits()
	var radius, place string
	b.Ask(`getComputedStyle(document.querySelector("pre")).borderRadius`, &radius)
	expect.Equal(t, radius, "8px", "the style is not applied: border-radius")

	// On a phone the contents lie over the page, and go away when a place is chosen.
	b.Go(host.URL + "/docs/")
	b.Enter("Menu")
	b.See("Close")
	b.Parts("reference", "nav")
	b.Enter("Create a payout")
	b.Ask(`document.querySelector(":target h3").innerText + " " + (document.querySelector(":target").getBoundingClientRect().top >= 0) +
		" " + getComputedStyle(document.querySelector("nav")).display`, &place)
	expect.Equal(t, place, "Create a payout true none", "the link leads to")

	b.Go(host.URL + "/docs/search?q=idempotency_error")
	b.sees("reference search", "Search", "idempotency_key_reused", "Error code")
	b.Go(host.URL + "/docs/search?q=zebra")
	b.sees("reference found nothing", "Nothing found for")

	b.Go(host.URL + "/docs/try/createQRCode")
	b.sees("reference form", "Create a QR code", "Test mode", "stays on the server")
	b.Press("Send")
	b.sees("reference answer", "200 OK", `"object": "qr_code"`, "req_")
	expect.True(t, !strings.Contains(b.Text(), s.Key), "the page shows the key")
	b.Go(host.URL + "/docs/try/getQRCode")
	b.Press("Send")
	b.sees("reference missing field", "Enter id.")

	parts := []string{"listPayouts", "createPayout", "receiveEvent", "object-Invoice", "codes"}
	b.Go(host.URL + "/docs/")
	b.Parts("reference", parts...)
	b.Resize(browsertest.Desktop)
	b.Go(host.URL + "/docs/")
	b.See("Payments API")
	b.Parts("reference", parts...)
	b.onlyFrom(t, host.URL)
}

// npm runs a script of testdata/typescript. Where its packages are not installed
// (npm ci does) the test is skipped, unless PAYMENTS_REQUIRE_NPM is set.
func npm(t *testing.T, script string, env ...string) string {
	t.Helper()
	folder := filepath.Join("testdata", "typescript")
	_, err := os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json"))
	program, missing := exec.LookPath("npm")
	if err != nil || missing != nil {
		must.True(t, os.Getenv("PAYMENTS_REQUIRE_NPM") == "", "npm, or what npm ci installs in httpapi/%s, is not there", folder)
		t.Skipf("needs npm, and npm ci in httpapi/%s", folder)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, "run", "--silent", script)
	command.Dir = folder
	command.Env = append(os.Environ(), env...)
	command.WaitDelay = 5 * time.Second
	output, err := command.CombinedOutput()
	expect.True(t, err == nil, "npm run %s: %v\n%s", script, err, output)
	return string(output)
}

func TestDescriptionPassesLint(t *testing.T) {
	oneGoroutine(t)
	npm(t, "redocly")
	npm(t, "spectral")
}

// A client generated from the description type-checks against a program that
// uses every resource, and the program does what it should.
func TestTypeScriptClient(t *testing.T) {
	oneGoroutine(t)
	npm(t, "generate")
	npm(t, "build")
	if t.Failed() {
		return
	}
	s := paymentstest.New(t)
	output := npm(t, "use", "BASE_URL="+s.Server.URL, "API_KEY="+s.Key)
	expect.True(t, strings.Contains(output, "every resource was used"), "the program says %s", output)
}

// The program grows with the API.
func TestTypeScriptUsesEveryResource(t *testing.T) {
	program := must.Get(os.ReadFile(filepath.Join("testdata", "typescript", "use.ts")))(t)
	used := map[string]bool{"Hosted pages": true} // HTML, not for programs
	c := described(t)
	for _, o := range c.Operations() {
		if strings.Contains(string(program), `.`+o.Method+`("`+o.Path+`"`) {
			used[o.Tags[0]] = true
		}
	}
	for _, tag := range c.Doc.Tags {
		expect.True(t, used[tag.Name], "use.ts uses nothing of %s", tag.Name)
	}
}
