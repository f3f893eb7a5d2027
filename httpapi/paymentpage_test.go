package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// byPhone is the form of a page with a fresh token.
func byPhone(t *testing.T, address, phone string, more ...string) url.Values {
	t.Helper()
	_, page := browse(t, "GET", address, nil)
	form := url.Values{"token": {tokenInput.FindStringSubmatch(page)[1]}, "method": {"mobile"}, "phone": {phone}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

// startPayment pays a code or an invoice from a phone, and returns the address of the payment's page.
func startPayment(t *testing.T, address, phone string, more ...string) string {
	t.Helper()
	response, page := browse(t, "POST", address, byPhone(t, address, phone, more...))
	must.True(t, response.StatusCode == http.StatusSeeOther, "%s from %s: status %d\n%s", address, phone, response.StatusCode, page)
	return must.Get(must.Get(url.Parse(address))(t).Parse(response.Header.Get("Location")))(t).String()
}

// lacks checks that a page holds none of the texts.
func lacks(t *testing.T, what, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		expect.True(t, !strings.Contains(page, text), "%s holds %q:\n%s", what, text, page[max(0, strings.Index(page, "<main")):])
	}
}

func TestPayFromAPhone(t *testing.T) {
	s := paymentstest.New(t)
	giveLogo(t, s)
	address := s.Server.URL + "/pay/" + newCode(t, s, `{"name":"Table 4"}`)
	form := byPhone(t, address, "024 123 4567", "amount", "12.50")
	_, page := shows(t, "the form", "GET", address, nil, 200, `value="mobile" checked`, `<label for="phone">Mobile money number</label>`, "AirtelTigo", "not of your mobile money")
	lacks(t, "the form", page, `name="network" value="mtn" checked`)

	// Posted many times at once, the form pays once, and leads to one page.
	at := postAtOnce(t, address, form)
	expect.True(t, strings.HasPrefix(at, "../payment/"), "the page is at %s", at)
	follow := s.Server.URL + strings.TrimPrefix(at, "..")

	response, page := browse(t, "GET", follow, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "5", "Refresh")
	holds(t, "waiting", page, "<h1>Approve on your phone</h1>", "GH₵</span>12.50", "024\u00a0•••\u00a04567 · MTN", "GHS&nbsp;12.50</b> and <b>Adom Juice Bar",
		"<b>on the phone</b>, never on this page", `class="bar"`, "Check now", "Stop checking by itself", "Test mode")
	expect.Equal(t, strings.Count(page, "Accra time"), 1, "mentions of Accra time")
	lacks(t, "waiting", page, "<script", "Pay GH₵")
	holds(t, "waiting", page, `src="`+follow[strings.LastIndex(follow, "/")+1:]+`/logo"`)
	showsLogo(t, follow)
	s.Work()
	response, page = browse(t, "GET", follow, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh of a receipt")
	holds(t, "the receipt", page, "<h1>Paid</h1>", "GH₵</span>12.50", "MTN mobile money", "Table 4", `class="id">pay_`, `role="status"`, "A receipt was sent by SMS.")
	expect.Equal(t, strings.Count(page, "Accra time"), 1, "mentions of Accra time")
	balance := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	expect.Equal(t, balance.Available.String(), "1012.5", "the merchant has")
	verified(t, s)
}

// What is wrong stands under its field, with what was entered.
func TestRefusedPhones(t *testing.T) {
	s := paymentstest.New(t)
	_, bill := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	for name, address := range map[string]string{"code": s.Server.URL + "/pay/" + newCode(t, s, `{"amount":100}`), "invoice": bill} {
		form := byPhone(t, address, "")
		for phone, want := range map[string]struct {
			status int
			text   string
		}{
			"":           {400, "Enter your mobile money number, like 024\u00a0123\u00a04567."},
			"0241 23":    {400, "This number is too short."},
			"0301234567": {400, "Choose the network, or check the number."},
			"0241230908": {429, "asked to approve payments too often"},
		} {
			form.Set("phone", phone)
			response, page := shows(t, name+" "+phone, "POST", address, form, want.status, want.text, `role="alert"`, `value="`+phone+`"`, `value="mobile" checked`, `aria-invalid="true" aria-describedby="problem"`)
			expect.Equal(t, response.Header.Get("Retry-After") != "", want.status == 429, "%s, %q: Retry-After", name, phone)
			expect.Equal(t, strings.Contains(page, `value="mtn" checked`), phone == "0241230908", "%s, %q: the network of the number is chosen", name, phone)
			expect.Equal(t, tokenInput.FindStringSubmatch(page)[1], form.Get("token"), "%s, %q: the token", name, phone)
		}
		form.Set("network", "vodafone")
		form.Set("phone", "0241234567")
		shows(t, name, "POST", address, form, 400, "Choose one of these networks.")
	}
	verified(t, s)
}

// A number that was ported pays by the network that the payer chose.
func TestThePayersNetworkWins(t *testing.T) {
	s := paymentstest.New(t)
	follow := startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":100}`), "0241230903", "network", "telecel")
	shows(t, "waiting", "GET", follow, nil, 200, "· Telecel", "A request from Telecel appears.")
}

func TestFollowAPayment(t *testing.T) {
	s := paymentstest.New(t)
	follow := startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":100}`), "0241230903")
	s.Work()
	for _, step := range []struct {
		after   time.Duration
		refresh string
	}{{0, "5"}, {119 * time.Second, "5"}, {2 * time.Second, "15"}, {7 * time.Minute, "15"}} {
		s.Advance(step.after)
		response, page := browse(t, "GET", follow, nil)
		expect.Equal(t, response.Header.Get("Refresh"), step.refresh, "Refresh after %s more", step.after)
		holds(t, "waiting", page, "Use another number or a wallet", "every "+step.refresh+" seconds")
		expect.Equal(t, strings.Contains(page, `class="bar slow"`), step.refresh == "15", "the slow bar")
		lacks(t, "waiting", page, "Cancel the payment")
	}
	response, page := browse(t, "GET", follow+"?stop=1", nil)
	expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh when stopped")
	holds(t, "stopped", page, "does not check by itself", "Check by itself", `?stop=1">Check now`)
	lacks(t, "stopped", page, `class="bar`)

	// After the deadline the outcome is unknown, and the page offers no way to pay twice.
	s.Advance(2 * time.Minute)
	for _, query := range []string{"", "?stop=1", "?code=wrong"} {
		response, page = browse(t, "GET", follow+query, nil)
		expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh after the deadline")
		holds(t, "not known yet", page, "<h1>MTN has not answered yet</h1>", "<b>Do not pay again.</b>", "Check now", "pay_")
		lacks(t, "not known yet", page, "<form", "Try again", "/pay/", "Pay ")
	}
	response, _ = browse(t, "POST", follow, url.Values{"action": {"another"}})
	expect.True(t, response.StatusCode == 303 && strings.HasSuffix(follow, "/"+response.Header.Get("Location")),
		"another way after the deadline: %d to %s", response.StatusCode, response.Header.Get("Location"))
}

func TestPaymentNotMade(t *testing.T) {
	s := paymentstest.New(t)
	open := newCode(t, s, `{}`)
	for phone, want := range map[string][]string{
		"0241230901": {"<h1>Not paid</h1>", "The request was declined on the phone.", "<b>Nothing was taken.</b>"},
		"0241230902": {"<h1>Not paid</h1>", "There is not enough money in this mobile money account.", "<b>Nothing was taken.</b>"},
		"0241230909": {"<h1>Not paid</h1>", "The request was not approved in time.", "<b>Nothing was taken.</b>"},
	} {
		follow := startPayment(t, s.Server.URL+"/pay/"+open, phone, "amount", "1,036.00")
		s.Work()
		if phone == "0241230909" {
			s.Advance(11 * time.Minute)
		}
		response, page := browse(t, "GET", follow, nil)
		expect.Equal(t, response.Header.Get("Refresh"), "", "%s: Refresh", phone)
		// Another try and another way keep the amount.
		again := "../pay/" + open + "?amount=1%2C036.00"
		holds(t, phone, page, append(want, "GH₵</span>1,036.00", `href="`+again+`">Try again`, again+"&amp;method=wallet")...)
		_, form := browse(t, "GET", s.Server.URL+again[2:]+"&method=wallet", nil)
		holds(t, "another way", form, `value="1,036.00"`, `value="wallet" checked`)
	}
	balance := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	expect.Equal(t, balance.Available.String(), "1000", "the merchant has")
}

func TestCancelAPaymentOnItsPage(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"type":"dynamic","amount":100}`)
	follow := startPayment(t, s.Server.URL+"/pay/"+code, "0241230906")
	_, page := shows(t, "pending", "GET", follow, nil, 200, `value="cancel">Cancel the payment`)
	lacks(t, "pending", page, "Use another number")
	response, _ := browse(t, "POST", follow, url.Values{"action": {"cancel"}})
	expect.Equal(t, response.StatusCode, 303, "cancel")
	shows(t, "cancelled", "GET", follow, nil, 200, "<h1>Cancelled</h1>", "<b>Nothing was taken.</b>", "../pay/"+code)

	follow = startPayment(t, s.Server.URL+"/pay/"+code, "0241230903")
	s.Work()
	response, _ = shows(t, "the request is out", "POST", follow, url.Values{"action": {"cancel"}}, 409, `role="alert"`, "The request is on the phone already.", "<h1>Approve on your phone</h1>")
	expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh of a refusal, which a reload would repeat")
}

// A payer who chooses another way to pay ends the hold, and may still approve.
func TestAnotherWayEndsTheHold(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"type":"dynamic","amount":100}`)
	id, bill := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	for name, address := range map[string]string{"code": s.Server.URL + "/pay/" + code, "invoice": bill} {
		follow := startPayment(t, address, "0241230904")
		s.Work()
		for _, form := range []url.Values{byPhone(t, address, "0241234567"), entry(len(name), "", "0241000001", "1234")} {
			shows(t, name, "POST", address, form, 409, "waiting for its approval", `role="alert"`)
		}
		response, _ := browse(t, "POST", follow, url.Values{"action": {"another"}})
		expect.Equal(t, response.StatusCode, 303, "%s: another way", name)
		back := must.Get(must.Get(url.Parse(follow))(t).Parse(response.Header.Get("Location")))(t).String()
		expect.Equal(t, back, address, "%s: leads to", name)
		shows(t, name+" from a wallet", "POST", address, entry(100+len(name), "", "0241000001", "1234"), 303)
		// The payer approves after all: the money goes back.
		s.Advance(30 * time.Second)
		shows(t, name, "GET", follow, nil, 200, "<h1>Paid, and given back</h1>")
	}
	is := must.Get(s.Invoices.Get(t.Context(), s.Caller, id))(t)
	expect.Equal(t, is.Status, invoice.Paid, "the invoice")
	verified(t, s)
}

func TestEnterACodeOnThePage(t *testing.T) {
	s := paymentstest.New(t)
	follow := startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":100}`), "0201230907")
	s.Work()
	response, page := browse(t, "GET", follow, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh, which would empty the field")
	holds(t, "the question", page, "<h1>Enter the code</h1>", `<label for="code">`, `autocomplete="one-time-code"`, "Telecel says", `value="confirm"`, "Check now")
	send := func(code string) (*http.Response, string) {
		return browse(t, "POST", follow, url.Values{"action": {"confirm"}, "code": {code}})
	}
	response, page = send(" ")
	expect.Equal(t, response.StatusCode, 400, "no code")
	holds(t, "no code", page, "Enter the code that you got.", `aria-invalid="true"`)
	response, _ = send("000000")
	expect.True(t, response.StatusCode == 303 && strings.HasSuffix(response.Header.Get("Location"), "?code=wrong"), "a wrong code: %d to %s", response.StatusCode, response.Header.Get("Location"))
	_, page = shows(t, "a wrong code", "GET", follow+"?code=wrong", nil, 200, "This code was not accepted.", `role="alert"`)
	lacks(t, "a wrong code", page, "000000")
	response, _ = send("123456")
	expect.True(t, response.StatusCode == 303 && strings.HasSuffix(follow, "/"+response.Header.Get("Location")), "the right code: %d to %s", response.StatusCode, response.Header.Get("Location"))
	s.Work()
	shows(t, "paid", "GET", follow, nil, 200, "<h1>Paid</h1>", "Telecel mobile money")
	response, page = send("123456")
	expect.Equal(t, response.StatusCode, 409, "a code after the end")
	holds(t, "a code after the end", page, "<h1>Paid</h1>")

	// A payment takes five codes, so that a stranger cannot guess one.
	address := s.Server.URL + "/pay/" + newCode(t, s, `{"amount":100}`)
	follow = startPayment(t, address, "0201230907")
	s.Work()
	for range 5 {
		response, _ = send("000000")
		expect.Equal(t, response.StatusCode, 303, "a wrong code")
	}
	response, page = send("123456")
	expect.Equal(t, response.StatusCode, 429, "the sixth")
	holds(t, "the sixth", page, "Too many codes were tried.", `aria-invalid="true"`, "Use another number or a wallet")
}

// The address of a payment's page cannot be guessed from the payment, and guesses are slowed.
func TestPaymentPagesAreSecret(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"amount":100}`)
	follow := startPayment(t, s.Server.URL+"/pay/"+code, "0241230903")
	paid := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{}))(t).Data[0].ID
	for _, token := range []string{paid, paid + "-", paid + "-" + strings.Repeat("a", 32), "pay_1-x", "-", "x"} {
		for _, path := range []string{"", "/logo"} {
			shows(t, token, "GET", s.Server.URL+"/payment/"+token+path, nil, 404, "There is no payment here.")
		}
	}
	response, _ := browse(t, "GET", s.Server.URL+"/pay/"+code+"/receipt/"+paid, nil)
	expect.Equal(t, response.StatusCode, 404, "the receipt of a payment under way")
	slowed := func(address string) *http.Response {
		t.Helper()
		for range 1000 { // a hundred at once, and a few more while they are sent
			if response, _ := browse(t, "GET", address, nil); response.StatusCode == 429 {
				return response
			}
		}
		t.Fatalf("%s is not slowed", address)
		return nil
	}
	slowed(s.Server.URL + "/payment/pay_1-x")
	// Many payers wait behind one address, and each page has a limit of its own.
	response = slowed(follow)
	expect.Equal(t, response.Header.Get("Refresh"), "15", "Refresh, so that the page follows on")
	other := startPayment(t, s.Server.URL+"/pay/"+code, "0241230903")
	shows(t, "the page of another payer", "GET", other, nil, 200)
}

// One address does not ask many phones on one page.
func TestOnePageAsksFewPhones(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: provider.Simulated{}}})
	live := s.Caller
	live.Live = true
	page := func() string {
		return s.Server.URL + "/pay/" + must.Get(s.QRCodes.Create(t.Context(), live, liveCode()))(t).ID
	}
	address := page()
	for n := range 31 {
		want := 303
		if n == 30 {
			want = 429
		}
		response, _ := browse(t, "POST", address, byPhone(t, address, fmt.Sprintf("02412345%02d", n)))
		must.True(t, response.StatusCode == want, "phone %d: %d", n+1, response.StatusCode)
	}
	startPayment(t, page(), "0241234599")
}

// Without a charger the pages of live mode offer wallets alone.
func TestPagesWithoutACharger(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{})
	live := s.Caller
	live.Live = true
	code := must.Get(s.QRCodes.Create(t.Context(), live, liveCode()))(t)
	_, page := shows(t, "the page", "GET", s.Server.URL+"/pay/"+code.ID, nil, 200, "Pay with your wallet", `name="method" value="wallet"`, `<label for="pin">`)
	lacks(t, "the page", page, "Mobile money number", "Test mode", `type="radio"`)
	form := url.Values{"method": {"mobile"}, "phone": {"0241234567"}}
	shows(t, "a phone all the same", "POST", s.Server.URL+"/pay/"+code.ID, form, 503, `role="alert"`)
	list := must.Get(s.Payments.List(t.Context(), live, payment.ListParams{Page: api.Page{Limit: 1}}))(t)
	expect.Equal(t, len(list.Data), 0, "payments")
}

// The pages lead to each other under a prefix of the host's, too.
func TestPaymentPageUnderAPrefix(t *testing.T) {
	s := paymentstest.New(t)
	mux := http.NewServeMux()
	mux.Handle("/shop/pay/", http.StripPrefix("/shop/pay", httpapi.New(s.Service, httpapi.Config{Logger: slog.New(slog.DiscardHandler)})))
	host := newHost(t, mux)
	code := newCode(t, s, `{"amount":100}`)
	follow := startPayment(t, host+"/shop/pay/pay/"+code, "0241230904")
	expect.True(t, strings.HasPrefix(follow, host+"/shop/pay/payment/pay_"), "follows at %s", follow)
	s.Work()
	response, _ := browse(t, "POST", follow, url.Values{"action": {"another"}})
	back := must.Get(must.Get(url.Parse(follow))(t).Parse(response.Header.Get("Location")))(t).String()
	expect.Equal(t, back, host+"/shop/pay/pay/"+code, "leads back to")
}

func liveCode() qrcode.CreateParams { return qrcode.CreateParams{Amount: new(int64(100))} }

func newHost(t *testing.T, h http.Handler) string {
	t.Helper()
	host := httptest.NewServer(h)
	t.Cleanup(host.Close)
	return host.URL
}

// A page of another website cannot post the form with its visitors' browsers.
func TestForeignPagesCannotPost(t *testing.T) {
	s := paymentstest.New(t)
	address := s.Server.URL + "/pay/" + newCode(t, s, `{"amount":500}`)
	for site, status := range map[string]int{"cross-site": http.StatusForbidden, "same-origin": http.StatusSeeOther, "": http.StatusSeeOther} {
		r := must.Get(http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader(byPhone(t, address, "0241234567").Encode())))(t)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
		must.Do(t, response.Body.Close())
		expect.Equal(t, response.StatusCode, status, "a form from %q", site)
	}
}
