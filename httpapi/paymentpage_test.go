package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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
	slowed(t, s.Server.URL+"/payment/pay_1-x")
	// Many payers wait behind one address, and each page has a limit of its own.
	response = slowed(t, follow)
	expect.Equal(t, response.Header.Get("Refresh"), "15", "Refresh, so that the page follows on")
	other := startPayment(t, s.Server.URL+"/pay/"+code, "0241230903")
	shows(t, "the page of another payer", "GET", other, nil, 200)
}

// The phones of a network share few addresses. A payer who loads one page again and again does not keep the others
// from theirs.
func TestPayersOfOneAddressLoadTheirPages(t *testing.T) {
	s := paymentstest.New(t)
	_, first := newSession(t, s, `{"success_url":"https://shop.example/","line_items":[{"description":"Juice","unit_amount":500}]}`)
	_, second := newSession(t, s, `{"success_url":"https://shop.example/","line_items":[{"description":"Juice","unit_amount":500}]}`)
	bill := func() string {
		v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
			Lines: []invoice.LineParams{{Description: "Juice", UnitAmount: new(int64(500))}},
		}}))(t)
		return v.HostedURL
	}
	firstBill, secondBill := bill(), bill()
	for _, pages := range [][2]string{{first, second}, {firstBill, secondBill}} {
		slowed(t, pages[0])
		shows(t, "the page of another payer", "GET", pages[1], nil, 200)
		shows(t, "the form of another payer", "POST", pages[1], url.Values{"method": {"mobile"}}, 400, "Enter your mobile money number")
	}
	slowed(t, s.Server.URL+"/checkout/guess")
	shows(t, "after guesses", "GET", second, nil, 200)
}

// slowed loads a page until the client is slowed.
func slowed(t *testing.T, address string) *http.Response {
	t.Helper()
	for range 1000 { // a hundred at once, and a few more while they are sent
		if response, _ := browse(t, "GET", address, nil); response.StatusCode == 429 {
			return response
		}
	}
	t.Fatalf("%s is not slowed", address)
	return nil
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

// One address does not keep a code with one use busy. The refusal advises no other number.
func TestOneAddressStartsFewHolds(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: provider.Simulated{}}})
	live := s.Caller
	live.Live = true
	once := liveCode()
	once.Type = qrcode.Dynamic
	address := s.Server.URL + "/pay/" + must.Get(s.QRCodes.Create(t.Context(), live, once))(t).ID
	for n := range 2 {
		startPayment(t, address, fmt.Sprintf("02412%d0901", n)) // declined
		s.Work()
	}
	response, page := shows(t, "a third", "POST", address, byPhone(t, address, "0241220901"), 429, "This was tried too often from your connection. Try again in 60 minutes.")
	waits(t, response, time.Hour)
	expect.True(t, !strings.Contains(page, "another number"), "the refusal advises another number")
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
		expect.Equal(t, response.StatusCode, 429, "%s: status", what)
		expect.True(t, response.Header.Get("Retry-After") != "", "%s: status %d, Retry-After %q", what, response.StatusCode, response.Header.Get("Retry-After"))
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

// Who guesses at pages is slowed, and takes no page from others with the same address,
// such as that of a proxy.
func TestMissingPagesCountSeparately(t *testing.T) {
	s := paymentstest.New(t)
	_, page := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	page = strings.TrimPrefix(page, s.Server.URL)
	get := func(path string) int {
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	limited := func(path string) (some bool) { // the limit may let one through meanwhile
		for i := range 200 {
			some = get(strings.Replace(path, "%d", fmt.Sprint(i), 1)) == http.StatusTooManyRequests || some
		}
		return some
	}
	for _, path := range []string{
		"/invoice/%d", "/invoice/%d/pdf", "/invoice/%d/credit_notes/re_1", "/invoice/%d/logo",
		"/subscription/%d", "/subscription/%d/phone", "/subscription/%d/cancel", "/subscription/%d/logo",
		"/r/%d", "/i/%d", "/s/%d", "/q/%d",
	} {
		expect.True(t, limited(path), "200 guesses at %s are answered", path)
	}
	expect.Equal(t, get(page), http.StatusOK, "a page that exists")
	expect.Equal(t, get(page+"/pdf"), http.StatusOK, "its document")
	expect.True(t, limited(page), "200 looks are answered")
	// Forms of invoices and of payment pages count together. The limit may let one through meanwhile.
	code, refused := newCode(t, s, `{"amount":100}`), 0
	for i := range 205 {
		path := page
		if i >= 200 {
			path = "/pay/" + code
		}
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		if i >= 200 && w.Code == http.StatusTooManyRequests {
			refused++
		}
	}
	expect.True(t, refused > 0, "forms of a payment page have a limit of their own")
}

// mute is a charger whose network does not answer when it gets a code.
type mute struct{ provider.Simulated }

func (mute) ConfirmCharge(context.Context, provider.Charge, string) (provider.Result, error) {
	return provider.Result{}, errors.New("no answer")
}

// While the network has not answered, the page does not say that the code was wrong.
func TestACodeWithoutAnAnswerIsNotCalledWrong(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: payments.Providers{Charger: mute{}}})
	follow := startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":100}`), "0201230907")
	s.Work()
	response, _ := shows(t, "the code", "POST", follow, url.Values{"action": {"confirm"}, "code": {"123456"}}, http.StatusSeeOther)
	shows(t, "after the code", "GET", must.Get(must.Get(url.Parse(follow))(t).Parse(response.Header.Get("Location")))(t).String(), nil, 200, "or your network has not answered", `aria-invalid="true"`)
}

// Without a Texter no SMS goes out in live mode, and no page promises one.
func TestPagesPromiseNoSMSWithoutATexter(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: provider.Simulated{}}})
	live := s.Caller
	live.Live = true
	address := s.Server.URL + "/pay/" + must.Get(s.QRCodes.Create(t.Context(), live, liveCode()))(t).ID
	for phone, what := range map[string]string{"0241230903": "Approve on your phone", "0241234567": "Paid"} {
		follow := startPayment(t, address, phone)
		s.Work()
		_, page := shows(t, phone, "GET", follow, nil, 200, what)
		expect.True(t, !strings.Contains(page, "SMS"), "%s: the page promises an SMS", phone)
	}
}

// noRefunds is a charger that gives nothing back.
type noRefunds struct{ provider.Charger }

// A payment that came too late, and that the provider cannot give back, is no plain receipt: the payer
// must ask for the money.
func TestPageOfAPaymentThatCameTooLate(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: payments.Providers{Charger: noRefunds{provider.Simulated{}}}})
	_, session := newSession(t, s, `{"success_url":"https://shop.example/","line_items":[{"description":"Juice","unit_amount":500}]}`)
	_, data := s.Do("POST", "/v1/invoices", `{"auto_finalize":true,"line_items":[{"description":"Juice","unit_amount":500}]}`)
	code := s.Server.URL + "/pay/" + newCode(t, s, `{"type":"dynamic","amount":500}`)
	for what, address := range map[string]string{"session": session, "invoice": field(t, data, "hosted_invoice_url"), "code": code} {
		follow := startPayment(t, address, "0241230903")
		s.Work()
		late := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Status: payment.Processing}))(t).Data[0].ID
		shows(t, what+": another way", "POST", follow, url.Values{"action": {"another"}}, http.StatusSeeOther)
		startPayment(t, address, "0241234567")
		s.Work()
		response, data := s.Do("POST", "/v1/test_helpers/payments/"+late+"/settle", `{"outcome":"succeeded"}`)
		must.True(t, response.StatusCode == 200, "%s: %s", what, data)
		shows(t, what, "GET", follow, nil, 200, "Paid too late", "Ask Adom Juice Bar for the money back.")
	}
}

// The page of a payment that has failed, and that the provider reports as paid afterwards, does not say that
// nothing was taken, and leads to no form.
func TestPageOfAContradictedPayment(t *testing.T) {
	s := paymentstest.New(t)
	follow := startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":500}`), "0241230910")
	s.Work()
	shows(t, "declined", "GET", follow, nil, 200, "Nothing was taken.", "Try again")
	s.Advance(20 * time.Minute)
	_, page := shows(t, "reported as paid", "GET", follow, nil, 200, "It is not clear whether this was paid", "Do not pay again.", "Ask Adom Juice Bar")
	for _, wrong := range []string{"Nothing was taken.", "Try again", "Pay from a wallet"} {
		expect.True(t, !strings.Contains(page, wrong), "the page says %q", wrong)
	}
}

// A page that asks for no code does not ask to enter one again.
func TestProblemOfACodeEndsWithTheCode(t *testing.T) {
	s := paymentstest.New(t)
	follow := startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":500}`), "0241230903")
	s.Work()
	_, page := shows(t, "the payment", "GET", follow+"?code=wrong", nil, 200, "Approve on your phone")
	expect.True(t, !strings.Contains(page, "Check the code"), "the page asks for a code")
}

// A network that the page has found from a number is not that of the number in its place.
func TestAnotherNumberHasAnotherNetwork(t *testing.T) {
	s := paymentstest.New(t)
	address := s.Server.URL + "/pay/" + newCode(t, s, `{"amount":500}`)
	again := func(page, number, chosen string) string {
		t.Helper()
		form := byPhone(t, address, number)
		for name, input := range map[string]string{"network": `name="network" value="([a-z]+)" checked`, "found": `name="found" value="([a-z]+)"`} {
			if given := regexp.MustCompile(input).FindStringSubmatch(page); given != nil {
				form.Set(name, given[1])
			}
		}
		if chosen != "" {
			form.Set("network", chosen)
		}
		response, page := browse(t, "POST", address, form)
		must.True(t, response.StatusCode == http.StatusSeeOther, "status %d\n%s", response.StatusCode, page)
		return *must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{}))(t).Data[0].Provider
	}
	_, refused := shows(t, "a phone that is not asked", "POST", address, byPhone(t, address, "0241230908"), 429, `value="mtn" checked`)
	expect.Equal(t, again(refused, "0201234567", ""), "telecel", "the network of another number")
	expect.Equal(t, again(refused, "0241234567", ""), "mtn", "the network of a number of the same")
	expect.Equal(t, again(refused, "0201234567", "airteltigo"), "airteltigo", "the network that was chosen")
	_, refused = shows(t, "a phone and its network", "POST", address, byPhone(t, address, "0241230908", "network", "telecel"), 429, `value="telecel" checked`)
	expect.Equal(t, again(refused, "0241234567", ""), "telecel", "the network that was chosen before")
}

// The page offers no other way to pay for a code that was deleted: it could lead nowhere.
func TestNoOtherWayToPayADeletedCode(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"amount":500}`)
	follow := startPayment(t, s.Server.URL+"/pay/"+code, "0241230903")
	s.Work()
	shows(t, "the payment", "GET", follow, nil, 200, "Use another number or a wallet")
	s.Do("DELETE", "/v1/qr_codes/"+code, "")
	_, page := shows(t, "of a deleted code", "GET", follow, nil, 200, "Approve on your phone")
	expect.True(t, !strings.Contains(page, "Use another number"), "the page offers another way")
}

// A code of the new phone of a subscription that is sent twice has changed the phone once, and is not called
// wrong.
func TestCodeOfANewPhoneSentTwice(t *testing.T) {
	s := paymentstest.New(t)
	_, address := subscribe(t, s, charged)
	s.Work()
	shows(t, "the number", "POST", address+"/phone", url.Values{"action": {"send"}, "phone": {"0201112223"}}, http.StatusSeeOther)
	right := codeSentTo(t, s, "0201112223")
	form := func(code string) url.Values { return url.Values{"action": {"confirm"}, "code": {code}} }
	wrong := "000000"
	if right == wrong {
		wrong = "000001"
	}
	shows(t, "a wrong code", "POST", address+"/phone", form(wrong), 400, "This code is wrong.")
	for range 2 {
		shows(t, "the code", "POST", address+"/phone", form(right), http.StatusSeeOther)
	}
}
