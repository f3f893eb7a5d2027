package reference_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/seed-7082ffec/payments/httpapi/reference"
)

func Example() {
	docs := reference.New(reference.Config{BaseURL: "https://pay.example.com"})
	mux := http.NewServeMux()
	mux.Handle("/docs/", http.StripPrefix("/docs", docs))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/docs/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
