package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/qrcode"
)

// browse sends a request as a browser would, without following redirects.
func browse(t *testing.T, method, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, body))(t)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	return response, string(text)
}

func holds(t *testing.T, what, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("%s lacks %q:\n%s", what, text, page[max(0, strings.Index(page, "<main")):])
		}
	}
}

// shows sends a request as a browser would, and checks the status and what the page holds.
func shows(t *testing.T, what, method, address string, form url.Values, status int, texts ...string) (*http.Response, string) {
	t.Helper()
	response, page := browse(t, method, address, form)
	expect.Equal(t, response.StatusCode, status, "%s: status", what)
	holds(t, what, page, texts...)
	return response, page
}

// postAtOnce posts a form many times at once, and returns where all answers lead.
func postAtOnce(t *testing.T, address string, form url.Values) string {
	t.Helper()
	leads := make([]string, 6)
	var all sync.WaitGroup
	for i := range leads {
		all.Go(func() {
			response, _ := shows(t, "the form", "POST", address, form, http.StatusSeeOther)
			leads[i] = response.Header.Get("Location")
		})
	}
	all.Wait()
	for _, to := range leads {
		expect.Equal(t, to, leads[0], "the form leads to %v", leads)
	}
	return leads[0]
}

// giveLogo gives the shop a logo, and showsLogo checks that a page has it.
func giveLogo(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	must.Get(s.Accounts.UpdateMerchant(t.Context(), api.Caller{}, s.Caller.Merchant, account.UpdateMerchantParams{Logo: []byte("\x89PNG\r\n\x1a\nlogo")}))(t)
}

func showsLogo(t *testing.T, address string) {
	t.Helper()
	response, logo := browse(t, "GET", address+"/logo", nil)
	expect.Equal(t, response.Header.Get("Content-Type"), "image/png", "logo: Content-Type")
	expect.True(t, strings.HasSuffix(logo, "logo"), "logo: %v", response.Header)
}

var tokenInput = regexp.MustCompile(`name="token" value="([0-9A-Za-z]{22})"`)

var styleBlock = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

func TestPayPage(t *testing.T) {
	s := paymentstest.New(t)
	evil := `<script>alert("x")</script>`
	must.Get(s.Accounts.UpdateMerchant(t.Context(), api.Caller{}, s.Caller.Merchant, account.UpdateMerchantParams{
		Name: new("Adom " + evil), Phone: new("0301000000"), Logo: []byte("\x89PNG\r\n\x1a\nlogo"),
	}))(t)
	code := newCode(t, s, fmt.Sprintf(`{"name":%q,"description":%q}`, "Till "+evil, evil))
	address := s.Server.URL + "/pay/" + code

	response, page := browse(t, "GET", address, nil)
	for header, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
	} {
		expect.Equal(t, response.Header.Get(header), want, "%s", header)
	}
	policy := response.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "style-src 'sha256-", "img-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		expect.True(t, strings.Contains(policy, part), "policy %q lacks %q", policy, part)
	}
	style := styleBlock.FindAllStringSubmatch(page, -1)
	must.True(t, len(style) == 1, "%d style blocks", len(style))
	sum := sha256.Sum256([]byte(style[0][1]))
	expect.True(t, strings.Contains(policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'"), "the policy %q does not allow the page's own styles", policy)
	expect.Equal(t, response.StatusCode, 200, "status")
	expect.True(t, !strings.Contains(page, "<script"), "status %d, or a script, or an address of elsewhere:\n%s", response.StatusCode, page)
	expect.True(t, !strings.Contains(page, "://"), "status %d, or a script, or an address of elsewhere:\n%s", response.StatusCode, page)
	holds(t, "the page", page, `<html lang="en">`, `<a href="tel:&#43;233301000000">`, `<label for="amount">`, `<label for="wallet">`, `<label for="pin">`,
		`type="password"`, `src="`+code+`/logo"`, "Adom &lt;script&gt;", "Test mode")
	showsLogo(t, address)

	form := func(amount, wallet, pin string) url.Values {
		return url.Values{"token": {tokenInput.FindStringSubmatch(page)[1]}, "amount": {amount}, "wallet": {wallet}, "pin": {pin}}
	}
	for name, try := range map[string]struct {
		form   url.Values
		status int
		text   string
	}{
		"no amount":        {form("", "0241000001", "1234"), 400, "Enter the amount."},
		"a wrong amount":   {form("1.234", "0241000001", "1234"), 400, "Enter the amount in cedis"},
		"too much":         {form("1000000", "0241000001", "1234"), 400, "Enter the amount in cedis"},
		"no wallet":        {form("5", " ", "1234"), 400, "Enter your wallet number."},
		"no such wallet":   {form("5", "0249999999", "1234"), 403, "The PIN is wrong or locked."},
		"a wrong number":   {form("5", "12", "1234"), 400, "There is no open wallet"},
		"no PIN":           {form("5", "0241000001", ""), 400, "Enter your PIN."},
		"a wrong PIN":      {form("5", "0241000001", "0000"), 403, "The PIN is wrong or locked."},
		"too little money": {form("5,000.00", "024-100-0001", "1234"), 402, "not enough money"},
	} {
		response, refused := browse(t, "POST", address, try.form)
		expect.Equal(t, response.StatusCode, try.status, "%s: status", name)
		holds(t, name, refused, try.text, `role="alert"`, `value="`+try.form.Get("amount")+`"`)
		if pin := try.form.Get("pin"); pin != "" && strings.Contains(refused, `value="`+pin+`"`) {
			t.Errorf("%s: the PIN is given back", name)
		}
		if got := tokenInput.FindStringSubmatch(refused); got == nil || got[1] != try.form.Get("token") {
			t.Errorf("%s: the token changed", name)
		}
	}

	// Posted many times at once, the form pays once, and all see the receipt.
	good := form("12.50", "SVC1000002", "1234")
	receiptAt := postAtOnce(t, address, good)
	balance := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	expect.Equal(t, balance.Available.String(), "1012.5", "the merchant has")
	paid := receiptAt[strings.LastIndex(receiptAt, "/")+1:]
	_, receipt := browse(t, "GET", s.Server.URL+"/pay/"+receiptAt, nil)
	holds(t, "the receipt", receipt, paid, "<h1>Paid</h1>", "GH₵</span>12.50", "024\u00a0•••\u00a0001", `role="status"`, `src="../logo"`)

	other := newCode(t, s, `{}`)
	for _, path := range []string{"/pay/" + other + "/receipt/" + paid, "/pay/qr_unknown", "/pay/qr_unknown.png", "/pay/" + code + "/receipt/pay_unknown"} {
		shows(t, path, "GET", s.Server.URL+path, nil, 404, "There is nothing to pay here.")
	}
	shows(t, "PUT", "PUT", address, nil, 405)
	shows(t, "a form of 1 MiB", "POST", address, url.Values{"wallet": {strings.Repeat("x", 1<<20)}}, 413)
	verified(t, s)
}

// Who looks at a code that cannot be paid may have paid it before, or be about to approve its payment, so the
// page does not say that nothing was taken, nor to pay another code. It says so of a form that it refuses.
func TestPageOfACodeThatIsClosed(t *testing.T) {
	s := paymentstest.New(t)
	for what, end := range map[string]func(code string){
		"withdrawn": func(code string) { s.Do("POST", "/v1/qr_codes/"+code, `{"active":false}`) },
		"expired":   func(string) { s.Advance(2 * time.Hour) },
	} {
		expires := must.Get(s.Now(t.Context(), s.Caller))(t).Add(time.Hour)
		code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Amount: new(int64(100)), ExpiresAt: expires}))(t).ID
		address := s.Server.URL + "/pay/" + code
		form := byPhone(t, address, "0241234567")
		startPayment(t, address, "0241234567")
		s.Work()
		end(code)
		_, page := shows(t, what, "GET", address, nil, 200, what, "or approved a payment on your phone, do not pay again")
		expect.True(t, !strings.Contains(strings.ToLower(page), "nothing was taken"), "%s: the page of one who has paid says that nothing was taken", what)
		_, page = shows(t, what+": a form", "POST", address, form, 402, what, "Nothing was taken.", "To pay, ask Adom Juice Bar")
		expect.True(t, !strings.Contains(page, "do not pay again"), "%s: a form that has taken nothing keeps from paying", what)
	}
}

// The page of a code with one use left does not offer a second payment while the first may yet be approved.
// It is public, so it shows nothing of the first payer.
func TestLastUseOfACodeMayBePaid(t *testing.T) {
	s := paymentstest.New(t)
	address := s.Server.URL + "/pay/" + newCode(t, s, `{"type":"dynamic","amount":500}`)
	startPayment(t, address, "0241230903")
	s.Work()
	shows(t, "in time", "GET", address, nil, 200, "Pay with")
	s.Advance(11 * time.Minute)
	_, page := shows(t, "later", "GET", address, nil, 200, "MTN has not answered yet", "Do not pay again.", "I did not approve it")
	expect.True(t, !strings.Contains(page, "pay_"), "the page shows the first payer:\n%s", page)
	expect.True(t, !strings.Contains(page, "903"), "the page shows the first payer:\n%s", page)
	shows(t, "the second step", "GET", address+"?again=1", nil, 200, "Pay with")

	several := s.Server.URL + "/pay/" + newCode(t, s, `{"type":"dynamic","amount":500,"usage_limit":2}`)
	startPayment(t, several, "0241230903")
	s.Work()
	s.Advance(11 * time.Minute)
	shows(t, "two uses left", "GET", several, nil, 200, "Pay with")
}

// A merchant may delete a code as soon as it is paid. The payer's receipt is gone then, and a form whose answer
// was lost meets no code. Neither asks the payer to pay with another code.
func TestDeletedCodeMayBePaid(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"amount":500}`)
	address := s.Server.URL + "/pay/" + code
	response, _ := shows(t, "the form", "POST", address, entry(1, "", "0241000001", "1234"), http.StatusSeeOther)
	deleted, _ := s.Do("DELETE", "/v1/qr_codes/"+code, "")
	must.True(t, deleted.StatusCode == 200, "deletion: %d", deleted.StatusCode)
	shows(t, "the receipt", "GET", s.Server.URL+"/pay/"+response.Header.Get("Location"), nil, 404, "If you have just paid, do not pay again")
	shows(t, "the form once more", "POST", address, entry(1, "", "0241000001", "1234"), 404, "If you have just paid, do not pay again")
}
