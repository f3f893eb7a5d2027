package httpapi_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

// browser is a window of 360 px with scripts switched off, driven by keys alone.
type browser struct {
	t       *testing.T
	ctx     context.Context
	origins map[string]bool // that were asked for anything
}

// openBrowser starts Chromium, or skips the test where there is none, unless
// PAYMENTS_REQUIRE_BROWSER is set.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("PAYMENTS_REQUIRE_BROWSER") != "" {
			t.Fatal("chromium is not installed")
		}
		t.Skip("chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser and its folder are gone
		cancel()
	})

	b := &browser{t: t, ctx: ctx, origins: map[string]bool{}}
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			if u, err := url.Parse(e.Request.URL); err == nil {
				b.origins[u.Scheme+"://"+u.Host] = true
			}
		}
	})
	b.do(network.Enable(), emulation.SetScriptExecutionDisabled(true),
		emulation.SetDeviceMetricsOverride(360, 740, 2, true))
	return b
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// text is what a reader of the page sees.
func (b *browser) text() string {
	b.t.Helper()
	var text string
	b.do(chromedp.Evaluate("document.body.innerText", &text))
	return text
}

func (b *browser) sees(what string, texts ...string) {
	b.t.Helper()
	shown := b.text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			b.t.Errorf("%s: the page does not show %q but\n%s", what, text, shown)
		}
	}
	var width int
	b.do(chromedp.Evaluate("document.documentElement.scrollWidth", &width))
	if width > 360 {
		b.t.Errorf("%s: the page is %d px wide", what, width)
	}
	b.picture(what)
}

// picture keeps a screenshot in the folder that PAYMENTS_SCREENSHOTS names, in
// both colour schemes, for people to look at.
func (b *browser) picture(name string) {
	folder := os.Getenv("PAYMENTS_SCREENSHOTS")
	if folder == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		var png []byte
		b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
			chromedp.FullScreenshot(&png, 100))
		file := filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+"-"+scheme+".png")
		if err := os.WriteFile(file, png, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// keys types: each text into the field that has the focus, moved on by Tab. The
// last is followed by Enter.
func (b *browser) keys(texts ...string) {
	b.t.Helper()
	for i, text := range texts {
		b.do(chromedp.KeyEvent(kb.Tab))
		var held string
		b.do(chromedp.Evaluate("document.activeElement.value || ''", &held))
		if held != "" {
			b.do(chromedp.KeyEvent(kb.Delete)) // Tab has selected what the field held
		}
		b.do(chromedp.KeyEvent(text))
		if i == len(texts)-1 {
			b.do(chromedp.KeyEvent(kb.Enter))
		}
	}
}

// submit fills in the form and waits for a page that has the element.
func (b *browser) submit(element string, texts ...string) {
	b.t.Helper()
	b.keys(texts...)
	for arrived := false; !arrived; {
		there := `document.readyState === "complete" && !!document.querySelector("` + element + `")`
		// The page may go away under the question, which is asked again then.
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(there, &arrived)); err != nil && b.ctx.Err() != nil {
			b.t.Fatalf("no %s after %v: the page shows\n%s", element, texts, b.text())
		}
	}
}

func TestPayPageInABrowser(t *testing.T) {
	oneGoroutine(t)
	b := openBrowser(t)
	s := paymentstest.New(t)
	open := func(code string) {
		b.t.Helper()
		b.do(chromedp.Navigate(s.Server.URL+"/pay/"+code), chromedp.WaitReady("main", chromedp.ByQuery))
	}
	submit := b.submit

	entered := newCode(t, s, `{"name":"Till 1","description":"Fresh juice and snacks, every day from seven"}`)
	open(entered)
	b.sees("open amount", "Adom Juice Bar", "Till 1", "Fresh juice", "Amount in GHS", "Wallet number", "PIN", "Test mode")
	var background string
	b.do(chromedp.Evaluate(`getComputedStyle(document.querySelector("main")).borderRadius`, &background))
	if background != "12px" {
		t.Errorf("the style is not applied: border-radius %q", background)
	}
	submit("[role=alert]", "12.50", "0241000001", "9999")
	b.sees("wrong PIN", "The PIN is wrong")
	var amount, pin string
	b.do(chromedp.Evaluate(`document.querySelector("#amount").value`, &amount), chromedp.Evaluate(`document.querySelector("#pin").value`, &pin))
	if amount != "12.50" || pin != "" {
		t.Errorf("after a wrong PIN the form holds %q and PIN %q", amount, pin)
	}
	open(entered)
	submit("[role=status]", "12.50", "0241000001", "1234")
	b.sees("receipt", "Paid. Thank you.", "GHS 12.50", "024****001", "pay_")
	var at string
	b.do(chromedp.Location(&at))
	if _, data := s.Do("GET", "/v1/payments/"+at[strings.LastIndex(at, "/")+1:], nil); field(t, data, "amount") != "1250" {
		t.Errorf("payment: %s", data)
	}

	fixed := newCode(t, s, `{"type":"dynamic","amount":1250,"name":"Order 1001"}`)
	open(fixed)
	b.sees("fixed amount", "GHS 12.50", "Pay GHS 12.50")
	submit("[role=status]", "0241000001", "1234")
	b.sees("fixed amount paid", "Paid. Thank you.")
	open(fixed)
	b.sees("used up", "as often as it may be")

	dear := newCode(t, s, `{"amount":99999999,"name":"A very long name of a very long thing that somebody sells without end"}`)
	open(dear)
	submit("[role=alert]", "0241000001", "1234")
	b.sees("too little balance", "not enough money", "GHS 999,999.99")

	off := newCode(t, s, `{}`)
	s.Do("POST", "/v1/qr_codes/"+off, `{"active":false}`)
	open(off)
	b.sees("inactive", "not active")

	for range 5 {
		s.Do("POST", "/v1/test_helpers/qr_codes/"+entered+"/pay", `{"account_id":"`+s.Consumer.ID+`","pin":"0000","amount":1}`)
	}
	open(entered)
	submit("[role=alert]", "1", "0241000001", "1234")
	b.sees("locked PIN", "The PIN is locked")

	soon := newCode(t, s, `{"expires_at":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	s.Do("POST", "/v1/test_helpers/clock", `{"advance":3601}`)
	open(soon)
	b.sees("expired", "has expired")
	open("qr_unknown")
	b.sees("unknown", "nothing to pay here")

	delete(b.origins, s.Server.URL)
	if len(b.origins) > 0 {
		t.Errorf("the pages asked others: %v", b.origins)
	}
}

func TestInvoicePageInABrowser(t *testing.T) {
	oneGoroutine(t)
	b := openBrowser(t)
	s := paymentstest.New(t)
	create := func(amount string) (id, address string) {
		t.Helper()
		_, data := s.Do("POST", "/v1/invoices", `{"customer_name":"Akosua","auto_finalize":true,"footer":"Medaase ɛ","line_items":[
			{"description":"Catering for the outdooring, with a very long description that needs more than one line","quantity":1.5,"unit_amount":`+amount+`,"taxable":true,"tax_percent":20}]}`)
		return field(t, data, "id"), field(t, data, "hosted_invoice_url")
	}
	open := func(address string) {
		b.t.Helper()
		b.do(chromedp.Navigate(address), chromedp.WaitReady("main", chromedp.ByQuery))
	}
	// The first key goes to the link of the document.
	id, address := create("10000")
	open(address)
	b.sees("invoice open", "Adom Juice Bar", "INV-", "Akosua", "GHS 180.00", "Tax 20%", "30.00", "Download", "Pay GHS 180.00", "Test mode")
	b.submit("[role=alert]", "", "0241000001", "9999")
	b.sees("invoice wrong PIN", "The PIN is wrong")
	open(address)
	b.submit("[role=status]", "", "0241000001", "1234")
	b.sees("invoice paid", "Paid. Thank you.", "pay_")
	if _, data := s.Do("GET", "/v1/invoices/"+id, nil); field(t, data, "status") != "paid" || field(t, data, "amount_paid") != "18000" {
		t.Errorf("got %s", data)
	}
	_, dear := create("9000000")
	open(dear)
	b.submit("[role=alert]", "", "0241000001", "1234")
	b.sees("invoice too little balance", "not enough money")
	for action, text := range map[string]string{"void": "withdrawn", "mark_uncollectible": "can no longer be paid"} {
		id, address := create("100")
		s.Do("POST", "/v1/invoices/"+id+"/"+action, nil)
		open(address)
		b.sees("invoice "+action, text)
	}
	open(s.Server.URL + "/invoice/unknown")
	b.sees("invoice unknown", "There is no invoice here")
	delete(b.origins, s.Server.URL)
	if len(b.origins) > 0 {
		t.Errorf("the pages asked others: %v", b.origins)
	}
}
