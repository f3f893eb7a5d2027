package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

// newMember makes a customer with a phone, and newPlan a plan that costs GHS 50 a month.
func newMember(t *testing.T, s *paymentstest.Shop) string {
	t.Helper()
	return made(t, s, "/v1/customers", `{"name":"Ama Serwaa","email":"ama@example.com","phone_number":"0241234567"}`)
}

func newPlan(t *testing.T, s *paymentstest.Shop, more string) string {
	t.Helper()
	return made(t, s, "/v1/plans", `{"name":"Gold","amount":5000,"interval":"month"`+more+`}`)
}

func TestSubscriptionBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)
	member, gold := newMember(t, s), newPlan(t, s, "")
	coupon := made(t, s, "/v1/coupons", `{"percent_off":20,"duration":"repeating","duration_in_months":3}`)

	is := field(t, step("subscriptions_create", "POST", "/v1/subscriptions",
		fmt.Sprintf(`{"customer":%q,"plan":%q,"quantity":2,"coupon":%q,"days_until_due":3,"metadata":{"locker":7}}`, member, gold, coupon)), "id")
	path := "/v1/subscriptions/" + is
	tried := field(t, step("subscriptions_create_trial", "POST", "/v1/subscriptions",
		fmt.Sprintf(`{"customer":%q,"plan":%q,"trial_period_days":14,"collection_method":"charge_automatically"}`, member, gold)), "id")
	step("subscriptions_create_trial_end", "POST", "/v1/subscriptions",
		fmt.Sprintf(`{"customer":%q,"plan":%q,"trial_end":%d}`, member, gold, time.Now().AddDate(0, 0, 1).Unix()))
	step("subscriptions_get", "GET", path, nil)
	step("subscriptions_list", "GET", "/v1/subscriptions?limit=1&customer="+member, nil)
	step("subscriptions_list_trialing", "GET", "/v1/subscriptions?status=trialing&limit=1&plan="+gold, nil)
	step("subscriptions_invoices", "GET", "/v1/invoices?subscription="+is, nil)
	for _, verb := range []string{"created", "trial_will_end"} {
		drain(t, s)
		step("event_subscription."+verb, "GET", "/v1/events?limit=1&type=subscription."+verb, nil)
	}
	step("subscriptions_update", "POST", path,
		`{"quantity":3,"proration":"none","coupon":null,"collection_method":"charge_automatically","phone_number":"0201112223","days_until_due":10,"cancel_at_period_end":true,"metadata":{"locker":null,"coach":"Yaw"}}`)
	step("event_subscription.updated", "GET", "/v1/events?limit=1&type=subscription.updated", nil)
	step("subscriptions_update_back", "POST", path, `{"cancel_at_period_end":false,"collection_method":"send_invoice","phone_number":null}`)
	step("subscriptions_pause", "POST", path+"/pause", nil)
	step("subscriptions_pause_again", "POST", path+"/pause", nil)
	step("subscriptions_resume", "POST", path+"/resume", nil)
	step("subscriptions_resume_again", "POST", path+"/resume", nil)
	for _, verb := range []string{"paused", "resumed"} {
		step("event_subscription."+verb, "GET", "/v1/events?limit=1&type=subscription."+verb, nil)
	}
	step("subscriptions_cancel_at_end", "POST", "/v1/subscriptions/"+tried+"/cancel", `{"at_period_end":true}`)
	step("subscriptions_cancel", "POST", path+"/cancel", nil)
	step("subscriptions_cancel_again", "POST", path+"/cancel", `{}`)
	step("event_subscription.canceled", "GET", "/v1/events?limit=1&type=subscription.canceled", nil)
	step("subscriptions_pause_cancelled", "POST", path+"/pause", nil)
	step("subscriptions_resume_cancelled", "POST", path+"/resume", nil)
	step("subscriptions_update_cancelled", "POST", path, `{"quantity":1}`)
}

func TestRefusalsOfSubscriptions(t *testing.T) {
	s := paymentstest.New(t)
	const create = "/v1/subscriptions"
	body := fmt.Sprintf(`{"customer":%q,"plan":%q`, newMember(t, s), newPlan(t, s, ""))
	_, data := s.Do("POST", create, body+"}")
	path := create + "/" + field(t, data, "id")
	_, data = s.Do("POST", "/v1/coupons", `{"amount_off":1,"active":false}`)
	coupon := `"coupon":"` + field(t, data, "id") + `"}`
	meet(t, s,
		refusal{create, body + `,"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{path, `{"phone_number":"0301234567"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{create, body + "," + coupon, 400, "coupon_not_redeemable", "coupon"},
		refusal{path, "{" + coupon, 400, "coupon_not_redeemable", "coupon"},
	)
	narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"subscriptions"}})
	response, data := narrow.Do("POST", create, body+"}")
	wants(t, "a key that may not read customers", response, data, 403, "permission_denied", "customer")
}
