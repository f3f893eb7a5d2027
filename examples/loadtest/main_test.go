package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every kind of work is done, and reported.
func TestWork(t *testing.T) {
	s := paymentstest.New(t)
	for _, work := range works() {
		t.Run(work, func(t *testing.T) {
			var out strings.Builder
			o := options{baseURL: s.Server.URL, keys: s.Key, work: work, connections: 4, duration: time.Hour, requests: 20}
			must.Do(t, run(t.Context(), o, &out))
			if text := out.String(); !strings.Contains(text, " a second; half within ") {
				t.Error(text)
			}
		})
	}
}

// What cannot be done is said.
func TestRefusals(t *testing.T) {
	s := paymentstest.New(t)
	good := options{baseURL: s.Server.URL, keys: s.Key, work: "get", connections: 1, duration: time.Millisecond}
	for want, change := range map[string]func(*options){
		"no work":              func(o *options) { o.work = "nothing" },
		"give a test key":      func(o *options) { o.keys = "" },
		"more than nothing":    func(o *options) { o.connections = 0 },
		"answered 401":         func(o *options) { o.keys = "sk_test_wrong" },
		"connection refused":   func(o *options) { o.baseURL = "http://127.0.0.1:1" },
		"unsupported protocol": func(o *options) { o.baseURL = "gopher://127.0.0.1" },
	} {
		o := good
		change(&o)
		if err := run(t.Context(), o, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
