package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/internal/expect"
)

// Pages stand under their prefixes, and the API gets every other path as it came.
func TestWithPages(t *testing.T) {
	docs := reference.New(reference.Config{BaseURL: "https://pay.example.com"})
	h := withPages(http.NotFoundHandler(), map[string]http.Handler{"/docs": docs})
	for path, want := range map[string]int{
		"/docs/": 200, "/docs/openapi.json": 200, "/docs": 301, "/v1/qr_codes": 404, "/v1//qr_codes": 404, "/docsx": 404,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		expect.True(t, w.Code == want && (want != 200 || strings.Contains(w.Body.String(), "https://pay.example.com")), "%s: %d", path, w.Code)
	}
}
