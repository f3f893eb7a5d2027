package httpapi_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// phonePays asks a phone, whose number ends in four digits, to pay GHS 12.50, and returns the
// payment's path.
func phonePays(t *testing.T, s *paymentstest.Shop, digits string) string {
	t.Helper()
	response, data := s.Do("POST", "/v1/payments", `{"amount":1250,"phone_number":"024123`+digits+`"}`)
	must.True(t, response.StatusCode == 200 && field(t, data, "status") == "pending", "create: %s", data)
	return "/v1/payments/" + field(t, data, "id")
}

// settlePath is the path of the test helper that settles a payment.
func settlePath(path string) string {
	return strings.Replace(path, "/v1/", "/v1/test_helpers/", 1) + "/settle"
}

// TestPaymentBodies walks through the life of payments from phones.
func TestPaymentBodies(t *testing.T) {
	fee := payment.Fee{Percent: decimal.NewFromInt(1)}
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{
		WebhookAllow: paymentstest.Loopback(), CollectionFees: &payment.Fees{Telecel: fee},
	})
	step := steps(t, s)
	_, data := s.Do("POST", "/v1/customers", `{"name":"Akua","email":"akua@example.com"}`)
	customer := field(t, data, "id")

	full := `{"amount":1250.0,"currency":"GHS","phone_number":"024 123-4567","provider":"telecel","description":"Two juices\nand a cake",
		"reference":"1001","customer":"` + customer + `","metadata":{"table":7}}`
	paid := "/v1/payments/" + field(t, step("payment_create", "POST", "/v1/payments", full, "Idempotency-Key", "pay-1"), "id")
	drain(t, s)
	step("payment_completed", "GET", paid, nil)
	step("entries_of_payment", "GET", "/v1/balance/entries?limit=1", nil)
	if response, data := s.Do("POST", "/v1/payments", full, "Idempotency-Key", "pay-1"); response.Header.Get("Idempotent-Replayed") != "true" || field(t, data, "status") != "pending" {
		t.Errorf("repeated: %s", data)
	}
	step("payment_refund", "POST", "/v1/refunds", `{"payment":"`+strings.TrimPrefix(paid, "/v1/payments/")+`"}`)

	slow, waiting, declined, code := phonePays(t, s, "0906"), phonePays(t, s, "0903"), phonePays(t, s, "0901"), phonePays(t, s, "0907")
	drain(t, s)
	step("payment_cancel", "POST", slow+"/cancel", nil)
	step("payment_processing", "GET", waiting, nil)
	step("payment_settled_failed", "POST", settlePath(waiting), `{"outcome":"failed"}`)
	step("payment_declined", "GET", declined, nil)
	step("payment_enter_code", "GET", code, nil)
	step("payment_wrong_code", "POST", code+"/confirm", `{"code":"654321"}`)
	step("payment_confirmed", "POST", code+"/confirm", `{"code":"123456"}`)
	step("payment_settled", "POST", settlePath(phonePays(t, s, "0906")), `{"outcome":"succeeded"}`)

	qr := newCode(t, s, `{"type":"dynamic","amount":500,"description":"Juice","reference":"1002","metadata":{"chair":2}}`)
	step("qr_code_pay_phone", "POST", "/v1/test_helpers/qr_codes/"+qr+"/pay", `{"phone_number":"+233201230903"}`)
	drain(t, s)
	step("qr_code_payments_processing", "GET", "/v1/qr_codes/"+qr+"/payments", nil)

	issued, _ := newInvoice(t, s, `{"customer":"`+customer+`","description":"Catering","auto_finalize":true,`+oneLine+`}`)
	step("invoice_pay_phone", "POST", "/v1/invoices/"+issued+"/pay", `{"phone_number":"0551230903","provider":"mtn"}`)
	drain(t, s)
	step("payment_list_filtered", "GET", "/v1/payments?status=processing&payment_method=mobile_money&customer="+customer+"&invoice="+issued, nil)
	other, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	step("invoice_pay_helper", "POST", "/v1/test_helpers/invoices/"+other+"/pay", `{"phone_number":"0271234567"}`)
	drain(t, s)
	step("invoice_paid_by_phone", "GET", "/v1/invoices/"+other, nil)
	free, _ := newInvoice(t, s, `{"auto_finalize":true,"line_items":[{"description":"Gift","unit_amount":0}]}`)
	step("invoice_of_nothing_helper", "POST", "/v1/test_helpers/invoices/"+free+"/pay", `{"phone_number":"0271234567"}`)

	step("messages_of_payment", "GET", "/v1/test_helpers/messages?to=0241234567", nil)
	for _, kind := range []string{"created", "pending", "processing", "succeeded", "failed", "canceled"} {
		step("event_payment."+kind, "GET", "/v1/events?limit=1&type=payment."+kind, nil)
	}
	verified(t, s)
}

func TestRefusalsOfPayments(t *testing.T) {
	s := paymentstest.New(t)
	const create = "/v1/payments"
	meet(t, s,
		refusal{create, `{"amount":1,"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{create, `{"amount":1,"phone_number":"0241230908"}`, 429, "too_many_prompts", ""},
		refusal{create, `{"amount":1,"phone_number":"0241234567","currency":"USD"}`, 400, "currency_not_supported", "currency"},
	)
	if _, data := s.Do("GET", create, nil); field(t, data, "data.0") != "" {
		t.Errorf("something was kept: %s", data)
	}
	processing, paid := phonePays(t, s, "0903"), phonePays(t, s, "4567")
	drain(t, s)
	meet(t, s,
		refusal{processing + "/cancel", ``, 409, "payment_not_cancellable", ""},
		refusal{processing + "/confirm", `{"code":"123456"}`, 409, "payment_not_confirmable", ""},
		refusal{"/v1/refunds", `{"payment":"` + strings.TrimPrefix(processing, "/v1/payments/") + `"}`, 409, "payment_not_refundable", ""},
		refusal{settlePath(paid), `{"outcome":"failed"}`, 409, "payment_not_settleable", ""},
	)
	verified(t, s)
}

// What a payment from a phone holds, a code or an invoice, nothing else pays or ends.
func TestRefusalsOfWhatIsHeld(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: payments.Providers{Charger: hesitant{}}})
	const payer, slow, refuses = `{"phone_number":"0241234567"}`, `{"phone_number":"0241230903"}`, `{"phone_number":"0241230908"}`
	code := "/v1/test_helpers/qr_codes/" + newCode(t, s, `{"type":"dynamic","amount":500}`) + "/pay"
	meet(t, s,
		refusal{code, `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{code, refuses, 429, "too_many_prompts", ""},
	)
	s.Do("POST", code, slow)
	response, data := s.Do("POST", code, payer)
	refused(t, "another phone", response, data, 409, "payment_in_progress", "")
	expect.True(t, response.Header.Get("Retry-After") != "", "no Retry-After")

	id, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	held, helper := "/v1/invoices/"+id, "/v1/test_helpers/invoices/"+id+"/pay"
	draft, _ := newInvoice(t, s, `{`+oneLine+`}`)
	lost, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	s.Do("POST", "/v1/invoices/"+lost+"/pay", `{"payment_method":"pm_lost"}`)
	meet(t, s,
		refusal{held + "/pay", `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{held + "/pay", refuses, 429, "too_many_prompts", ""},
		refusal{helper, `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{helper, refuses, 429, "too_many_prompts", ""},
		refusal{"/v1/test_helpers/invoices/" + draft + "/pay", payer, 409, "invoice_not_open", ""},
		refusal{"/v1/test_helpers/invoices/" + lost + "/pay", payer, 409, "invoice_payment_in_progress", ""},
	)
	s.Do("POST", held+"/pay", slow)
	meet(t, s,
		refusal{held + "/pay", payer, 409, "payment_in_progress", ""},
		refusal{held + "/void", ``, 409, "payment_in_progress", ""},
		refusal{held + "/mark_uncollectible", ``, 409, "payment_in_progress", ""},
		refusal{helper, payer, 409, "payment_in_progress", ""},
	)
	_, list := s.Do("GET", "/v1/payments?invoice="+id, nil)
	s.Do("POST", settlePath("/v1/payments/"+field(t, list, "data.0.id")), `{"outcome":"succeeded"}`)
	meet(t, s, refusal{helper, payer, 409, "invoice_already_paid", ""})
}

// In live mode a phone is asked for one payment at a time, over all merchants. The refusal keeps no
// idempotency key, and tells nothing of the other merchant.
func TestOnePromptAtATime(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: provider.Simulated{}}})
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	stranger, _ := as(t, s, api.Caller{Merchant: other.ID, Live: true}, account.CreateKeyParams{})
	const body = `{"amount":1,"phone_number":"0241234567"}`
	live.Do("POST", "/v1/payments", body)
	response, data := stranger.Do("POST", "/v1/payments", body, "Idempotency-Key", "k")
	refused(t, "the second", response, data, 429, "too_many_prompts", "")
	expect.True(t, !strings.Contains(string(data), "Adom") && !strings.Contains(string(data), "241234567"), "%s", data)
	drain(t, s)
	if response, data := stranger.Do("POST", "/v1/payments", body, "Idempotency-Key", "k"); response.StatusCode != 200 || response.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("once the one before has ended: %s", data)
	}
}
