package httpapi_test

import (
	"fmt"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

func TestCatalogBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)

	product := field(t, step("products_create", "POST", "/v1/products",
		`{"name":"Sobolo 50 cl","description":"Hibiscus, ginger","unit_amount":1500,"currency":"GHS","taxable":true,"tax_percent":12.50,"metadata":{"shelf":3}}`), "id")
	plain := field(t, step("products_create_least", "POST", "/v1/products", `{"name":"Asaana","active":false}`), "id")
	step("products_get", "GET", "/v1/products/"+product, nil)
	step("products_update", "POST", "/v1/products/"+product,
		`{"name":"Sobolo","description":null,"unit_amount":null,"taxable":null,"tax_percent":null,"active":false,"metadata":{"shelf":"","row":"b"}}`)
	step("products_update_price", "POST", "/v1/products/"+product, `{"unit_amount":1600,"taxable":false,"tax_percent":0,"active":true}`)
	step("products_list", "GET", "/v1/products?limit=1", nil)
	step("products_list_inactive", "GET", "/v1/products?active=false", nil)

	coupon := field(t, step("coupons_create_percent", "POST", "/v1/coupons", `{"name":"Welcome","percent_off":12.5,"max_redemptions":3,"redeem_by":4102444800}`), "id")
	step("coupons_create_amount", "POST", "/v1/coupons", `{"amount_off":500,"duration":"repeating","duration_in_months":3,"active":false}`)
	step("coupons_get", "GET", "/v1/coupons/"+coupon, nil)
	step("coupons_update", "POST", "/v1/coupons/"+coupon, `{"name":null,"active":false,"percent_off":99,"metadata":{"for":"friends"}}`)
	step("coupons_list", "GET", "/v1/coupons", nil)
	step("coupons_delete", "DELETE", "/v1/coupons/"+coupon, nil)
	step("coupons_gone", "GET", "/v1/coupons/"+coupon, nil)

	plan := field(t, step("plans_create", "POST", "/v1/plans", fmt.Sprintf(
		`{"name":"Juice every week","amount":4500,"interval":"week","interval_count":2,"trial_period_days":0,"product":%q,"taxable":true,"tax_percent":20}`, product)), "id")
	step("plans_create_least", "POST", "/v1/plans", `{"name":"Water","amount":1,"interval":"year"}`)
	step("plans_get", "GET", "/v1/plans/"+plan, nil)
	step("plans_update", "POST", "/v1/plans/"+plan, `{"name":"Juice","active":false,"trial_period_days":14,"amount":1,"metadata":{"k":"v"}}`)
	step("plans_update_no_trial", "POST", "/v1/plans/"+plan, `{"trial_period_days":null}`)
	step("plans_list", "GET", "/v1/plans?active=true", nil)
	step("plans_list_of_product", "GET", "/v1/plans?product="+product, nil)
	step("products_delete", "DELETE", "/v1/products/"+product, nil)
	step("plans_of_deleted_product", "GET", "/v1/plans/"+plan, nil)
	step("plans_delete", "DELETE", "/v1/plans/"+plan, nil)
	for _, verb := range []string{"created", "updated", "deleted"} {
		step("event_plan."+verb, "GET", "/v1/events?limit=1&type=plan."+verb, nil)
	}

	// On invoices.
	juice := field(t, step("products_create_juice", "POST", "/v1/products", `{"name":"Asaana","unit_amount":1500,"taxable":true,"tax_percent":20}`), "id")
	once := field(t, step("coupons_create_once", "POST", "/v1/coupons", `{"percent_off":10,"max_redemptions":1}`), "id")
	body := fmt.Sprintf(`{"coupon":%q,"line_items":[{"product":%q,"quantity":3},{"description":"Delivery","unit_amount":505}]}`, once, juice)
	draft := "/v1/invoices/" + field(t, step("invoice_coupon", "POST", "/v1/invoices", body), "id")
	second := "/v1/invoices/" + field(t, step("invoice_coupon_again", "POST", "/v1/invoices", body), "id")
	step("invoice_coupon_finalize", "POST", draft+"/finalize", nil)
	step("coupons_redeemed", "GET", "/v1/coupons/"+once, nil)
	step("invoice_coupon_used_up", "POST", second+"/finalize", nil)
	step("invoice_coupon_off", "POST", second, `{"coupon":null}`)
	step("invoice_coupon_void", "POST", draft+"/void", nil)
	step("coupons_given_back", "GET", "/v1/coupons/"+once, nil)
	step("coupons_off", "POST", "/v1/coupons/"+once, `{"active":false}`)
	meet(
		t, s, refusal{"/v1/invoices", body, 400, "coupon_not_redeemable", "coupon"},
		refusal{second, fmt.Sprintf(`{"coupon":%q}`, once), 400, "coupon_not_redeemable", "coupon"},
	)

	meet(t, s,
		refusal{"/v1/products", `{"name":"x","unit_amount":1,"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{"/v1/products/" + plain, `{"unit_amount":1,"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{"/v1/coupons", `{"amount_off":1,"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{"/v1/plans", `{"name":"x","amount":1,"interval":"day","currency":"USD"}`, 400, "currency_not_supported", "currency"},
	)
}
