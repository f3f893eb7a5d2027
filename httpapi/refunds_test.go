package httpapi_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
)

func TestRefundBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := func(name, method, path string, body any, headers ...string) []byte {
		t.Helper()
		response, data := s.Do(method, path, body, headers...)
		golden(t, name, response, data)
		return data
	}
	paid := s.Pay(newCode(t, s, `{"reference":"order-1001"}`), 1250)
	body := fmt.Sprintf(`{"payment":%q,"amount":500.0,"reason":"One juice <was> warm","metadata":{"ticket":7}}`, paid.ID)
	id := field(t, step("refund_create", "POST", "/v1/refunds", body, "X-Idempotency-Key", "refund-1"), "id")
	if response, data := s.Do("POST", "/v1/refunds", body, "X-Idempotency-Key", "refund-1"); field(t, data, "id") != id || response.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeated: %s", data)
	}
	step("refund_get", "GET", "/v1/refunds/"+id, nil)
	step("refund_of_the_rest", "POST", "/v1/refunds", fmt.Sprintf(`{"payment":%q}`, paid.ID))
	step("payment_refunded", "GET", "/v1/payments/"+paid.ID, nil)
	step("refund_refused", "POST", "/v1/refunds", body)

	invoice, _ := newInvoice(t, s, `{"auto_finalize":true,"customer_phone":"0245556666",`+oneLine+`}`)
	s.Do("POST", "/v1/invoices/"+invoice+"/pay", `{"payment_method":"pm_refund_slow_1"}`)
	slow := field(t, step("refund_pending", "POST", "/v1/refunds", fmt.Sprintf(`{"invoice":%q,"amount":1000}`, invoice)), "id")
	doomed := field(t, step("refund_pending_too", "POST", "/v1/refunds", fmt.Sprintf(`{"invoice":%q,"amount":1500}`, invoice)), "id")
	drain(t, s)
	step("refund_processing", "GET", "/v1/refunds/"+slow, nil)
	step("refund_no_credit_note", "GET", "/v1/refunds/"+slow+"/credit_note", nil)
	step("refund_settled", "POST", "/v1/test_helpers/refunds/"+slow+"/settle", `{"outcome":"succeeded"}`)
	step("refund_failed", "POST", "/v1/test_helpers/refunds/"+doomed+"/settle", `{"outcome":"failed","failure_reason":"The card was closed."}`)
	step("refund_settled_otherwise", "POST", "/v1/test_helpers/refunds/"+slow+"/settle", `{"outcome":"failed"}`)
	step("refund_list", "GET", "/v1/refunds?limit=1", nil)
	step("refund_list_filtered", "GET", "/v1/refunds?status=failed&invoice="+invoice, nil)
	step("refund_list_of_payment", "GET", "/v1/refunds?limit=1&payment="+paid.ID, nil)
	step("entries_of_refunds", "GET", "/v1/balance/entries?limit=6", nil)
	for _, kind := range []string{"refund.created", "refund.succeeded", "refund.completed", "refund.failed"} {
		step("event_"+kind, "GET", "/v1/events?limit=1&type="+kind, nil)
	}

	outside, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	step("invoice_pay_outside", "POST", "/v1/invoices/"+outside+"/pay", `{"paid_outside":true,"payment_method":"cash"}`)
	step("refund_of_outside", "POST", "/v1/refunds", fmt.Sprintf(`{"invoice":%q}`, outside))
	step("invoice_duplicate", "POST", "/v1/invoices/"+outside+"/duplicate", nil)
	verified(t, s)
}

func TestRefundRefusals(t *testing.T) {
	s := paymentstest.New(t)
	paid := s.Pay(newCode(t, s, `{}`), 100)
	for _, c := range []struct {
		what, body  string
		status      int
		code, param string
	}{
		{"nothing", `{}`, 400, "parameter_missing", "payment"},
		{"nobody's", `{"payment":"pay_0VbZaxcl001kOOiAEr1tPH"}`, 400, "resource_missing", "payment"},
		{"no invoice", `{"invoice":"inv_0VbZaxcl001kOOiAEr1tPH"}`, 400, "resource_missing", "invoice"},
		{"a number", `{"payment":5}`, 400, "parameter_invalid", "payment"},
		{"text", `{"payment":"PAY","amount":"5"}`, 400, "parameter_invalid", "amount"},
		{"half a pesewa", `{"payment":"PAY","amount":0.5}`, 400, "parameter_invalid", "amount"},
		{"zero", `{"payment":"PAY","amount":0}`, 400, "parameter_invalid", "amount"},
		{"too much", `{"payment":"PAY","amount":101}`, 400, "amount_too_large", "amount"},
		{"beyond all", `{"payment":"PAY","amount":99999999999999999999}`, 400, "parameter_invalid", "amount"},
		{"a long reason", `{"payment":"PAY","reason":"` + strings.Repeat("x", 501) + `"}`, 400, "parameter_invalid", "reason"},
		{"nested metadata", `{"payment":"PAY","metadata":{"a":{}}}`, 400, "parameter_invalid", "metadata.a"},
	} {
		response, data := s.Do("POST", "/v1/refunds", strings.ReplaceAll(c.body, "PAY", paid.ID))
		wants(t, c.what, response, data, c.status, c.code, c.param)
	}
	for query, param := range map[string]string{"status=lost": "status", "payment=": "payment", "limit=0": "limit"} {
		response, data := s.Do("GET", "/v1/refunds?"+query, nil)
		wants(t, query, response, data, 400, "parameter_invalid", param)
	}
	s.Refund(paid.ID, 0)
	response, data := s.Do("POST", "/v1/refunds", fmt.Sprintf(`{"payment":%q}`, paid.ID))
	wants(t, "twice", response, data, 409, "payment_already_refunded", "")
	response, data = s.Do("POST", "/v1/test_helpers/refunds/re_1/settle", `{"outcome":"lost"}`)
	wants(t, "settled somehow", response, data, 400, "parameter_invalid", "outcome")
	response, data = s.Do("POST", "/v1/invoices/inv_1/pay", `{"paid_outside":"cash"}`)
	wants(t, "paid somehow", response, data, 400, "parameter_invalid", "paid_outside")
}

// The hosted page shows what was refunded, with the credit note, to whoever has its
// address.
func TestHostedPageShowsRefunds(t *testing.T) {
	s := paymentstest.New(t)
	id, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	s.Do("POST", "/v1/invoices/"+id+"/pay", `{}`)
	_, made := s.Do("POST", "/v1/refunds", fmt.Sprintf(`{"invoice":%q,"amount":1000,"reason":"Cold"}`, id))
	drain(t, s)
	refund := field(t, made, "id")
	get := func(url string) (status int, kind, body string) {
		t.Helper()
		answer := must.Get(s.Server.Client().Get(url))(t)
		defer answer.Body.Close()
		data := must.Get(io.ReadAll(answer.Body))(t)
		return answer.StatusCode, answer.Header.Get("Content-Type"), string(data)
	}
	_, _, page := get(address)
	_, token, _ := strings.Cut(address, "/invoice/")
	for _, want := range []string{"Paid. Thank you.", "Refunded", "GHS 10.00 refunded", `href="` + token + "/credit_notes/" + refund + `"`, "CN-"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on %s", want, page)
		}
	}
	if status, kind, body := get(address + "/credit_notes/" + refund); status != 200 || kind != "application/pdf" || !strings.HasPrefix(body, "%PDF-") {
		t.Errorf("the credit note: %d %s", status, kind)
	}
	// The address of the API leads to the same document.
	if got, err := s.Refunds.CreditNote(t.Context(), s.Caller, refund); err != nil || got != address+"/credit_notes/"+refund {
		t.Errorf("got %s, %v", got, err)
	}
	response, _ := s.Do("GET", "/v1/refunds/"+refund+"/credit_note", nil)
	if response.Request.URL.String() != address+"/credit_notes/"+refund || response.StatusCode != 200 {
		t.Errorf("led to %s: %d", response.Request.URL, response.StatusCode)
	}
	for _, url := range []string{address + "/credit_notes/re_1", s.Server.URL + "/invoice/none/credit_notes/" + refund} {
		if status, _, body := get(url); status != 404 || !strings.Contains(body, "There is no invoice here.") {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
	// A page of an invoice that was not refunded says nothing of it.
	_, other := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	if _, _, page := get(other); strings.Contains(page, "efunded") {
		t.Errorf("got %s", page)
	}
	if _, err := s.Refunds.Get(t.Context(), api.Caller{Merchant: "mer_1"}, refund); api.CodeOf(err) != api.ResourceMissing {
		t.Errorf("another merchant: %v", err)
	}
}
