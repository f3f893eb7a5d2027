package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/internal/browsertest"
	"github.com/seed-7082ffec/payments/internal/expect"
)

func TestReferenceInABrowser(t *testing.T) {
	b := openReader(t)
	docs := reference.New(reference.Config{})
	mux := http.NewServeMux()
	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
	host := httptest.NewServer(mux)
	defer host.Close()

	b.Go(host.URL + "/docs") // the mux adds the slash
	b.See("Payments API", "Create a QR code", "POST", "/v1/qr_codes", "In pesewas", "insufficient_balance", "Service-Signature")
	b.Accessible(b.axe)
	// Whatever is unfolded, nothing makes the page wider.
	b.Ask(`document.querySelectorAll("main details").forEach(d => d.open = true), 0`, new(int))
	b.See("phone_number", "payment.succeeded")
	var background, place string
	b.Ask(`getComputedStyle(document.querySelector("article")).borderRadius`, &background)
	expect.Equal(t, background, "12px", "the style is not applied: border-radius")
	b.Go(host.URL + "/docs/")
	b.Enter("Contents")
	b.Enter("Create a payout")
	b.Ask(`document.querySelector(":target h3").innerText + " " + (document.querySelector(":target").getBoundingClientRect().top >= 0)`, &place)
	expect.Equal(t, place, "Create a payout true", "the link leads to")
	parts := []string{"listPayouts", "createPayout", "receiveEvent", "object-Invoice", "codes"}
	b.Parts("reference", parts...)
	b.Resize(browsertest.Desktop)
	b.Go(host.URL + "/docs/")
	b.See("Payments API")
	b.Parts("reference", parts...)
	b.onlyFrom(t, host.URL)
}
