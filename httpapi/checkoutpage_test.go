package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
)

// A session whose time is over while a payment holds it may still be paid by that payment. Its page must
// not send the payer away to order again.
func TestCheckoutPageOfAHeldSessionWhoseTimeIsOver(t *testing.T) {
	s := paymentstest.New(t)
	id, address := newSession(t, s, fmt.Sprintf(`{"success_url":"https://shop.example/","line_items":[{"description":"Juice","unit_amount":500}],"expires_at":%d}`, time.Now().Add(31*time.Minute).Unix()))
	advance(t, s, 28*time.Minute)
	form := byPhone(t, address, "0241230903")
	startPayment(t, address, "0241230903")
	s.Work()
	advance(t, s, 5*time.Minute)
	shows(t, "the page of the held session", "GET", address, nil, 200, "A payment is waiting", "Go to the payment")
	shows(t, "another form", "POST", address, form, 409, "Another payment of this is waiting", "Go to the payment")
	response, body := s.Do("POST", "/v1/test_helpers/checkout/sessions/"+id+"/pay", `{"phone_number":"0241234567"}`)
	wants(t, "another payment", response, body, 409, "payment_in_progress", "")
	advance(t, s, 10*time.Minute)
	s.Work()
	expect.Equal(t, read(t, s, "/v1/checkout/sessions/"+id, "status"), "expired", "status after the hold")
	shows(t, "the page after the hold", "GET", address, nil, 200, "This checkout has expired")
}

// A subscription is charged to a phone, so the page of its payment offers no wallet.
func TestPaymentOfASubscriptionOffersNoWallet(t *testing.T) {
	s := paymentstest.New(t)
	sell := func() string {
		_, address := newSession(t, s, `{"mode":"subscription","success_url":"https://shop.example/","plan":"`+newPlan(t, s, "")+`"}`)
		return address
	}
	waiting := startPayment(t, sell(), "0241230903")
	s.Work()
	_, page := shows(t, "the payment under way", "GET", waiting, nil, 200, "Use another number<")
	expect.True(t, !strings.Contains(page, "wallet"), "the page of the payment under way offers a wallet")
	failed := startPayment(t, sell(), "0241230901")
	s.Work()
	_, page = shows(t, "the failed payment", "GET", failed, nil, 200, "Not paid", "Try again")
	expect.True(t, !strings.Contains(page, "wallet"), "the page of the failed payment offers a wallet")
}
