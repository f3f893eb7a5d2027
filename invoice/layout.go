package invoice

import (
	"fmt"
	"strings"

	qr "github.com/skip2/go-qrcode"

	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/money"
)

// layout is a document under way.
type layout struct{ *document.Document }

// layOut lays a document out.
func layOut(c contents) (*document.Document, error) {
	// The time is the invoice's, so that the same invoice makes the same bytes.
	title, made := "Invoice", c.invoice.InvoiceDate
	if c.creditNote != nil {
		title, made = "Credit note", c.creditNote.CreatedAt
	}
	d, err := document.New(document.Info{
		Title: title + " " + c.number(), Author: c.merchant.Name, At: made.Time, Foot: c.number(),
		Test: !c.invoice.Livemode,
	})
	if err != nil {
		return nil, fmt.Errorf("invoice: %w", err)
	}
	s := layout{d}
	if c.creditNote != nil {
		s.note(c)
		return d, nil
	}
	v := c.invoice
	s.header(c, title, v.facts(), v.stamp())
	if v.Description != nil {
		s.Space(-6)
		s.Paragraph(document.Left, width, document.Text{Size: 10, Text: *v.Description})
		s.Space(16)
	}
	s.table(v)
	s.totals(v.Sums())
	return d, s.foot(v)
}

// width is that of the body of a page, and half that of one of two columns.
const (
	width = document.Right - document.Left
	half  = width/2 - 12
)

// facts are the rows beside the merchant.
func (v *Invoice) facts() [][2]string {
	rows := [][2]string{{"Number", v.Number}, {"Date", day(v.InvoiceDate.Time)}}
	if v.DueDate != nil {
		rows = append(rows, [2]string{"Due", day(v.DueDate.Time)})
	}
	if v.PaidAt != nil {
		rows = append(rows, [2]string{"Paid", day(v.PaidAt.Time)})
	}
	return rows
}

// stamp is what is stamped on an invoice that is not to be paid.
func (v *Invoice) stamp() string {
	switch v.Status {
	case Paid, Void, Draft, Uncollectible:
		return strings.ToUpper(string(v.Status))
	}
	return ""
}

// header writes whose document it is, for whom, and the facts beside.
func (s layout) header(c contents, title string, rows [][2]string, stamp string) {
	top := s.Y()
	s.logo(c)
	s.Paragraph(document.Left, half, document.Text{Size: 15, Bold: true, Text: c.merchant.Name})
	for _, text := range []string{c.merchant.Address, c.merchant.Phone, c.merchant.Email} {
		if text != "" {
			s.Paragraph(document.Left, half, document.Text{Size: 9, Grey: true, Text: text})
		}
	}
	below := s.Y()

	s.Space(top - s.Y())
	s.Put(document.Text{X: document.Right, Size: 22, Bold: true, Right: true, Text: title})
	s.Space(32)
	for _, row := range rows {
		s.Put(document.Text{X: document.Right - 110, Size: 9, Grey: true, Right: true, Text: row[0]})
		s.Line(document.Text{X: document.Right, Size: 9, Right: true, Text: row[1]})
	}
	if stamp != "" {
		const above = 7.85
		s.Space(above)
		s.Stamp(stamp, stampColour(stamp))
		s.Space(34 - above)
	}
	s.Space(max(0, below-s.Y()) + 18)

	s.billTo(c.invoice)
}

// billTo writes the customer's particulars under a heading. It writes nothing for an
// invoice without any.
func (s layout) billTo(v *Invoice) {
	var texts []string
	for _, text := range []*string{v.Name, v.Address, v.Email, v.Phone} {
		if text != nil && *text != "" {
			texts = append(texts, *text)
		}
	}
	if len(texts) == 0 {
		return
	}
	s.Line(document.Text{X: document.Left, Size: 8, Bold: true, Grey: true, Text: "BILL TO"})
	for i, text := range texts {
		s.Paragraph(document.Left, half, document.Text{Size: 10, Bold: i == 0, Text: text})
	}
	s.Space(16)
}

// logo draws the merchant's logo. A picture that cannot be shown is no reason for
// no invoice.
func (s layout) logo(c contents) {
	if c.logo == nil {
		return
	}
	logo, err := decodeLogo(c.logo.Data)
	if err != nil {
		return
	}
	const maxWidth, maxHeight = 150.0, 48.0
	w, h := float64(logo.Bounds().Dx()), float64(logo.Bounds().Dy())
	scale := min(maxWidth/w, maxHeight/h)
	s.Picture(document.Left, w*scale, h*scale, logo)
	s.Space(h*scale + 8)
}

func stampColour(stamp string) document.Colour {
	if stamp == "PAID" {
		return document.Colour{22, 120, 60}
	}
	return document.Colour{176, 32, 32}
}

func day(t interface{ Format(string) string }) string { return t.Format("2 January 2006") }

// The document.Right ends of the columns of numbers, and the width of the first column.
const (
	quantityEnd = document.Right - 170
	priceEnd    = document.Right - 85
	amountEnd   = document.Right
	textWidth   = quantityEnd - 60 - document.Left
)

// table writes the lines. Its head stands on every page that has some.
func (s layout) table(v *Invoice) {
	head := func() {
		for _, c := range []struct {
			x    float64
			text string
		}{{quantityEnd, "Quantity"}, {priceEnd, "Price"}, {amountEnd, "Amount (GHS)"}} {
			s.Put(document.Text{X: c.x, Size: 8, Bold: true, Grey: true, Right: true, Text: c.text})
		}
		s.Put(document.Text{X: document.Left, Size: 8, Bold: true, Grey: true, Text: "Description"})
		s.Space(14)
		s.Rule()
		s.Space(6)
	}
	s.Room(60) // the head is not left alone at the foot of a page
	head()
	s.Head = head
	for i := range v.Lines.Data {
		line := &v.Lines.Data[i]
		text := s.Wrap(document.Text{Size: 10, Text: line.Description}, textWidth)
		s.Room(10*document.Leading + 4)
		s.Put(document.Text{X: quantityEnd, Size: 10, Right: true, Text: line.Quantity.String()})
		s.Put(document.Text{X: priceEnd, Size: 10, Right: true, Text: money.Text(line.UnitAmount)})
		s.Put(document.Text{X: amountEnd, Size: 10, Right: true, Text: money.Text(line.Amount)})
		for _, part := range text {
			s.Room(10 * document.Leading)
			s.Line(document.Text{X: document.Left, Size: 10, Text: part})
		}
		if line.Period != nil {
			s.Room(9 * document.Leading)
			s.Line(document.Text{X: document.Left, Size: 9, Grey: true, Text: line.Period.String()})
		}
		if line.Discount > 0 {
			s.Room(9 * document.Leading)
			s.Put(document.Text{X: document.Left, Size: 9, Grey: true, Text: "Discount"})
			s.Line(document.Text{X: amountEnd, Size: 9, Grey: true, Right: true, Text: "-" + money.Text(line.Discount)})
		}
		s.Space(4)
	}
	s.Head = nil
	s.Rule()
	s.Space(8)
}

// Sum is a row of the totals on the hosted page and the PDF.
type Sum struct {
	Name   string
	Amount int64 // pesewas
	Bold   bool
}

// Sums returns the totals in the order in which they are shown.
func (v *Invoice) Sums() []Sum {
	sums := []Sum{{Name: "Subtotal", Amount: v.Subtotal}}
	before := v.discountBeforeTax()
	if before > 0 {
		sums = append(sums, Sum{Name: v.discountName(), Amount: -before})
	}
	for _, t := range v.TaxRows() {
		sums = append(sums, Sum{Name: fmt.Sprintf("%s %s%%", t.Name, t.Percent), Amount: t.Amount})
	}
	if after := v.Discount - before; after > 0 { // by an earlier release
		sums = append(sums, Sum{Name: "Discount", Amount: -after})
	}
	sums = append(sums, Sum{Name: "Total", Amount: v.Total, Bold: true})
	if v.AmountPaid > 0 {
		paid := "Paid"
		if v.PaidOutOfBand != nil {
			paid = "Paid outside"
			if *v.PaidOutOfBand != "" {
				paid += " (" + *v.PaidOutOfBand + ")"
			}
		}
		sums = append(sums, Sum{Name: paid, Amount: -v.AmountPaid})
	}
	sums = append(sums, Sum{Name: "Amount due", Amount: v.AmountDue, Bold: true})
	if v.AmountRefunded > 0 {
		sums = append(sums, Sum{Name: "Refunded", Amount: v.AmountRefunded})
	}
	return sums
}

func (s layout) totals(sums []Sum) {
	s.Room(float64(len(sums)) * 11 * document.Leading)
	for _, sum := range sums {
		s.Put(document.Text{X: priceEnd, Size: 10, Right: true, Bold: sum.Bold, Text: sum.Name})
		s.Put(document.Text{X: amountEnd, Size: 10, Right: true, Bold: sum.Bold, Text: money.Text(sum.Amount)})
		s.Space(11 * document.Leading)
	}
	s.Space(16)
}

// foot writes how to pay, and the merchant's own words.
func (s layout) foot(v *Invoice) error {
	if v.Status == Open {
		code, err := qr.New(v.HostedURL, qr.Medium)
		if err != nil {
			return fmt.Errorf("invoice: QR code: %w", err)
		}
		const side, beside = 84.0, document.Left + 84 + 14
		s.Room(side + 8)
		s.Code(document.Left, side, code.Bitmap())
		below := s.Y() + side
		s.Space(22)
		s.Line(document.Text{X: beside, Size: 10, Bold: true, Text: "Pay online"})
		s.Line(document.Text{X: beside, Size: 10, Text: "Scan the code, or open"})
		address := document.Text{X: beside, Size: 8, Grey: true}
		for _, address.Text = range s.Wrap(document.Text{Size: 8, Text: v.HostedURL}, document.Right-beside) {
			s.Line(address)
		}
		s.Space(max(0, below-s.Y()) + 14)
	}
	if v.Footer != nil {
		s.Paragraph(document.Left, width, document.Text{Size: 9, Grey: true, Text: *v.Footer})
	}
	return nil
}

// note writes a credit note.
func (s layout) note(c contents) {
	v, n := c.invoice, c.creditNote
	s.header(c, "Credit note", [][2]string{
		{"Number", n.Number},
		{"Date", day(n.CreatedAt.Time)},
		{"Invoice", v.Number},
		{"Invoice date", day(v.InvoiceDate.Time)},
	}, "")
	said := []string{fmt.Sprintf("Refund of invoice %s: GHS %s of GHS %s.", v.Number, money.Text(n.Amount), money.Text(v.Total))}
	if n.Reason != "" {
		said = append(said, "Reason: "+n.Reason)
	}
	for _, text := range said {
		s.Paragraph(document.Left, width, document.Text{Size: 10, Text: text})
	}
	s.Paragraph(document.Left, width, document.Text{Size: 9, Grey: true, Text: "Refund " + n.Refund})
	s.Space(16)
	s.Rule()
	s.Space(8)
	taxes, tax := n.taxes(v)
	var sums []Sum
	if tax > 0 {
		sums = append(sums, Sum{Name: "Before tax", Amount: n.Amount - tax})
		for _, t := range taxes {
			sums = append(sums, Sum{Name: fmt.Sprintf("%s %s%%", t.Name, t.Percent), Amount: t.Amount})
		}
	}
	// The invoice's footer is left out: it may say how to pay.
	s.totals(append(sums, Sum{Name: "Refunded", Amount: n.Amount, Bold: true}))
}
