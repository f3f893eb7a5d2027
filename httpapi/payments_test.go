package httpapi_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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
	expect.True(t, !strings.Contains(string(data), "Adom"), "%s", data)
	expect.True(t, !strings.Contains(string(data), "241234567"), "%s", data)
	drain(t, s)
	if response, data := stranger.Do("POST", "/v1/payments", body, "Idempotency-Key", "k"); response.StatusCode != 200 || response.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("once the one before has ended: %s", data)
	}
}

func TestRefusalsOfRefunds(t *testing.T) {
	s := paymentstest.New(t)
	back, paid := s.Pay(newCode(t, s, `{"amount":100}`), 0), s.Pay(newCode(t, s, `{"amount":1250}`), 0)
	s.Refund(back.ID, 0)
	refund := func(status int, code, param, more string) {
		t.Helper()
		response, data := s.Do("POST", "/v1/refunds", `{"payment":"`+paid.ID+`"`+more+`}`)
		refused(t, code, response, data, status, code, param)
	}
	refund(400, "amount_too_large", "amount", `,"amount":1251`)
	response, data := s.Do("POST", "/v1/refunds", `{"payment":"`+back.ID+`"}`)
	refused(t, "twice", response, data, 409, "payment_already_refunded", "")
	other := s.NewConsumer("Kofi Owusu", "0242000001", 0)
	away := `{"amount":1012.5,"destination":{"type":"service_wallet","account_id":"` + other.ID + `"}}`
	if response, data := s.Do("POST", "/v1/disbursements", away); response.StatusCode != 200 {
		t.Fatalf("disburse: %s", data)
	}
	refund(402, "insufficient_balance", "", "")
	refund(400, "currency_not_supported", "currency", `,"currency":"USD"`)
	left := must.Get(s.Accounts.WalletBalance(t.Context(), api.Caller{}, s.Consumer.ID))(t)
	s.Pay(newCode(t, s, `{}`), left.Shift(2).IntPart()) // a wallet with money in it is not closed
	for _, c := range []struct {
		status account.Status
		answer int
		code   string
	}{{account.Frozen, 402, "wallet_not_active"}, {account.Closed, 400, "account_not_found"}} {
		must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.Consumer.ID, account.UpdateHolderParams{Status: new(c.status)}))(t)
		refund(c.answer, c.code, "", "")
	}
	verified(t, s)
}
