package browsertest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/browsertest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// notes is a test that keeps what is held against it.
type notes struct {
	testing.TB
	kept []string
}

func (n *notes) Errorf(format string, args ...any) {
	n.kept = append(n.kept, format)
	for _, a := range args {
		if text, ok := a.(string); ok {
			n.kept = append(n.kept, text)
		}
	}
}

// The checks find what is wrong with a page.
func TestChecksFindFaults(t *testing.T) {
	axe := browsertest.Axe(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>x</title><main><h1 style="color:#ddd;background:#fff">Pale</h1>
			<input name="nameless"><p style="width:500px">wide</p></main>`))
	}))
	t.Cleanup(server.Close)
	n := &notes{TB: t}
	b := browsertest.Open(n, browsertest.Phone, false)
	b.Go(server.URL)
	b.See("Pale", "something else")
	all := strings.Join(n.kept, "\n")
	for _, want := range []string{"does not show", "something else", "px wide"} {
		expect.True(t, strings.Contains(all, want), "%q is missing in %s", want, all)
	}
	if axe == "" {
		t.Skip("PAYMENTS_AXE does not name axe-core")
	}
	n.kept = nil
	b.Accessible(axe)
	all = strings.Join(n.kept, "\n")
	for _, want := range []string{"color-contrast", "label:", "light", "dark"} {
		expect.True(t, strings.Contains(all, want), "%q is missing in %s", want, all)
	}
}
