package httpapi_test

import (
	"fmt"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
)

func drain(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	must.Do(t, s.Drain(t.Context()))
}

// TestTransferBodies walks through everything that sends money out.
func TestTransferBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := func(name, method, path string, body any) []byte {
		t.Helper()
		response, data := s.Do(method, path, body)
		golden(t, name, response, data)
		return data
	}
	id := func(data []byte) string { return field(t, data, "id") }
	agent := step("cash_agent_main", "POST", "/v1/test_helpers/cash_agents", `{"name":"Kojo Agent","phone_number":"0201234567","pin":"1234"}`)
	sub := step("cash_agent_sub", "POST", "/v1/test_helpers/cash_agents", `{"name":"Esi Sub","phone_number":"0201234568","pin":"1234","sub_agent":true}`)
	merchant := must.Get(s.Accounts.GetMerchant(t.Context(), api.Caller{}, s.Caller.Merchant))(t)

	step("otp_request", "POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`)
	otp := requestOTP(t, s)
	step("otp_verify", "POST", "/v1/otp/verify", fmt.Sprintf(`{"purpose":"PAYOUT","code":%q}`, otp))

	payout := func(amount, destination string) string {
		return fmt.Sprintf(`{"amount":%s,"destination":%s,"otp_code":%q,"description":"Supplies","metadata":{"order":7}}`, amount, destination, otp)
	}
	mobile := id(step("payout_mobile_money", "POST", "/v1/payouts", payout("150.5", `{"type":"mobile_money","phone_number":"0241234567","account_name":"Kofi Mensah"}`)))
	drain(t, s) // one at a time, so that the order of events is certain
	step("payout_bank_transfer", "POST", "/v1/payouts", payout("19.99", `{"type":"bank_transfer","account_number":"1020304050607","bank_code":"300304","account_name":"Kofi Mensah"}`))
	drain(t, s)
	failing := id(step("payout_ported", "POST", "/v1/payouts", payout("1.15", `{"type":"mobile_money","phone_number":"+233 24 123-0901","provider":"telecel"}`)))
	drain(t, s)
	step("payout_consumer", "POST", "/v1/payouts", payout("4.35", `{"type":"service_wallet","phone_number":"0241000001"}`))
	step("payout_cash_agent", "POST", "/v1/payouts", payout("8.41", `{"type":"service_wallet","service_id":"`+field(t, agent, "service_id")+`"}`))
	cancelled := id(step("payout_to_cancel", "POST", "/v1/payouts", payout("2", `{"type":"mobile_money","phone_number":"0551234567"}`)))
	step("balance_reserved", "GET", "/v1/balance", nil)
	step("payout_cancel", "POST", "/v1/payouts/"+cancelled+"/cancel", nil)
	step("payout_succeeded", "GET", "/v1/payouts/"+mobile, nil)
	step("payout_failed", "GET", "/v1/payouts/"+failing, nil)
	step("payout_list", "GET", "/v1/payouts?limit=2", nil)
	step("payout_list_completed", "GET", "/v1/payouts?status=completed&limit=1", nil)

	slow := id(step("disbursement_mobile_money", "POST", "/v1/disbursements", `{"amount":0.01,"destination":{"type":"mobile_money","phone_number":"0261230903"},"reference":"salary-1"}`))
	step("disbursement_consumer", "POST", "/v1/disbursements", `{"amount":3,"destination":{"type":"service_wallet","account_id":"`+s.Consumer.ID+`"},"reference":"salary-2","description":"March","metadata":{"id":1.50}}`)
	drain(t, s)
	step("disbursement_processing", "GET", "/v1/disbursements/"+slow, nil)
	step("disbursement_settled", "POST", "/v1/test_helpers/disbursements/"+slow+"/settle", `{"outcome":"succeeded"}`)
	step("disbursement_list", "GET", "/v1/disbursements", nil)
	refused := id(step("payout_slow", "POST", "/v1/payouts", payout("1", `{"type":"bank_transfer","account_number":"99990903","bank_code":"300312"}`)))
	step("payout_settled_failed", "POST", "/v1/test_helpers/payouts/"+refused+"/settle", `{"outcome":"failed","failure_reason":"The bank was closed."}`)

	code := step("consumer_qr_fixed", "POST", "/v1/test_helpers/consumer_qrs", fmt.Sprintf(`{"account_id":%q,"type":"dynamic","amount":19.99}`, s.Consumer.ID))
	step("disbursement_qr", "POST", "/v1/disbursements/qr", map[string]any{"qr_payload": field(t, code, "qr_payload"), "reference": "gift"})

	step("lookup_banks", "GET", "/v1/lookup/banks", nil)
	for name, id := range map[string]string{
		"consumer": s.Consumer.ServiceID, "cash_agent": field(t, agent, "service_id"),
		"sub_agent": field(t, sub, "service_id"), "merchant": merchant.ServiceID,
	} {
		step("lookup_"+name, "POST", "/v1/lookup/service-id", map[string]string{"service_id": id})
	}
	for _, kind := range []string{
		"payout.created", "payout.pending", "payout.processing", "payout.completed", "payout.failed", "payout.canceled",
		"disbursement.created", "disbursement.completed",
	} {
		step("event_"+kind, "GET", "/v1/events?limit=1&type="+kind, nil)
	}
	step("entries_of_transfers", "GET", "/v1/balance/entries?limit=20", nil)
	verified(t, s)
}
