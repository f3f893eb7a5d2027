package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/browsertest"
	"github.com/seed-7082ffec/payments/webhook"
)

// story is a payer with a small phone and without scripts, who uses keys alone.
type story struct {
	*browsertest.Browser
	t   *testing.T
	axe string
	// home is the inspector's first page.
	home string
}

// reads checks a page, what it shows and how.
func (s *story) reads(picture string, texts ...string) {
	s.t.Helper()
	s.See(texts...)
	s.Accessible(s.axe)
	s.Picture("story-" + picture)
}

// turns opens a section of the inspector.
func (s *story) turns(section string) {
	s.t.Helper()
	s.Go(s.home)
	s.Enter("Menu")
	s.Press(section)
}

// address is where the link with that text leads.
func (s *story) address(text string) (href string) {
	s.t.Helper()
	s.Ask(`[...document.querySelectorAll("a")].find((a) => a.innerText === "`+text+`").href`, &href)
	return href
}

// waits loads the page until the background work has done what it is to show.
func (s *story) waits(text string) {
	s.t.Helper()
	const most = 500
	for range most {
		if strings.Contains(s.Text(), text) {
			return
		}
		s.Go(s.At())
	}
	s.t.Fatalf("%s never shows %q, but\n%s", s.At(), text, s.Text())
}

var sixDigits = regexp.MustCompile(`\b[0-9]{6}\b`)

// The whole of what a merchant does is clicked through.
func TestStoryInABrowser(t *testing.T) {
	b := browsertest.Open(t, browsertest.Phone, false)
	line, stop := start(t, options{addr: "127.0.0.1:0", db: ":memory:", json: true})
	defer stop()
	var k keys
	if err := json.Unmarshal([]byte(line), &k); err != nil {
		t.Fatal(err)
	}
	told := make(chan http.Header, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := r.Header.Clone()
		h.Set("Body", string(body))
		told <- h
		_, _ = io.WriteString(w, `{"received":true}`)
	}))
	defer receiver.Close()
	s := &story{Browser: b, t: t, axe: browsertest.Axe(t), home: k.BaseURL + "/inspector/"}

	s.Go(k.BaseURL + "/inspector")
	s.reads("overview", "Adom Juice Bar", "Overview", "No payments yet")
	s.Press("Add money")
	s.Fill("Amount in cedis", "1000")
	s.reads("money-form", "What will happen")
	s.Press("Add money")
	s.reads("money", "The money is there.", "1,000.00")

	s.turns("Webhooks")
	s.Press("Add an endpoint")
	s.Fill("Address", receiver.URL)
	s.Press("Register the endpoint")
	s.reads("endpoint", "whsec_", "shown this once", receiver.URL)
	secret := regexp.MustCompile(`whsec_\S+`).FindString(s.Text())

	// A code is made, and paid on the page that it leads to.
	s.turns("QR codes")
	s.Press("Make a QR code")
	s.Fill("Type", "Dyn")
	s.Fill("Amount in cedis", "12.50")
	s.Fill("Name", "Order 1001")
	s.reads("qr-form", "Empty lets the customer enter it.")
	s.Press("Make the QR code")
	s.reads("qr-code", "Created.", "Order 1001", "GH₵12.50", "Dynamic", "No payments yet")
	code := s.At()
	s.Press("Open the page")
	s.reads("pay-page", "Pay GH₵\u00a012.50")
	s.Choose("Mobile money MTN, Telecel or AirtelTigo", "Wallet Wallet number and PIN")
	s.Fill("Wallet number or service ID", "0241000001")
	s.Fill("Wallet PIN", "9999")
	s.Press("Pay GH₵ 12.50")
	s.reads("wrong-pin", "The PIN is wrong")
	s.Fill("Wallet PIN", "1234")
	s.Press("Pay GH₵ 12.50")
	s.reads("receipt", "A receipt was sent by SMS.")
	paid := regexp.MustCompile(`pay_[0-9A-Za-z]+`).FindString(s.At())

	s.Go(code)
	s.Press("Open the page")
	s.reads("used-up", "has been used")
	s.Go(k.BaseURL + "/pay/qr_unknown")
	s.reads("unknown", "nothing to pay here")

	// It is in the inspector, with its event and its delivery.
	s.turns("Payments")
	s.reads("payments", "Ama Mensah", "GH₵12.50", "Completed")
	s.Press("Ama Mensah")
	s.reads("payment", "Ama Mensah paid Adom Juice Bar with a wallet", paid, "payment.succeeded")
	s.Press("payment.succeeded")
	s.waits("Delivered")
	s.reads("event", paid, `{"received":true}`)
	s.Press("Send it again")
	s.See("The event is sent again.")
	if h := <-told; webhook.Verify(h, []byte(h.Get("Body")), secret, 0, time.Now()) != nil {
		t.Errorf("the delivery is not signed with the secret that was shown: %v", h)
	}

	// A phone is asked for money.
	s.turns("Payments")
	s.Press("Make a payment")
	s.Fill("Amount in cedis", "20")
	s.Fill("Payer's phone number", "0241234567")
	s.Press("Ask the phone")
	s.waits("Completed")
	s.reads("payment-from-phone", "GH₵20.00", "payment.pending", "payment.processing", "payment.succeeded", "024\u00a0•••\u00a04567")

	// A payout, with the code from the SMS.
	s.turns("Payouts")
	s.Press("Request a code")
	s.See("it waits in the messages")
	s.turns("Messages")
	s.reads("messages", "is your code to confirm a payout")
	otp := sixDigits.FindString(s.Text())
	s.turns("Payouts")
	s.Press("Verify a code")
	s.Fill("Code of six digits", otp)
	s.Press("Verify")
	s.See("The code is verified")
	s.Press("Make a payout")
	s.Fill("Amount in cedis", "150.50")
	s.Fill("Number", "0241230906")
	s.Fill("Verified code", otp)
	s.Press("Pay out")
	s.reads("payout-refused", "The recipient's account is not available", "Make a payout")
	s.Fill("Number", "0241234567")
	s.Press("Pay out")
	s.waits("Completed")
	s.reads("payout", "GH₵150.50", "payout.created", "payout.pending", "payout.processing", "payout.completed", "024\u00a0•••\u00a04567")

	// An invoice is made, finalized, sent, paid on its page, and has a document.
	s.turns("Invoices")
	s.Press("Make an invoice")
	s.Fill("Customer's name", "Akosua")
	s.Fill("Customer's e-mail", "akosua@example.com")
	s.Fill("What it is for", "Catering")
	s.Fill("Price of one in cedis", "125")
	s.Fill("Tax in percent optional", "20")
	s.Press("Make the invoice")
	s.reads("draft", "Draft", "Catering", "150.00")
	invoice := s.At()
	s.Press("Finalize")
	s.See("The invoice is open.")
	s.Press("Send")
	s.reads("invoice", "The customer is told.", "invoice.finalized", "invoice.sent")
	page := s.address("Open the page")
	s.turns("Messages")
	s.Press("akosua@example.com")
	s.reads("e-mail", "akosua@example.com", "As it looks", page)
	s.Go(invoice)
	s.Press("Open the page")
	s.reads("invoice-page", "GH₵150.00")
	s.Choose("Mobile money MTN, Telecel or AirtelTigo", "Wallet Wallet number and PIN")
	s.Fill("Wallet number or service ID", "0201000002")
	s.Fill("Wallet PIN", "1234")
	s.Press("Pay GH₵ 150.00")
	s.reads("invoice-paid", "Thank you.")
	s.Go(invoice)
	s.reads("invoice-done", "Paid", "invoice.paid", "Open the PDF")
	answer, err := http.Get(s.address("Open the PDF"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if data, err := io.ReadAll(answer.Body); err != nil || !strings.HasPrefix(string(data), "%PDF-") || answer.Header.Get("Content-Type") != "application/pdf" {
		t.Errorf("the document: %s, %v", answer.Status, err)
	}

	s.Go(k.BaseURL + "/inspector/" + k.MerchantID + "/payments/pay_unknown")
	s.reads("not-found", "Not Found", "Test mode")
	s.turns("Ledger")
	s.reads("ledger", "GH₵12.50", "GH₵150.00", "GH₵20.00", "GH₵1,030.49")
	origins := s.Origins()
	delete(origins, k.BaseURL)
	if len(origins) > 0 {
		t.Errorf("the pages asked others: %v", origins)
	}
}
