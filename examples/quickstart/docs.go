package main

import (
	"net/http"

	"github.com/seed-7082ffec/payments/httpapi/reference"
)

// withDocs puts the reference of the interface at /docs/, beside next.
func withDocs(baseURL string, next http.Handler) (http.Handler, error) {
	docs, err := reference.New(reference.Config{BaseURL: baseURL})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
	mux.Handle("/", next)
	return mux, nil
}
