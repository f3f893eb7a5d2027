package httpapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

// A walk goes on from the place of a deleted object, in both directions and with a filter, for 30 days and for its
// owner alone.
func TestWalksGoOnFromDeletedObjects(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s := paymentstest.NewWithStore(t, store, payments.Config{WebhookAllow: paymentstest.Loopback()})
		merchant := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
		stranger, _ := as(t, s, api.Caller{Merchant: merchant.ID}, account.CreateKeyParams{})
		live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
		// ask returns what a list answers, without the id that was asked for.
		ask := func(s *paymentstest.Shop, path, cursor, id string) (int, string) {
			t.Helper()
			response, data := s.Do("GET", path+"?limit=100&"+cursor+"="+id, nil)
			return response.StatusCode, requestID.ReplaceAllString(strings.ReplaceAll(string(data), id, "ID"), "req")
		}
		kinds := map[string]string{
			"/v1/customers": `{"name":"Abena"}`, "/v1/products": `{"name":"Juice"}`, "/v1/coupons": `{"percent_off":10}`,
			"/v1/plans": `{"name":"Juice","amount":100,"interval":"week"}`, "/v1/qr_codes": `{"reference":"stall"}`,
			"/v1/webhooks": `{"url":"http://127.0.0.1:9/h%d","events":["*"]}`, "/v1/invoices": `{` + oneLine + `}`,
		}
		deleted := map[string]string{}
		for path, body := range kinds {
			var ids []string
			for n := range 4 {
				content := body
				if strings.Contains(body, "%d") {
					content = fmt.Sprintf(body, n)
				}
				response, data := s.Do("POST", path, content)
				must.True(t, response.StatusCode == 200, "%s: %s", path, data)
				ids = append([]string{field(t, data, "id")}, ids...)
			}
			gone := ids[1]
			response, data := s.Do("DELETE", path+"/"+gone, nil)
			must.True(t, response.StatusCode == 200, "delete %s: %s", path, data)
			deleted[path] = gone
			expect.Same(t, listed(t, s, path+"?limit=2", "starting_after", gone), ids[2:], "%s after the deleted one", path)
			expect.Same(t, listed(t, s, path+"?limit=2", "ending_before", gone), ids[:1], "%s before the deleted one", path)
		}
		expect.Equal(t, len(listed(t, s, "/v1/qr_codes?reference=stall", "starting_after", deleted["/v1/qr_codes"])), 2, "with a filter")
		paths := slices.Sorted(maps.Keys(deleted))
		refused := func(s *paymentstest.Shop, what, path, id string) {
			t.Helper()
			for _, cursor := range []string{"starting_after", "ending_before"} {
				status, theirs := ask(s, path, cursor, id)
				_, nobodys := ask(s, path, cursor, like(id))
				expect.Equal(t, status, 400, "%s: status", what)
				expect.Equal(t, theirs, nobodys, "%s: theirs", what)
				expect.True(t, strings.Contains(theirs, `"resource_missing"`), "%s: %s with %s: %s, but of what does not exist %s", what, path, cursor, theirs, nobodys)
				expect.True(t, strings.Contains(theirs, `"param":"`+cursor+`"`), "%s: %s with %s: %s, but of what does not exist %s", what, path, cursor, theirs, nobodys)
			}
		}
		for n, path := range paths {
			refused(stranger, "a stranger", path, deleted[path])
			refused(live, "the live mode", path, deleted[path])
			refused(s, "another list", paths[(n+1)%len(paths)], deleted[path])
		}
		s.Advance(29 * 24 * time.Hour)
		must.Do(t, s.Drain(t.Context()))
		for _, path := range paths {
			expect.Equal(t, len(listed(t, s, path, "starting_after", deleted[path])), 2, "%s after 29 days", path)
		}
		s.Advance(25 * time.Hour)
		must.Do(t, s.Drain(t.Context()))
		for _, path := range paths {
			refused(s, "after 30 days", path, deleted[path])
		}
	})
}
