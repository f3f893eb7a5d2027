package httpapi_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/browsertest"
	"github.com/seed-7082ffec/payments/internal/expect"
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
	expect.True(t, amount == "12.50" && pin == "", "after a wrong PIN the form holds %q and PIN %q", amount, pin)
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
	b.sees("by phone", "Adom Juice Bar", "To pay", "Pay with", phoneLabel, "You approve the payment on this phone.", "from the number, or choose", "Nothing is taken before you approve.")
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

	start("0201230907")
	s.Work()
	reload("Enter the code")
	b.sees("code", "Enter the code that you got", "Send the code")
	b.Fill("Enter the code that you got", "000000")
	b.Press("Send the code")
	b.sees("wrong code", "This code was not accepted. Check it and enter it again.")
	b.Fill("Enter the code that you got", "123456")
	b.Press("Send the code")
	b.See("Paid")

	start("0241230906")
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
