package inspector_test

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestCatalogForms(t *testing.T) { onEachStore(t, testCatalogForms) }

func testCatalogForms(t *testing.T, s *site) {
	at, body := s.do("products", "create", "name", "Sobolo", "description", "Hibiscus", "unit_amount", "15", "tax_percent", "12.5")
	shows(t, body, "Created.", "<h1>Sobolo", "GH₵15.00", "12.5%", "Hibiscus", "No plans yet")
	product := path.Base(at)

	at, body = s.do("plans", "create", "name", "Juice", "amount", "45", "interval", "week", "interval_count", "2", "trial_period_days", "14", "product", product)
	shows(t, body, "<h1>Juice", "GH₵45.00 every 2 weeks", "products/"+product, "plan.created")
	plan := path.Base(at)
	shows(t, s.page("products/"+product), "plans/"+plan)
	shows(t, s.page("plans?product="+product), "every 2 weeks")
	_, body = s.do("plans/"+plan, "deactivate")
	shows(t, body, "It is switched off.", "plan.updated")
	expect.True(t, !strings.Contains(s.page("plans?active=active"), plan), "the filter shows what is off")
	answer, body := s.post("plans", s.token(), "create", "name", "Juice", "amount", "45", "interval", "year", "interval_count", "4")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "too long a period")
	shows(t, body, "aria-invalid", `value="4"`)

	answer, body = s.post("coupons", s.token(), "create", "percent_off", "10", "redeem_by", "soon")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "no day")
	shows(t, body, "aria-invalid", "Enter a day")
	at, body = s.do("coupons", "create", "name", "Welcome", "percent_off", "10", "max_redemptions", "1", "redeem_by", "2999-12-31")
	shows(t, body, "Welcome", "10% off", "31 Dec 2999, 00:00")
	coupon := path.Base(at)
	at, body = s.do("coupons", "create", "amount_off", "2.50")
	shows(t, body, "GH₵2.50 off")
	shows(t, s.page("coupons"), path.Base(at), "Welcome")

	// A draft takes both.
	at, body = s.do("invoices", "create", "product", product, "quantity", "2")
	shows(t, body, "Sobolo", "30.00")
	draft := "invoices/" + path.Base(at)
	_, body = s.do(draft, "coupon", "coupon", coupon)
	shows(t, body, "Discount 10%", "−3.00", "coupons/"+coupon)
	_, body = s.do(draft, "coupon", "coupon", "")
	expect.True(t, !strings.Contains(body, "Discount 10%"), "the coupon is still on the draft")
	s.do(draft, "coupon", "coupon", coupon)
	s.do(draft, "finalize")
	shows(t, s.page("coupons/"+coupon), "Used 1")

	_, body = s.do("coupons/"+coupon, "deactivate")
	shows(t, body, "It is switched off.")
	_, body = s.do("coupons/"+coupon, "activate")
	shows(t, body, "It is active.")
	for _, page := range []string{"coupons/" + coupon, "plans/" + plan, "products/" + product} {
		_, body := s.do(page, "delete")
		shows(t, body, "Deleted.")
		answer, _ := s.get(s.at(page))
		expect.Equal(t, answer.StatusCode, http.StatusNotFound, "%s", page)
	}
}
