package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// unsteady finds what differs from run to run, with what stands for it.
var unsteady = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`\b(qr|cs|pay|po|re|evt|req|acc|cag|cus|cqr|prod|cpn|plan|txn|msg|mer|we|wd|adj|bat|row|sub)_0[0-9A-Za-z]{21}\b`), `${1}_ID`},
	{regexp.MustCompile(`acc_\*{4}[0-9A-Za-z]{4}`), `acc_****TAIL`},
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`), `"TIME"`},
	{regexp.MustCompile(`"created":\d{10}\b`), `"created":UNIX`},
	{regexp.MustCompile(`"(expires_at|completed_at)":\d{10}\b`), `"${1}":0`},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), `BASE`},
	{regexp.MustCompile(`"qr_payload":"[^"]+"`), `"qr_payload":"PAYLOAD"`},
	{regexp.MustCompile(`SVC\d+`), `SVC_N`},
	{regexp.MustCompile(`\binv_0[0-9A-Za-z]{21}\b`), `inv_ID`},
	{regexp.MustCompile(`/(invoice|checkout)/[0-9A-Za-z]{32}`), `/${1}/TOKEN`},
	{regexp.MustCompile(`/subscription/[0-9A-Za-z]{32}`), `/subscription/TOKEN`},
	{regexp.MustCompile(`"(current_period_start|current_period_end|billing_anchor|trial_end|cancelled_at|start|end)":\d{10}\b`), `"${1}":1111111111`},
	{regexp.MustCompile(`"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"`), `"UUID"`},
	{regexp.MustCompile(`whsec_[0-9A-Za-z+/=]{44}`), `whsec_SECRET`},
	{regexp.MustCompile(`"duration_ms":\d+`), `"duration_ms":0`},
	{regexp.MustCompile(`\b(INV|CN)-\d{4}-`), `${1}-YEAR-`},
	{regexp.MustCompile(`"text":"\d{6} is`), `"text":"OTP is`},
}

// golden compares an answer's status and body with a file of testdata/bodies.
// With -update it writes the file.
func golden(t *testing.T, name string, response *http.Response, body []byte) {
	t.Helper()
	text := string(body)
	for _, u := range unsteady {
		text = u.pattern.ReplaceAllString(text, u.stands)
	}
	text = strings.ReplaceAll(text, `"created":UNIX`, `"created":0`)
	var pretty bytes.Buffer
	fmt.Fprintln(&pretty, response.StatusCode)
	if err := json.Indent(&pretty, []byte(text), "", "  "); err != nil {
		t.Fatalf("%s: %v in %s", name, err, body)
	}
	file := filepath.Join("testdata", "bodies", name+".txt")
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, pretty.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	must.True(t, err == nil, "%v; run go test ./httpapi -update once", err)
	expect.Same(t, pretty.String(), string(want), "%s", name)
}

// steps returns a call that compares its answer with the golden file of its name.
func steps(t *testing.T, s *paymentstest.Shop) func(name, method, path string, body any, headers ...string) []byte {
	return func(name, method, path string, body any, headers ...string) []byte {
		t.Helper()
		response, data := s.Do(method, path, body, headers...)
		golden(t, name, response, data)
		return data
	}
}

// field returns a field of a JSON object, by its path with dots.
func field(t testing.TB, body []byte, path string) string {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(at) {
				return ""
			}
			v = at[i]
		default:
			return ""
		}
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// TestBodies walks through the whole API once, and compares each body with what it was when it was
// last looked at.
func TestBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)

	static := field(t, step("qr_code_create_static", "POST", "/v1/qr_codes", `{}`), "id")
	full := field(t, step("qr_code_create_dynamic", "POST", "/v1/qr_codes", `{"type":"dynamic","amount":1250.0,
		"currency":"GHS","name":"Order <1001>","description":"Two juices\nand a cake","reference":"1001","usage_limit":2,
		"expires_at":"2999-01-31T08:15:00+01:00","metadata":{"table":7,"price":1.10,"window":true,"note":"ɛɔŋ"},"ignored":[1]}`), "id")
	step("qr_code_get", "GET", "/v1/qr_codes/"+full, nil)
	step("qr_code_update", "POST", "/v1/qr_codes/"+full,
		`{"name":"Order 1001","description":null,"expires_at":null,"metadata":{"table":null,"note":"","chair":"soft"}}`)
	step("qr_code_list", "GET", "/v1/qr_codes?limit=1", nil)
	step("qr_code_list_static", "GET", "/v1/qr_codes?type=static&active=true", nil)

	step("balance_credited", "POST", "/v1/test_helpers/balance", `{"amount":1.15}`)
	consumer := field(t, step("consumer_create", "POST", "/v1/test_helpers/consumers",
		`{"name":"Yaa Asantewaa","phone_number":"024 765-4321","pin":"4321","balance":20.50}`), "account_id")
	step("cash_agent_create", "POST", "/v1/test_helpers/cash_agents",
		`{"name":"Kojo Agent","phone_number":"+233201234567","pin":"123456","sub_agent":true}`)
	step("customer_create", "POST", "/v1/test_helpers/customers", `{"name":"Akua","email":"akua@example.com","phone_number":"0201112223"}`)

	pay := fmt.Sprintf(`{"account_id":%q,"pin":"4321"}`, consumer)
	payment := field(t, step("qr_code_pay", "POST", "/v1/test_helpers/qr_codes/"+full+"/pay", pay, "X-Idempotency-Key", "k-1"), "id")
	step("consumer_get", "GET", "/v1/test_helpers/consumers/"+consumer, nil)
	step("payment_get", "GET", "/v1/payments/"+payment, nil)
	step("payment_list", "GET", "/v1/payments", nil)
	step("payment_list_none", "GET", "/v1/payments?status=failed", nil)
	step("qr_code_payments", "GET", "/v1/qr_codes/"+full+"/payments", nil)
	step("balance", "GET", "/v1/balance", nil)
	step("balance_entries", "GET", "/v1/balance/entries", nil)
	events := step("event_list", "GET", "/v1/events?limit=2", nil)
	step("event_get", "GET", "/v1/events/"+field(t, events, "data.0.id"), nil)
	step("event_list_synonym", "GET", "/v1/events?type=payment.completed", nil)
	step("messages", "GET", "/v1/test_helpers/messages?kind=sms", nil)
	step("messages_to", "GET", "/v1/test_helpers/messages?to=0247654321", nil)

	code := step("consumer_qr_create", "POST", "/v1/test_helpers/consumer_qrs",
		fmt.Sprintf(`{"account_id":%q,"type":"static","amount":19.99}`, consumer))
	step("qr_code_resolve", "POST", "/v1/qr_codes/resolve", map[string]string{"qr_payload": field(t, code, "qr_payload")})
	step("clock", "POST", "/v1/test_helpers/clock", `{"advance":0}`)
	step("qr_code_delete", "DELETE", "/v1/qr_codes/"+static, nil)

	for name, refused := range map[string]struct{ method, path, body string }{
		"refused_missing":       {"GET", "/v1/qr_codes/" + static, ""},
		"refused_cursor":        {"GET", "/v1/qr_codes?starting_after=" + static, ""},
		"refused_parameter":     {"POST", "/v1/qr_codes", `{"amount":0}`},
		"refused_required":      {"POST", "/v1/qr_codes/resolve", `{}`},
		"refused_currency":      {"POST", "/v1/qr_codes", `{"currency":"USD"}`},
		"refused_json":          {"POST", "/v1/qr_codes", `{"name":"a","name":"b"}`},
		"refused_path":          {"GET", "/v1/qr_code", ""},
		"refused_method":        {"PATCH", "/v1/qr_codes", `{}`},
		"refused_event_type":    {"GET", "/v1/events?type=payment.lost", ""},
		"refused_invalid_qr":    {"POST", "/v1/qr_codes/resolve", `{"qr_payload":"***"}`},
		"refused_consumer_qr":   {"POST", "/v1/qr_codes/resolve", `{"qr_payload":"aGVsbG8="}`},
		"refused_pin":           {"POST", "/v1/test_helpers/qr_codes/" + full + "/pay", fmt.Sprintf(`{"account_id":%q,"pin":"0000"}`, consumer)},
		"refused_account":       {"POST", "/v1/test_helpers/qr_codes/" + full + "/pay", `{"account_id":"acc_1","pin":"0000"}`},
		"refused_wrong_amount":  {"POST", "/v1/test_helpers/qr_codes/" + full + "/pay", fmt.Sprintf(`{"account_id":%q,"pin":"4321","amount":1}`, consumer)},
		"refused_insufficient":  {"POST", "/v1/test_helpers/qr_codes/" + full + "/pay", pay},
		"refused_phone":         {"POST", "/v1/test_helpers/consumers", `{"name":"A","phone_number":"12345"}`},
		"refused_clock_goes_up": {"POST", "/v1/test_helpers/clock", `{"now":"2001-01-01T00:00:00Z"}`},
	} {
		var body any
		if refused.body != "" {
			body = refused.body
		}
		response, data := s.Do(refused.method, refused.path, body)
		text := regexp.MustCompile(`shows [^.]+\.\d{3}Z`).ReplaceAll(data, []byte("shows TIME"))
		golden(t, name, response, text)
	}
}
