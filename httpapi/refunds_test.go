package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
)

func TestRefundBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)
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

// The hosted page shows what was refunded, with the credit note, to the one who has its
// address.
func TestHostedPageShowsRefunds(t *testing.T) {
	s := paymentstest.New(t)
	id, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	s.Do("POST", "/v1/invoices/"+id+"/pay", `{}`)
	_, made := s.Do("POST", "/v1/refunds", fmt.Sprintf(`{"invoice":%q,"amount":1000,"reason":"Cold"}`, id))
	drain(t, s)
	refund := field(t, made, "id")
	_, token, _ := strings.Cut(address, "/invoice/")
	shows(t, "the page", "GET", address, nil, 200, ">Paid</span>", "Refunded", "GH₵&nbsp;10.00 refunded", `href="`+token+"/credit_notes/"+refund+`"`, "CN-")
	if response, body := browse(t, "GET", address+"/credit_notes/"+refund, nil); response.Header.Get("Content-Type") != "application/pdf" || !strings.HasPrefix(body, "%PDF-") {
		t.Errorf("the credit note: %d %s", response.StatusCode, body)
	}
	// The address of the API leads to the same document.
	response, _ := s.Do("GET", "/v1/refunds/"+refund+"/credit_note", nil)
	expect.True(t, response.Request.URL.String() == address+"/credit_notes/"+refund && response.StatusCode == 200, "led to %s: %d", response.Request.URL, response.StatusCode)
	for _, url := range []string{address + "/credit_notes/re_1", s.Server.URL + "/invoice/none/credit_notes/" + refund} {
		shows(t, url, "GET", url, nil, 404, "There is no invoice here.")
	}
	// A page of an invoice that was not refunded says nothing of it.
	_, other := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	_, page := browse(t, "GET", other, nil)
	lacks(t, "another", page, "efunded")
}
