package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// newSession makes a session, and returns its id and the address of its page.
func newSession(t *testing.T, s *paymentstest.Shop, body string) (id, address string) {
	t.Helper()
	response, data := s.Do("POST", "/v1/checkout/sessions", body)
	must.True(t, response.StatusCode == 200, "%s", data)
	return field(t, data, "id"), field(t, data, "url")
}

// sessionField is a field of a session.
func sessionField(t *testing.T, s *paymentstest.Shop, id, name string) string {
	t.Helper()
	_, data := s.Do("GET", "/v1/checkout/sessions/"+id, nil)
	return field(t, data, name)
}

// walletForm is the form of a page, filled in for a wallet.
func walletForm(t *testing.T, address, pin string) url.Values {
	t.Helper()
	form := byPhone(t, address, "", "method", "wallet", "wallet", "024 100 0001", "pin", pin)
	form.Del("phone")
	return form
}

func TestCheckoutPageFromAWallet(t *testing.T) {
	s := paymentstest.New(t)
	giveLogo(t, s)
	evil := `<script>alert(1)</script>`
	id, address := newSession(t, s, `{"success_url":"https://Shop.example:8443/thanks?id={CHECKOUT_SESSION_ID}&a=1","cancel_url":"https://shop.example/cart?a=1&b=2",
		"reference":"Order 2041 `+evil+`","customer_email":"ama@example.com","customer_phone":"0201112223",
		"line_items":[{"description":"`+evil+`","unit_amount":24000,"taxable":true,"tax_percent":20}]}`)
	response, page := shows(t, "open", "GET", address, nil, 200, "To pay", "GH₵</span>288.00", "Tax 20%", `value="ama@example.com"`, `value="0201112223"`, `value="mobile" checked`, "Pay GH₵&nbsp;288.00",
		`href="https://shop.example/cart?a=1&amp;b=2">Go back to Adom Juice Bar`, "&lt;script&gt;", `src="`+address[strings.LastIndex(address, "/")+1:]+`/logo"`, "Test mode")
	lacks(t, "open", page, "<script")
	policy := response.Header.Get("Content-Security-Policy")
	expect.True(t, strings.Contains(policy, "; form-action 'self' https://shop.example:8443; frame-ancestors 'none'"), "the policy is %s", policy)
	showsLogo(t, address)

	wrong := walletForm(t, address, "0000")
	wrong.Set("email", "esi@example.com")
	shows(t, "a wrong PIN", "POST", address, wrong, 403, "The PIN is wrong", `role="alert"`, `value="esi@example.com"`, `value="wallet" checked`)
	unfit := walletForm(t, address, "1234")
	unfit.Set("email", "esi")
	shows(t, "a wrong e-mail", "POST", address, unfit, 400, "This is not an e-mail address.", `id="email" name="email" type="email" autocomplete="email" maxlength="255" value="esi" aria-invalid="true" aria-describedby="problem"`)
	expect.Equal(t, sessionField(t, s, id, "status"), "open", "status")

	form := walletForm(t, address, "1234")
	form.Set("email", "esi@example.com")
	for range 2 { // posted twice, it is paid once
		response, text := browse(t, "POST", address, form)
		expect.Equal(t, response.StatusCode, 303, "status: %s", text)
		expect.Equal(t, response.Header.Get("Location"), "https://Shop.example:8443/thanks?id="+id+"&a=1", "leads to")
	}
	_, data := s.Do("GET", "/v1/payments?checkout_session="+id, nil)
	expect.True(t, field(t, data, "data.0.amount") == "28800" && field(t, data, "data.1") == "", "payments: %s", data)
	expect.Equal(t, sessionField(t, s, id, "customer_email"), "esi@example.com", "e-mail")
	expect.Equal(t, read(t, s, "/v1/test_helpers/messages?kind=email", "data.0.to"), "esi@example.com", "the receipt goes to")

	response, page = browse(t, "GET", address, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "5; url=https://Shop.example:8443/thanks?id="+id+"&a=1", "Refresh")
	holds(t, "complete", page, "<h1>Paid</h1>", "GH₵</span>288.00", "takes you back", `href="https://Shop.example:8443/thanks?id=`+id+`&amp;a=1">Continue to Adom Juice Bar`, "pay_")
	lacks(t, "complete", page, "<form")
	shows(t, "another form", "POST", address, walletForm2(form), 409, "<h1>Paid</h1>")
	// A payer whose browser has refused the way on presses again.
	s.Advance(10 * time.Second)
	response, _ = browse(t, "POST", address, form)
	expect.True(t, response.StatusCode == 303 && strings.HasSuffix(address, "/"+response.Header.Get("Location")), "leads to %s", response.Header.Get("Location"))
	s.Advance(2 * time.Minute)
	response, page = browse(t, "GET", address, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh later on")
	lacks(t, "later on", page, "by itself")
	shows(t, "unknown", "GET", s.Server.URL+"/checkout/unknown", nil, 404, "nothing to pay here")
	verified(t, s)
}

// walletForm2 is a form of a page that was loaded again.
func walletForm2(form url.Values) url.Values {
	again := url.Values{}
	for name, values := range form {
		again[name] = values
	}
	again.Set("token", strings.Repeat("b", 22))
	return again
}

func TestCheckoutPageFromAPhone(t *testing.T) {
	s := paymentstest.New(t)
	id, address := newSession(t, s, order(`,"reference":"Order 2041","cancel_url":"https://shop.example/cart"`))
	for phone, want := range map[string]struct {
		status int
		text   string
	}{
		"":           {400, "Enter your mobile money number"},
		"0241 23":    {400, "This number is too short."},
		"0241230908": {429, "asked to approve payments too often"},
	} {
		shows(t, phone, "POST", address, byPhone(t, address, phone), want.status, want.text, `role="alert"`, `value="`+phone+`"`)
	}
	// One that is declined may be tried again, and the held page leads to the payment.
	declined := startPayment(t, address, "0241230901", "email", "ama@example.com")
	s.Work()
	_, page := browse(t, "GET", declined, nil)
	token := address[strings.LastIndex(address, "/")+1:]
	holds(t, "declined", page, "<h1>Not paid</h1>", `href="../checkout/`+token+`">Try again`, `href="../checkout/`+token+`?method=wallet">Pay from a wallet`)
	shows(t, "another way", "GET", address+"?method=wallet", nil, 200, `value="wallet" checked`, `value="ama@example.com"`)

	waiting := startPayment(t, address, "0241230904")
	s.Work()
	response, page := browse(t, "GET", waiting, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "5", "Refresh while it waits")
	holds(t, "waiting", page, "Order 2041", "Use another number or a wallet")
	_, page = shows(t, "held", "GET", address, nil, 200, "A payment is waiting", `href="../payment/`+waiting[strings.LastIndex(waiting, "/")+1:]+`">Go to the payment`, "Accra time", "Go back to Adom Juice Bar")
	lacks(t, "held", page, "Pay with", "Nothing is taken")
	refused, page := browse(t, "POST", address, url.Values{"method": {"mobile"}, "phone": {"0271234567"}})
	expect.Equal(t, refused.StatusCode, 409, "status while held")
	holds(t, "a form while held", page, `role="alert"`, "waiting for its approval", "Go to the payment")

	s.Advance(25 * time.Second)
	expect.Equal(t, sessionField(t, s, id, "status"), "complete", "status")
	response, page = browse(t, "GET", waiting, nil)
	thanks := "https://shop.example/thanks?id=" + id
	expect.Equal(t, response.Header.Get("Refresh"), "5; url="+thanks, "Refresh of the receipt")
	holds(t, "the receipt", page, "<h1>Paid</h1>", "Order 2041", `href="`+thanks+`">Continue to Adom Juice Bar`, "takes you back to Adom Juice Bar by itself")
	s.Advance(2 * time.Minute)
	response, page = browse(t, "GET", waiting, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh of the receipt later on")
	holds(t, "the receipt later on", page, `href="`+thanks+`">Continue`)
	lacks(t, "the receipt later on", page, "by itself")
	verified(t, s)
}

// A payment that came too late leads nowhere: the page says that the money comes back.
func TestCheckoutPageOfALatePayment(t *testing.T) {
	s := paymentstest.New(t)
	id, address := newSession(t, s, order(""))
	late := startPayment(t, address, "0241230903")
	s.Work()
	response, _ := browse(t, "POST", late, url.Values{"action": {"another"}})
	expect.True(t, strings.HasSuffix(address, strings.TrimPrefix(response.Header.Get("Location"), "..")), "another way leads to %s", response.Header.Get("Location"))
	shows(t, "pay another way", "POST", address, walletForm(t, address, "1234"), 303)
	_, data := s.Do("GET", "/v1/payments?status=processing&checkout_session="+id, nil)
	settled, data := s.Do("POST", "/v1/test_helpers/payments/"+field(t, data, "data.0.id")+"/settle", `{"outcome":"succeeded"}`)
	must.True(t, settled.StatusCode == 200, "%s", data)
	s.Work()
	response, page := browse(t, "GET", late, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "", "Refresh")
	holds(t, "late", page, "Paid, and given back")
	lacks(t, "late", page, "shop.example")
	verified(t, s)
}

// A payment without an answer in time stands in place of the form, until the payer says that it was not
// approved. So it does on the page of an invoice.
func TestPagesOfAnUndecidedPayment(t *testing.T) {
	s := paymentstest.New(t)
	_, session := newSession(t, s, order(`,"customer_email":"ama@example.com"`))
	_, data := s.Do("POST", "/v1/invoices", `{"auto_finalize":true,"line_items":[{"description":"Juice","unit_amount":500}]}`)
	for number, address := range map[string]string{"0241230903": session, "0201230903": field(t, data, "hosted_invoice_url")} {
		follow := startPayment(t, address, number)
		s.Work()
		s.Advance(11 * time.Minute)
		_, page := shows(t, "undecided", "GET", address, nil, 200, "has not answered yet", "Do not pay again.", `href="../payment/`+follow[strings.LastIndex(follow, "/")+1:]+`">Check the payment`, `?again=1">I did not approve it`)
		lacks(t, "undecided", page, "<form", "<button")
		shows(t, "again", "GET", address+"?again=1", nil, 200, "Pay with", "<button")
		shows(t, "a wrong number", "POST", address, byPhone(t, address+"?again=1", "0241 23"), 400, "This number is too short.", "Pay with")
	}
	// A form without the field keeps the merchant's e-mail.
	form := byPhone(t, session+"?again=1", "0271234567")
	form.Del("email")
	browse(t, "POST", session, form)
	s.Work()
	_, data = s.Do("GET", "/v1/checkout/sessions?limit=1", nil)
	expect.Equal(t, field(t, data, "data.0.status")+" "+field(t, data, "data.0.customer_email"), "complete ama@example.com", "the session")
	verified(t, s)
}

func TestCheckoutPageThatCannotBePaid(t *testing.T) {
	s := paymentstest.New(t)
	coupon := made(t, s, "/v1/coupons", `{"percent_off":100,"max_redemptions":1}`)
	free, address := newSession(t, s, order(`,"coupon":"`+coupon+`"`))
	_, second := newSession(t, s, order(`,"coupon":"`+coupon+`","cancel_url":"https://shop.example/cart"`))
	_, page := shows(t, "nothing to pay", "GET", address, nil, 200, "There is nothing to pay.", "Complete the order", "Discount 100%")
	lacks(t, "nothing to pay", page, "Pay with", "Wallet PIN")
	form := byPhone(t, second, "") // before the coupon is gone
	response, _ := browse(t, "POST", address, byPhone(t, address, ""))
	expect.Equal(t, response.Header.Get("Location"), "https://shop.example/thanks?id="+free, "leads to")
	shows(t, "complete", "GET", address, nil, 200, "<h1>Order complete</h1>", "There was nothing to pay.")

	for what, status := range map[string]int{"GET": 200, "POST": 400} {
		sent := form
		if what == "GET" {
			sent = nil
		}
		_, page := shows(t, "a used up coupon", what, second, sent, status, "<h1>The coupon cannot be used now</h1>", "Nothing was taken.", `href="https://shop.example/cart">Go back to Adom Juice Bar`, ">Try again</a>")
		expect.Equal(t, strings.Contains(page, `role="alert"`), what == "POST", "%s: an alert", what)
	}

	expired, address := newSession(t, s, order(""))
	s.Do("POST", "/v1/checkout/sessions/"+expired+"/expire", nil)
	_, page = shows(t, "expired", "GET", address, nil, 200, "<h1>This checkout has expired</h1>", "go back to Adom Juice Bar and order again")
	lacks(t, "expired", page, "<form", "class=\"button")
}

// The page of a plan asks for the phone that will be charged, and for a new customer's name.
func TestCheckoutPageOfASubscription(t *testing.T) {
	s := paymentstest.New(t)
	plan := func(more string) string {
		_, data := s.Do("POST", "/v1/plans", `{"name":"Juice","amount":4500,"interval":"week","interval_count":2`+more+`}`)
		return `"mode":"subscription","success_url":"https://shop.example/","plan":"` + field(t, data, "id") + `"`
	}
	id, address := newSession(t, s, `{`+plan(`,"taxable":true,"tax_percent":20`)+`}`)
	_, page := shows(t, "a plan", "GET", address, nil, 200, "To pay now", "GH₵</span>54.00", "GH₵\u00a045.00 every 2 weeks, and tax. This is the first payment.", `name="name"`, `name="phone"`, "Pay GH₵&nbsp;54.00")
	lacks(t, "a plan", page, "Wallet PIN", `value="wallet"`)
	shows(t, "without a phone", "POST", address, byPhone(t, address, "", "name", "Ama Mensah"), 400, "Enter your mobile money number", `value="Ama Mensah"`)
	form := byPhone(t, address, "0241234567", "name", "Ama Mensah", "email", "ama@example.com")
	response, _ := browse(t, "POST", address, form)
	follow := must.Get(response.Location())(t).String()
	s.Work()
	response, text := browse(t, "POST", address, form) // posted twice, it is paid once
	expect.Equal(t, response.StatusCode, 303, "the same form: %s", text)
	response, _ = browse(t, "GET", follow, nil)
	expect.Equal(t, response.Header.Get("Refresh"), "5; url=https://shop.example/", "Refresh")
	_, data := s.Do("GET", "/v1/customers/"+sessionField(t, s, id, "customer"), nil)
	expect.Equal(t, field(t, data, "name"), "Ama Mensah", "the customer")

	_, data = s.Do("POST", "/v1/customers", `{"name":"Akua","phone_number":"0201112223"}`)
	id, address = newSession(t, s, `{`+plan(`,"trial_period_days":14`)+`,"customer":"`+field(t, data, "id")+`"}`)
	_, page = shows(t, "a trial", "GET", address, nil, 200, "GH₵</span>0.00", "Free for 14 days, then GH₵\u00a045.00 every 2 weeks.", `value="0201112223"`, "Start the free trial")
	lacks(t, "a trial", page, `name="name"`)
	form = byPhone(t, address, "0201112223")
	for range 2 {
		response, _ = browse(t, "POST", address, form)
		expect.Equal(t, response.Header.Get("Location"), "https://shop.example/", "leads to")
	}
	expect.Equal(t, sessionField(t, s, id, "payment_status"), "no_payment_required", "payment status")
	shows(t, "subscribed", "GET", address, nil, 200, "<h1>Subscribed</h1>", "Nothing was taken now.")
	verified(t, s)
}

func TestCheckoutPageInABrowser(t *testing.T) {
	b := openReader(t)
	s := paymentstest.New(t)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Shop</title><p>Thanks for " + r.URL.Query().Get("id")))
	}))
	t.Cleanup(shop.Close)
	_, data := s.Do("POST", "/v1/coupons", `{"name":"AKWAABA","percent_off":10}`)
	lines := `"line_items":[{"description":"Kente shirt, size L","unit_amount":24000,"taxable":true,"tax_percent":20},
		{"description":"Wax print, 6 yards, in a pattern with a very long name that needs more than one line","unit_amount":12000,"taxable":true,"tax_percent":20},
		{"description":"Delivery to East Legon","unit_amount":2400,"taxable":true,"tax_percent":20}]`
	sell := func(more string) (id, address string) {
		t.Helper()
		return newSession(t, s, `{"success_url":"`+shop.URL+`/thanks?id={CHECKOUT_SESSION_ID}","cancel_url":"`+shop.URL+`/cart","reference":"Order 2041",`+lines+more+`}`)
	}
	const button = "Pay GH₵ 414.72"
	id, address := sell(`,"coupon":"` + field(t, data, "id") + `","customer_email":"ama@example.com"`)
	b.Go(address)
	b.sees("checkout", "Adom Juice Bar", "Order 2041", "To pay", "GH₵414.72", "Coupon AKWAABA, 10% off", "−38.40", "Tax 20%", "for the receipt, optional", "Pay GH₵\u00a0414.72", "Go back to Adom Juice Bar", "Test mode")
	b.pay(button, "E-mail", "ama", phoneLabel, "0241234567")
	b.sees("checkout wrong e-mail", "This is not an e-mail address.")
	b.pay(button, "E-mail", "", walletLabel, "0241000001", pinLabel, "9999")
	b.sees("checkout wrong PIN", "The PIN is wrong")
	b.pay(button, walletLabel, "0241000001", pinLabel, "1234")
	b.AwaitText("Thanks for " + id)
	b.Go(address)
	b.sees("checkout paid", "Paid", "GH₵414.72", "Continue to Adom Juice Bar")

	id, address = sell("")
	b.Go(address)
	b.pay("Pay GH₵ 460.80", phoneLabel, "0241230904")
	b.See("Approve on your phone")
	s.Work()
	b.Go(address)
	b.sees("checkout held", "A payment is waiting", "Go to the payment")
	b.Press("Go to the payment")
	s.Advance(30 * time.Second)
	b.Press("Check now")
	b.sees("checkout paid by phone", "Paid", "Continue to Adom Juice Bar")
	b.AwaitText("Thanks for " + id) // the page goes on by itself

	_, free := newSession(t, s, `{"success_url":"`+shop.URL+`/","line_items":[{"description":"A sample","unit_amount":0}]}`)
	b.Go(free)
	b.sees("checkout of nothing", "There is nothing to pay.", "Complete the order")
	b.Press("Complete the order")
	b.AwaitText("Thanks for")

	_, data = s.Do("POST", "/v1/plans", `{"name":"Juice every week","amount":4500,"interval":"week","trial_period_days":14}`)
	_, member := newSession(t, s, `{"mode":"subscription","success_url":"`+shop.URL+`/","plan":"`+field(t, data, "id")+`"}`)
	b.Go(member)
	b.sees("checkout subscription", "To pay now", "Free for 14 days", "Start the free trial")
	b.pay("Start the free trial", "Name", "Ama", phoneLabel, "0241234567")
	b.AwaitText("Thanks for")

	id, address = sell("")
	s.Do("POST", "/v1/checkout/sessions/"+id+"/expire", nil)
	b.Go(address)
	b.sees("checkout expired", "This checkout has expired", "Go back to Adom Juice Bar")
	origins := b.Origins()
	delete(origins, shop.URL)
	delete(origins, s.Server.URL)
	expect.True(t, len(origins) == 0, "the pages asked others: %v", origins)
}

// order is the body of a session, with more fields at its end.
func order(more string) string {
	return `{"success_url":"https://shop.example/thanks?id={CHECKOUT_SESSION_ID}","line_items":[{"description":"Kente shirt","unit_amount":24000}]` + more + `}`
}
