package httpapi_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
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

// With nothing to pay now a code by SMS confirms the phone, before the subscription begins.
func TestCheckoutPageConfirmsThePhone(t *testing.T) {
	s := paymentstest.New(t)
	plan := newPlan(t, s, `,"trial_period_days":14`)
	begin := func() (id, address string) {
		return newSession(t, s, `{"mode":"subscription","success_url":"https://shop.example/thanks","plan":"`+plan+`"}`)
	}
	id, address := begin()
	form := byPhone(t, address, "0241234567")
	response, _ := shows(t, "the phone", "POST", address, form, 303)
	expect.Equal(t, response.Header.Get("Location"), address[strings.LastIndex(address, "/")+1:], "the form leads to")
	shows(t, "the phone, sent twice", "POST", address, form, 303)
	expect.Equal(t, len(s.Sent("0241234567")), 1, "codes for a form that is sent twice")
	expect.Equal(t, codeSentTo(t, s, "0241234567"), "123456", "the code of test mode")
	shows(t, "the code's form", "GET", address, nil, 200, "Enter the code", "024", "Code from the SMS", "Confirm and subscribe", "?another=1")
	shows(t, "another number", "GET", address+"?another=1", nil, 200, "Free for 14 days", "Start the free trial")
	code := func(digits string) url.Values { return url.Values{"action": {"confirm"}, "code": {digits}} }
	shows(t, "a wrong code", "POST", address, code("654321"), 400, "This code is wrong", "Code from the SMS")
	shows(t, "no code", "POST", address, code(""), 400, "Enter the six digits of the SMS.")
	response, _ = shows(t, "the code", "POST", address, code("123456"), 303)
	expect.Equal(t, response.Header.Get("Location"), "https://shop.example/thanks", "the code leads to")
	expect.Equal(t, read(t, s, "/v1/checkout/sessions/"+id, "payment_status"), "no_payment_required", "payment_status")
	sub := read(t, s, "/v1/checkout/sessions/"+id, "subscription")
	expect.Equal(t, read(t, s, "/v1/subscriptions/"+sub, "status"), "trialing", "status")

	// The phone has had its trial: the next session says so, and charges.
	id, address = begin()
	_, page := shows(t, "a second trial", "POST", address, byPhone(t, address, "0241234567"), 200,
		`role="alert"`, "This phone has had its free trial of Gold already. The first payment is due now", "Pay GH₵&nbsp;50.00", "024")
	expect.True(t, !strings.Contains(page, "Free for 14 days"), "the page offers the trial again")
	expect.Equal(t, read(t, s, "/v1/checkout/sessions/"+id, "total"), "5000", "total")
	expect.Equal(t, read(t, s, "/v1/checkout/sessions/"+id, "subtotal"), "5000", "subtotal")
	startPayment(t, address, "0241234567")
	s.Work()
	expect.Equal(t, read(t, s, "/v1/checkout/sessions/"+id, "payment_status"), "paid", "payment_status")

	// The test helper confirms by itself, and charges at once.
	id, _ = begin()
	response, body := s.Do("POST", "/v1/test_helpers/checkout/sessions/"+id+"/pay", `{"phone_number":"0551234987"}`)
	must.True(t, response.StatusCode == 200, "the helper: %s", body)
	expect.Equal(t, field(t, body, "status"), "complete", "status")
	id, _ = begin()
	s.Do("POST", "/v1/test_helpers/checkout/sessions/"+id+"/pay", `{"phone_number":"0551234987"}`)
	s.Work()
	expect.Equal(t, read(t, s, "/v1/checkout/sessions/"+id, "total"), "5000", "total of the helper's second session")
	expect.Equal(t, read(t, s, "/v1/checkout/sessions/"+id, "payment_status"), "paid", "payment_status of the helper's second session")
}

// A phone that has got too many codes gets the form again, as after any other refusal.
func TestCheckoutPageOfTooManyCodes(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: waiting{}, Texter: postbox{}}})
	s, _ = as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	plan := newPlan(t, s, `,"trial_period_days":14`)
	_, address := newSession(t, s, `{"mode":"subscription","success_url":"https://shop.example/thanks","plan":"`+plan+`"}`)
	form := func() url.Values {
		_, page := browse(t, "GET", address+"?another=1", nil)
		return url.Values{"token": {tokenInput.FindStringSubmatch(page)[1]}, "phone": {"0244000001"}, "email": {"ama@example.com"}}
	}
	for range 4 {
		shows(t, "a code", "POST", address, form(), 303)
	}
	response, _ := shows(t, "a fifth code of one address", "POST", address, form(), 429, `role="alert"`, "Too many codes were sent. Wait a while before you send another.",
		"Start the free trial", `value="0244000001"`, `value="ama@example.com"`)
	waits(t, response, 10*time.Minute)
	shows(t, "the code's form", "GET", address, nil, 200, "Code from the SMS")
}

// postbox takes SMS.
type postbox struct{}

func (postbox) SendSMS(context.Context, message.SMS) error { return nil }
