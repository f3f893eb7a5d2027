package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// Whatever stands in a query, every list answers a page or a refusal of the
// caller's, and a cursor that is accepted was an id of the list.
func FuzzCursors(f *testing.F) {
	s := paymentstest.New(f)
	handler := httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Logger: slog.New(slog.DiscardHandler)})
	response, data := s.Do("POST", "/v1/qr_codes", `{}`)
	if response.StatusCode != 200 {
		f.Fatal(string(data))
	}
	known := anyID.FindString(string(data))
	for _, seed := range []string{
		"", "limit=1", "starting_after=" + known, "ending_before=" + known, "starting_after=" + known + "&ending_before=" + known,
		"starting_after=qr_0", "starting_after=%00", "starting_after=%ff", "starting_after=" + strings.Repeat("z", 600), "limit=1e1",
		"created[gte]=0&created[lt]=9999999999999", "created=2026-01-31..2026-01-01", "starting_after[]=x", "starting_after=%27;--", "a=%zz",
		"type=static&active=true", "status=paid", "starting_after=" + known[:len(known)-1], "starting_after=../" + known,
	} {
		f.Add(seed)
	}
	lists := []string{"/v1/qr_codes", "/v1/events", "/v1/payments", "/v1/balance/entries", "/v1/invoices", "/v1/webhooks", "/v1/payouts", "/v1/disbursements", "/v1/subscriptions"}
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range lists {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("Authorization", "Bearer "+s.Key)
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			switch w.Code {
			case http.StatusOK:
				for _, param := range []string{"starting_after", "ending_before"} {
					if cursor := r.URL.Query().Get(param); cursor != "" && !anyID.MatchString(cursor) {
						t.Errorf("%s?%s: the cursor %q is accepted", path, query, cursor)
					}
				}
			case http.StatusBadRequest:
				code := field(t, w.Body.Bytes(), "error.code")
				expect.True(t, code == "parameter_invalid" || code == "resource_missing" || code == "event_type_unknown", "%s?%s: %s", path, query, w.Body)
			default:
				t.Errorf("%s?%s: %d %s", path, query, w.Code, w.Body)
			}
		}
	})
}
