package inspector_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/browsertest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/qrcode"
)

// Every page fits a small phone, has nothing serious against it in an
// accessibility check, and loads nothing from elsewhere.
func TestPagesInABrowser(t *testing.T) {
	axe := browsertest.Axe(t)
	b := browsertest.Open(t, browsertest.Phone, true)
	s := open(t, inspector.Config{})
	made := s.everything()
	for _, path := range paths(made) {
		b.Go(s.at(path))
		b.See("Adom Juice Bar", "Test mode")
		b.Fits()
		b.Ask(`document.querySelectorAll("details").forEach((d) => { d.open = true }), 0`, new(int))
		b.See()
		b.Accessible(axe)
		var small string // a row is the target of its link
		b.Ask(`[...document.querySelectorAll("a,button,input,select,summary")].filter((e) => e.offsetHeight && e.offsetHeight < 24 && !e.closest(".rows,.skip")).map((e) => e.textContent).join()`, &small)
		expect.Equal(t, small, "", "%s: targets below 24 px", path)
		b.Ask(`document.querySelectorAll("details").forEach((d) => { d.open = false }), 0`, new(int))
		name, _, one := strings.Cut(path, "/")
		switch {
		case path == "":
			name = "overview"
		case path == "invoices/"+made["draft"]:
			name = "draft"
		case path == "messages/"+made["sms"]:
			name = "sms"
		case path == "payments/"+made["waiting"]:
			name = "payment-waiting"
		case path == "payments/"+made["declined"]:
			name = "payment-declined"
		case path == "qr-codes/"+made["once"]:
			name = "qr-code-used"
		case one:
			name += "-one"
		}
		b.Picture(strings.ReplaceAll(name, "?", "-"))
	}
	origins := b.Origins()
	delete(origins, strings.TrimSuffix(s.address, "/look"))
	expect.True(t, len(origins) == 0, "the pages asked others: %v", origins)
}

// An open page shows what happens elsewhere, but not under what its reader uses.
func TestLiveInABrowser(t *testing.T) {
	b := browsertest.Open(t, browsertest.Desktop, true)
	s := open(t, inspector.Config{})
	code, err := s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"})
	s.check(err)
	b.Go(s.at("payments"))
	b.AwaitText("This page follows what happens.")
	b.Fill("Search", "Ama")
	s.Pay(code.ID, 1250)
	b.AwaitText("12.50")
	var typed string
	b.Ask(`document.querySelector("#filter-q").value`, &typed)
	expect.Equal(t, typed, "Ama", "what was typed is %q now", typed)

	b.Go(s.at("qr-codes/" + code.ID))
	b.AwaitText("used 1")
	b.Toggle("As the API shows it")
	s.Pay(code.ID, 2500)
	b.Ask("document.activeElement.blur(), 0", new(int))
	b.AwaitText("used 2")
	var open bool
	b.Ask(`document.querySelector("#json").open`, &open)
	expect.True(t, open, "what was open is closed")
	// The buttons of what was shown later act, too.
	b.Press("Switch off")
	b.See("It is switched off.", "Switch on")
}

// The menu of a phone opens and closes without scripts, by keys.
func TestMenuInABrowser(t *testing.T) {
	b := browsertest.Open(t, browsertest.Phone, false)
	s := open(t, inspector.Config{})
	b.Go(s.at("payments"))
	expect.True(t, !strings.Contains(b.Text(), "Money out"), "the menu is open at first")
	b.Enter("Menu")
	b.See("Money out", "Close")
	b.Fits()
	b.Picture("menu")
	b.Enter("Close")
	expect.True(t, !strings.Contains(b.Text(), "Money out"), "the menu stays open")
	b.Enter("Menu")
	b.Press("Test clock")
	b.See("Numbers that pay")
}
