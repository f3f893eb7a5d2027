package httpapi_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
)

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
