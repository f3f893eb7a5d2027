package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/invoice"
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

// silent is a charger whose answers are lost.
type silent struct{}

func (silent) Charge(context.Context, invoice.Charge) (invoice.ChargeResult, error) {
	return invoice.ChargeResult{}, errors.New("the answer is lost")
}

func (silent) Status(ctx context.Context, c invoice.Charge) (invoice.ChargeResult, error) {
	return silent{}.Charge(ctx, c)
}

func TestChargeUnderWay(t *testing.T) {
	s := paymentstest.On(t, memory.New(), payments.Config{TestCharger: silent{}})
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
	if _, err := s.Accounts.UpdateMerchant(t.Context(), s.Caller.Merchant, account.MerchantParams{Name: "Adom Juice Bar", Logo: []byte("\x89PNG\r\n\x1a\nlogo")}); err != nil {
		t.Fatal(err)
	}
	id, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	if response, _ := browse(t, "GET", address+"/logo", nil); response.Header.Get("Content-Type") != "image/png" {
		t.Errorf("the logo is %s", response.Header.Get("Content-Type"))
	}
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.Server.URL+"/v1/invoices/"+id+"/pdf", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.Key)
	response, err := http.DefaultTransport.RoundTrip(request) // follows nothing
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 302 || response.Header.Get("Location") != address+"/pdf" {
		t.Errorf("got %d to %s", response.StatusCode, response.Header.Get("Location"))
	}
}
