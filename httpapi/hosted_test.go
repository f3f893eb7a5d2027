package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

// Who guesses at pages is slowed, and takes no page from others with the same address,
// such as that of a proxy.
func TestMissingPagesCountSeparately(t *testing.T) {
	s := paymentstest.New(t)
	_, page := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	page = strings.TrimPrefix(page, s.Server.URL)
	get := func(path string) int {
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	for _, path := range []string{"", "/pdf", "/credit_notes/re_1", "/logo"} {
		last := 0
		for i := range 200 {
			last = get(fmt.Sprint("/invoice/unknown", i, path))
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the 200th guess at %s: %d", path, last)
		}
	}
	if got := get(page); got != http.StatusOK {
		t.Errorf("a page that exists: %d", got)
	}
	if got := get(page + "/pdf"); got != http.StatusOK {
		t.Errorf("its document: %d", got)
	}
	for range 200 {
		get(page)
	}
	if got := get(page); got != http.StatusTooManyRequests {
		t.Errorf("after 200 looks: %d", got)
	}
	// Invoices and payment pages count together. The limit may let one through meanwhile.
	code, refused := newCode(t, s, `{"amount":100}`), false
	for range 5 {
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest("POST", "/pay/"+code, nil))
		refused = refused || w.Code == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("a payment page has a limit of its own")
	}
}
