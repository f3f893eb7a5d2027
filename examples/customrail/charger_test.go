package main

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/chargertest"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestCharger(t *testing.T) {
	chargertest.Run(t, func(t *testing.T) chargertest.Rig {
		p := newBank(t)
		from := func(last string) chargertest.Payer {
			return chargertest.Payer{Phone: "+23324123456" + last, Network: "mtn"}
		}
		return chargertest.Rig{
			Charger: &charger{newClient(p.URL, token)}, Paid: from("1"), Refused: from("2"), Slow: from("3"),
			Moved: func(id string) (n int) {
				p.with(func() { n = p.moved[id] })
				return n
			},
			Received: func(id string) (amount decimal.Decimal) {
				p.with(func() { amount = p.received[id].Amount })
				return amount
			},
			Secrets:     []string{token},
			LoseRequest: func() { p.with(func() { p.lose = "request" }) },
			LoseAnswer:  func() { p.with(func() { p.lose = "answer" }) },
		}
	})
}

// The provider takes money from phones alone.
func TestChargeOfNoPhone(t *testing.T) {
	c := &charger{newClient("http://127.0.0.1:0", token)}
	for _, do := range []func() (provider.Result, error){
		func() (provider.Result, error) { return c.Charge(t.Context(), provider.Charge{PaymentMethod: "card"}) },
		func() (provider.Result, error) {
			return c.ChargeStatus(t.Context(), provider.Charge{PaymentMethod: "card"})
		},
	} {
		if got, err := do(); err != nil || got.Outcome != provider.Refused {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

// One payment from a phone, from the prompt to the callback, which comes twice.
func TestPaymentFromAPhone(t *testing.T) {
	p, secret := newBank(t), []byte("callback-secret")
	var log bytes.Buffer
	svc, err := payments.New(t.Context(), memory.New(), payments.Config{
		Live: live(newClient(p.URL, token)), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		CollectionFees: &payment.Fees{MTN: payment.Fee{Percent: decimal.NewFromInt(1)}},
	})
	check(t, err)
	m, err := svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"})
	check(t, err)
	caller := api.Caller{Merchant: m.ID, Live: true}
	made, err := svc.Payments.Create(t.Context(), caller, payment.CreateParams{
		Amount: 2000, MobileMoney: payment.MobileMoney{PhoneNumber: "0241234563"}, Description: "Two smoothies",
	})
	check(t, err)
	check(t, svc.Drain(t.Context()))
	waits, err := svc.Payments.Get(t.Context(), caller, made.ID)
	check(t, err)
	if waits.Status != payment.Processing || waits.NextAction == nil || waits.NextAction.Message != "Approve it: dial *170#." {
		t.Errorf("got %+v", waits)
	}

	handler := routes(svc, secret)
	post := func(amount string, want int) payment.Status {
		t.Helper()
		body := `{"reference":"` + made.ID + `","status":"paid"` + amount + `,"provider_id":"p-1"}`
		r := httptest.NewRequest(http.MethodPost, "/callbacks/provider", strings.NewReader(body))
		r.Header.Set("X-Signature", hex.EncodeToString(sign(secret, []byte(body))))
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("callback of %s: %d", amount, w.Code)
		}
		is, err := svc.Payments.Get(t.Context(), caller, made.ID)
		check(t, err)
		return is.Status
	}
	for amount, answer := range map[string]int{"": http.StatusBadRequest, `,"amount":20.001`: http.StatusBadRequest, `,"amount":2`: http.StatusNoContent} {
		if is := post(amount, answer); is != payment.Processing {
			t.Errorf("a payment of GHS 20 is %s after a callback of %s", is, amount)
		}
	}
	for range 2 {
		post(`,"amount":20.00`, http.StatusNoContent)
	}
	paid, err := svc.Payments.Get(t.Context(), caller, made.ID)
	check(t, err)
	b, err := svc.Accounts.Balance(t.Context(), caller)
	check(t, err)
	if paid.Status != payment.Completed || *paid.ProviderReference != "p-1" || b.Available.String() != "19.8" {
		t.Errorf("got %+v, available %s", paid, b.Available)
	}
	if strings.Contains(log.String(), "1234563") || strings.Contains(log.String(), token) {
		t.Errorf("the log tells too much: %s", log.String())
	}
}
