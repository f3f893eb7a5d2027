package httpapi_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
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
