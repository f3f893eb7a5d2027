package paystacktest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

func call(t *testing.T, f *paystacktest.Fake, method, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+paystacktest.SecretKey)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	answer, _ := io.ReadAll(w.Body)
	return w.Code, string(answer)
}

const recipient = `{"type":"ghipss","name":"Ama Mensah","account_number":"1010001234567","bank_code":"040100","currency":"GHS"}`

// The fake refuses what Paystack refuses, and moves no money for it.
func TestFakeIsStrict(t *testing.T) {
	const (
		transfer = `{"source":"balance","amount":435,"recipient":"RCP_4000000001","reference":"po-00000000000000000000000001"}`
		charge   = `{"email":"pay@example.com","amount":435,"reference":"pay-1","mobile_money":{"phone":"0241234567","provider":"mtn"}}`
	)
	f := paystacktest.New(1)
	status, body := call(t, f, "POST", "/transferrecipient", recipient)
	expect.Equal(t, status, http.StatusCreated, "a recipient: status")
	expect.True(t, strings.Contains(body, "RCP_4000000001"), "a recipient: %d %s", status, body)
	before := f.Float()
	for name, c := range map[string]struct{ method, path, body string }{
		"a sample bank":             {"POST", "/transferrecipient", strings.Replace(recipient, "040100", "300304", 1)},
		"a bank that is closed":     {"POST", "/transferrecipient", strings.Replace(recipient, "040100", "999999", 1)},
		"a network as a bank":       {"POST", "/transferrecipient", strings.Replace(recipient, "040100", "MTN", 1)},
		"a name at no bank":         {"GET", "/bank/resolve?account_number=0241234567&bank_code=300304", ""},
		"a transfer of nothing":     {"POST", "/transfer", strings.Replace(transfer, "435", "0", 1)},
		"a transfer below nothing":  {"POST", "/transfer", strings.Replace(transfer, "435", "-435", 1)},
		"a charge of nothing":       {"POST", "/charge", strings.Replace(charge, "435", "0", 1)},
		"a charge below nothing":    {"POST", "/charge", strings.Replace(charge, "435", "-435", 1)},
		"a charge without a number": {"POST", "/charge", strings.Replace(charge, "0241234567", "", 1)},
	} {
		status, body := call(t, f, c.method, c.path, c.body)
		expect.Equal(t, status, http.StatusBadRequest, "%s: %s", name, body)
		expect.Equal(t, f.Float(), before, "%s: the money", name)
	}
	status, body = call(t, f, "POST", "/transfer", transfer)
	expect.Equal(t, status, http.StatusOK, "a transfer: %s", body)
	expect.Equal(t, f.Float(), before-435-8_00, "a transfer: float")
}

// Faults that are set after Settle happen.
func TestFaultsAfterSettle(t *testing.T) {
	f := paystacktest.New(1)
	f.Settle()
	f.SetFaults(paystacktest.Faults{Limit: 100})
	status, body := call(t, f, "POST", "/transferrecipient", recipient)
	expect.Equal(t, status, http.StatusTooManyRequests, "the answer: %s", body)
}
