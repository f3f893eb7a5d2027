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

	"github.com/seed-7082ffec/payments/internal/test/browsertest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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

// A merchant sells something and finds the payment. The forms of the inspector and the hosted pages have tests of
// their own.
func TestStoryInABrowser(t *testing.T) {
	b := browsertest.Open(t, browsertest.Phone, false)
	line, stop := start(t, options{addr: "127.0.0.1:0", db: ":memory:", json: true})
	defer stop()
	var k keys
	must.Do(t, json.Unmarshal([]byte(line), &k))
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

	// It is in the inspector, with its event and its delivery.
	s.turns("Payments")
	s.reads("payments", "Ama Mensah", "GH₵12.50", "Completed")
	s.Press("Ama Mensah")
	s.reads("payment", "Ama Mensah paid Adom Juice Bar with a wallet", paid, "payment.created, succeeded")
	s.Press("Paid with a wallet")
	s.waits("Delivered")
	s.reads("event", paid, `{"received":true}`)
	s.Press("Send it again")
	s.See("The event is sent again.")
	if h := <-told; webhook.Verify(h, []byte(h.Get("Body")), secret, 0, time.Now()) != nil {
		t.Errorf("the delivery is not signed with the secret that was shown: %v", h)
	}

	s.Go(k.BaseURL + "/inspector/" + k.MerchantID + "/payments/pay_unknown")
	s.reads("not-found", "Not Found", "Test mode")
	s.turns("Ledger")
	s.reads("ledger", "GH₵12.50", "GH₵1,012.50")
	origins := s.Origins()
	delete(origins, k.BaseURL)
	expect.True(t, len(origins) == 0, "the pages asked others: %v", origins)
}
