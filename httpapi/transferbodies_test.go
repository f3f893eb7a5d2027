package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

func drain(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	must.Do(t, s.Drain(t.Context()))
}

// TestTransferBodies walks through everything that sends money out.
func TestTransferBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)
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
	step("disbursement_reversed", "POST", "/v1/test_helpers/disbursements/"+slow+"/settle", `{"outcome":"reversed","failure_reason":"The wallet was closed."}`)
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

func TestAccountNameBodies(t *testing.T) {
	s := paymentstest.New(t)
	const path = "/v1/lookup/account-name"
	for name, body := range map[string]string{
		"account_name_mobile_money": `{"phone_number":"024 123-4560"}`,
		"account_name_ported":       `{"type":"mobile_money","phone_number":"0241234561","provider":"telecel"}`,
		"account_name_bank":         `{"type":"bank_transfer","account_number":"1020304050607","bank_code":"300304"}`,
		"account_name_none":         `{"phone_number":"0241230902"}`,
		"account_name_silent":       `{"phone_number":"0241230905"}`,
	} {
		response, data := s.Do("POST", path, body)
		golden(t, name, response, data)
	}
	meet(t, s,
		refusal{path, `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{path, `{"account_number":"1","bank_code":"300304"}`, 400, "invalid_destination", "account_number"},
	)
	response, data := s.Do("POST", "/v1/disbursements",
		`{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234560","account_name":"Ama Owusu","match_account_name":true}}`)
	golden(t, "account_name_mismatch", response, data)
	response, data = s.Do("POST", "/v1/disbursements",
		`{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234560","account_name":"kofi mensah","match_account_name":true}}`)
	wants(t, "the right name", response, data, 200, "", "")
}

func TestBatchBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)
	batch := `{"description":"Salaries","reference":"2026-03","metadata":{"month":3},"rows":[
		{"amount":150.5,"destination":{"type":"mobile_money","phone_number":"0241234567","account_name":"Kofi Mensah"},"reference":"staff-1","idempotency_key":"salary-1"},
		{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241230906"},"reference":"staff-2"},
		{"amount":20,"destination":{"type":"service_wallet","account_id":"` + s.Consumer.ID + `"},"description":"March"},
		{"amount":5000,"destination":{"type":"bank_transfer","account_number":"1020304050607","bank_code":"300304"}},
		{"amount":2,"destination":{"type":"mobile_money","phone_number":"0241230901"}}]}`
	made := step("batch_create", "POST", "/v1/disbursements/batch", batch, "Idempotency-Key", "b-1")
	id := field(t, made, "id")
	if response, again := s.Do("POST", "/v1/disbursements/batch", batch, "Idempotency-Key", "b-1"); string(again) != string(made) || response.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeated: %s", again)
	}
	step("batch_rows_queued", "GET", "/v1/disbursements/batch/"+id+"/rows?limit=2", nil)
	drain(t, s)
	step("batch_get", "GET", "/v1/disbursements/batch/"+id, nil)
	rows := step("batch_rows", "GET", "/v1/disbursements/batch/"+id+"/rows", nil)
	step("batch_rows_refused", "GET", "/v1/disbursements/batch/"+id+"/rows?status=refused", nil)
	step("batch_rows_next", "GET", "/v1/disbursements/batch/"+id+"/rows?starting_after="+field(t, rows, "data.3.id"), nil)
	step("batch_list", "GET", "/v1/disbursements/batch?status=completed", nil)
	step("batch_list_none", "GET", "/v1/disbursements/batch?status=pending", nil)
	step("event_disbursement_batch.created", "GET", "/v1/events?type=disbursement_batch.created", nil)
	step("event_disbursement_batch.completed", "GET", "/v1/events?type=disbursement_batch.completed", nil)
	step("batch_unknown", "GET", "/v1/disbursements/batch/cancel", nil)
	if response, data := s.Do("POST", "/v1/disbursements/batch/cancel", nil); response.StatusCode != 405 || response.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST to a batch: %d %s", response.StatusCode, data)
	}
	// The row's key is the disbursement's own.
	alone := `{"amount":150.5,"destination":{"type":"mobile_money","phone_number":"0241234567","account_name":"Kofi Mensah"},"reference":"staff-1"}`
	response, data := s.Do("POST", "/v1/disbursements", alone, "Idempotency-Key", "salary-1")
	expect.True(t, field(t, data, "id") == field(t, rows, "data.0.disbursement.id") && response.Header.Get("Idempotent-Replayed") == "true", "alone: %s", data)
	verified(t, s)
}

// The body of a batch may be longer than other bodies, up to its own limit.
func TestBatchBodyLimit(t *testing.T) {
	s := paymentstest.New(t)
	rows := make([]string, 1000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","account_id":%q},"description":"%0400d"}`, s.Consumer.ID, i)
	}
	response, data := s.Do("POST", "/v1/disbursements/batch", `{"rows":[`+strings.Join(rows, ",")+`]}`)
	wants(t, "a thousand rows", response, data, 200, "", "")
	response, data = s.Do("POST", "/v1/disbursements/batch", `{"rows":[],"description":"`+strings.Repeat("a", 2<<20)+`"}`)
	wants(t, "too long", response, data, 413, "body_too_large", "")
}
