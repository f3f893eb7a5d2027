package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/browsertest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// reader has a small phone without scripts.
type reader struct {
	*browsertest.Browser
	axe string
}

func openReader(t *testing.T) *reader {
	t.Helper()
	oneGoroutine(t)
	axe := browsertest.Axe(t)
	return &reader{browsertest.Open(t, browsertest.Phone, false), axe}
}

// sees checks a page that must be readable for all.
func (r *reader) sees(what string, texts ...string) {
	r.See(texts...)
	r.Fits()
	r.Accessible(r.axe)
	r.Picture(strings.ReplaceAll(what, " ", "-"))
}

// pay fills in the form, with pairs of label and text, and sends it. It opens the wallet if a field
// of it is among them.
func (r *reader) pay(button string, fields ...string) {
	var closed bool
	r.Ask(`document.querySelector("#wallets")?.checked === false`, &closed)
	if closed && slices.Contains(fields, walletLabel) {
		r.Choose(mobileMoney, fromWallet)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Fill(fields[i], fields[i+1])
	}
	r.Press(button)
}

const (
	amountLabel = "Amount in cedis"
	walletLabel = "Wallet number or service ID"
	pinLabel    = "Wallet PIN"
	phoneLabel  = "Mobile money number"
	// mobileMoney and fromWallet are the ways to pay.
	mobileMoney = "Mobile money MTN, Telecel or AirtelTigo"
	fromWallet  = "Wallet Wallet number and PIN"
)

// onlyFrom checks that no page asked anybody else for anything.
func (r *reader) onlyFrom(t *testing.T, origin string) {
	t.Helper()
	origins := r.Origins()
	delete(origins, origin)
	expect.True(t, len(origins) == 0, "the pages asked others: %v", origins)
}

func TestPayPageInABrowser(t *testing.T) {
	b := openReader(t)
	s := paymentstest.New(t)
	open := func(code string) { b.Go(s.Server.URL + "/pay/" + code) }

	entered := newCode(t, s, `{"name":"Till 1","description":"Fresh juice and snacks, every day from seven"}`)
	open(entered)
	b.sees("open amount", "Adom Juice Bar", "Till 1", "Fresh juice", "Amount in cedis", "Mobile money number", "Wallet number and PIN", "Test mode")
	var background string
	b.Ask(`getComputedStyle(document.querySelector("#amount")).borderRadius`, &background)
	expect.Equal(t, background, "8px", "the style is not applied: border-radius")
	b.pay("Pay", amountLabel, "12.50", walletLabel, "0241000001", pinLabel, "9999")
	b.sees("wrong PIN", "The PIN is wrong")
	var amount, pin string
	b.Ask(`document.querySelector("#amount").value`, &amount)
	b.Ask(`document.querySelector("#pin").value`, &pin)
	expect.Equal(t, amount, "12.50", "after a wrong PIN the form holds: amount")
	expect.Equal(t, pin, "", "PIN")
	open(entered)
	b.pay("Pay", amountLabel, "12.50", walletLabel, "0241000001", pinLabel, "1234")
	b.sees("receipt", "Paid", "GH₵12.50", "024\u00a0•••\u00a0001", "Accra time", "pay_")
	at := b.At()
	if _, data := s.Do("GET", "/v1/payments/"+at[strings.LastIndex(at, "/")+1:], nil); field(t, data, "amount") != "1250" {
		t.Errorf("payment: %s", data)
	}

	fixed := newCode(t, s, `{"type":"dynamic","amount":1250,"name":"Order 1001"}`)
	open(fixed)
	b.sees("fixed amount", "GH₵12.50", "Pay GH₵\u00a012.50")
	b.pay("Pay GH₵ 12.50", walletLabel, "0241000001", pinLabel, "1234")
	b.sees("fixed amount paid", "A receipt was sent by SMS.")
	open(fixed)
	b.sees("used up", "has been used", "ask Adom Juice Bar for a new code")

	dear := newCode(t, s, `{"amount":99999999,"name":"A very long name of a very long thing that somebody sells without end"}`)
	open(dear)
	b.pay("Pay GH₵ 999,999.99", walletLabel, "0241000001", pinLabel, "1234")
	b.sees("too little balance", "not enough money", "GH₵999,999.99")

	off := newCode(t, s, `{}`)
	s.Do("POST", "/v1/qr_codes/"+off, `{"active":false}`)
	open(off)
	b.sees("inactive", "was withdrawn")

	for range 5 {
		s.Do("POST", "/v1/test_helpers/qr_codes/"+entered+"/pay", `{"account_id":"`+s.Consumer.ID+`","pin":"0000","amount":1}`)
	}
	open(entered)
	b.pay("Pay", amountLabel, "1", walletLabel, "0241000001", pinLabel, "1234")
	b.sees("locked PIN", "The PIN is wrong or locked")

	soon := newCode(t, s, `{"expires_at":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	s.Do("POST", "/v1/test_helpers/clock", `{"advance":3601}`)
	open(soon)
	b.sees("expired", "has expired")
	open("qr_unknown")
	b.sees("unknown", "nothing to pay here")

	b.onlyFrom(t, s.Server.URL)
}

func TestInvoicePageInABrowser(t *testing.T) {
	b := openReader(t)
	s := paymentstest.New(t)
	create := func(amount string) (id, address string) {
		t.Helper()
		_, data := s.Do("POST", "/v1/invoices", `{"customer_name":"Akosua","auto_finalize":true,"footer":"Medaase ɛ","line_items":[
			{"description":"Catering for the outdooring, with a very long description that needs more than one line","quantity":1.5,"unit_amount":`+amount+`,"taxable":true,"tax_percent":20}]}`)
		return field(t, data, "id"), field(t, data, "hosted_invoice_url")
	}
	id, address := create("10000")
	b.Go(address)
	b.sees("invoice open", "Adom Juice Bar", "INV-", "Akosua", "GH₵180.00", "Tax 20%", "30.00", "Download", "Pay GH₵\u00a0180.00", "Test mode")
	b.pay("Pay GH₵ 180.00", walletLabel, "0241000001", pinLabel, "9999")
	b.sees("invoice wrong PIN", "The PIN is wrong")
	b.Go(address)
	b.pay("Pay GH₵ 180.00", walletLabel, "0241000001", pinLabel, "1234")
	b.sees("invoice paid", "Paid", "Thank you.", "pay_")
	if _, data := s.Do("GET", "/v1/invoices/"+id, nil); field(t, data, "status") != "paid" || field(t, data, "amount_paid") != "18000" {
		t.Errorf("got %s", data)
	}
	_, dear := create("9000000")
	b.Go(dear)
	b.pay("Pay GH₵ 162,000.00", walletLabel, "0241000001", pinLabel, "1234")
	b.sees("invoice too little balance", "not enough money")
	for action, text := range map[string]string{"void": "withdrawn", "mark_uncollectible": "can no longer be paid"} {
		id, address := create("100")
		s.Do("POST", "/v1/invoices/"+id+"/"+action, nil)
		b.Go(address)
		b.sees("invoice "+action, text)
	}
	b.Go(s.Server.URL + "/invoice/unknown")
	b.sees("invoice unknown", "There is no invoice here")
	b.onlyFrom(t, s.Server.URL)
}

func TestSubscriptionPageInABrowser(t *testing.T) {
	b := openReader(t)
	s := paymentstest.New(t)
	_, address := subscribe(t, s, charged+`,"quantity":2`)
	s.Work()
	b.Go(address)
	b.sees("subscription", "Adom Juice Bar", "Gold × 2", "GH₵100.00", "every month", "Next charge", "This period", "Charged phone", "Paid", "INV-", "Test mode")
	b.Press("Change the charged phone")
	b.sees("subscription phone", "Change the charged phone", "024")
	b.Fill("New mobile money number", "0241 23")
	b.Press("Send the code")
	b.sees("subscription phone refused", "This number is too short.")
	b.Fill("New mobile money number", "0201112223")
	b.Press("Send the code")
	b.sees("subscription code", "Enter the code", "A code was sent to")
	b.Fill("Code from the SMS", "12")
	b.Press("Charge this phone")
	b.sees("subscription code refused", "Enter the six digits of the SMS.")
	b.Fill("Code from the SMS", codeSentTo(t, s, "0201112223"))
	b.Press("Charge this phone")
	b.sees("subscription phone changed", "The phone was changed.", "020")
	b.Press("Cancel the subscription")
	b.sees("subscription cancel", "Cancel Gold?", "the end of the current period")
	b.Press("Keep the subscription")
	b.See("Next charge")
	b.Press("Cancel the subscription")
	var verb string
	b.Ask(`document.querySelector("button").innerText`, &verb)
	b.Press(verb)
	b.sees("subscription ends", "The subscription will end on", "Ends soon", "After that nothing more is charged.")

	id, address := subscribe(t, s, "")
	s.Advance(8 * 24 * time.Hour)
	b.Go(address)
	b.sees("subscription overdue", "Payment overdue", "Pay GH₵\u00a050.00")
	b.Press("Pay GH₵ 50.00")
	b.sees("subscription invoice", "Gold", "Pay with")
	s.Do("POST", "/v1/subscriptions/"+id+"/cancel", nil)
	b.Go(address)
	b.sees("subscription cancelled", "Cancelled", "It ended on")
	_, address = subscribe(t, s, charged+`,"trial_period_days":14`)
	b.Go(address)
	b.sees("subscription trial", "Trial", "The first invoice will stand here.")
	b.onlyFrom(t, s.Server.URL)
}

func TestMobileMoneyInABrowser(t *testing.T) {
	b := openReader(t)
	s := paymentstest.New(t)
	code := newCode(t, s, `{"name":"Table 4","description":"Fresh juice and snacks","amount":23450}`)
	reload := func(text string) { // as the page does by itself after some seconds
		t.Helper()
		b.Go(b.At())
		b.See(text)
	}
	start := func(phone string) {
		t.Helper()
		b.Go(s.Server.URL + "/pay/" + code)
		b.pay("Pay GH₵ 234.50", phoneLabel, phone)
	}
	b.Go(s.Server.URL + "/pay/" + code)
	b.sees("by phone", "Adom Juice Bar", "To pay", "Pay with", phoneLabel, "You approve the payment on this phone.", "from the number, or choose", "With mobile money nothing is taken before you approve.")
	expect.True(t, !strings.Contains(b.Text(), walletLabel), "the wallet is open")
	b.Choose(mobileMoney, fromWallet)
	b.See(walletLabel, "not of your mobile money")
	expect.True(t, !strings.Contains(b.Text(), phoneLabel), "the phone is still open")
	b.sees("by phone or wallet", walletLabel)

	// A number that is too short stays, with what is wrong under it.
	start("0241 23")
	b.sees("by phone, too short", "This number is too short. A mobile number has ten digits, like 024\u00a0123\u00a04567.")
	b.pay("Pay GH₵ 234.50", phoneLabel, "0241234567")
	b.See("Approve on your phone", "GH₵234.50", "from 024", "Checked at", "Look at the phone with this number.", "on the phone, never on this page", "Cancel the payment")
	s.Work()
	b.AwaitText("A receipt was sent by SMS.") // the page follows by itself
	b.sees("paid by phone", "Paid", "GH₵234.50", "MTN mobile money", "Table 4", "Accra time", "pay_")

	start("0241230904")
	s.Work()
	b.Press("Stop checking by itself")
	b.sees("waiting", "Approve on your phone", "MTN says", "does not check by itself", "Use another number or a wallet", "The request is open until")
	s.Advance(30 * time.Second)
	b.Press("Check now")
	b.See("Paid")

	start("0241230901")
	s.Work()
	reload("Not paid")
	b.sees("declined", "The request was declined on the phone.", "Nothing was taken.", "Try again")
	b.Press("Try again")
	b.See(phoneLabel)

	start("0241230909")
	s.Work()
	s.Advance(11 * time.Minute)
	reload("Not paid")
	b.sees("not approved in time", "The request was not approved in time.", "Nothing was taken.")

	start("0241230903")
	s.Work()
	s.Advance(11 * time.Minute)
	reload("MTN has not answered yet")
	b.sees("not known yet", "Do not pay again.", "Check now", "We keep asking")
	expect.True(t, !strings.Contains(b.Text(), "Try again"), "the page offers to pay twice")

	// The request of this browser is still open.
	b.Go(s.Server.URL + "/pay/" + code)
	b.sees("open request", "Check the payment", "I did not approve it")
	b.Press("I did not approve it")
	b.pay("Pay GH₵ 234.50", phoneLabel, "0201230907")
	s.Work()
	reload("Enter the code")
	b.sees("code", "Enter the code that you got", "Send the code")
	b.Fill("Enter the code that you got", "000000")
	b.Press("Send the code")
	b.sees("wrong code", "That code is not right.")
	b.Fill("Enter the code that you got", "123456")
	b.Press("Send the code")
	b.See("Paid")

	b.Go(s.Server.URL + "/pay/" + code)
	b.Press("I did not approve it")
	b.pay("Pay GH₵ 234.50", phoneLabel, "0241230906")
	b.Press("Cancel the payment")
	b.sees("cancelled", "Cancelled", "Nothing was taken.")

	_, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	b.Go(address)
	b.pay("Pay GH₵ 25.00", phoneLabel, "0271230903")
	s.Work()
	reload("Use another number or a wallet")
	b.Press("Use another number or a wallet")
	b.pay("Pay GH₵ 25.00", phoneLabel, "0271234567")
	s.Work()
	reload("A receipt was sent by SMS.")
	b.sees("invoice paid by phone", "Invoice INV-", "AirtelTigo mobile money")
	b.Press("See the invoice")
	b.See("Paid", "Thank you.")
	b.onlyFrom(t, s.Server.URL)
}

// newSession makes a session, and returns its id and the address of its page.
func newSession(t *testing.T, s *paymentstest.Shop, body string) (id, address string) {
	t.Helper()
	response, data := s.Do("POST", "/v1/checkout/sessions", body)
	must.True(t, response.StatusCode == 200, "%s", data)
	return field(t, data, "id"), field(t, data, "url")
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
	b.sees("checkout code", "Enter the code", "024", "Another code or number")
	b.pay("Confirm and subscribe", "Code from the SMS", codeSentTo(t, s, "0241234567"))
	b.AwaitText("Thanks for")
	_, member = newSession(t, s, `{"mode":"subscription","success_url":"`+shop.URL+`/","plan":"`+field(t, data, "id")+`"}`)
	b.Go(member)
	b.pay("Start the free trial", "Name", "Ama", phoneLabel, "0241234567")
	b.sees("checkout after the trial", "has had its free trial of Juice every week already", "The first payment is due now")

	id, address = sell("")
	s.Do("POST", "/v1/checkout/sessions/"+id+"/expire", nil)
	b.Go(address)
	b.sees("checkout expired", "This checkout has expired", "Go back to Adom Juice Bar")
	origins := b.Origins()
	delete(origins, shop.URL)
	delete(origins, s.Server.URL)
	expect.True(t, len(origins) == 0, "the pages asked others: %v", origins)
}

// subscribe subscribes a new member to a plan of GHS 50 a month, and returns id and page.
func subscribe(t *testing.T, s *paymentstest.Shop, more string) (id, page string) {
	t.Helper()
	response, data := s.Do("POST", "/v1/subscriptions", fmt.Sprintf(`{"customer":%q,"plan":%q%s}`, newMember(t, s), newPlan(t, s, ""), more))
	must.True(t, response.StatusCode == 200, "subscribe: %s", data)
	return field(t, data, "id"), field(t, data, "manage_url")
}

// charged subscribes with automatic charges.
const charged = `,"collection_method":"charge_automatically"`

// newMember makes a customer with a phone, and newPlan a plan that costs GHS 50 a month.
func newMember(t *testing.T, s *paymentstest.Shop) string {
	t.Helper()
	return made(t, s, "/v1/customers", `{"name":"Ama Serwaa","email":"ama@example.com","phone_number":"0241234567"}`)
}

func newPlan(t *testing.T, s *paymentstest.Shop, more string) string {
	t.Helper()
	return made(t, s, "/v1/plans", `{"name":"Gold","amount":5000,"interval":"month"`+more+`}`)
}

// codeSentTo is the code in the last SMS to a number.
func codeSentTo(t *testing.T, s *paymentstest.Shop, number string) string {
	t.Helper()
	sent := s.Sent(number)
	must.True(t, len(sent) > 0, "no SMS to %s", number)
	code, _, found := strings.Cut(sent[0].Text, " is your code")
	must.True(t, found, "the SMS says %q", sent[0].Text)
	return code
}
