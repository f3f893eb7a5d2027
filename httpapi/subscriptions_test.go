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
	_, data := s.Do("POST", "/v1/customers", `{"name":"Ama Serwaa","email":"ama@example.com","phone_number":"0241234567"}`)
	return field(t, data, "id")
}

func newPlan(t *testing.T, s *paymentstest.Shop, more string) string {
	t.Helper()
	_, data := s.Do("POST", "/v1/plans", `{"name":"Gold","amount":5000,"interval":"month"`+more+`}`)
	return field(t, data, "id")
}

func TestSubscriptionBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)
	member, gold := newMember(t, s), newPlan(t, s, "")
	_, data := s.Do("POST", "/v1/coupons", `{"percent_off":20,"duration":"repeating","duration_in_months":3}`)
	coupon := field(t, data, "id")

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
	member, gold := newMember(t, s), newPlan(t, s, "")
	_, data := s.Do("POST", "/v1/customers", `{"name":"Esi"}`)
	phoneless := field(t, data, "id")
	of := func(more string) string { return fmt.Sprintf(`{"customer":%q,"plan":%q%s}`, member, gold, more) }
	_, data = s.Do("POST", "/v1/subscriptions", of(""))
	path := "/v1/subscriptions/" + field(t, data, "id")
	deleted := newPlan(t, s, "")
	s.Do("DELETE", "/v1/plans/"+deleted, nil)
	inactive := newPlan(t, s, `,"active":false`)
	_, data = s.Do("POST", "/v1/coupons", `{"amount_off":1,"active":false}`)
	coupon := field(t, data, "id")
	_, data = s.Do("POST", "/v1/coupons", `{"amount_off":1,"max_redemptions":1}`)
	last := field(t, data, "id")
	s.Do("POST", "/v1/subscriptions", of(`,"coupon":"`+last+`"`))

	const create = "/v1/subscriptions"
	meet(
		t, s, refusal{create, `{"plan":"` + gold + `"}`, 400, "parameter_missing", "customer"},
		refusal{create, `{"customer":"` + member + `"}`, 400, "parameter_missing", "plan"},
		refusal{create, `{"customer":"cus_1","plan":"` + gold + `"}`, 400, "resource_missing", "customer"},
		refusal{create, `{"customer":"` + member + `","plan":"plan_1"}`, 400, "resource_missing", "plan"},
		refusal{create, `{"customer":"` + member + `","plan":"` + deleted + `"}`, 400, "resource_missing", "plan"},
		refusal{create, `{"customer":"` + member + `","plan":"` + inactive + `"}`, 400, "parameter_invalid", "plan"},
		refusal{create, `{"customer":5,"plan":"` + gold + `"}`, 400, "parameter_invalid", "customer"},
		refusal{create, `{"customer":"` + phoneless + `","plan":"` + gold + `","collection_method":"charge_automatically"}`, 400, "parameter_missing", "phone_number"},
		refusal{create, of(`,"trial_period_days":1,"trial_end":4102444800`), 400, "parameter_invalid", "trial_end"},
		refusal{create, of(`,"trial_end":4102444800`), 400, "parameter_invalid", "trial_end"},
		refusal{create, of(`,"trial_end":1000000000`), 400, "parameter_invalid", "trial_end"},
		refusal{create, of(`,"trial_end":"2099-01-01"`), 400, "parameter_invalid", "trial_end"},
		refusal{create, of(`,"quantity":20000`), 400, "parameter_invalid", "quantity"}, // beyond 99,999,999 pesewas
		refusal{create, of(`,"phone_number":"12"`), 400, "invalid_phone_number", "phone_number"},
		refusal{path, `{"phone_number":"0301234567"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{path, `{"plan":"plan_1"}`, 400, "resource_missing", "plan"},
		refusal{path, `{"plan":"` + inactive + `"}`, 400, "parameter_invalid", "plan"},
		refusal{path, `{"plan":""}`, 400, "parameter_invalid", "plan"},
		refusal{path, `{"proration":"half"}`, 400, "parameter_invalid", "proration"},
		refusal{path, `{"cancel_at_period_end":"yes"}`, 400, "parameter_invalid", "cancel_at_period_end"},
		refusal{path + "/cancel", `{"at_period_end":1}`, 400, "parameter_invalid", "at_period_end"},
	)
	for field, values := range map[string][]string{
		"quantity":          {`0`, `-1`, `1.5`, `"2"`, `1000001`, `true`},
		"trial_period_days": {`-1`, `731`, `1.5`, `"1"`},
		"days_until_due":    {`-1`, `366`, `1.5`, `"1"`},
		"collection_method": {`"sometimes"`, `1`},
		"metadata":          {`"x"`, `{"a":[1]}`},
	} {
		for _, value := range values {
			more := fmt.Sprintf(`%q:%s`, field, value)
			param := field
			if value == `{"a":[1]}` {
				param = "metadata.a"
			}
			meet(t, s, refusal{create, of("," + more), 400, "parameter_invalid", param})
			if field != "trial_period_days" {
				meet(t, s, refusal{path, "{" + more + "}", 400, "parameter_invalid", param})
			}
		}
	}
	for _, id := range []string{coupon, last} {
		meet(
			t, s, refusal{create, of(`,"coupon":"` + id + `"`), 400, "coupon_not_redeemable", "coupon"},
			refusal{path, `{"coupon":"` + id + `"}`, 400, "coupon_not_redeemable", "coupon"},
		)
	}
	meet(t, s, refusal{path, `{"coupon":"cpn_1"}`, 400, "resource_missing", "coupon"})
	for query, want := range map[string][2]string{
		"status=gone":             {"parameter_invalid", "status"},
		"customer=":               {"parameter_invalid", "customer"},
		"starting_after=sub_1":    {"resource_missing", "starting_after"},
		"created=2026-13-01":      {"parameter_invalid", "created"},
		"limit=101":               {"parameter_invalid", "limit"},
		"ending_before=" + member: {"resource_missing", "ending_before"},
	} {
		response, data := s.Do("GET", create+"?"+query, nil)
		wants(t, query, response, data, 400, want[0], want[1])
	}
	narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"subscriptions"}})
	response, data := narrow.Do("POST", create, of(""))
	wants(t, "a key that may not read customers", response, data, 403, "permission_denied", "customer")
}
