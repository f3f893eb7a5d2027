package bench

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"
	"github.com/shopspring/decimal"
	"github.com/signintech/gopdf"
	"github.com/skip2/go-qrcode"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// openInvoice returns an open invoice with this number of lines.
func openInvoice(b *testing.B, lines int) *invoice.Invoice {
	svc := must.Get(payments.New(b.Context(), memory.New(), payments.Config{BaseURL: "https://pay.example.com", Logger: slog.New(slog.DiscardHandler)}))(b)
	caller := api.Caller{Merchant: must.Get(svc.Accounts.CreateMerchant(b.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"}))(b).ID}
	p := invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Name: new("Akosua Agyemang"), Email: new("akosua@example.com"), Address: new("12 Oxford Street\nOsu, Accra"),
		Description: new("Catering for the outdooring on 28 February"),
		Footer:      new("Thank you. Please pay within 14 days. Medaase! ₵ ɛ ɔ ŋ Ɛ Ɔ"),
	}}
	for i := range lines {
		p.Lines = append(p.Lines, invoice.LineParams{
			Description: fmt.Sprintf("Item %d: jollof rice with fish", i+1), Quantity: new(decimal.New(int64(15+i), -1)),
			UnitAmount: new(int64(1999 + i)), Taxable: new(i%2 == 0), Taxes: invoice.GhanaVAT(),
		})
	}
	p.Lines[0].Description = "Sobolo, chilled, in bottles of half a litre, delivered to the door on the morning of the event, with ice and cups as agreed by telephone"
	return must.Get(svc.Invoices.Create(b.Context(), caller, p))(b)
}

// BenchmarkPDF makes documents. The metric of-gopdf is how many times as long a bare
// gopdf document takes, with fonts that were parsed before: the same texts at the same
// places on as many pages, and the same QR code with a run of modules a rectangle, without
// any layout, colours, rules and feet. So it does less. The two take turns.
func BenchmarkPDF(b *testing.B) {
	var fonts gopdf.FontContainer
	for family, data := range map[string][]byte{"regular": dejavusanscondensed.TTF, "bold": dejavusanscondensedbold.TTF} {
		must.Do(b, fonts.AddTTFFontData(family, data))
	}
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprint("lines=", n), func(b *testing.B) {
			v := openInvoice(b, n)
			merchant := &account.Merchant{Name: "Adom Juice Bar", Phone: "+233301000000", Email: "hello@adom.example", Address: "Ring Road East\nAccra"}
			layOut := func() *document.Document { return must.Get(invoicing.LayOut(v, merchant, nil, nil))(b) }
			pages := layOut().Pages()
			var ours, bare time.Duration
			b.ReportAllocs()
			for b.Loop() {
				begun := time.Now()
				must.Get(layOut().Bytes())(b)
				ours += time.Since(begun)
				b.StopTimer()
				begun = time.Now()
				drawBare(b, &fonts, pages, v.HostedURL)
				bare += time.Since(begun)
				b.StartTimer()
			}
			b.ReportMetric(float64(bare)/float64(ours), "of-gopdf")
		})
	}
}

// drawBare draws texts and a QR code with gopdf alone.
func drawBare(b *testing.B, fonts *gopdf.FontContainer, pages [][]document.Placed, code string) {
	var pdf gopdf.GoPdf
	pdf.Start(gopdf.Config{PageSize: *gopdf.PageSizeA4})
	for _, family := range []string{"regular", "bold"} {
		must.Do(b, pdf.AddTTFFontFromFontContainer(family, fonts))
	}
	for _, page := range pages {
		pdf.AddPage()
		for _, text := range page {
			family := "regular"
			if text.Bold {
				family = "bold"
			}
			must.Do(b, pdf.SetFont(family, "", text.Size))
			pdf.SetXY(text.From, text.Top)
			must.Do(b, pdf.Cell(nil, text.Text))
		}
	}
	q := must.Get(qrcode.New(code, qrcode.Medium))(b)
	for y, row := range q.Bitmap() {
		for x := 0; x < len(row); x++ {
			from := x
			for row[x] { // the quiet zone ends it
				x++
			}
			if x > from {
				pdf.RectFromUpperLeftWithStyle(float64(2*from), float64(2*y), float64(2*(x-from)), 2, "F")
			}
		}
	}
	must.Get(pdf.WriteTo(io.Discard))(b)
}
