package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Codes that no story of another test meets over HTTP.
func TestRarerRefusals(t *testing.T) {
	s := paymentstest.New(t)
	refused := func(path, body string, status int, code, param string) {
		t.Helper()
		response, data := s.Do("POST", path, body)
		wants(t, path+" with "+body, response, data, status, code, param)
	}
	for _, path := range []string{"consumers", "cash_agents", "customers"} {
		refused("/v1/test_helpers/"+path, `{"name":"A","phone_number":"123"}`, 400, "invalid_phone_number", "phone_number")
	}
	draft, _ := newInvoice(t, s, `{`+oneLine+`}`)
	refused("/v1/invoices/"+draft, `{"customer_phone":"123"}`, 400, "invalid_phone_number", "customer_phone")
	_, customer := s.Do("POST", "/v1/customers", `{"name":"A"}`)
	refused("/v1/customers/"+field(t, customer, "id"), `{"phone_number":"123"}`, 400, "invalid_phone_number", "phone_number")

	_, closed := s.Do("POST", "/v1/test_helpers/consumers", `{"name":"A","status":"closed"}`)
	refused("/v1/lookup/service-id", `{"service_id":"12"}`, 400, "invalid_service_id", "service_id")
	refused("/v1/lookup/service-id", `{"service_id":"SVC99999999"}`, 400, "service_id_not_found", "service_id")
	refused("/v1/lookup/service-id", `{"service_id":"`+field(t, closed, "service_id")+`"}`, 400, "account_not_found", "service_id")
	_, code := s.Do("POST", "/v1/test_helpers/consumer_qrs", `{"type":"dynamic","amount":1,"account_id":"`+s.Consumer.ID+`"}`)
	payload := `{"qr_payload":"` + field(t, code, "qr_payload") + `"}`
	if response, data := s.Do("POST", "/v1/disbursements/qr", payload); response.StatusCode != 200 {
		t.Errorf("disburse: %s", data)
	}
	refused("/v1/qr_codes/resolve", payload, 402, "qr_limit_reached", "")
}

// Codes with which money is not sent out, over HTTP.
func TestRarerRefusalsOfTransfers(t *testing.T) {
	s := paymentstest.New(t)
	otp := verifiedOTP(t, s)
	refused := func(path, body string, status int, code, param string) {
		t.Helper()
		response, data := s.Do("POST", path, body)
		wants(t, path+" with "+body, response, data, status, code, param)
	}
	other := `{"type":"mobile_money","phone_number":"0241234560","account_name":"Ama Owusu","match_account_name":true}`
	refused("/v1/payouts", `{"amount":5,"otp_code":"`+otp+`","destination":`+other+`}`, 402, "account_name_mismatch", "destination.account_name")
	refused("/v1/lookup/account-name", `{"phone_number":"0241230901"}`, 402, "recipient_unavailable", "phone_number")

	merchant := must.Get(s.Accounts.GetMerchant(t.Context(), api.Caller{}, s.Caller.Merchant))(t)
	_, sub := s.Do("POST", "/v1/test_helpers/cash_agents", `{"name":"Sub","sub_agent":true}`)
	_, frozen := s.Do("POST", "/v1/test_helpers/consumers", `{"name":"Frozen","status":"frozen"}`)
	wallet := func(by, id string) string {
		return `"amount":5,"destination":{"type":"service_wallet",` + by + `:"` + id + `"}`
	}
	for _, c := range []struct {
		row         string
		status      int
		code, param string
	}{
		{`"amount":20000.01,"destination":{"type":"mobile_money","phone_number":"0241234567"}`, 400, "amount_too_large", "amount"},
		{wallet(`"service_id"`, "SVC12a"), 400, "invalid_service_id", "destination.service_id"},
		{wallet(`"service_id"`, "SVC99999999"), 400, "service_id_not_found", "destination.service_id"},
		{wallet(`"service_id"`, merchant.ServiceID), 402, "service_id_not_payable", "destination.service_id"},
		{wallet(`"service_id"`, field(t, sub, "service_id")), 402, "subagent_not_payable", "destination.service_id"},
		{wallet(`"account_id"`, field(t, frozen, "account_id")), 402, "wallet_not_active", "destination.account_id"},
		{wallet(`"account_name":"Kofi Mensah","match_account_name":true,"account_id"`, s.Consumer.ID), 402, "account_name_mismatch", "destination.account_name"},
	} {
		refused("/v1/disbursements/batch", `{"rows":[{`+c.row+`}]}`, c.status, c.code, "rows[0]."+c.param)
	}
	if _, data := s.Do("GET", "/v1/disbursements/batch", nil); field(t, data, "data.0.id") != "" {
		t.Errorf("a batch was kept: %s", data)
	}
}

// Codes with which money is not given back, over HTTP.
func TestRarerRefusalsOfRefunds(t *testing.T) {
	s := paymentstest.New(t)
	paid := s.Pay(newCode(t, s, `{"amount":1250}`), 0)
	refund := func(status int, code string) {
		t.Helper()
		response, data := s.Do("POST", "/v1/refunds", `{"payment":"`+paid.ID+`"}`)
		wants(t, "a refund", response, data, status, code, "")
	}
	other := s.NewConsumer("Kofi Owusu", "0242000001", 0)
	away := `{"amount":1012.5,"destination":{"type":"service_wallet","account_id":"` + other.ID + `"}}`
	if response, data := s.Do("POST", "/v1/disbursements", away); response.StatusCode != 200 {
		t.Fatalf("disburse: %s", data)
	}
	refund(402, "insufficient_balance")
	for _, c := range []struct {
		status account.Status
		answer int
		code   string
	}{{account.Frozen, 402, "wallet_not_active"}, {account.Closed, 400, "account_not_found"}} {
		must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.Consumer.ID, account.UpdateHolderParams{Status: new(c.status)}))(t)
		refund(c.answer, c.code)
	}
	if _, data := s.Do("GET", "/v1/payments/"+paid.ID, nil); field(t, data, "amount_refunded") != "0" {
		t.Errorf("a refusal was counted: %s", data)
	}
	verified(t, s)
}

// silent is a charger whose answers are lost.
type silent struct{}

func (silent) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{}, errors.New("the answer is lost")
}

func (silent) ChargeStatus(ctx context.Context, c provider.Charge) (provider.Result, error) {
	return silent{}.Charge(ctx, c)
}

func TestChargeUnderWay(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: payments.Providers{Charger: silent{}}})
	id, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	response, data := s.Do("POST", "/v1/invoices/"+id+"/pay", nil)
	wants(t, "pay", response, data, 503, "service_unavailable", "")
	for _, action := range []string{"pay", "void", "mark_uncollectible"} {
		response, data := s.Do("POST", "/v1/invoices/"+id+"/"+action, nil)
		wants(t, action, response, data, 409, "invoice_payment_in_progress", "")
	}
}

func TestLogoAndPDFOfAnInvoice(t *testing.T) {
	s := paymentstest.New(t)
	must.Get(s.Accounts.UpdateMerchant(t.Context(), api.Caller{}, s.Caller.Merchant, account.UpdateMerchantParams{Name: new("Adom Juice Bar"), Logo: []byte("\x89PNG\r\n\x1a\nlogo")}))(t)
	id, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	if response, _ := browse(t, "GET", address+"/logo", nil); response.Header.Get("Content-Type") != "image/png" {
		t.Errorf("the logo is %s", response.Header.Get("Content-Type"))
	}
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.Server.URL+"/v1/invoices/"+id+"/pdf", nil)
	must.Do(t, err)
	request.Header.Set("Authorization", "Bearer "+s.Key)
	response, err := http.DefaultTransport.RoundTrip(request) // follows nothing
	must.Do(t, err)
	response.Body.Close()
	if response.StatusCode != 302 || response.Header.Get("Location") != address+"/pdf" {
		t.Errorf("got %d to %s", response.StatusCode, response.Header.Get("Location"))
	}
}
