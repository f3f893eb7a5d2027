package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
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
