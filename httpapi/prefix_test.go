package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
)

// The whole works under a prefix of a host's mux.
func TestPrefix(t *testing.T) {
	s := paymentstest.New(t)
	mux := http.NewServeMux()
	mux.Handle("/shop/pay/", http.StripPrefix("/shop/pay",
		described(t).Handler(t, httpapi.New(s.Service, httpapi.Config{Logger: slog.New(slog.DiscardHandler)}))))
	host := httptest.NewServer(mux)
	defer host.Close()
	code := newCode(t, s, `{"amount":100}`)

	under := *s
	under.Server = host
	if response, data := under.Do("GET", "/shop/pay/v1/qr_codes/"+code, nil); response.StatusCode != 200 {
		t.Errorf("/v1: %s", data)
	}
	response, data := under.Do("GET", "/shop/pay/v1/nothing", nil)
	wants(t, "unknown path", response, data, 404, "not_found", "")
	page := host.URL + "/shop/pay/pay/" + code
	form := url.Values{"wallet": {"0241000001"}, "pin": {"1234"}, "token": {strings.Repeat("a", 22)}}
	answer, err := http.PostForm(page, form) // follows the redirect to the receipt
	must.Do(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != 200 || !strings.HasPrefix(answer.Request.URL.Path, "/shop/pay/pay/"+code+"/receipt/pay_") {
		t.Errorf("paid: %d at %s", answer.StatusCode, answer.Request.URL)
	}
}
