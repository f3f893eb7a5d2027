package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// The tests of this file meet, once over HTTP, each code that openapi.yaml lists for an
// operation and no golden file shows. TestMain fails where one is missing. The rules
// behind the codes are tested with their nouns.

// refusal is a request and the refusal that it meets.
type refusal struct {
	path, body  string
	status      int
	code, param string
}

// meet posts each request and compares the refusals.
func meet(t *testing.T, s *paymentstest.Shop, all ...refusal) {
	t.Helper()
	for _, c := range all {
		response, data := s.Do("POST", c.path, c.body)
		refused(t, c.path+" with "+c.body, response, data, c.status, c.code, c.param)
	}
}

// holder opens an account and returns its id and its service id.
func holder(t *testing.T, s *paymentstest.Shop, kind, body string) (account, service string) {
	t.Helper()
	_, data := s.Do("POST", "/v1/test_helpers/"+kind, body)
	return field(t, data, "account_id"), field(t, data, "service_id")
}

func TestRefusalsOfTransfers(t *testing.T) {
	s := paymentstest.New(t)
	otp := verifiedOTP(t, s)
	merchant := must.Get(s.Accounts.GetMerchant(t.Context(), api.Caller{}, s.Caller.Merchant))(t)
	_, sub := holder(t, s, "cash_agents", `{"name":"Sub","sub_agent":true}`)
	frozen, _ := holder(t, s, "consumers", `{"name":"Frozen","status":"frozen"}`)
	wallet := func(by, id string) string {
		return `"amount":5,"destination":{"type":"service_wallet","` + by + `":"` + id + `"}`
	}
	for _, c := range []refusal{
		{"", `"amount":5,"currency":"USD","destination":` + toMobile, 400, "currency_not_supported", "currency"},
		{"", `"amount":0,"destination":` + toMobile, 400, "amount_too_small", "amount"},
		{"", `"amount":20000.01,"destination":` + toMobile, 400, "amount_too_large", "amount"},
		{"", `"amount":5,"destination":{"type":"mobile_money","phone_number":"12"}`, 400, "invalid_phone_number", "destination.phone_number"},
		{"", `"amount":5,"destination":{"type":"bank_transfer","account_number":"1234567890","bank_code":"999999"}`, 400, "invalid_destination", "destination.bank_code"},
		{"", wallet("service_id", "SVC12a"), 400, "invalid_service_id", "destination.service_id"},
		{"", wallet("service_id", "SVC99999999"), 400, "service_id_not_found", "destination.service_id"},
		{"", wallet("service_id", merchant.ServiceID), 402, "service_id_not_payable", "destination.service_id"},
		{"", wallet("service_id", sub), 402, "subagent_not_payable", "destination.service_id"},
		{"", wallet("account_id", "acc_1"), 400, "account_not_found", "destination.account_id"},
		{"", wallet("account_id", frozen), 402, "wallet_not_active", "destination.account_id"},
		{"", wallet(`account_name":"Kofi Mensah","match_account_name":true,"account_id`, s.Consumer.ID), 402, "account_name_mismatch", "destination.account_name"},
		{"", `"amount":5,"destination":{"type":"mobile_money","phone_number":"0241230906"}`, 402, "recipient_unavailable", "destination.phone_number"},
		{"", `"amount":1000.01,"destination":` + toMobile, 402, "insufficient_balance", ""},
	} {
		meet(
			t, s, refusal{"/v1/disbursements", `{` + c.body + `}`, c.status, c.code, c.param},
			refusal{"/v1/payouts", `{"otp_code":"` + otp + `",` + c.body + `}`, c.status, c.code, c.param},
		)
		if c.code != "recipient_unavailable" && c.code != "insufficient_balance" { // a row meets these later
			meet(t, s, refusal{"/v1/disbursements/batch", `{"rows":[{` + c.body + `}]}`, c.status, c.code, "rows[0]." + c.param})
		}
	}
	for _, list := range []string{"/v1/payouts", "/v1/disbursements", "/v1/disbursements/batch"} {
		if _, data := s.Do("GET", list, nil); field(t, data, "data.0") != "" {
			t.Errorf("%s: something was kept: %s", list, data)
		}
	}
	meet(t, s, refusal{"/v1/lookup/account-name", `{"phone_number":"0241230901"}`, 402, "recipient_unavailable", "phone_number"})

	// What has ended is neither cancelled nor settled otherwise.
	for noun, code := range map[string]string{"payout": `"otp_code":"` + otp + `",`, "disbursement": ""} {
		_, data := s.Do("POST", "/v1/"+noun+"s", `{`+code+`"amount":5,"destination":`+toMobile+`}`)
		drain(t, s)
		settle := "/v1/test_helpers/" + noun + "s/" + field(t, data, "id") + "/settle"
		meet(
			t, s, refusal{"/v1/" + noun + "s/" + field(t, data, "id") + "/cancel", `{}`, 409, noun + "_not_cancellable", ""},
			refusal{settle, `{"outcome":"failed"}`, 409, "transfer_settled", ""},
		)
	}
	limited := paymentstest.NewWithStore(t, memory.New(), payments.Config{PayoutLimits: payout.Limits{Daily: decimal.NewFromInt(10)}})
	meet(t, limited, refusal{"/v1/payouts", `{"otp_code":"` + verifiedOTP(t, limited) + `","amount":11,"destination":` + toMobile + `}`, 402, "daily_limit_exceeded", "amount"})
	poor := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: payments.Providers{Rail: poorRail{}}})
	meet(
		t, poor, refusal{"/v1/payouts", `{"otp_code":"` + verifiedOTP(t, poor) + `","amount":11,"destination":` + toMobile + `}`, 402, "provider_balance_insufficient", ""},
		refusal{"/v1/disbursements", `{"amount":11,"destination":` + toMobile + `}`, 402, "provider_balance_insufficient", ""},
	)
}

// poorRail finds out before a transfer that the operator has too little money there.
type poorRail struct{ provider.Simulated }

func (poorRail) Check(context.Context, provider.Transfer) error {
	return &provider.Refusal{Code: api.ProviderBalanceInsufficient}
}

func TestRefusalsOfCodes(t *testing.T) {
	s := paymentstest.New(t)
	closed, closedID := holder(t, s, "consumers", `{"name":"Closed","status":"closed"}`)
	frozen, _ := holder(t, s, "consumers", `{"name":"Frozen","status":"frozen","pin":"1234"}`)
	issue := func(account, rest string) string {
		t.Helper()
		_, data := s.Do("POST", "/v1/test_helpers/consumer_qrs", fmt.Sprintf(`{"account_id":%q%s}`, account, rest))
		return fmt.Sprintf(`{"qr_payload":%q`, field(t, data, "qr_payload"))
	}
	once := issue(s.Consumer.ID, `,"type":"dynamic","amount":1`)
	if response, data := s.Do("POST", "/v1/disbursements/qr", once+"}"); response.StatusCode != 200 {
		t.Errorf("the first use: %s", data)
	}
	for _, c := range []refusal{
		{"", once, 402, "qr_limit_reached", ""},
		{"", issue(s.Consumer.ID, `,"type":"dynamic","amount":1,"active":false`), 402, "qr_inactive", ""},
		{"", issue(s.Consumer.ID, `,"type":"dynamic","amount":1,"expires_at":"2001-01-01T00:00:00Z"`), 402, "qr_expired", ""},
		{"", `{"qr_payload":"%%%"`, 400, "invalid_qr", "qr_payload"},
		{"", `{"qr_payload":"aGVsbG8="`, 400, "invalid_consumer_qr", "qr_payload"},
	} {
		for _, path := range []string{"/v1/qr_codes/resolve", "/v1/disbursements/qr"} {
			meet(t, s, refusal{path, c.body + "}", c.status, c.code, c.param})
		}
	}
	open := issue(s.Consumer.ID, "")
	meet(
		t, s, refusal{"/v1/qr_codes/resolve", issue(closed, "") + "}", 400, "account_not_found", ""},
		refusal{"/v1/disbursements/qr", issue(closed, `,"amount":1`) + "}", 400, "account_not_found", "qr_payload"},
		refusal{"/v1/disbursements/qr", issue(frozen, `,"amount":1`) + "}", 402, "wallet_not_active", "qr_payload"},
		refusal{"/v1/disbursements/qr", open + "}", 400, "amount_required", "amount"},
		refusal{"/v1/disbursements/qr", open + `,"amount":0}`, 400, "amount_too_small", "amount"},
		refusal{"/v1/disbursements/qr", open + `,"amount":20000.01}`, 400, "amount_too_large", "amount"},
		refusal{"/v1/disbursements/qr", open + `,"amount":5000}`, 402, "insufficient_balance", ""},
		refusal{"/v1/disbursements/qr", open + `,"amount":1,"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{"/v1/test_helpers/consumer_qrs", `{"account_id":"acc_1"}`, 400, "account_not_found", "account_id"},
		refusal{"/v1/lookup/service-id", `{"service_id":"12"}`, 400, "invalid_service_id", "service_id"},
		refusal{"/v1/lookup/service-id", `{"service_id":"SVC99999999"}`, 400, "service_id_not_found", "service_id"},
		refusal{"/v1/lookup/service-id", `{"service_id":"` + closedID + `"}`, 400, "account_not_found", "service_id"},
	)

	pay := func(body string) string { return "/v1/test_helpers/qr_codes/" + newCode(t, s, body) + "/pay" }
	mine, theirs := `{"account_id":"`+s.Consumer.ID+`","pin":"1234"}`, `{"account_id":"`+frozen+`","pin":"1234"}`
	used, off := pay(`{"type":"dynamic","amount":100}`), pay(`{"amount":100}`)
	late := pay(fmt.Sprintf(`{"amount":100,"expires_at":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)))
	s.Do("POST", used, mine)
	s.Do("POST", strings.TrimSuffix(strings.Replace(off, "/test_helpers", "", 1), "/pay"), `{"active":false}`)
	advance(t, s, time.Hour)
	meet(
		t, s, refusal{pay(`{}`), mine, 400, "amount_required", "amount"},
		refusal{used, mine, 402, "qr_limit_reached", ""},
		refusal{off, mine, 402, "qr_inactive", ""},
		refusal{late, mine, 402, "qr_expired", ""},
		refusal{pay(`{"amount":100}`), theirs, 402, "wallet_not_active", ""},
	)
	verified(t, s)
}

func TestRefusalsOfInvoices(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: payments.Providers{Charger: hesitant{}}})
	issued := `{"auto_finalize":true,` + oneLine + `}`
	invoice := func(body string, actions ...string) string {
		t.Helper()
		id, _ := newInvoice(t, s, body)
		for _, action := range actions {
			s.Do("POST", "/v1/invoices/"+id+"/"+action, `{}`)
		}
		return "/v1/invoices/" + id
	}
	draft, open, paid, void := invoice(`{}`), invoice(issued), invoice(issued, "pay"), invoice(issued, "void")
	lost := invoice(issued)
	meet(
		t, s, refusal{"/v1/invoices", `{"customer_phone":"12"}`, 400, "invalid_phone_number", "customer_phone"},
		refusal{"/v1/invoices", `{"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{draft, `{"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{draft + "/lines", `{"description":"x","unit_amount":1,"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{"/v1/invoices", `{"auto_finalize":true}`, 409, "invoice_no_lines", ""},
		refusal{draft, `{"customer_phone":"12"}`, 400, "invalid_phone_number", "customer_phone"},
		refusal{draft + "/finalize", `{}`, 409, "invoice_no_lines", ""},
		refusal{draft + "/pay", `{}`, 409, "invoice_not_open", ""},
		refusal{draft + "/send", `{}`, 409, "invoice_not_open", ""},
		refusal{draft + "/mark_uncollectible", `{}`, 409, "invoice_not_open", ""},
		refusal{open, `{"memo":"x"}`, 409, "invoice_not_draft", ""},
		refusal{open + "/lines", `{"description":"x","unit_amount":1}`, 409, "invoice_not_draft", ""},
		refusal{open + "/finalize", `{}`, 409, "invoice_not_draft", ""},
		refusal{open + "/send", `{}`, 400, "invoice_no_recipient", ""},
		refusal{open + "/pay", `{"source":"12"}`, 400, "invalid_phone_number", "source"},
		refusal{paid + "/pay", `{}`, 409, "invoice_already_paid", ""},
		refusal{paid + "/mark_uncollectible", `{}`, 409, "invoice_already_paid", ""},
		refusal{void + "/void", `{}`, 409, "invoice_not_voidable", ""},
		refusal{lost + "/pay", `{"payment_method":"pm_lost"}`, 503, "service_unavailable", ""},
		refusal{lost + "/pay", `{}`, 409, "invoice_payment_in_progress", ""},
		refusal{lost + "/void", `{}`, 409, "invoice_payment_in_progress", ""},
		refusal{lost + "/mark_uncollectible", `{}`, 409, "invoice_payment_in_progress", ""},
	)
	response, data := s.Do("DELETE", open, nil)
	refused(t, "delete what is open", response, data, 409, "invoice_not_draft", "")
	_, page := newInvoice(t, s, `{}`)
	shows(t, "the page of a draft", "GET", page, nil, 404)
}

// hesitant is a charger that loses its answer for one payment method.
type hesitant struct{ provider.Simulated }

func (h hesitant) Charge(ctx context.Context, c provider.Charge) (provider.Result, error) {
	if c.PaymentMethod == "pm_lost" {
		return provider.Result{}, errors.New("the answer is lost")
	}
	return h.Simulated.Charge(ctx, c)
}

func (h hesitant) ChargeStatus(ctx context.Context, c provider.Charge) (provider.Result, error) {
	if c.PaymentMethod == "pm_lost" {
		return provider.Result{}, errors.New("the answer is lost")
	}
	return h.Simulated.ChargeStatus(ctx, c)
}

func TestRefusalsOfRefunds(t *testing.T) {
	s := paymentstest.New(t)
	back, paid := s.Pay(newCode(t, s, `{"amount":100}`), 0), s.Pay(newCode(t, s, `{"amount":1250}`), 0)
	s.Refund(back.ID, 0)
	refund := func(status int, code, param, more string) {
		t.Helper()
		meet(t, s, refusal{"/v1/refunds", `{"payment":"` + paid.ID + `"` + more + `}`, status, code, param})
	}
	refund(400, "amount_too_large", "amount", `,"amount":1251`)
	meet(t, s, refusal{"/v1/refunds", `{"payment":"` + back.ID + `"}`, 409, "payment_already_refunded", ""})
	other := s.NewConsumer("Kofi Owusu", "0242000001", 0)
	away := `{"amount":1012.5,"destination":{"type":"service_wallet","account_id":"` + other.ID + `"}}`
	if response, data := s.Do("POST", "/v1/disbursements", away); response.StatusCode != 200 {
		t.Fatalf("disburse: %s", data)
	}
	refund(402, "insufficient_balance", "", "")
	refund(400, "currency_not_supported", "currency", `,"currency":"USD"`)
	left := must.Get(s.Accounts.WalletBalance(t.Context(), api.Caller{}, s.Consumer.ID))(t)
	s.Pay(newCode(t, s, `{}`), left.Shift(2).IntPart()) // a wallet with money in it is not closed
	for _, c := range []struct {
		status account.Status
		answer int
		code   string
	}{{account.Frozen, 402, "wallet_not_active"}, {account.Closed, 400, "account_not_found"}} {
		must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.Consumer.ID, account.UpdateHolderParams{Status: new(c.status)}))(t)
		refund(c.answer, c.code, "", "")
	}
	verified(t, s)
}

func TestRefusalsOfOthers(t *testing.T) {
	s := paymentstest.New(t)
	_, customer := s.Do("POST", "/v1/customers", `{"name":"A"}`)
	for _, path := range []string{
		"/v1/customers", "/v1/customers/" + field(t, customer, "id"),
		"/v1/test_helpers/consumers", "/v1/test_helpers/cash_agents", "/v1/test_helpers/customers",
	} {
		meet(t, s, refusal{path, `{"name":"A","phone_number":"123"}`, 400, "invalid_phone_number", "phone_number"})
	}
	meet(
		t, s, refusal{"/v1/webhooks", `{"url":"example","events":["*"]}`, 400, "webhook_url_invalid", "url"},
		refusal{"/v1/webhooks", `{"url":"https://example.com","events":["*","payment.exploded"]}`, 400, "event_type_unknown", "events[1]"},
	)
	_, made := s.Do("POST", "/v1/webhooks", `{"url":"http://example.com","events":["*"]}`)
	for body, want := range map[string][2]string{
		`{"events":["nothing"]}`: {"event_type_unknown", "events[0]"}, `{"url":"ftp://example.com"}`: {"webhook_url_invalid", "url"},
	} {
		response, data := s.Do("PATCH", "/v1/webhooks/"+field(t, made, "id"), body)
		refused(t, body, response, data, 400, want[0], want[1])
	}
}

func TestLogoAndPDFOfAnInvoice(t *testing.T) {
	s := paymentstest.New(t)
	giveLogo(t, s)
	id, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	showsLogo(t, address)
	request := must.Get(http.NewRequestWithContext(t.Context(), "GET", s.Server.URL+"/v1/invoices/"+id+"/pdf", nil))(t)
	request.Header.Set("Authorization", "Bearer "+s.Key)
	response := must.Get(http.DefaultTransport.RoundTrip(request))(t) // follows nothing
	response.Body.Close()
	expect.True(t, response.StatusCode == 302 && response.Header.Get("Location") == address+"/pdf", "got %d to %s", response.StatusCode,
		response.Header.Get("Location"))
}
