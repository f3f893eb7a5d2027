package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

func entry(n int, amount, wallet, pin string) url.Values {
	token := fmt.Sprintf("%022d", n)
	return url.Values{"token": {token}, "amount": {amount}, "wallet": {wallet}, "pin": {pin}}
}

// A stranger does not see on a page whether a number has a wallet, nor whether its PIN is
// locked.
func TestPagesDoNotRevealWallets(t *testing.T) {
	s := paymentstest.New(t)
	_, invoice := newInvoice(t, s, `{"auto_finalize":true,"customer_email":"ama@example.com","line_items":[{"description":"Tea","unit_amount":100}]}`)
	for name, address := range map[string]string{"pay": s.Server.URL + "/pay/" + newCode(t, s, `{"amount":100}`), "invoice": invoice} {
		answer := func(wallet, pin string) string {
			t.Helper()
			response, page := browse(t, "POST", address, url.Values{"token": {strings.Repeat("a", 22)}, "wallet": {wallet}, "pin": {pin}})
			return fmt.Sprint(response.StatusCode, response.Header.Get("Retry-After"), strings.ReplaceAll(page, wallet, "WALLET"))
		}
		must.Do(t, s.Accounts.UnlockPIN(t.Context(), api.Caller{}, s.Consumer.ID))
		want := answer("0241000001", "0000")
		expect.True(t, strings.HasPrefix(want, "403"), "%s: a wrong PIN is answered %s", name, want)
		for what, wallet := range map[string]string{"no wallet": "0249999999", "no service id": "SVC999", "the merchant": "SVC1000001"} {
			expect.Equal(t, answer(wallet, "0000"), want, "%s: %s is answered", name, what)
		}
		must.Do(t, s.Accounts.UnlockPIN(t.Context(), api.Caller{}, s.Consumer.ID))
		lockPIN(t, s)
		expect.Equal(t, answer("0241000001", "1234"), want, "%s: a locked PIN is answered", name)
	}
}

// lockPIN locks the consumer's PIN over the API, where the host knows its client.
func lockPIN(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	code := newCode(t, s, `{"amount":100}`)
	for range 5 {
		response, data := s.Do("POST", "/v1/test_helpers/qr_codes/"+code+"/pay", payBody(s.Consumer.ID, "0000"))
		wants(t, "a wrong PIN", response, data, 403, "pin_invalid", "pin")
	}
	response, data := s.Do("POST", "/v1/test_helpers/qr_codes/"+code+"/pay", payBody(s.Consumer.ID, "1234"))
	wants(t, "the right PIN", response, data, 403, "pin_locked", "pin")
}

// An address that has entered four wrong PINs for a wallet, on whatever pages, is refused
// for that wallet, and the wallet is not locked for its holder.
func TestAStrangerOnPagesLocksNoWallet(t *testing.T) {
	for name, page := range map[string]func(*paymentstest.Shop) string{
		"code": func(s *paymentstest.Shop) string { return s.Server.URL + "/pay/" + newCode(t, s, `{"amount":100}`) },
		"invoice": func(s *paymentstest.Shop) string {
			_, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
			return address
		},
	} {
		s := paymentstest.New(t)
		for n, pin := range []string{"0000", "0001", "0002", "0003", "1234"} {
			shows(t, name+" with PIN "+pin, "POST", page(s), entry(n, "", "0241000001", pin), 403)
		}
		response, data := s.Do("POST", "/v1/test_helpers/qr_codes/"+newCode(t, s, `{"amount":100}`)+"/pay", payBody(s.Consumer.ID, "1234"))
		wants(t, "the holder, elsewhere", response, data, 200, "", "")
		shows(t, name+" after a right entry", "POST", page(s), entry(5, "", "0241000001", "1234"), http.StatusSeeOther)
	}
}

// A right PIN with which nothing can be paid counts against page and address, so that a
// page does not confirm PINs for long, and never against the wallet.
func TestFailedPINsLimitOnePage(t *testing.T) {
	s := paymentstest.New(t)
	open := newCode(t, s, `{}`)
	address := s.Server.URL + "/pay/" + open
	for n := range 3 { // what succeeds does not count
		shows(t, "a payment", "POST", address, entry(n, "1", "0241000001", "1234"), http.StatusSeeOther)
	}
	for n := range 10 {
		shows(t, "an entry without money", "POST", address, entry(10+n, "500000", "0241000001", "1234"), 402)
	}
	for what, form := range map[string]url.Values{"as before": entry(30, "500000", "0241000001", "1234"), "one that could be paid": entry(31, "1", "0241000001", "1234")} {
		response, _ := browse(t, "POST", address, form)
		expect.True(t, response.StatusCode == 429 && response.Header.Get("Retry-After") != "", "%s: status %d, Retry-After %q", what, response.StatusCode, response.Header.Get("Retry-After"))
	}
	shows(t, "another page", "POST", s.Server.URL+"/pay/"+newCode(t, s, `{}`), entry(32, "1", "0241000001", "1234"), http.StatusSeeOther)
	response, data := s.Do("POST", "/v1/test_helpers/qr_codes/"+newCode(t, s, `{"amount":100}`)+"/pay", payBody(s.Consumer.ID, "1234"))
	wants(t, "the wallet", response, data, 200, "", "")
}

// An amount beyond the limits is refused before the PIN is looked at.
func TestAmountsAreCheckedBeforeThePIN(t *testing.T) {
	s := paymentstest.New(t)
	address := s.Server.URL + "/pay/" + newCode(t, s, `{}`)
	for n := range 12 {
		for _, amount := range []string{"1000000", "0", "-1", "0.001"} {
			response, page := browse(t, "POST", address, entry(n, amount, "0241000001", "0000"))
			expect.Equal(t, response.StatusCode, 400, "%s: status", amount)
			holds(t, amount, page, "Enter the amount in cedis")
		}
	}
	shows(t, "a right entry afterwards", "POST", address, entry(99, "1", "0241000001", "1234"), http.StatusSeeOther)
}
