// Package browsertest drives Chromium by keys alone, as a person without a mouse
// does, and checks what is on the screen.
//
// PAYMENTS_SCREENSHOTS names a folder for pictures of what was seen; PAYMENTS_AXE
// the file axe.min.js of axe-core, with which pages are checked for accessibility.
// A test that needs a browser, or axe-core, is skipped where there is none, and
// fails where PAYMENTS_REQUIRE_BROWSER is set.
package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/seed-7082ffec/payments/internal/test/effort"
)

// Browser is one window. It is for one goroutine.
type Browser struct {
	t       testing.TB
	ctx     context.Context
	width   int64
	scripts bool

	mu      sync.Mutex
	origins map[string]bool
}

// patience is how long a browser may take for a whole test, on a busy machine.
const patience = 5 * time.Minute

// Widths are those of a small phone and of a desktop, in CSS pixels.
const (
	Phone   = 360
	Desktop = 1280
)

// Open starts a browser with a window of that width and scripts switched on or
// off. It ends with the test.
func Open(t testing.TB, width int64, scripts bool) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser and its folder are gone
		cancel()
	})
	b := &Browser{t: t, ctx: ctx, width: width, scripts: scripts, origins: map[string]bool{}}
	chromedp.ListenTarget(ctx, func(event any) {
		e, ok := event.(*network.EventRequestWillBeSent)
		if !ok {
			return
		}
		// A picture of the browser's own, in a field for dates, is data.
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" {
			b.mu.Lock()
			b.origins[u.Scheme+"://"+u.Host] = true
			b.mu.Unlock()
		}
	})
	b.do(network.Enable(), emulation.SetScriptExecutionDisabled(!scripts))
	b.Resize(width)
	return b
}

// Resize gives the window another width.
func (b *Browser) Resize(width int64) {
	b.t.Helper()
	b.width = width
	b.do(emulation.SetDeviceMetricsOverride(width, 800, 1, width < Desktop))
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("PAYMENTS_REQUIRE_BROWSER") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

func (b *Browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Ask evaluates an expression of JavaScript into out.
func (b *Browser) Ask(expression string, out any) {
	b.t.Helper()
	b.do(chromedp.Evaluate(expression, out))
}

// Origins are all that were asked for anything.
func (b *Browser) Origins() map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]bool{}
	for o := range b.origins {
		all[o] = true
	}
	return all
}

// Go opens an address.
func (b *Browser) Go(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address), chromedp.WaitReady("body", chromedp.ByQuery))
}

// At is the address of the page.
func (b *Browser) At() string {
	b.t.Helper()
	var at string
	b.do(chromedp.Location(&at))
	return at
}

// Text is what a reader of the page sees.
func (b *Browser) Text() string {
	b.t.Helper()
	var text string
	b.Ask("document.body.innerText", &text)
	return text
}

// See checks that the page shows all of that, and is no wider than the window.
func (b *Browser) See(texts ...string) {
	b.t.Helper()
	shown := b.Text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			b.t.Errorf("the page does not show %q but\n%s", text, shown)
		}
	}
	var width int64
	b.Ask("document.documentElement.scrollWidth", &width)
	if width > b.width {
		b.t.Errorf("%s is %d px wide", b.At(), width)
	}
}

// AwaitText waits until the page shows a text, without touching it.
func (b *Browser) AwaitText(text string) {
	b.t.Helper()
	b.until("document.body.innerText.includes("+quote(text)+")", "the text "+text)
}

func (b *Browser) until(condition, what string) {
	b.t.Helper()
	for met := false; !met; {
		// The page may go away under the question, which is asked again then.
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(condition, &met)); err != nil && b.ctx.Err() != nil {
			b.t.Fatalf("still waiting for %s", what)
		}
		if !met {
			time.Sleep(10 * time.Millisecond) // the browser needs the processor more than the question
		}
	}
}

// name is what the element with the focus is called on the screen.
const name = `(() => { const e = document.activeElement;
	if (!e || e === document.body) return "";
	const label = e.labels && e.labels.length ? e.labels[0].innerText : e.innerText;
	return (label || e.title || "").trim().replace(/\s+/g, " ") })()`

// Reach presses Tab until the element that has exactly that text, or that label, has
// the focus. An element that keys do not reach fails the test.
func (b *Browser) Reach(text string) {
	b.t.Helper()
	const most = 250
	var seen []string
	for range most {
		b.do(chromedp.KeyEvent(kb.Tab))
		var held string
		b.Ask(name, &held)
		if held == text {
			return
		}
		seen = append(seen, held)
	}
	b.t.Fatalf("keys do not reach %q on %s, only %q", text, b.At(), seen)
}

// Fill writes into the input with that label, in place of what it held. A choice is
// made by typing its beginning.
func (b *Browser) Fill(label, text string) {
	b.t.Helper()
	b.Reach(label)
	var held bool
	b.Ask("document.activeElement.select?.(), !!document.activeElement.value && document.activeElement.tagName === 'INPUT'", &held)
	if held {
		b.do(chromedp.KeyEvent(kb.Delete))
	}
	b.do(chromedp.KeyEvent(text))
}

// Toggle presses the space bar on what has that text or label.
func (b *Browser) Toggle(text string) {
	b.t.Helper()
	b.Reach(text)
	b.do(chromedp.KeyEvent(" "))
}

// Choose moves from the radio button that keys reach to another of its group, with the arrow keys.
func (b *Browser) Choose(from, to string) {
	b.t.Helper()
	b.Reach(from)
	const most = 20
	for range most {
		b.do(chromedp.KeyEvent(kb.ArrowDown))
		var held string
		if b.Ask(name, &held); held == to {
			return
		}
	}
	b.t.Fatalf("the arrow keys do not reach %q from %q on %s", to, from, b.At())
}

// Fits checks that the page is no wider than the window, from the narrowest phone to a desktop:
// in two widths, and with the full effort in all.
func (b *Browser) Fits() {
	b.t.Helper()
	before := b.width
	widths := effort.Of([]int64{320, 960}, []int64{320, 360, 414, 559, 560, 768, 959, 960, 1280, 1440})
	for _, width := range widths {
		b.Resize(width)
		var is int64
		b.Ask("document.documentElement.scrollWidth", &is)
		if is > width {
			b.t.Errorf("%s is %d px wide in a window of %d", b.At(), is, width)
		}
	}
	b.Resize(before)
}

// Enter presses Enter on what has that text and leads to no other page.
func (b *Browser) Enter(text string) {
	b.t.Helper()
	b.Reach(text)
	b.do(chromedp.KeyEvent(kb.Enter))
}

// Press presses Enter on what has that text, and waits for the page that follows.
func (b *Browser) Press(text string) {
	b.t.Helper()
	b.Reach(text)
	b.Ask(`document.documentElement.dataset.left = "yes", 0`, new(int))
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.readyState === "complete" && !document.documentElement.dataset.left`, "the page after "+text)
}

// Picture keeps pictures of the page, in both widths and colour schemes.
func (b *Browser) Picture(name string) {
	b.t.Helper()
	folder := os.Getenv("PAYMENTS_SCREENSHOTS")
	if folder == "" {
		return
	}
	for _, width := range []int64{Phone, Desktop} {
		for _, scheme := range []string{"light", "dark"} {
			var png []byte
			b.do(emulation.SetDeviceMetricsOverride(width, 800, 1, width < Desktop),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.FullScreenshot(&png, 100))
			file := filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
			if err := os.WriteFile(file, png, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.do(emulation.SetDeviceMetricsOverride(b.width, 800, 1, b.width < Desktop), emulation.SetEmulatedMedia())
}

// Screen is a picture of the upper part of the page, so many CSS pixels high and with so many dots to
// each.
func (b *Browser) Screen(height int64, dots float64) []byte {
	b.t.Helper()
	var png []byte
	b.do(emulation.SetDeviceMetricsOverride(b.width, height, dots, b.width < Desktop), chromedp.CaptureScreenshot(&png))
	b.Resize(b.width)
	return png
}

// Parts keeps pictures of elements by their ids, for a page that is too long for one.
func (b *Browser) Parts(name string, ids ...string) {
	b.t.Helper()
	folder := os.Getenv("PAYMENTS_SCREENSHOTS")
	if folder == "" {
		return
	}
	for _, id := range ids {
		var png []byte
		b.do(chromedp.Screenshot("#"+id, &png, chromedp.ByQuery))
		file := filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, b.width, id))
		if err := os.WriteFile(file, png, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Axe returns axe-core, or "" where there is none.
func Axe(t testing.TB) string {
	t.Helper()
	file := os.Getenv("PAYMENTS_AXE")
	if file == "" {
		if os.Getenv("PAYMENTS_REQUIRE_BROWSER") != "" {
			t.Fatal("PAYMENTS_AXE does not name axe.min.js of axe-core")
		}
		return ""
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// Accessible checks the page with axe-core, in both colour schemes, for anything
// serious.
func (b *Browser) Accessible(axe string) {
	b.t.Helper()
	if axe == "" {
		return
	}
	const run = `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(
		r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.help + ": " +
			v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).join("; "))))`
	b.do(emulation.SetScriptExecutionDisabled(false)) // for axe-core; the page's own have not run
	for _, scheme := range []string{"light", "dark"} {
		b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		var text string
		b.do(chromedp.Evaluate(axe+"\n;0", new(int)), chromedp.Evaluate(run, &text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
			return p.WithAwaitPromise(true)
		}))
		var found []string
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			b.t.Fatal(err)
		}
		for _, violation := range found {
			b.t.Errorf("%s, %s: %s", b.At(), scheme, violation)
		}
	}
	b.do(emulation.SetEmulatedMedia(), emulation.SetScriptExecutionDisabled(!b.scripts))
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(quoted)
}
