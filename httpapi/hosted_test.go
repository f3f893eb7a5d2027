package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
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
	for _, path := range []string{
		"/invoice/%d", "/invoice/%d/pdf", "/invoice/%d/credit_notes/re_1", "/invoice/%d/logo",
		"/subscription/%d", "/subscription/%d/phone", "/subscription/%d/cancel", "/subscription/%d/logo",
	} {
		last := 0
		for i := range 200 {
			last = get(fmt.Sprintf(path, i))
		}
		expect.Equal(t, last, http.StatusTooManyRequests, "the 200th guess at %s", path)
	}
	expect.Equal(t, get(page), http.StatusOK, "a page that exists")
	expect.Equal(t, get(page+"/pdf"), http.StatusOK, "its document")
	for range 200 {
		get(page)
	}
	expect.Equal(t, get(page), http.StatusTooManyRequests, "after 200 looks")
	// Invoices and payment pages count together. The limit may let one through meanwhile.
	code, refused := newCode(t, s, `{"amount":100}`), false
	for range 5 {
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest("POST", "/pay/"+code, nil))
		refused = refused || w.Code == http.StatusTooManyRequests
	}
	expect.True(t, refused, "a payment page has a limit of its own")
}
