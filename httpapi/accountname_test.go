package httpapi_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

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
	for body, want := range map[string][2]string{
		`{}`:                                          {"parameter_missing", "phone_number"},
		`{"bank_code":"300304"}`:                      {"parameter_missing", "account_number"},
		`{"account_number":"12345678"}`:               {"parameter_missing", "bank_code"},
		`{"phone_number":"12"}`:                       {"invalid_phone_number", "phone_number"},
		`{"phone_number":5}`:                          {"parameter_invalid", "phone_number"},
		`{"type":"cheque"}`:                           {"parameter_invalid", "type"},
		`{"type":"service_wallet"}`:                   {"parameter_invalid", "type"},
		`{"account_number":"1","bank_code":"300304"}`: {"invalid_destination", "account_number"},
	} {
		response, data := s.Do("POST", path, body)
		wants(t, body, response, data, 400, want[0], want[1])
	}
	response, data := s.Do("POST", "/v1/disbursements",
		`{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234560","account_name":"Ama Owusu","match_account_name":true}}`)
	golden(t, "account_name_mismatch", response, data)
	response, data = s.Do("POST", "/v1/disbursements",
		`{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234560","account_name":"kofi mensah","match_account_name":true}}`)
	wants(t, "the right name", response, data, 200, "", "")
}
