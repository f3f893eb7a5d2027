package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// noTelecel takes and sends mobile money of MTN and AirtelTigo alone.
type noTelecel struct{ provider.Simulated }

func (noTelecel) RouteCharge(c provider.Charge) (string, bool) {
	return "two", c.Route == "two" || c.Route == "" && c.Phone != "" && c.Network != "telecel"
}

func (noTelecel) RouteTransfer(t provider.Transfer) (string, bool) {
	return "two", t.Route == "two" || t.Route == "" && t.Channel == provider.MobileMoney && t.Network != "telecel"
}

// A network that no provider takes is refused before anything is kept, by name, and is offered on no page.
func TestNetworksThatAreNotTaken(t *testing.T) {
	// The same provider, alone and as one of a router.
	for what, providers := range map[string]payments.Providers{
		"alone": {Rail: noTelecel{}, Charger: noTelecel{}},
		"in a router": {
			Rail:    &provider.Router{Rails: map[string]provider.Rail{"two": noTelecel{}}},
			Charger: &provider.Router{Chargers: map[string]provider.Charger{"two": noTelecel{}}},
		},
		"chosen by a router": {
			Rail: &provider.Router{
				Rails: map[string]provider.Rail{"two": provider.Simulated{}},
				Rail: func(t provider.Transfer) string {
					return map[bool]string{true: "two"}[t.Channel == provider.MobileMoney && t.Network != "telecel"]
				},
			},
			Charger: &provider.Router{
				Chargers: map[string]provider.Charger{"two": provider.Simulated{}},
				Charger:  func(c provider.Charge) string { return map[bool]string{true: "two"}[c.Network != "telecel"] },
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Test: providers})
			refuses := func(path, body, code, param string) {
				t.Helper()
				response, data := s.Do("POST", path, body, "Idempotency-Key", "one "+path)
				wants(t, path, response, data, 400, code, param)
				text := field(t, data, "error.message")
				expect.True(t, strings.Contains(text, "mtn"), "%s does not name what is taken: %s", path, text)
				expect.True(t, strings.Contains(text, "airteltigo"), "%s does not name what is taken: %s", path, text)
			}
			invoice, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
			code := newCode(t, s, `{"amount":100}`)
			_, customer := s.Do("POST", "/v1/customers", `{"name":"Abena","phone_number":"0201234567"}`)
			_, plan := s.Do("POST", "/v1/plans", `{"name":"Juice","amount":100,"interval":"week"}`)
			subscribed := `{"customer":"` + field(t, customer, "id") + `","plan":"` + field(t, plan, "id") + `"`
			const telecel, ported = `"phone_number":"0201234567"`, `"phone_number":"0241234567","provider":"telecel"`
			refuses("/v1/payments", `{"amount":100,`+telecel+`}`, "invalid_phone_number", "phone_number")
			refuses("/v1/payments", `{"amount":100,`+ported+`}`, "invalid_phone_number", "phone_number")
			refuses("/v1/invoices/"+invoice+"/pay", `{`+telecel+`}`, "invalid_phone_number", "phone_number")
			refuses("/v1/test_helpers/qr_codes/"+code+"/pay", `{`+telecel+`}`, "invalid_phone_number", "phone_number")
			refuses("/v1/subscriptions", subscribed+`,"collection_method":"charge_automatically"}`, "invalid_phone_number", "phone_number")
			refuses("/v1/disbursements", `{"amount":1,"destination":{"type":"mobile_money",`+telecel+`}}`, "invalid_destination", "destination.phone_number")
			refuses("/v1/disbursements", `{"amount":1,"destination":{"type":"mobile_money",`+ported+`}}`, "invalid_destination", "destination.phone_number")
			refuses("/v1/disbursements", `{"amount":1,"destination":{"type":"bank_transfer","account_number":"1234567890","bank_code":"300304"}}`, "invalid_destination", "destination.bank_code")
			session := func(plan string) []byte {
				_, data := s.Do("POST", "/v1/checkout/sessions", `{"success_url":"https://shop.example/","mode":"subscription","plan":"`+plan+`"}`)
				return data
			}
			_, trial := s.Do("POST", "/v1/plans", `{"name":"Juice","amount":100,"interval":"week","trial_period_days":3}`)
			free := session(field(t, trial, "id"))
			pays := func(session []byte) string {
				return "/v1/test_helpers/checkout/sessions/" + field(t, session, "id") + "/pay"
			}
			refuses(pays(free), `{`+telecel+`}`, "invalid_phone_number", "phone_number")
			refuses(pays(session(field(t, plan, "id"))), `{`+telecel+`,"account_id":"`+s.Consumer.ID+`","pin":"`+s.PIN+`"}`, "invalid_phone_number", "phone_number")
			for _, path := range []string{"/v1/payments", "/v1/disbursements", "/v1/subscriptions"} {
				_, data := s.Do("GET", path, nil)
				expect.True(t, strings.HasPrefix(string(data), `{"object":"list","data":[],`), "%s keeps %s", path, data)
			}

			// The keys are free, and a number that was ported to a network that is taken pays.
			for _, body := range []string{`{"amount":100,"phone_number":"0241234567"}`, `{"amount":100,"phone_number":"0201234567","provider":"mtn"}`} {
				response, data := s.Do("POST", "/v1/payments", body)
				expect.Equal(t, response.StatusCode, http.StatusOK, "%s: %s", body, data)
			}

			nobody := *s
			nobody.Key = ""
			_, page := nobody.Do("GET", "/pay/"+code, nil)
			html := string(page)
			expect.True(t, strings.Contains(html, `value="mtn"`), "the page offers %s", html)
			expect.True(t, strings.Contains(html, `value="airteltigo"`), "the page offers %s", html)
			expect.True(t, !strings.Contains(html, "elecel"), "the page offers %s", html)
			for _, form := range []string{"/pay/" + code, strings.TrimPrefix(field(t, free, "url"), s.Server.URL)} {
				response, page := nobody.Do("POST", form, "method=mobile&phone=0201234567", "Content-Type", "application/x-www-form-urlencoded")
				expect.Equal(t, response.StatusCode, 400, "status")
				expect.True(t, strings.Contains(string(page), "Telecel is not taken here. Use a number of MTN or AirtelTigo."), "the form of %s answers %d %s", form, response.StatusCode, page)
			}
		})
	}
}
