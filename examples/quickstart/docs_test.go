package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDocs(t *testing.T) {
	h, err := withDocs("https://pay.example.com", http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/docs/": 200, "/docs/openapi.json": 200, "/v1/qr_codes": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want || want == 200 && !strings.Contains(w.Body.String(), "https://pay.example.com") {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
