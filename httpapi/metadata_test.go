package httpapi_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// A create keeps metadata as it came, with empty strings, and refuses null. Only an update takes both as
// the wish to drop a key, and null in place of the metadata as the wish to drop all keys.
func TestMetadataOfEveryObject(t *testing.T) {
	s := paymentstest.New(t)
	otp := s.OTP()
	_, code := s.Do("POST", "/v1/test_helpers/consumer_qrs", `{"account_id":"`+s.Consumer.ID+`","amount":1}`)
	_, customer := s.Do("POST", "/v1/customers", `{}`)
	_, plan := s.Do("POST", "/v1/plans", `{"name":"Gold","amount":500,"interval":"month"}`)
	paid := phonePays(t, s, "0000")
	drain(t, s)
	phone := `"destination":{"type":"mobile_money","phone_number":"0241234567"},`
	for _, c := range []struct {
		path, fields string
		update       bool
	}{
		{"/v1/qr_codes", ``, true},
		{"/v1/payouts", `"amount":1,"otp_code":"` + otp + `",` + phone, false},
		{"/v1/disbursements", `"amount":1,` + phone, false},
		{"/v1/disbursements/qr", `"qr_payload":"` + field(t, code, "qr_payload") + `",`, false},
		{"/v1/invoices", ``, true},
		{"/v1/payments", `"amount":5,"phone_number":"0241234567",`, false},
		{"/v1/refunds", `"payment":"` + strings.TrimPrefix(paid, "/v1/payments/") + `",`, false},
		{"/v1/customers", ``, true},
		{"/v1/products", `"name":"Tea",`, true},
		{"/v1/coupons", `"percent_off":1,`, true},
		{"/v1/plans", `"name":"Gold","amount":5,"interval":"day",`, true},
		{"/v1/checkout/sessions", `"success_url":"https://shop.example/",` + oneLine + `,`, false},
		{"/v1/subscriptions", `"customer":"` + field(t, customer, "id") + `","plan":"` + field(t, plan, "id") + `",`, true},
	} {
		response, data := s.Do("POST", c.path, `{`+c.fields+`"metadata":{"a":null}}`)
		expect.Equal(t, response.StatusCode, 400, "%s with null: status", c.path)
		expect.Equal(t, field(t, data, "error.param"), "metadata.a", "%s with null: error.param", c.path)
		response, data = s.Do("POST", c.path, `{`+c.fields+`"metadata":{"a":"","b":1.50,"c":"x"}}`)
		must.True(t, response.StatusCode == 200, "%s: %s", c.path, data)
		expect.True(t, strings.Contains(string(data), `"metadata":{"a":"","b":1.50,"c":"x"}`), "%s: %s", c.path, data)
		if !c.update {
			continue
		}
		path := c.path + "/" + field(t, data, "id")
		_, data = s.Do("POST", path, `{"metadata":{"a":null,"c":"","d":false}}`)
		expect.True(t, strings.Contains(string(data), `"metadata":{"b":1.50,"d":false}`), "%s updated: %s", c.path, data)
		_, data = s.Do("POST", path, `{}`)
		expect.True(t, strings.Contains(string(data), `"metadata":{"b":1.50,"d":false}`), "%s without metadata: %s", c.path, data)
		_, data = s.Do("POST", path, `{"metadata":null}`)
		expect.True(t, strings.Contains(string(data), `"metadata":{}`), "%s with null: %s", c.path, data)
		_, data = s.Do("GET", path, nil)
		expect.True(t, strings.Contains(string(data), `"metadata":{}`), "%s read after null: %s", c.path, data)
		_, data = s.Do("POST", path, `{"metadata":{"e":"f"}}`)
		expect.True(t, strings.Contains(string(data), `"metadata":{"e":"f"}`), "%s updated again: %s", c.path, data)
	}
	_, data := s.Do("POST", "/v1/invoices", `{"line_items":[{"description":"Catering","unit_amount":1,"metadata":{"a":""}}]}`)
	expect.True(t, strings.Contains(string(data), `"metadata":{"a":""}`), "line: %s", data)
}
