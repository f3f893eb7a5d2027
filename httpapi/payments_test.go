package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

// The numbers to test with decide over HTTP what their table says, by the clock helper alone.
func TestNumbersThatDecideOverHTTP(t *testing.T) {
	s := paymentstest.New(t)
	for _, c := range []struct {
		digits, soon string
		after        time.Duration
		later        string
		reason       string
		events       string
	}{
		{"4567", "completed", 0, "completed", "", "created pending processing succeeded"},
		{"0901", "failed", 0, "failed", "The payer declined.", "created pending processing failed"},
		{"0902", "failed", 0, "failed", "The payer's balance is too low.", "created pending processing failed"},
		{"0903", "processing", time.Hour, "processing", "", "created pending processing"},
		{"0904", "processing", 25 * time.Second, "completed", "", "created pending processing succeeded"},
		{"0905", "processing", time.Minute, "completed", "", "created pending processing succeeded"},
		{"0906", "pending", 25 * time.Second, "completed", "", "created pending processing succeeded"},
		{"0907", "processing", time.Hour, "processing", "", "created pending processing"},
		{"0909", "processing", 10 * time.Minute, "failed", "The payer did not answer in time.", "created pending processing failed"},
		{"0910", "failed", time.Minute, "failed", "The payer declined.", "created pending processing failed"},
	} {
		path := phonePays(t, s, c.digits)
		advance(t, s, 0)
		_, data := s.Do("GET", path, nil)
		expect.Equal(t, field(t, data, "status"), c.soon, "%s soon", c.digits)
		advance(t, s, c.after)
		_, data = s.Do("GET", path, nil)
		expect.Equal(t, field(t, data, "status"), c.later, "%s later", c.digits)
		expect.Equal(t, field(t, data, "failure_reason"), c.reason, "%s", c.digits)
		var events []string
		_, list := s.Do("GET", "/v1/events?limit=100", nil)
		for i := range 100 {
			if at := fmt.Sprint("data.", i, "."); field(t, list, at+"data.object.id") == strings.TrimPrefix(path, "/v1/payments/") {
				events = append(events, strings.TrimPrefix(field(t, list, at+"type"), "payment."))
			}
		}
		slices.Reverse(events)
		expect.Equal(t, strings.Join(events, " "), c.events, "%s", c.digits)
	}
	for digits, want := range map[string]string{"0911": "failed", "0912": "processing", "0913": "succeeded"} {
		path := phonePays(t, s, digits)
		advance(t, s, 0)
		_, data := s.Do("POST", "/v1/refunds", `{"payment":"`+strings.TrimPrefix(path, "/v1/payments/")+`"}`)
		advance(t, s, 0)
		advance(t, s, time.Minute)
		_, data = s.Do("GET", "/v1/refunds/"+field(t, data, "id"), nil)
		expect.Equal(t, field(t, data, "status"), want, "the refund of %s: %s", digits, data)
	}
	verified(t, s)
}

func TestRefusalsOfPayments(t *testing.T) {
	s := paymentstest.New(t)
	const create = "/v1/payments"
	body := func(more string) string { return `{"amount":1,"phone_number":"0241234567"` + more + `}` }
	merchant := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	stranger, _ := as(t, s, api.Caller{Merchant: merchant.ID}, account.CreateKeyParams{})
	_, theirs := stranger.Do("POST", "/v1/customers", `{"name":"Theirs"}`)
	_, gone := s.Do("POST", "/v1/customers", `{"name":"Gone"}`)
	s.Do("DELETE", "/v1/customers/"+field(t, gone, "id"), nil)
	for _, amount := range []string{"0", "-1", "1.5", `"5"`, "100000000", "[]", "true"} {
		meet(t, s, refusal{create, `{"amount":` + amount + `,"phone_number":"0241234567"}`, 400, "parameter_invalid", "amount"})
	}
	meet(
		t, s, refusal{create, `{"phone_number":"0241234567"}`, 400, "parameter_missing", "amount"},
		refusal{create, `{"amount":1}`, 400, "parameter_missing", "phone_number"},
		refusal{create, `{"amount":1,"customer":"cus_1"}`, 400, "parameter_missing", "phone_number"},
		refusal{create, `{"amount":1,"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{create, `{"amount":1,"phone_number":"0301234567"}`, 400, "invalid_phone_number", "phone_number"}, // no mobile phone
		refusal{create, `{"amount":1,"phone_number":"0241230908"}`, 429, "too_many_prompts", ""},
		refusal{create, body(`,"provider":"glo"`), 400, "parameter_invalid", "provider"},
		refusal{create, body(`,"currency":"USD"`), 400, "currency_not_supported", "currency"},
		refusal{create, body(`,"customer":"cus_1"`), 400, "resource_missing", "customer"},
		refusal{create, body(`,"customer":"` + field(t, theirs, "id") + `"`), 400, "resource_missing", "customer"},
		refusal{create, body(`,"customer":"` + field(t, gone, "id") + `"`), 400, "resource_missing", "customer"},
		refusal{create, body(`,"description":"` + strings.Repeat("a", 501) + `"`), 400, "parameter_invalid", "description"},
		refusal{create, body(`,"reference":"` + strings.Repeat("a", 101) + `"`), 400, "parameter_invalid", "reference"},
		refusal{create, body(`,"metadata":{"a":{}}`), 400, "parameter_invalid", "metadata.a"},
	)
	if _, data := s.Do("GET", create, nil); field(t, data, "data.0") != "" {
		t.Errorf("something was kept: %s", data)
	}
	for query, param := range map[string]string{"status=paid": "status", "customer=": "customer", "payment_method=": "payment_method"} {
		response, data := s.Do("GET", create+"?"+query, nil)
		refused(t, query, response, data, 400, "parameter_invalid", param)
	}

	pending, processing, code, paid := phonePays(t, s, "0906"), phonePays(t, s, "0903"), phonePays(t, s, "0907"), phonePays(t, s, "4567")
	wallet := "/v1/payments/" + s.Pay(newCode(t, s, `{"amount":100}`), 0).ID
	drain(t, s)
	for _, path := range []string{processing, paid, wallet} {
		meet(
			t, s, refusal{path + "/cancel", ``, 409, "payment_not_cancellable", ""},
			refusal{path + "/confirm", `{"code":"123456"}`, 409, "payment_not_confirmable", ""},
		)
	}
	meet(
		t, s, refusal{pending + "/confirm", `{"code":"123456"}`, 409, "payment_not_confirmable", ""},
		refusal{code + "/confirm", `{}`, 400, "parameter_missing", "code"},
		refusal{code + "/confirm", `{"code":123456}`, 400, "parameter_invalid", "code"},
		refusal{settlePath(paid), `{"outcome":"succeeded"}`, 409, "payment_not_settleable", ""},
		refusal{settlePath(paid), `{"outcome":"failed"}`, 409, "payment_not_settleable", ""},
		refusal{settlePath(wallet), `{"outcome":"succeeded"}`, 409, "payment_not_settleable", ""},
		refusal{settlePath(pending), `{}`, 400, "parameter_missing", "outcome"},
		refusal{settlePath(pending), `{"outcome":"paid"}`, 400, "parameter_invalid", "outcome"},
		refusal{settlePath("/v1/payments/pay_1"), `{"outcome":"failed"}`, 404, "resource_missing", ""},
	)
	for _, path := range []string{pending, processing} {
		meet(t, s, refusal{"/v1/refunds", `{"payment":"` + strings.TrimPrefix(path, "/v1/payments/") + `"}`, 409, "payment_not_refundable", ""})
	}
	s.Do("POST", pending+"/cancel", nil)
	meet(
		t, s, refusal{pending + "/cancel", ``, 409, "payment_not_cancellable", ""},
		refusal{settlePath(pending), `{"outcome":"failed"}`, 409, "payment_not_settleable", ""},
	)
	verified(t, s)
}

// The test helper plays a charger that takes a completed payment back: it becomes a refund that the merchant
// did not make, once.
func TestReversedPayment(t *testing.T) {
	s := paymentstest.New(t)
	path := phonePays(t, s, "4567")
	drain(t, s)
	id := strings.TrimPrefix(path, "/v1/payments/")
	response, data := s.Do("POST", settlePath(path), `{"outcome":"reversed","failure_reason":"The payer disputed it."}`)
	expect.True(t, response.StatusCode == 200 && field(t, data, "status") == "completed" && strings.Contains(string(data), `"amount_refunded":1250`), "%d %s", response.StatusCode, data)
	_, data = s.Do("GET", "/v1/refunds?payment="+id, nil)
	var refunds struct {
		Data []struct{ Status, Reason string }
	}
	must.Do(t, json.Unmarshal(data, &refunds))
	expect.True(t, len(refunds.Data) == 1 && refunds.Data[0].Status == "succeeded" && refunds.Data[0].Reason == "Reversed by the provider", "%s", data)
	meet(
		t, s, refusal{settlePath(path), `{"outcome":"reversed"}`, 409, "payment_not_settleable", ""},
		refusal{"/v1/refunds", `{"payment":"` + id + `"}`, 409, "payment_already_refunded", ""},
	)
	var told []string
	_, data = s.Do("GET", "/v1/events?limit=100", nil)
	var events struct{ Data []struct{ Type string } }
	must.Do(t, json.Unmarshal(data, &events))
	for _, e := range events.Data {
		if strings.HasPrefix(e.Type, "refund.") {
			told = append([]string{e.Type}, told...)
		}
	}
	expect.Equal(t, strings.Join(told, " "), "refund.created refund.succeeded", "events")
	verified(t, s)
}

// A payment from a phone holds the last use of a code until it ends, or for ten minutes.
func TestHoldOfACode(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"type":"dynamic","amount":500}`)
	pay := "/v1/test_helpers/qr_codes/" + code + "/pay"
	phone := func(digits string) string { return `{"phone_number":"024123` + digits + `"}` }
	meet(
		t, s, refusal{pay, `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{pay, phone("0908"), 429, "too_many_prompts", ""},
		refusal{pay, `{"phone_number":"0241234567","amount":1}`, 400, "parameter_invalid", "amount"},
		refusal{pay, `{"phone_number":"0241234567","account_id":"acc_1","pin":"1234"}`, 400, "parameter_invalid", "phone_number"},
		refusal{pay, `{"provider":"mtn"}`, 400, "parameter_missing", "account_id"},
	)
	_, first := s.Do("POST", pay, phone("0903"))
	advance(t, s, 0)
	for _, body := range []string{phone("4567"), phone("0908"), fmt.Sprintf(`{"account_id":%q,"pin":%q}`, s.Consumer.ID, s.PIN)} {
		response, data := s.Do("POST", pay, body)
		refused(t, body, response, data, 409, "payment_in_progress", "")
		expect.True(t, response.Header.Get("Retry-After") != "", "no Retry-After")
	}
	if _, data := s.Do("GET", "/v1/qr_codes/"+code, nil); field(t, data, "active") != "true" || field(t, data, "usage_count") != "0" {
		t.Errorf("while it is held: %s", data)
	}
	advance(t, s, 10*time.Minute)
	if _, data := s.Do("GET", "/v1/payments/"+field(t, first, "id"), nil); field(t, data, "hold_expires_at") != "" || field(t, data, "status") != "processing" {
		t.Errorf("after the deadline: %s", data)
	}
	s.Do("POST", pay, phone("4567"))
	advance(t, s, 0)
	meet(t, s, refusal{pay, phone("4567"), 402, "qr_limit_reached", ""})

	// The first payer approves after all, and gets the money back.
	_, data := s.Do("POST", settlePath("/v1/payments/"+field(t, first, "id")), `{"outcome":"succeeded"}`)
	expect.Equal(t, field(t, data, "status"), "completed", "%s", data)
	advance(t, s, 0)
	_, refunds := s.Do("GET", "/v1/refunds?payment="+field(t, first, "id"), nil)
	expect.Equal(t, field(t, refunds, "data.0.reason")+", "+field(t, refunds, "data.0.status"), "Paid twice, succeeded", "%s", refunds)
	if _, data := s.Do("GET", "/v1/qr_codes/"+code, nil); field(t, data, "usage_count") != "1" {
		t.Errorf("in the end: %s", data)
	}
	if _, data := s.Do("GET", "/v1/qr_codes/"+code+"/payments", nil); field(t, data, "data.1.id") != field(t, first, "id") {
		t.Errorf("its payments: %s", data)
	}
	verified(t, s)
}

// An invoice that a payment from a phone holds is paid, voided and given up by nothing else.
func TestHoldOfAnInvoice(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: payments.Providers{Charger: hesitant{}}})
	invoice := func(body string) (path, helper string) {
		id, _ := newInvoice(t, s, body)
		return "/v1/invoices/" + id, "/v1/test_helpers/invoices/" + id + "/pay"
	}
	issued := `{"auto_finalize":true,` + oneLine + `}`
	held, helper := invoice(issued)
	const payer, slow = `{"phone_number":"0241234567"}`, `{"phone_number":"0241230903"}`
	_, draft := invoice(`{` + oneLine + `}`)
	lost, lostHelper := invoice(issued)
	s.Do("POST", lost+"/pay", `{"payment_method":"pm_lost"}`)
	meet(
		t, s, refusal{held + "/pay", `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{held + "/pay", `{"phone_number":"0241234567","provider":"glo"}`, 400, "parameter_invalid", "provider"},
		refusal{held + "/pay", `{"phone_number":"0241230908"}`, 429, "too_many_prompts", ""},
		refusal{helper, `{}`, 400, "parameter_missing", "phone_number"},
		refusal{helper, `{"phone_number":"12"}`, 400, "invalid_phone_number", "phone_number"},
		refusal{helper, `{"phone_number":"0241230908"}`, 429, "too_many_prompts", ""},
		refusal{draft, payer, 409, "invoice_not_open", ""},
		refusal{lostHelper, payer, 409, "invoice_payment_in_progress", ""},
	)
	response, data := s.Do("POST", held+"/pay", slow)
	must.True(t, response.StatusCode == 200, "pay: %s", data)
	expect.Equal(t, field(t, data, "status")+field(t, data, "payment")+field(t, data, "attempt_count"), "open1", "%s", data)
	advance(t, s, 0)
	meet(
		t, s, refusal{held + "/pay", payer, 409, "payment_in_progress", ""},
		refusal{held + "/pay", `{"payment_method":"pm_1"}`, 409, "payment_in_progress", ""},
		refusal{held + "/pay", `{"paid_outside":true}`, 409, "payment_in_progress", ""},
		refusal{held + "/void", ``, 409, "payment_in_progress", ""},
		refusal{held + "/mark_uncollectible", ``, 409, "payment_in_progress", ""},
		refusal{helper, payer, 409, "payment_in_progress", ""},
	)
	_, list := s.Do("GET", "/v1/payments?invoice="+strings.TrimPrefix(held, "/v1/invoices/"), nil)
	s.Do("POST", settlePath("/v1/payments/"+field(t, list, "data.0.id")), `{"outcome":"failed","failure_reason":"No."}`)
	if _, data := s.Do("GET", "/v1/events?type=invoice.payment_failed", nil); field(t, data, "data.0.data.object.status") != "open" {
		t.Errorf("after a decline: %s", data)
	}
	s.Do("POST", held+"/pay", payer)
	advance(t, s, 0)
	if _, data := s.Do("GET", held, nil); field(t, data, "status") != "paid" || !strings.HasPrefix(field(t, data, "payment"), "pay_") || field(t, data, "attempt_count") != "2" {
		t.Errorf("in the end: %s", data)
	}
	meet(t, s, refusal{helper, payer, 409, "invoice_already_paid", ""})
	verified(t, s)
}

// In live mode a phone is asked for one payment at a time, over all merchants. The refusal keeps no
// idempotency key, and tells nothing of the other merchant.
func TestOnePromptAtATime(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: provider.Simulated{}}})
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	stranger, _ := as(t, s, api.Caller{Merchant: other.ID, Live: true}, account.CreateKeyParams{})
	const body = `{"amount":1,"phone_number":"0241234567"}`
	_, first := live.Do("POST", "/v1/payments", body)
	response, data := stranger.Do("POST", "/v1/payments", body, "Idempotency-Key", "k")
	refused(t, "the second", response, data, 429, "too_many_prompts", "")
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	expect.True(t, err == nil && seconds > 0 && seconds <= 600, "Retry-After: %s", response.Header.Get("Retry-After"))
	expect.True(t, !strings.Contains(string(data), "Adom") && !strings.Contains(string(data), "241234567"), "%s", data)
	drain(t, s)
	if _, data := live.Do("GET", "/v1/payments/"+field(t, first, "id"), nil); field(t, data, "status") != "completed" {
		t.Errorf("the first: %s", data)
	}
	for _, key := range []string{"k", "the third"} {
		if response, data := stranger.Do("POST", "/v1/payments", body, "Idempotency-Key", key); response.StatusCode != 200 || response.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("once the one before has ended: %s", data)
		}
		drain(t, s)
	}
	response, data = live.Do("POST", "/v1/payments", body)
	refused(t, "the fourth in ten minutes", response, data, 429, "too_many_prompts", "")
}

// An automatic charge asks the customer's phone, and again after 1, 3 and 5 days.
func TestAutomaticChargesAskThePhone(t *testing.T) {
	s := paymentstest.New(t)
	charged := func(phone string) (path string) {
		id, _ := newInvoice(t, s, `{"auto_finalize":true,"collection_method":"charge_automatically","customer_phone":"`+phone+`",`+oneLine+`}`)
		advance(t, s, 0)
		return "/v1/invoices/" + id
	}
	paid, declined := charged("0241234567"), charged("0241230901")
	_, data := s.Do("GET", paid, nil)
	_, data = s.Do("GET", "/v1/payments/"+field(t, data, "payment"), nil)
	expect.Equal(t, field(t, data, "payment_method"), "mobile_money", "%s", data)
	for n, days := range []int{0, 1, 2, 2} { // since the last attempt
		advance(t, s, time.Duration(days)*24*time.Hour)
		_, data := s.Do("GET", declined, nil)
		expect.Equal(t, field(t, data, "attempt_count"), strconv.Itoa(n+1), "after %d days more: %s", days, data)
		expect.Equal(t, field(t, data, "next_payment_attempt") != "", n < 3, "%s", data)
	}
	if _, data := s.Do("GET", declined, nil); field(t, data, "status") != "uncollectible" {
		t.Errorf("in the end: %s", data)
	}
	if _, data := s.Do("GET", "/v1/events?type=invoice.payment_failed", nil); field(t, data, "data.3.id") == "" || field(t, data, "data.4.id") != "" {
		t.Errorf("events: %s", data)
	}
}

// Each filter finds its payment and no other, on every store.
func TestFiltersOfPayments(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		wallet := s.Pay(newCode(t, s, `{"amount":100}`), 0)
		_, customer := s.Do("POST", "/v1/customers", `{"name":"Akua"}`)
		_, asked := s.Do("POST", "/v1/payments", `{"amount":1,"phone_number":"0241230901","customer":"`+field(t, customer, "id")+`"}`)
		failed, waits := field(t, asked, "id"), strings.TrimPrefix(phonePays(t, s, "0903"), "/v1/payments/")
		invoice, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
		_, started := s.Do("POST", "/v1/test_helpers/invoices/"+invoice+"/pay", `{"phone_number":"0241230906"}`)
		pending := field(t, started, "id")
		drain(t, s)
		for query, want := range map[string][]string{
			"status=completed":                                 {wallet.ID},
			"status=failed":                                    {failed},
			"status=processing":                                {waits},
			"status=pending":                                   {pending},
			"status=cancelled":                                 nil,
			"payment_method=service_wallet":                    {wallet.ID},
			"payment_method=mobile_money":                      {pending, waits, failed},
			"payment_method=mobile_money&status=failed":        {failed},
			"payment_method=cash":                              nil,
			"customer=" + field(t, customer, "id"):             {failed},
			"customer=cus_1":                                   nil,
			"invoice=" + invoice:                               {pending},
			"qr_code=" + *wallet.QRCode:                        {wallet.ID},
			"checkout_session=cs_1":                            nil,
			"subscription=sub_1":                               nil,
			"payment_method=mobile_money&created=..2001-01-01": nil,
		} {
			_, data := s.Do("GET", "/v1/payments?"+query, nil)
			var got []string
			for i := range 4 {
				if id := field(t, data, fmt.Sprint("data.", i, ".id")); id != "" {
					got = append(got, id)
				}
			}
			expect.True(t, slices.Equal(got, want), "%s: got %v, want %v in %s", query, got, want, data)
		}
	})
}
