package httpapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// The specification lists the members of these objects. An object has all of them and no other, but those
// that it leaves out where it has none of their kind.
const (
	transferKeys    = "id object amount currency fee status destination description metadata provider_reference failure_reason created_at completed_at"
	destinationKeys = "type provider number name"
	walletKeys      = destinationKeys + " service_id account_id recipient_type"
	lineKeys        = "id object description quantity unit_amount amount currency taxable tax_percent discount_amount product metadata"
	listKeys        = "object data has_more url"
	invoiceKeys     = "id object invoice_number status customer customer_email customer_name customer_phone customer_address subtotal tax " +
		"tax_percent discount total amount_paid amount_due currency coupon description footer memo invoice_date due_date paid_at payment " +
		"collection_method hosted_invoice_url invoice_pdf attempt_count next_payment_attempt finalized_at voided_at livemode metadata lines created"
	qrCodeKeys = "id object type amount currency name description reference qr_code_url qr_code_data usage_limit usage_count active " +
		"expires_at livemode metadata created"
	endpointKeys = "id object url is_active events created_at updated_at"
	eventKeys    = "id object type created_at data pending_webhooks request"
)

// hasKeys checks the names in the object at a path of a JSON text; "" is the text itself.
func hasKeys(t *testing.T, body []byte, path, want string) {
	t.Helper()
	at := json.RawMessage(body)
	for name := range strings.SplitSeq(path, ".") {
		if name == "" {
			continue
		}
		var object map[string]json.RawMessage
		var array []json.RawMessage
		if json.Unmarshal(at, &object) == nil {
			at = object[name]
		} else if must.Do(t, json.Unmarshal(at, &array)); name == "0" && len(array) > 0 {
			at = array[0]
		}
	}
	var object map[string]json.RawMessage
	must.Do(t, json.Unmarshal(at, &object))
	got := make([]string, 0, len(object))
	for name := range object {
		got = append(got, name)
	}
	slices.Sort(got)
	names := strings.Fields(want)
	slices.Sort(names)
	expect.Same(t, got, names, "the names at %q of %s", path, body)
}

func TestListedShapesGainNoNullKeys(t *testing.T) {
	s := paymentstest.New(t)
	do := func(method, path, body string) []byte {
		t.Helper()
		response, data := s.Do(method, path, body)
		must.True(t, response.StatusCode == 200, "%s %s: %s", method, path, data)
		return data
	}
	// An object looks the same where it is made, read, listed and told.
	everywhere := func(path, body, keys string) (id string) {
		t.Helper()
		data := do("POST", path, body)
		hasKeys(t, data, "", keys)
		id = field(t, data, "id")
		hasKeys(t, do("GET", path+"/"+id, ""), "", keys)
		list := do("GET", path, "")
		hasKeys(t, list, "", listKeys)
		hasKeys(t, list, "data.0", keys)
		return id
	}
	everywhere("/v1/qr_codes", `{}`, qrCodeKeys)
	consumer := do("POST", "/v1/test_helpers/consumer_qrs", `{"account_id":"`+s.Consumer.ID+`","amount":1}`)
	payload := `{"qr_payload":"` + field(t, consumer, "qr_payload") + `"}`
	hasKeys(t, do("POST", "/v1/qr_codes/resolve", payload), "", "object entity account_id display_name amount currency type qr_active")

	phone, wallet := `"destination":{"type":"mobile_money","phone_number":"0241234567"}`, `"destination":{"type":"service_wallet","account_id":"`+s.Consumer.ID+`"}`
	otp := s.OTP()
	for destination, keys := range map[string]string{phone: destinationKeys, wallet: walletKeys} {
		payout := everywhere("/v1/payouts", `{"amount":1,"otp_code":"`+otp+`",`+destination+`}`, transferKeys)
		hasKeys(t, do("GET", "/v1/payouts/"+payout, ""), "destination", keys)
		disbursement := everywhere("/v1/disbursements", `{"amount":1,`+destination+`}`, transferKeys+" reference")
		hasKeys(t, do("GET", "/v1/disbursements/"+disbursement, ""), "destination", keys)
	}
	scanned := do("POST", "/v1/disbursements/qr", payload)
	hasKeys(t, scanned, "", transferKeys+" reference")
	hasKeys(t, scanned, "destination", walletKeys)

	invoice := everywhere("/v1/invoices", `{}`, invoiceKeys)
	hasKeys(t, do("GET", "/v1/invoices/"+invoice, ""), "lines", listKeys)
	invoice = everywhere("/v1/invoices", `{"auto_finalize":true,`+oneLine+`}`, invoiceKeys)
	paid := do("POST", "/v1/invoices/"+invoice+"/pay", `{}`)
	hasKeys(t, paid, "", invoiceKeys)
	hasKeys(t, paid, "lines.data.0", lineKeys)
	hasKeys(t, do("GET", "/v1/invoices/"+invoice+"/lines", ""), "data.0", lineKeys)
	told := do("GET", "/v1/events?type=invoice.paid", "")
	hasKeys(t, told, "data.0", eventKeys)
	hasKeys(t, told, "data.0.data.object", invoiceKeys)
	hasKeys(t, told, "data.0.data.object.lines.data.0", lineKeys)

	session := do("POST", "/v1/checkout/sessions", `{"success_url":"https://shop.example/",`+oneLine+`}`)
	hasKeys(t, session, "lines.data.0", lineKeys)

	endpoint := do("POST", "/v1/webhooks", `{"url":"https://shop.example/hook","events":["payment.created"]}`)
	hasKeys(t, endpoint, "", endpointKeys+" secret")
	hasKeys(t, do("GET", "/v1/webhooks", ""), "data.0", endpointKeys)

	// A subscription's invoice has both.
	s.Subscribe("0241234567", 500)
	drain(t, s)
	hasKeys(t, do("GET", "/v1/invoices", ""), "data.0", invoiceKeys+" subscription")
	hasKeys(t, do("GET", "/v1/invoices", ""), "data.0.lines.data.0", lineKeys+" period")
}
