package httpapi_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// phonePays asks a phone, whose number ends in four digits, to pay GHS 12.50, and returns the
// payment's path.
func phonePays(t *testing.T, s *paymentstest.Shop, digits string) string {
	t.Helper()
	response, data := s.Do("POST", "/v1/payments", `{"amount":1250,"phone_number":"024123`+digits+`"}`)
	must.True(t, response.StatusCode == 200 && field(t, data, "status") == "pending", "create: %s", data)
	return "/v1/payments/" + field(t, data, "id")
}

// settlePath is the path of the test helper that settles a payment.
func settlePath(path string) string {
	return strings.Replace(path, "/v1/", "/v1/test_helpers/", 1) + "/settle"
}

// In live mode a phone is asked for one payment at a time, over all merchants. The refusal keeps no
// idempotency key, and tells nothing of the other merchant.
func TestOnePromptAtATime(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: provider.Simulated{}}})
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	stranger, _ := as(t, s, api.Caller{Merchant: other.ID, Live: true}, account.CreateKeyParams{})
	const body = `{"amount":1,"phone_number":"0241234567"}`
	live.Do("POST", "/v1/payments", body)
	response, data := stranger.Do("POST", "/v1/payments", body, "Idempotency-Key", "k")
	refused(t, "the second", response, data, 429, "too_many_prompts", "")
	expect.True(t, !strings.Contains(string(data), "Adom") && !strings.Contains(string(data), "241234567"), "%s", data)
	drain(t, s)
	if response, data := stranger.Do("POST", "/v1/payments", body, "Idempotency-Key", "k"); response.StatusCode != 200 || response.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("once the one before has ended: %s", data)
	}
}
