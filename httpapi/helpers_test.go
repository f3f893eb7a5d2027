package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

// onEachStore runs a test on every store that ships.
func onEachStore(t *testing.T, test func(*testing.T, *paymentstest.Shop)) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		test(t, paymentstest.NewWithStore(t, store, payments.Config{}))
	})
}

// wants checks an answer's status, and, for a refusal, its code and parameter.
func wants(t *testing.T, what string, response *http.Response, body []byte, status int, code, param string) {
	t.Helper()
	expect.Equal(t, response.StatusCode, status, "%s: status", what)
	expect.Equal(t, field(t, body, "error.code"), code, "%s: error.code", what)
	expect.Equal(t, field(t, body, "error.param"), param, "%s: error.param", what)
}

// made makes an object and returns its id, and read returns a field of an object.
func made(t *testing.T, s *paymentstest.Shop, path, body string) (id string) {
	t.Helper()
	response, data := s.Do("POST", path, body)
	must.True(t, response.StatusCode == 200, "%s: %s", path, data)
	return field(t, data, "id")
}

func read(t *testing.T, s *paymentstest.Shop, path, name string) string {
	t.Helper()
	_, data := s.Do("GET", path, nil)
	return field(t, data, name)
}

func newCode(t *testing.T, s *paymentstest.Shop, body string) string {
	t.Helper()
	return made(t, s, "/v1/qr_codes", body)
}

func payBody(consumer, pin string) map[string]any {
	return map[string]any{"account_id": consumer, "pin": pin}
}

func verified(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	v := must.Get(s.Accounts.Verify(t.Context()))(t)
	expect.Equal(t, len(v.Problems), 0, "ledger: number of problems")
	expect.True(t, v.Entries != 0, "ledger: %+v", v)
}

func advance(t *testing.T, s *paymentstest.Shop, by time.Duration) {
	t.Helper()
	if response, data := s.Do("POST", "/v1/test_helpers/clock", fmt.Sprintf(`{"advance":%d}`, int64(by.Seconds()))); response.StatusCode != 200 {
		t.Fatalf("clock: %s", data)
	}
}

// waits checks the seconds of Retry-After, from which the real clock has taken some since the first call.
func waits(t *testing.T, response *http.Response, most time.Duration) {
	t.Helper()
	wait := must.Get(strconv.Atoi(response.Header.Get("Retry-After")))(t)
	left := time.Duration(wait) * time.Second
	expect.True(t, most-time.Minute < left && left <= most, "Retry-After is %d, want a little less than %s", wait, most)
}

// refused is wants that also looks at the type, which follows from the status, and
// at what every refusal has.
func refused(t *testing.T, what string, response *http.Response, body []byte, status int, code, param string) {
	t.Helper()
	wants(t, what, response, body, status, code, param)
	kind := map[int]string{
		400: "invalid_request_error", 402: "payment_error", 404: "invalid_request_error", 409: "invalid_request_error",
		403: "permission_error", 422: "idempotency_error", 429: "rate_limit_error", 503: "api_error",
	}[status]
	if kind == "" || field(t, body, "error.type") != kind || field(t, body, "error.message") == "" ||
		field(t, body, "error.request_id") != response.Header.Get("Request-Id") {
		t.Errorf("%s: want type %q, a message and the id of the request: %s", what, kind, body)
	}
}

// as returns the shop seen with another key.
func as(t *testing.T, s *paymentstest.Shop, caller api.Caller, p account.CreateKeyParams) (*paymentstest.Shop, *account.Key) {
	t.Helper()
	key := must.Get(s.Accounts.CreateKey(t.Context(), caller, p))(t)
	other := *s
	other.Key = key.Secret
	return &other, key
}

var requestID = regexp.MustCompile(`req_[0-9A-Za-z]+`)

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

func drain(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	must.Do(t, s.Drain(t.Context()))
}
