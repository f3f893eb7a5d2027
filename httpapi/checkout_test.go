package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
)

// order is the body of a session, with more fields at its end.
func order(more string) string {
	return `{"success_url":"https://shop.example/thanks?id={CHECKOUT_SESSION_ID}","line_items":[{"description":"Kente shirt","unit_amount":24000}]` + more + `}`
}

func TestCheckoutBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)
	const sessions = "/v1/checkout/sessions"

	customer := field(t, step("checkout_customer", "POST", "/v1/customers", `{"name":"Akua Owusu","email":"akua@example.com","phone_number":"0201112223"}`), "id")
	product := field(t, step("checkout_product", "POST", "/v1/products", `{"name":"Wax print, 6 yards","unit_amount":12000,"taxable":true,"tax_percent":20}`), "id")
	coupon := field(t, step("checkout_coupon", "POST", "/v1/coupons", `{"name":"AKWAABA","percent_off":12.5}`), "id")
	full := sessions + "/" + field(t, step("checkout_create", "POST", sessions, fmt.Sprintf(
		`{"mode":"payment","success_url":"https://shop.example/thanks?id={CHECKOUT_SESSION_ID}","cancel_url":"https://shop.example/cart",
		"customer":%q,"coupon":%q,"currency":"GHS","reference":"Order 2041","metadata":{"order":2041},
		"line_items":[{"product":%q,"quantity":2},{"description":"Delivery","unit_amount":2400}],"expires_at":%d}`,
		customer, coupon, product, time.Now().Add(time.Hour).Unix())), "id")
	least := field(t, step("checkout_create_least", "POST", sessions, order(`,"customer_name":"Ama","customer_email":"ama@example.com","customer_phone":"024 123 4567"`)), "id")
	step("checkout_get", "GET", full, nil)
	step("checkout_lines", "GET", full+"/lines?limit=1", nil)
	step("checkout_list", "GET", sessions+"?limit=1", nil)
	step("checkout_list_of_customer", "GET", sessions+"?status=open&customer="+customer, nil)
	pay := "/v1/test_helpers/checkout/sessions/"
	step("checkout_pay_phone", "POST", pay+least+"/pay", `{"phone_number":"0241234567"}`)
	must.Do(t, s.Drain(t.Context()))
	paid := field(t, step("checkout_paid", "GET", sessions+"/"+least, nil), "payment")
	step("checkout_payment", "GET", "/v1/payments/"+paid, nil)
	step("checkout_list_of_payment", "GET", sessions+"?payment="+paid, nil)
	step("checkout_expire", "POST", full+"/expire", nil)
	step("checkout_expire_again", "POST", full+"/expire", nil)
	for _, verb := range []string{"completed", "expired"} {
		step("event_checkout.session."+verb, "GET", "/v1/events?limit=1&type=checkout.session."+verb, nil)
	}
	wallet := field(t, step("checkout_create_wallet", "POST", sessions, order("")), "id")
	step("checkout_pay_wallet", "POST", pay+wallet+"/pay", fmt.Sprintf(`{"account_id":%q,"pin":%q}`, s.Consumer.ID, s.PIN))
	plan := field(t, step("checkout_plan", "POST", "/v1/plans", `{"name":"Juice every week","amount":4500,"interval":"week"}`), "id")
	member := field(t, step("checkout_create_subscription", "POST", sessions, fmt.Sprintf(
		`{"mode":"subscription","plan":%q,"quantity":2,"success_url":"https://shop.example/","customer_name":"Ama"}`, plan)), "id")
	step("checkout_pay_subscription", "POST", pay+member+"/pay", `{"phone_number":"0271234567"}`)
	must.Do(t, s.Drain(t.Context()))
	begun := field(t, step("checkout_subscribed", "GET", sessions+"/"+member, nil), "subscription")
	step("checkout_subscription", "GET", "/v1/subscriptions/"+begun, nil)
	step("checkout_subscription_payment", "GET", "/v1/payments?subscription="+begun, nil)
	step("checkout_list_of_subscription", "GET", sessions+"?subscription="+begun, nil)
	free := field(t, step("checkout_create_free", "POST", sessions, `{"success_url":"https://shop.example/","line_items":[{"description":"A gift","unit_amount":0}]}`), "id")
	step("checkout_pay_free", "POST", pay+free+"/pay", nil)
	held := field(t, step("checkout_create_held", "POST", sessions, order("")), "id")
	step("checkout_pay_never", "POST", pay+held+"/pay", `{"phone_number":"0241230903"}`)
	step("checkout_held", "POST", sessions+"/"+held+"/expire", nil)

	meet(t, s,
		refusal{sessions, order(`,"currency":"USD"`), 400, "currency_not_supported", "currency"},
		refusal{sessions, order(`,"customer_phone":"12"`), 400, "invalid_phone_number", "customer_phone"},
		refusal{pay + held + "/pay", `{}`, 409, "payment_in_progress", ""},
		refusal{pay + wallet + "/pay", `{}`, 409, "checkout_not_open", ""},
	)
	another := field(t, step("checkout_create_another", "POST", sessions, order("")), "id")
	meet(t, s, refusal{pay + another + "/pay", `{"account_id":"` + s.Consumer.ID + `","pin":"0000"}`, 403, "pin_invalid", "pin"})
	last := made(t, s, "/v1/coupons", `{"percent_off":1,"max_redemptions":1}`)
	one, two := field(t, step("checkout_create_last", "POST", sessions, order(`,"coupon":"`+last+`"`)), "id"), field(t, step("checkout_create_late", "POST", sessions, order(`,"coupon":"`+last+`"`)), "id")
	s.PaySession(one, "0201234567")
	must.Do(t, s.Drain(t.Context()))
	frozen, _ := holder(t, s, "consumers", `{"name":"Frozen","pin":"4321","status":"frozen"}`)
	poor, _ := holder(t, s, "consumers", `{"name":"Poor","pin":"4321"}`)
	meet(
		t, s, refusal{sessions, order(`,"coupon":"` + last + `"`), 400, "coupon_not_redeemable", "coupon"},
		refusal{pay + two + "/pay", `{"phone_number":"0241234567"}`, 400, "coupon_not_redeemable", "coupon"},
		refusal{pay + another + "/pay", `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{pay + another + "/pay", `{"phone_number":"0241230908"}`, 429, "too_many_prompts", ""},
		refusal{pay + another + "/pay", `{"account_id":"acc_1","pin":"0000"}`, 400, "account_not_found", ""},
		refusal{pay + another + "/pay", `{"account_id":"` + frozen + `","pin":"4321"}`, 402, "wallet_not_active", ""},
		refusal{pay + another + "/pay", `{"account_id":"` + poor + `","pin":"4321"}`, 402, "insufficient_balance", ""},
	)
	for range 4 {
		s.Do("POST", pay+another+"/pay", `{"account_id":"`+s.Consumer.ID+`","pin":"0000"}`)
	}
	meet(t, s, refusal{pay + another + "/pay", `{"account_id":"` + s.Consumer.ID + `","pin":"1234"}`, 403, "pin_locked", "pin"})
}
