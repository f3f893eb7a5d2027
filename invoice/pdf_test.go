package invoice

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
)

// sample returns an open invoice with so many lines.
func sample(tb testing.TB, lines int) *record {
	tb.Helper()
	at := time.Date(2026, 3, 6, 9, 30, 0, 0, time.UTC)
	r := &record{Invoice: Invoice{
		ID: "inv_1", Number: "INV-2026-000042", Status: Open, Currency: "GHS", InvoiceDate: api.At(at),
		DueDate: api.AtOrNil(at.AddDate(0, 0, 14)), Name: new("Akosua Agyemang"), Email: new("akosua@example.com"),
		Address: new("12 Oxford Street\nOsu, Accra"), Memo: new("SECRET MEMO"),
		Description: new("Catering for the outdooring on 28 February"),
		Footer:      new("Thank you. Please pay within 14 days. Medaase! ₵ ɛ ɔ ŋ Ɛ Ɔ"),
		HostedURL:   "https://pay.example.com/invoice/IMO4XZg0gTLxLCER1gK7BBckesiPv0iQ",
	}}
	var all []Line
	for i := range lines {
		p := LineParams{Description: fmt.Sprintf("Item %d: jollof rice with fish", i+1), UnitAmount: new(int64(1999 + i)), Taxable: i%2 == 0, Taxes: GhanaVAT()}
		q := decimal.New(int64(15+i), -1)
		p.Quantity = &q
		if i == 0 {
			p.Description = "Sobolo, chilled, in bottles of half a litre, delivered to the door on the morning of the event, with ice and cups as agreed by telephone"
		}
		l, err := p.line("", nil)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, *l)
	}
	if err := r.setLines(all); err != nil {
		tb.Fatal(err)
	}
	return r
}

var merchant = &account.Merchant{Name: "Adom Juice Bar", Phone: "+233301000000", Email: "hello@adom.example", Address: "Ring Road East\nAccra"}

// The figures of page, document and JSON are the same: the document's texts are
// what the drawn sheets say.
func TestPDFText(t *testing.T) {
	for _, n := range []int{1, 20, 200} {
		r := sample(t, n)
		data, err := render(document{invoice: &r.Invoice, merchant: merchant})
		if err != nil {
			t.Fatal(err)
		}
		again, err := render(document{invoice: &r.Invoice, merchant: merchant})
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("%d lines: made again, the bytes differ (%v)", n, err)
		}
		if dir := os.Getenv("PAYMENTS_SCREENSHOTS"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("invoice-%d.pdf", n)), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text := drawn(t, r)
		for _, s := range r.Sums() {
			if !strings.Contains(text, s.Name) {
				t.Errorf("%d lines: no %s", n, s.Name)
			}
		}
		if strings.Count(text, "Item ")+1 != n || strings.Contains(text, "SECRET") {
			t.Errorf("%d lines: %d items, or the memo", n, strings.Count(text, "Item "))
		}
		if pdftotext, err := exec.LookPath("pdftotext"); err == nil {
			command := exec.Command(pdftotext, "-layout", "-", "-")
			command.Stdin = bytes.NewReader(data)
			out, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"INV-2026-000042", "Akosua Agyemang", "₵ ɛ ɔ ŋ Ɛ Ɔ", "VAT 15%", "NHIL 2.5%", "GETFund 2.5%", "page 1 of"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("%d lines: the PDF has no %q", n, want)
				}
			}
			if strings.Contains(string(out), "SECRET") {
				t.Error("the memo is in the PDF")
			}
		}
	}
}

// drawn returns the texts of the sheets.
func drawn(t *testing.T, r *record) string {
	t.Helper()
	d := document{invoice: &r.Invoice, merchant: merchant}
	p, err := newPen(d)
	if err != nil {
		t.Fatal(err)
	}
	p.pdf.AddPage()
	var b strings.Builder
	for _, s := range lay(d, p.width) {
		for _, text := range s.texts {
			b.WriteString(text.text + "\n")
		}
	}
	if p.err != nil {
		t.Fatal(p.err)
	}
	return b.String()
}

// Nothing that people write leaves the page, hangs the layout or turns the
// direction of writing.
func TestPDFStrangeTexts(t *testing.T) {
	r := sample(t, 3)
	r.Lines.Data[0].Description = strings.Repeat("W", 500)
	r.Lines.Data[1].Description = "a\u202eb\u2066c\u200fd 你好 e\u0301 ɛ\u0303"
	r.Lines.Data[2].Description = strings.Repeat("word ", 100)
	r.Footer = new(strings.Repeat("x\n", 250))
	text := drawn(t, r)
	if strings.ContainsAny(text, "\u202e\u2066\u200f") || !strings.Contains(text, "abcd") {
		t.Error("turns the direction of writing")
	}
	d := document{invoice: &r.Invoice, merchant: merchant}
	p, err := newPen(d)
	if err != nil {
		t.Fatal(err)
	}
	p.pdf.AddPage()
	for i, s := range lay(d, p.width) {
		for _, at := range s.texts {
			from, to := at.x, at.x+p.width(at.text, at.size, at.bold)
			if at.right {
				from, to = at.x-(to-at.x), at.x
			}
			if from < margin-1 || to > right+1 || at.y < margin-1 || at.y > pageHeight-20 {
				t.Errorf("page %d: %q is at %.0f–%.0f, %.0f", i+1, at.text, from, to, at.y)
			}
		}
	}
	for _, status := range []Status{Draft, Paid, Void, Uncollectible} {
		r.Status = status
		if _, err := render(d); err != nil {
			t.Errorf("%s: %v", status, err)
		}
	}
}

// BenchmarkPDF makes documents. The metric font-share is what of the time the
// fonts alone take: a page with each letter of the document once.
func BenchmarkPDF(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprint("lines=", n), func(b *testing.B) {
			r := sample(b, n)
			d := document{invoice: &r.Invoice, merchant: merchant}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := render(d); err != nil {
					b.Fatal(err)
				}
			}
			each := float64(b.Elapsed()) / float64(b.N)
			b.StopTimer()
			p, err := newPen(d)
			if err != nil {
				b.Fatal(err)
			}
			p.pdf.AddPage()
			letters := map[bool]map[rune]bool{true: {}, false: {}}
			for _, s := range lay(d, p.width) {
				for _, text := range s.texts {
					for _, c := range text.text {
						letters[text.bold][c] = true
					}
				}
			}
			const times = 20
			start := time.Now()
			for range times {
				lettersAlone(b, d, letters)
			}
			b.ReportMetric(float64(time.Since(start))/times/each, "font-share")
		})
	}
}

// lettersAlone makes a page with each letter once.
func lettersAlone(b *testing.B, d document, letters map[bool]map[rune]bool) {
	p, err := newPen(d)
	if err != nil {
		b.Fatal(err)
	}
	p.pdf.AddPage()
	for isBold, set := range letters {
		p.font(10, isBold)
		for c := range set {
			p.pdf.SetXY(margin, margin)
			p.keep(p.pdf.Cell(nil, string(c)))
		}
	}
	var out bytes.Buffer
	if _, err := p.pdf.WriteTo(&out); err != nil || p.err != nil {
		b.Fatal(err, p.err)
	}
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
	if err := png.Encode(&logo, picture); err != nil {
		t.Fatal(err)
	}
	r := sample(t, 3)
	r.Status = Paid
	r.PaidAt = &r.InvoiceDate
	with := document{invoice: &r.Invoice, merchant: merchant, logo: &account.Logo{Data: logo.Bytes(), Type: "image/png"}}
	without := document{invoice: &r.Invoice, merchant: merchant}
	broken := document{invoice: &r.Invoice, merchant: merchant, logo: &account.Logo{Data: []byte("\x89PNG\r\n\x1a\nx"), Type: "image/png"}}
	for name, d := range map[string]document{"with": with, "without": without, "broken": broken} {
		data, err := render(d)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := render(d)
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("%s: made again, the bytes differ (%v)", name, err)
		}
		if has := bytes.Contains(data, []byte("/Subtype /Image")); has != (name == "with") {
			t.Errorf("%s: has a picture: %t", name, has)
		}
		if dir := os.Getenv("PAYMENTS_SCREENSHOTS"); dir != "" && name == "with" {
			if err := os.WriteFile(filepath.Join(dir, "invoice-logo.pdf"), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A letter that the font does not have is seen to be missing.
func TestPDFUnknownLetters(t *testing.T) {
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("pdftotext is not installed")
	}
	r := sample(t, 1)
	r.Lines.Data[0].Description = "Tea (你好) e\u0301 ɛ\u0303"
	data, err := render(document{invoice: &r.Invoice, merchant: merchant})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(pdftotext, "-layout", "-", "-")
	command.Stdin = bytes.NewReader(data)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "Tea (\uFFFD\uFFFD)") || !strings.Contains(string(out), "\u0303") {
		t.Errorf("got %s", out)
	}
}
