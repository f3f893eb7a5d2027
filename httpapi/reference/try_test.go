package reference_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

const key = "sk_test_secret"

// apiSeen is what the API was asked.
type apiSeen struct {
	Method, URI, Auth, Kind, Body string
}

// tryHandler returns the page over an API that keeps what it was asked.
func tryHandler(t *testing.T) (http.Handler, *[]apiSeen) {
	t.Helper()
	seen := &[]apiSeen{}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must.Get(io.ReadAll(r.Body))(t)
		*seen = append(*seen, apiSeen{r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)})
		w.Header().Set("Request-Id", "req_1")
		switch r.URL.Path {
		case "/v1/invoices/inv_1/pdf":
			w.Header().Set("Location", "https://pay.example.com/x.pdf")
			w.WriteHeader(http.StatusSeeOther)
		case "/v1/qr_codes/qr_1/download":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG"))
		default:
			_, _ = w.Write([]byte(`{"text":"<script>"}`))
		}
	})
	return reference.New(reference.Config{BaseURL: base, Try: &reference.Try{API: api, Key: key, Hosts: []string{"Docs.example.com"}}}), seen
}

// post sends a form, as a browser does.
func post(h http.Handler, path string, form url.Values, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "https://pay.example.com"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTrySends(t *testing.T) {
	h, seen := tryHandler(t)
	for path, c := range map[string]struct {
		form url.Values
		want apiSeen
		says string
	}{
		"/try/createQRCode":   {url.Values{"body": {`{"amount":5}`}}, apiSeen{"POST", "/v1/qr_codes?", "Bearer " + key, "application/json", `{"amount":5}`}, "&lt;script&gt;"},
		"/try/getQRCode":      {url.Values{"path-id": {" a/../b?c "}}, apiSeen{"GET", "/v1/qr_codes/a%2F..%2Fb%3Fc?", "Bearer " + key, "", ""}, "200 OK"},
		"/try/listQRCodes":    {url.Values{"query-limit": {"2"}, "query-type": {""}, "body": {"x"}}, apiSeen{"GET", "/v1/qr_codes?limit=2", "Bearer " + key, "", ""}, "req_1"},
		"/try/getInvoicePDF":  {url.Values{"path-id": {"inv_1"}}, apiSeen{"GET", "/v1/invoices/inv_1/pdf?", "Bearer " + key, "", ""}, "https://pay.example.com/x.pdf"},
		"/try/downloadQRCode": {url.Values{"path-id": {"qr_1"}}, apiSeen{"GET", "/v1/qr_codes/qr_1/download?", "Bearer " + key, "", ""}, "image/png, 4 bytes."},
	} {
		*seen = nil
		w := post(h, path, c.form, nil)
		expect.Same(t, *seen, []apiSeen{c.want}, "%s: asked", path)
		expect.Equal(t, w.Code, 200, "%s: status", path)
		expect.True(t, strings.Contains(w.Body.String(), c.says), "%s: %d without %q", path, w.Code, c.says)
		expect.True(t, !strings.Contains(w.Body.String(), key), "%s: the page has the key or a script", path)
		expect.True(t, !strings.Contains(w.Body.String(), "<script"), "%s: the page has the key or a script", path)
		expect.Equal(t, w.Header().Get("Cache-Control"), "no-store", "%s: kept", path)
	}
}

// A form of another website, or under another name of this server, asks the API nothing. Nor does reading a page.
func TestTryRefuses(t *testing.T) {
	h, seen := tryHandler(t)
	form := url.Values{"path-id": {"qr_1"}, "body": {"{}"}}
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"another website": {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"another port":    {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		"an old browser": {func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "https://evil.example.com")
		}, 403},
		"another name":     {func(r *http.Request) { r.Host = "evil.example.com" }, 421},
		"no name":          {func(r *http.Request) { r.Host = "" }, 421},
		"a form too large": {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("body=" + strings.Repeat("x", 65<<10))) }, 400},
	} {
		w := post(h, "/try/createQRCode", form, c.change)
		expect.Equal(t, w.Code, c.status, "%s: status", name)
		expect.True(t, strings.Contains(w.Body.String(), `role="alert"`), "%s: %d", name, w.Code)
	}
	for _, id := range []string{"", ".", ".."} {
		w := post(h, "/try/getQRCode", url.Values{"path-id": {id}}, nil)
		expect.Equal(t, w.Code, 400, "%q: status", id)
		expect.True(t, strings.Contains(w.Body.String(), "Enter id."), "%q: %d", id, w.Code)
	}
	for _, path := range []string{"/try/createQRCode", "/try/getQRCode?path-id=qr_1"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		expect.Equal(t, w.Code, 200, "reading %s", path)
	}
	for _, path := range []string{"/try/showInvoicePage", "/try/receiveEvent", "/try/nothing", "/try/object-Invoice"} { // with a form, outgoing, unknown
		expect.Equal(t, post(h, path, form, nil).Code, 404, "%s", path)
	}
	expect.True(t, len(*seen) == 0, "the API was asked %v", *seen)

	for _, host := range []string{"docs.example.com", "127.0.0.1:8080", "[::1]:8080", "localhost", "PAY.example.com:443"} {
		expect.Equal(t, post(h, "/try/createQRCode", form, func(r *http.Request) { r.Host = host }).Code, 200, "under %s", host)
	}
}

// Without Try there is no form, and a key of live mode is not taken.
func TestTryIsOff(t *testing.T) {
	expect.Equal(t, get(t, "/try/createQRCode").Code, 404, "without Try")
	with, _ := tryHandler(t)
	w := httptest.NewRecorder()
	with.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	expect.True(t, strings.Count(w.Body.String(), "Try it</a>") >= 80, "with Try, the page has %d links", strings.Count(w.Body.String(), "Try it</a>"))
	defer func() { expect.True(t, recover() != nil, "a key of live mode is taken") }()
	reference.New(reference.Config{Try: &reference.Try{Key: "sk_live_1"}})
}
