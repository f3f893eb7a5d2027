package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/internal/browsertest"
	"github.com/seed-7082ffec/payments/internal/expect"
)

func TestReferenceInABrowser(t *testing.T) {
	b := openReader(t)
	s := paymentstest.New(t)
	docs := reference.New(reference.Config{BaseURL: s.Server.URL, Try: &reference.Try{API: s.Handler, Key: s.Key}})
	mux := http.NewServeMux()
	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
	host := httptest.NewServer(mux)
	defer host.Close()

	b.Go(host.URL + "/docs") // the mux adds the slash
	b.See("Payments API", "Create a QR code", "POST", "/v1/qr_codes", "In pesewas", "insufficient_balance", "Service-Signature")
	b.Accessible(b.axe)
	// Whatever is unfolded, nothing makes the page wider.
	b.Ask(`document.querySelectorAll("main details").forEach(d => d.open = true), 0`, new(int))
	b.See("phone_number", "payment.succeeded", "http.NewRequestWithContext")
	b.Fits()
	var radius, place string
	b.Ask(`getComputedStyle(document.querySelector("pre")).borderRadius`, &radius)
	expect.Equal(t, radius, "8px", "the style is not applied: border-radius")

	// On a phone the contents lie over the page, and go away when a place is chosen.
	b.Go(host.URL + "/docs/")
	b.Enter("Menu")
	b.See("Close")
	b.Parts("reference", "nav")
	b.Enter("Create a payout")
	b.Ask(`document.querySelector(":target h3").innerText + " " + (document.querySelector(":target").getBoundingClientRect().top >= 0) +
		" " + getComputedStyle(document.querySelector("nav")).display`, &place)
	expect.Equal(t, place, "Create a payout true none", "the link leads to")

	b.Go(host.URL + "/docs/search?q=idempotency_error")
	b.sees("reference search", "Search", "idempotency_key_reused", "Error code")
	b.Go(host.URL + "/docs/search?q=zebra")
	b.sees("reference found nothing", "Nothing found for")

	b.Go(host.URL + "/docs/try/createQRCode")
	b.sees("reference form", "Create a QR code", "Test mode", "stays on the server")
	b.Press("Send")
	b.sees("reference answer", "200 OK", `"object": "qr_code"`, "req_")
	expect.True(t, !strings.Contains(b.Text(), s.Key), "the page shows the key")
	b.Go(host.URL + "/docs/try/getQRCode")
	b.Press("Send")
	b.sees("reference missing field", "Enter id.")

	parts := []string{"listPayouts", "createPayout", "receiveEvent", "object-Invoice", "codes"}
	b.Go(host.URL + "/docs/")
	b.Parts("reference", parts...)
	b.Resize(browsertest.Desktop)
	b.Go(host.URL + "/docs/")
	b.See("Payments API")
	b.Parts("reference", parts...)
	b.onlyFrom(t, host.URL)
}
