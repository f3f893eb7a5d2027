package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/refund"
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

// The page says what later periods cost with the coupon.
func TestCheckoutPageOfASubscriptionWithACoupon(t *testing.T) {
	for coupon, pages := range map[string][2]string{ // without a trial, and with one
		``:                                      {"GH₵50.00 every month. This is the first payment.", "Free for 14 days, then GH₵50.00 every month."},
		`"percent_off":20`:                      {"GH₵50.00 every month, the first time GH₵40.00. This is the first payment.", "then GH₵50.00 every month, the first time GH₵40.00."},
		`"percent_off":100`:                     {"Nothing is due now, later GH₵50.00 every month.", "then GH₵50.00 every month, the first time GH₵0.00."},
		`"amount_off":500,"duration":"forever"`: {"GH₵45.00 every month. This is the first payment.", "then GH₵45.00 every month."},
		`"percent_off":50,"duration":"repeating","duration_in_months":3`: {
			"GH₵25.00 every month in the first 3 months, and GH₵50.00 after that. This is the first payment.",
			"then GH₵25.00 every month in the first 3 months, and GH₵50.00 after that.",
		},
	} {
		t.Run(coupon, func(t *testing.T) {
			s := paymentstest.New(t)
			terms := ""
			if coupon != "" {
				terms = `,"coupon":"` + made(t, s, "/v1/coupons", "{"+coupon+"}") + `"`
			}
			for i, trial := range []string{"", `,"trial_period_days":14`} {
				_, address := newSession(t, s, `{"mode":"subscription","success_url":"https://shop.example/","plan":"`+newPlan(t, s, trial)+`"`+terms+`}`)
				shows(t, "the page", "GET", address, nil, 200, strings.ReplaceAll(pages[i], "GH₵", "GH₵"+look.NoBreak))
			}
		})
	}
}

// The page of a paid session says what was given back of it, as the receipt does.
func TestCheckoutPageSaysWhatWasGivenBack(t *testing.T) {
	s := paymentstest.New(t)
	id, address := newSession(t, s, `{"success_url":"https://shop.example/","line_items":[{"description":"Juice","unit_amount":500}]}`)
	paid := *s.PaySession(id, "").Payment
	_, page := shows(t, "paid", "GET", address, nil, 200, "<h1>Paid</h1>")
	must.True(t, !strings.Contains(page, "given back"), "the page says that something was given back")
	must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: paid, Amount: new(int64(200))}))(t)
	shows(t, "refunded", "GET", address, nil, 200, "GH₵\u00a02.00 of it was given back")
}
