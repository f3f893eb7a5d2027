package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
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

// Posted many times at once, the form pays once, and leads to one page.
func TestPhoneFormPostedAtOnce(t *testing.T) {
	s := paymentstest.New(t)
	address := s.Server.URL + "/pay/" + newCode(t, s, `{"amount":1250}`)
	at := postAtOnce(t, address, byPhone(t, address, "024 123 4567"))
	expect.True(t, strings.HasPrefix(at, "../payment/"), "the page is at %s", at)
	s.Work()
	balance := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	expect.Equal(t, balance.Available.String(), "1012.5", "the merchant has")
}
