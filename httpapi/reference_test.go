package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/seed-7082ffec/payments/httpapi/reference"
)

func TestReferenceInABrowser(t *testing.T) {
	oneGoroutine(t)
	b := openBrowser(t)
	docs, err := reference.New(reference.Config{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/docs/", http.StripPrefix("/docs", docs))
	host := httptest.NewServer(mux)
	defer host.Close()

	b.do(chromedp.Navigate(host.URL+"/docs"), chromedp.WaitReady("main", chromedp.ByQuery)) // the mux adds the slash
	fits := func(what string, wide int, texts ...string) {
		t.Helper()
		shown := b.text()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				t.Errorf("%s: the page does not show %q", what, text)
			}
		}
		var width int
		b.do(chromedp.Evaluate("document.documentElement.scrollWidth", &width))
		if width > wide {
			t.Errorf("%s: the page is %d px wide", what, width)
		}
	}
	fits("at first", 360, "Payments API", "Create a QR code", "POST", "/v1/qr_codes", "In pesewas", "insufficient_balance", "Service-Signature")
	// Whatever is unfolded, nothing makes the page wider.
	b.do(chromedp.Evaluate(`document.querySelectorAll("main details").forEach(d => d.open = true)`, nil))
	fits("unfolded", 360, "phone_number", "payment.succeeded")
	var background, place string
	b.do(chromedp.Evaluate(`getComputedStyle(document.querySelector("article")).borderRadius`, &background),
		chromedp.Click(`nav summary`, chromedp.ByQuery),
		chromedp.Click(`nav .menu a[href="#createPayout"]`, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector(":target h3").innerText + " " + (document.querySelector(":target").getBoundingClientRect().top >= 0)`, &place))
	if background != "12px" {
		t.Errorf("the style is not applied: border-radius %q", background)
	}
	if place != "Create a payout true" {
		t.Errorf("the link leads to %s", place)
	}
	parts := []string{"listPayouts", "createPayout", "receiveEvent", "object-Invoice", "codes"}
	b.parts("reference 360", parts...)

	b.do(emulation.SetDeviceMetricsOverride(1280, 900, 1, false), chromedp.Navigate(host.URL+"/docs/"), chromedp.WaitReady("main", chromedp.ByQuery))
	fits("wide", 1280, "Payments API")
	b.parts("reference 1280", parts...)

	delete(b.origins, host.URL)
	if len(b.origins) > 0 {
		t.Errorf("the page asked others: %v", b.origins)
	}
}

// parts keeps pictures of elements, as picture does of whole pages, of which this
// one is too long.
func (b *browser) parts(name string, ids ...string) {
	folder := os.Getenv("PAYMENTS_SCREENSHOTS")
	if folder == "" {
		return
	}
	for _, id := range ids {
		var png []byte
		b.do(chromedp.Screenshot("#"+id, &png, chromedp.ByQuery))
		if err := os.WriteFile(filepath.Join(folder, name+" "+id+".png"), png, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}
