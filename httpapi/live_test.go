package httpapi_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

// Live mode without what a call needs answers 503 before anything is reserved or kept.
// Paying an invoice alone answers payment_failed.
func TestLiveModeWithoutProviders(t *testing.T) {
	s := paymentstest.New(t)
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	invoice := func(body string) string {
		_, data := live.Do("POST", "/v1/invoices", body)
		return field(t, data, "id")
	}
	owed := invoice(`{"auto_finalize":true,"customer_phone":"0241112222","customer_email":"efua@example.com","line_items":[{"description":"Rice","unit_amount":2500}]}`)
	const (
		phone = `{"type":"mobile_money","phone_number":"0241234567"}`
		bank  = `{"type":"bank_transfer","account_number":"1234567890","bank_code":"300304"}`
	)
	for _, call := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/v1/payouts", `{"amount":5,"otp_code":"123456","destination":` + phone + `}`, 503, "service_unavailable"},
		{"/v1/disbursements", `{"amount":5,"destination":` + phone + `}`, 503, "service_unavailable"},
		{"/v1/disbursements", `{"amount":5,"destination":` + bank + `}`, 503, "service_unavailable"},
		{"/v1/disbursements/batch", `{"rows":[{"amount":5,"destination":` + phone + `}]}`, 503, "service_unavailable"},
		{"/v1/lookup/account-name", `{"phone_number":"0241234567"}`, 503, "service_unavailable"},
		{"/v1/otp/request", `{"purpose":"PAYOUT"}`, 503, "service_unavailable"},
		{"/v1/invoices/" + owed + "/send", `{}`, 503, "service_unavailable"},
		{"/v1/invoices/" + owed + "/pay", `{}`, 402, "payment_failed"},
		{"/v1/invoices/" + owed + "/pay", `{"phone_number":"0241234567"}`, 402, "payment_failed"},
		{"/v1/payments", `{"amount":5,"phone_number":"0241234567"}`, 503, "service_unavailable"},
	} {
		response, data := live.Do("POST", call.path, call.body)
		if response.StatusCode != call.status || field(t, data, "error.code") != call.code {
			t.Errorf("%s with %s: %d %s", call.path, call.body, response.StatusCode, data)
		}
	}
	for _, path := range []string{"/v1/payouts", "/v1/disbursements", "/v1/payments", "/v1/events?type=payment.created"} {
		if _, data := live.Do("GET", path, nil); field(t, data, "data.0") != "" {
			t.Errorf("%s: kept %s", path, data)
		}
	}
	if _, data := live.Do("GET", "/v1/invoices/"+owed, nil); field(t, data, "status") != "open" || field(t, data, "attempt_count") != "0" {
		t.Errorf("the invoice is %s", data)
	}
}
