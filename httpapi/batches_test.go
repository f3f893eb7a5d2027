package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

func TestBatchBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := func(name, method, path string, body any, headers ...string) []byte {
		t.Helper()
		response, data := s.Do(method, path, body, headers...)
		golden(t, name, response, data)
		return data
	}
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
	if field(t, data, "id") != field(t, rows, "data.0.disbursement.id") || response.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("alone: %s", data)
	}
	verified(t, s)
}

func TestBatchRefusals(t *testing.T) {
	s := paymentstest.New(t)
	fine := `{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`
	with := func(rows ...string) string { return `{"rows":[` + strings.Join(rows, ",") + `]}` }
	many := make([]string, 1001)
	for i := range many {
		many[i] = fine
	}
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		param  string
	}{
		"no rows":          {`{}`, 400, "parameter_missing", "rows"},
		"empty":            {`{"rows":[]}`, 400, "parameter_missing", "rows"},
		"no array":         {`{"rows":{}}`, 400, "parameter_invalid", "rows"},
		"no object":        {with(fine, `5`), 400, "parameter_invalid", "rows[1]"},
		"too many":         {with(many...), 400, "parameter_invalid", "rows"},
		"no amount":        {with(fine, `{"destination":{}}`), 400, "parameter_missing", "rows[1].amount"},
		"an amount of 0":   {with(fine, `{"amount":0,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`), 400, "amount_too_small", "rows[1].amount"},
		"a text":           {with(`{"amount":"1","destination":{}}`), 400, "parameter_invalid", "rows[0].amount"},
		"a wrong phone":    {with(fine, `{"amount":1,"destination":{"type":"mobile_money","phone_number":"12"}}`), 400, "invalid_phone_number", "rows[1].destination.phone_number"},
		"an unknown bank":  {with(fine, `{"amount":1,"destination":{"type":"bank_transfer","account_number":"123456","bank_code":"1"}}`), 400, "invalid_destination", "rows[1].destination.bank_code"},
		"nobody's wallet":  {with(fine, `{"amount":1,"destination":{"type":"service_wallet","account_id":"acc_1"}}`), 400, "account_not_found", "rows[1].destination.account_id"},
		"a name to match":  {with(`{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241234567","match_account_name":true}}`), 400, "parameter_missing", "rows[0].destination.account_name"},
		"another currency": {with(`{"amount":1,"currency":"USD","destination":{"type":"mobile_money","phone_number":"0241234567"}}`), 400, "currency_not_supported", "rows[0].currency"},
		"a key twice": {with(`{"amount":1,"idempotency_key":"k","destination":{"type":"mobile_money","phone_number":"0241234567"}}`,
			`{"amount":2,"idempotency_key":"k","destination":{"type":"mobile_money","phone_number":"0241234567"}}`), 400, "parameter_invalid", "rows[1].idempotency_key"},
		"an empty key":     {with(`{"amount":1,"idempotency_key":"","destination":{"type":"mobile_money","phone_number":"0241234567"}}`), 400, "parameter_invalid", "rows[0].idempotency_key"},
		"a key of letters": {with(`{"amount":1,"idempotency_key":"ɛ","destination":{"type":"mobile_money","phone_number":"0241234567"}}`), 400, "parameter_invalid", "rows[0].idempotency_key"},
		"too long":         {`{"rows":[],"description":"` + strings.Repeat("a", 2<<20) + `"}`, 413, "body_too_large", ""},
	} {
		response, data := s.Do("POST", "/v1/disbursements/batch", c.body)
		wants(t, name, response, data, c.status, c.code, c.param)
		if message := field(t, data, "error.message"); strings.HasPrefix(c.param, "rows[") && !strings.Contains(message, c.param[:7]) {
			t.Errorf("%s: the message does not say which row: %s", name, message)
		}
	}
	for _, path := range []string{"/v1/disbursements/batch", "/v1/disbursements"} {
		if _, data := s.Do("GET", path, nil); field(t, data, "data.0.id") != "" {
			t.Errorf("%s: something was made: %s", path, data)
		}
	}
	// Whole, it is longer than other bodies may be.
	for i := range many {
		many[i] = fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","account_id":%q},"description":"%0400d"}`, s.Consumer.ID, i)
	}
	response, data := s.Do("POST", "/v1/disbursements/batch", with(many[:1000]...))
	wants(t, "a thousand rows", response, data, 200, "", "")
	drain(t, s)
	_, data = s.Do("GET", "/v1/disbursements/batch/"+field(t, data, "id"), nil)
	if field(t, data, "counts.made") != "1000" || field(t, data, "status") != "completed" || field(t, data, "amount") != "10" {
		t.Errorf("a thousand rows: %s", data)
	}
	_, data = s.Do("GET", "/v1/balance", nil)
	if field(t, data, "available") != "990" {
		t.Errorf("the balance: %s", data)
	}
	verified(t, s)
}
