package invoice_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
)

// sample returns an open invoice with so many lines.
func sample(tb testing.TB, lines int) *invoice.Invoice {
	tb.Helper()
	var params []invoice.LineParams
	for i := range lines {
		p := invoice.LineParams{Description: fmt.Sprintf("Item %d: jollof rice with fish", i+1), UnitAmount: new(int64(1999 + i)), Taxable: new(i%2 == 0), Taxes: invoice.GhanaVAT()}
		q := decimal.New(int64(15+i), -1)
		p.Quantity = &q
		if i == 0 {
			p.Description = "Sobolo, chilled, in bottles of half a litre, delivered to the door on the morning of the event, with ice and cups as agreed by telephone"
		}
		params = append(params, p)
	}
	inside := invoicing.New(new(engine.Engine), invoicing.Config{})
	priced := must.Get(inside.Price(nil, params, nil))(tb) // without a transaction: no line names a product
	at := time.Date(2026, 3, 6, 9, 30, 0, 0, time.UTC)
	return &invoice.Invoice{
		ID: "inv_1", Number: "INV-2026-000042", Status: invoice.Open, Currency: "GHS", InvoiceDate: api.At(at),
		DueDate: api.AtOrNil(at.AddDate(0, 0, 14)), Name: new("Akosua Agyemang"), Email: new("akosua@example.com"),
		Address: new("12 Oxford Street\nOsu, Accra"), Memo: new("SECRET MEMO"),
		Description: new("Catering for the outdooring on 28 February"),
		Footer:      new("Thank you. Please pay within 14 days. Medaase! ₵ ɛ ɔ ŋ Ɛ Ɔ"),
		HostedURL:   "https://pay.example.com/invoice/IMO4XZg0gTLxLCER1gK7BBckesiPv0iQ",
		Lines:       api.List[invoice.Line]{Data: priced.Lines},
		Subtotal:    priced.Subtotal, Discount: priced.Discount, Tax: priced.Tax, Total: priced.Total, AmountDue: priced.Total,
	}
}

var merchant = &account.Merchant{Name: "Adom Juice Bar", Phone: "+233301000000", Email: "hello@adom.example", Address: "Ring Road East\nAccra"}

// layOut lays out the document of an invoice, or of a credit note of it.
func layOut(tb testing.TB, v *invoice.Invoice, n *invoice.CreditNote, logo *account.Logo) *document.Document {
	tb.Helper()
	return must.Get(invoicing.LayOut(v, merchant, n, logo))(tb)
}

// render makes the PDF of a document.
func render(tb testing.TB, v *invoice.Invoice, n *invoice.CreditNote, logo *account.Logo) []byte {
	tb.Helper()
	return must.Get(layOut(tb, v, n, logo).Bytes())(tb)
}

// laid returns the texts of a document, by pages.
func laid(tb testing.TB, v *invoice.Invoice, n *invoice.CreditNote) [][]document.Placed {
	tb.Helper()
	return layOut(tb, v, n, nil).Pages()
}

// drawn returns what the pages say, each text in a line.
func drawn(tb testing.TB, v *invoice.Invoice, n *invoice.CreditNote) string {
	tb.Helper()
	var b strings.Builder
	for _, page := range laid(tb, v, n) {
		for _, text := range page {
			b.WriteString(text.Text + "\n")
		}
	}
	return b.String()
}

// The figures of page, document and JSON are the same: the document's texts are
// what the drawn sheets say.
func TestPDFText(t *testing.T) {
	for _, n := range []int{1, 20, 200} {
		v := sample(t, n)
		data := render(t, v, nil, nil)
		expect.True(t, bytes.Equal(data, render(t, v, nil, nil)), "%d lines: made again, the bytes differ", n)
		keepPDF(t, fmt.Sprint("invoice-", n), data)
		text := drawn(t, v, nil)
		for _, s := range v.Sums() {
			expect.True(t, strings.Contains(text, s.Name), "%d lines: no %s", n, s.Name)
		}
		expect.True(t, strings.Count(text, "Item ")+1 == n, "%d lines: %d items, or the memo", n, strings.Count(text, "Item "))
		expect.True(t, !strings.Contains(text, "SECRET"), "%d lines: %d items, or the memo", n, strings.Count(text, "Item "))
		if pdftotext, err := exec.LookPath("pdftotext"); err == nil {
			command := exec.Command(pdftotext, "-layout", "-", "-")
			command.Stdin = bytes.NewReader(data)
			out := must.Get(command.Output())(t)
			for _, want := range []string{"INV-2026-000042", "Akosua Agyemang", "₵ ɛ ɔ ŋ Ɛ Ɔ", "VAT 15%", "NHIL 2.5%", "GETFund 2.5%", "page 1 of"} {
				expect.True(t, strings.Contains(string(out), want), "%d lines: the PDF has no %q", n, want)
			}
			expect.True(t, !strings.Contains(string(out), "SECRET"), "the memo is in the PDF")
		}
	}
}

// keepPDF keeps a document for people who look at it, in the folder of the tests' screenshots.
func keepPDF(t *testing.T, name string, data []byte) {
	t.Helper()
	if dir := os.Getenv("PAYMENTS_SCREENSHOTS"); dir != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, name+".pdf"), data, 0o644))
	}
}

// The word For stands before a customer's particulars, and is left out without any.
func TestPDFRecipient(t *testing.T) {
	for name, set := range map[string]func(*invoice.Invoice){
		"name":    func(v *invoice.Invoice) { v.Name = new("Akosua") },
		"phone":   func(v *invoice.Invoice) { v.Phone = new("+233201234567") },
		"blank":   func(v *invoice.Invoice) { v.Email = new("") },
		"nothing": func(*invoice.Invoice) {},
	} {
		v := sample(t, 1)
		v.Name, v.Address, v.Email, v.Phone = nil, nil, nil, nil
		set(v)
		want := name == "name" || name == "phone"
		for _, note := range []*invoice.CreditNote{nil, {Number: "CN-2026-000001", Amount: 100}} {
			text := drawn(t, v, note)
			expect.Equal(t, strings.Contains(text, "\nFor\n"), want, "%s, credit note %t: the word is there", name, note != nil)
		}
	}
}

// Each page of a document of test mode says so, above all else; one of live mode does not.
func TestPDFOfTestMode(t *testing.T) {
	for _, live := range []bool{false, true} {
		v := sample(t, 100)
		v.Livemode = live
		for name, note := range map[string]*invoice.CreditNote{
			"invoice": nil, "credit note": {Number: "CN-2026-000001", Amount: 100},
		} {
			render(t, v, note, nil)
			pages := laid(t, v, note)
			for i, page := range pages {
				marked := strings.Contains(page[0].Text, "TEST")
				expect.True(t, marked != live, "%s, live %t: page %d of %d begins with %+v", name, live, i+1, len(pages), page[0])
				expect.True(t, !marked || page[0].Top <= 10, "%s, live %t: page %d of %d begins with %+v", name, live, i+1, len(pages), page[0])
			}
			expect.True(t, name != "invoice" || len(pages) >= 2, "%d pages", len(pages))
		}
	}
}

// Nothing that people write leaves the page, hangs the layout or turns the
// direction of writing.
func TestPDFSurvivesHostileTexts(t *testing.T) {
	v := sample(t, 3)
	v.Livemode = true
	v.Lines.Data[0].Description = strings.Repeat("W", 500)
	v.Lines.Data[1].Description = "a\u202eb\u2066c\u200fd 你好 e\u0301 ɛ\u0303"
	v.Lines.Data[2].Description = strings.Repeat("word ", 100)
	v.Footer = new(strings.Repeat("x\n", 250))
	text := drawn(t, v, nil)
	expect.True(t, !strings.ContainsAny(text, "\u202e\u2066\u200f"), "turns the direction of writing")
	expect.True(t, strings.Contains(text, "abcd"), "turns the direction of writing")
	for i, page := range laid(t, v, nil) {
		for _, at := range page {
			if at.From < document.Left-1 || at.To > document.Right+1 || at.Top < document.Left-1 || at.Top > 842-20 {
				t.Errorf("page %d: %q is at %.0f–%.0f, %.0f", i+1, at.Text, at.From, at.To, at.Top)
			}
		}
	}
}

// What is not to be paid has a badge, above the lines, beside what was or is due.
func TestPDFBadge(t *testing.T) {
	v := sample(t, 3)
	v.Lines.Data[1].Discount = 100
	for status, want := range map[invoice.Status]struct{ badge, label string }{
		invoice.Draft: {"Draft", "Total"}, invoice.Open: {"", "Due 20 March 2026, within 14 days"}, invoice.Paid: {"Paid", "8 March 2026"},
		invoice.Void: {"Void", "Total"}, invoice.Uncollectible: {"Uncollectible", "Total"},
	} {
		v.Status, v.PaidAt = status, nil
		if status == invoice.Paid {
			v.PaidAt = api.AtOrNil(v.InvoiceDate.AddDate(0, 0, 2))
		}
		render(t, v, nil, nil)
		page := laid(t, v, nil)[0]
		texts := map[string]float64{}
		for _, at := range slices.Backward(page) { // the first of equal ones counts
			texts[at.Text] = at.Top
		}
		expect.True(t, texts[want.label] > 0, "%s: no %q", status, want.label)
		expect.True(t, texts[want.label] < texts["Quantity"], "%s: %q is at %v, below the lines at %v", status, want.label, texts[want.label], texts["Quantity"])
		last := page[len(page)-1]
		if want.badge == "" {
			expect.True(t, last.Top > texts["Quantity"], "%s has the badge %s", status, last.Text)
			continue
		}
		expect.Equal(t, last.Text, want.badge, "%s: the badge: text", status)
		expect.True(t, last.Top-texts[want.label] < 2, "%s: the badge is %+v", status, last)
	}
}

// The time to pay is counted from the invoice's date, and so the same on every day.
func TestPDFDueInWords(t *testing.T) {
	v := sample(t, 1)
	says := func(want, when string) {
		t.Helper()
		text := drawn(t, v, nil)
		expect.True(t, strings.Contains(text, "\n"+want+"\n"), "%s: no %q in %s", when, want, text)
	}
	for days, want := range map[int]string{-1: "Due 5 March 2026", 0: "Due 6 March 2026, the day of this invoice", 1: "Due 7 March 2026, within 1 day", 30: "Due 5 April 2026, within 30 days"} {
		v.DueDate = api.AtOrNil(v.InvoiceDate.AddDate(0, 0, days))
		says(want, fmt.Sprint(days, " days"))
	}
	v.DueDate = nil
	says("Amount due", "without a date")
}

// A subscription's lines show their periods, and amounts below zero have a true minus sign.
func TestPDFSubscriptionLines(t *testing.T) {
	v := sample(t, 3)
	start := v.InvoiceDate.Unix()
	v.Lines.Data[0].Description, v.Lines.Data[0].Period = "Gym, monthly", &invoice.Period{Start: start, End: start + 31*24*3600}
	v.Lines.Data[1].Description = "Unused time on Gym, weekly"
	v.Lines.Data[1].UnitAmount, v.Lines.Data[1].Amount = -1_234_56, -1_234_56
	v.Lines.Data[2].Discount = 99
	keepPDF(t, "invoice-subscription", render(t, v, nil, nil))
	text := drawn(t, v, nil)
	expect.Equal(t, strings.Count(text, "−1,234.56"), 2, "price and amount of the credit")
	expect.True(t, strings.Contains(text, "\n6 Mar 2026 – 6 Apr 2026\n"), "no period in %s", text)
	expect.True(t, strings.Contains(text, "\nDiscount\n−0.99\n"), "got %s", text)
	expect.True(t, !strings.Contains(text, "\n-"), "got %s", text)
}

// A line is never on two pages, unless it is longer than one. Every page with lines has the head
// of the table.
func TestPDFNeverSplitsLines(t *testing.T) {
	v := sample(t, 250)
	for i := range v.Lines.Data {
		v.Lines.Data[i].Description = fmt.Sprintf("%d. ", i) + strings.Repeat("a word of it ", i%7*5) + fmt.Sprintf("end%d", i)
		v.Lines.Data[i].Discount = int64(i % 2)
	}
	seen := 0
	pages := laid(t, v, nil)
	for number, page := range pages {
		var texts []string
		for _, at := range page {
			texts = append(texts, at.Text)
		}
		all := strings.Join(texts, " ")
		begun, ended := strings.Count(all, ". a ")+strings.Count(all, ". end"), strings.Count(all, " end")
		expect.Equal(t, begun, ended, "page %d: lines that begin, and that end", number+1)
		expect.Equal(t, strings.Contains(all, "Description"), begun > 0, "page %d: has the head of the table", number+1)
		seen += ended
	}
	expect.Equal(t, seen, 250, "number of lines")
	expect.True(t, len(pages) > 10, "%d lines on %d pages", seen, len(pages))
}

// A logo is drawn in its proportions; one that is no picture is left out.
func TestPDFLogo(t *testing.T) {
	picture := image.NewRGBA(image.Rect(0, 0, 300, 100))
	for x := range 300 {
		for y := range 100 {
			picture.Set(x, y, color.RGBA{R: 11, G: 93, B: uint8(x * 255 / 300), A: 255})
		}
	}
	var logo bytes.Buffer
	must.Do(t, png.Encode(&logo, picture))
	v := sample(t, 3)
	v.Status = invoice.Paid
	v.PaidAt = &v.InvoiceDate
	for name, logo := range map[string]*account.Logo{
		"with":    {Data: logo.Bytes(), Type: "image/png"},
		"without": nil,
		"broken":  {Data: []byte("\x89PNG\r\n\x1a\nx"), Type: "image/png"},
	} {
		data := render(t, v, nil, logo)
		expect.True(t, bytes.Equal(data, render(t, v, nil, logo)), "%s: made again, the bytes differ", name)
		expect.Equal(t, bytes.Contains(data, []byte("/Subtype /Image")), (name == "with"), "%s: has a picture", name)
		keepPDF(t, "invoice-"+name+"-logo", data)
	}
}

// Every text that an invoice may carry makes a document, on whose pages all of it
// stands, and which turns no direction of writing.
func FuzzPDFText(f *testing.F) {
	for _, seed := range []string{
		"Jollof rice", "", " ", "₵ ɛ ɔ ŋ", strings.Repeat("W", 500), "a\u202eb", "\ufeff", "e\u0301\u0301\u0301", "你好 👍🏾", "(\\) Tj ET", "%PDF", "a\nb\r\nc", "\u2028", "\u00ad\u200b",
		"=1+1", "<script>", "\U0001F468\u200d\U0001F469", "\U0010FFFF", strings.Repeat("x\n", 100), "\u0085",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, description, footer string) {
		if check.Text("", description, api.MaxText) != nil || check.Text("", footer, api.MaxText) != nil {
			return // refused before it comes here
		}
		v := sample(t, 2)
		v.Livemode = true // without the mark of test mode, which stands above the body
		v.Lines.Data[0].Description, v.Footer, v.Name, v.Address = description, &footer, &description, &footer
		for i, page := range laid(t, v, nil) {
			for _, at := range page {
				if strings.ContainsAny(at.Text, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f") {
					t.Errorf("%q turns the direction of writing", at.Text)
				}
				if at.Top < document.Left-1 || at.Top > 842-20 || at.From < document.Left-1 || at.To > document.Right+1 {
					t.Errorf("page %d: %q is at %.0f–%.0f, %.0f", i+1, at.Text, at.From, at.To, at.Top)
				}
			}
		}
		data := render(t, v, nil, nil)
		expect.True(t, bytes.HasPrefix(data, []byte("%PDF-")), "%d bytes", len(data))
	})
}
