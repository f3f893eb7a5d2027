package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
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

// The bytes of a page are bounded, whatever a merchant has put into its invoices.
func TestListsOfLargeObjectsStaySmall(t *testing.T) {
	s := paymentstest.New(t)
	long := `{"description":"` + strings.Repeat("x", 500) + `","unit_amount":1,"metadata":{`
	for i := range 50 {
		long += fmt.Sprintf(`"key%d":"%s",`, i, strings.Repeat("x", 400))
	}
	long = strings.TrimSuffix(long, ",") + "}}"
	for range 6 {
		r, data := s.Do("POST", "/v1/invoices", `{"line_items":[`+strings.Repeat(long+",", 9)+long+`]}`)
		if r.StatusCode != 200 {
			t.Fatalf("%s: %.300s", r.Status, data)
		}
		id := field(t, data, "id")
		s.Do("POST", "/v1/invoices/"+id+"/finalize", nil)
		s.Do("POST", "/v1/invoices/"+id+"/void", nil)
	}
	for path, objects := range map[string]int{"/v1/events": 18, "/v1/invoices": 6} {
		seen := 0
		for after := ""; ; {
			_, data := s.Do("GET", path+"?limit=100"+after, nil)
			if len(data) > 1100<<10 {
				t.Errorf("%s: a page of %d bytes", path, len(data))
			}
			var page struct {
				Data []struct {
					ID string `json:"id"`
				} `json:"data"`
				HasMore bool `json:"has_more"`
			}
			must.Do(t, json.Unmarshal(data, &page))
			seen += len(page.Data)
			if !page.HasMore {
				break
			}
			after = "&starting_after=" + page.Data[len(page.Data)-1].ID
		}
		if seen != objects {
			t.Errorf("%s: the pages have %d objects, want %d", path, seen, objects)
		}
	}
}
