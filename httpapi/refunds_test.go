package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

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

func TestRefusalsOfRefunds(t *testing.T) {
	s := paymentstest.New(t)
	back, paid := s.Pay(newCode(t, s, `{"amount":100}`), 0), s.Pay(newCode(t, s, `{"amount":1250}`), 0)
	s.Refund(back.ID, 0)
	refund := func(status int, code, param, more string) {
		t.Helper()
		response, data := s.Do("POST", "/v1/refunds", `{"payment":"`+paid.ID+`"`+more+`}`)
		refused(t, code, response, data, status, code, param)
	}
	refund(400, "amount_too_large", "amount", `,"amount":1251`)
	response, data := s.Do("POST", "/v1/refunds", `{"payment":"`+back.ID+`"}`)
	refused(t, "twice", response, data, 409, "payment_already_refunded", "")
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
