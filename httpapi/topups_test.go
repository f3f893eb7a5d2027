package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A top-up over HTTP answers with the consumer, and follows the test clock of the merchant.
func TestTopUpOfConsumer(t *testing.T) {
	s := paymentstest.New(t)
	id, _ := holder(t, s, "consumers", `{"name":"Ama","phone_number":"0241230904","balance":2.5}`)
	response, data := s.Do("POST", "/v1/test_helpers/consumers/"+id+"/top_up", `{"amount":1250}`)
	expect.True(t, response.StatusCode == http.StatusOK && field(t, data, "account_id") == id && field(t, data, "balance") == "2.5" && field(t, data, "phone_number") == "+233241230904", "the answer is %s", data)
	advance(t, s, 25*time.Second)
	expect.Equal(t, read(t, s, "/v1/test_helpers/consumers/"+id, "balance"), "15", "balance after 25 seconds")
	verified(t, s)
}

func TestRefusalsOfTopUps(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{
		WalletTiers: &account.WalletTiers{Minimum: account.TierLimits{Day: decimal.NewFromInt(1000)}},
	})
	open := func(number, more string) string {
		t.Helper()
		id, _ := holder(t, s, "consumers", `{"name":"Ama","phone_number":"`+number+`"`+more+`}`)
		return "/v1/test_helpers/consumers/" + id + "/top_up"
	}
	ama := open("0241234567", "")
	const one = `{"amount":100}`
	meet(t, s,
		refusal{ama, `{"amount":100,"currency":"USD"}`, 400, "currency_not_supported", "currency"},
		refusal{ama, `{"amount":100001}`, 402, "wallet_limit_exceeded", "amount"},
		refusal{open("0241234568", `,"status":"frozen"`), one, 402, "wallet_not_active", ""},
		refusal{open("0241234569", `,"status":"closed"`), one, 400, "account_not_found", "account_id"},
		refusal{open("0301234567", ""), one, 400, "invalid_phone_number", "phone_number"},
		refusal{open("0241230901", ""), one, 402, "payment_failed", ""},
		refusal{open("0241230908", ""), one, 429, "too_many_prompts", ""},
	)
	_, data := s.Do("POST", open("0241230902", ""), one)
	expect.Equal(t, field(t, data, "error.message"), "The payer's balance is too low.", "message")
}
