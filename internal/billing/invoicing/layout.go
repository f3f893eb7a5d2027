package invoicing

import (
	"fmt"
	"slices"
	"time"

	qr "github.com/skip2/go-qrcode"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/invoice"
)

// layout is a document that is being laid out.
type layout struct{ *document.Document }

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
	s.head(c, title+" "+c.number())
	if c.creditNote != nil {
		s.note(c)
		return d, nil
	}
	v := c.invoice
	s.Headline(headline(v))
	facts := append(recipient(v), document.Fact{Name: "Date", Lines: []string{day(v.InvoiceDate.Time)}})
	if v.DueDate != nil && v.Status != invoice.Open {
		facts = append(facts, document.Fact{Name: "Due", Lines: []string{day(v.DueDate.Time)}})
	}
	if v.Description != nil && *v.Description != "" {
		facts = append(facts, document.Fact{Name: "About", Lines: []string{*v.Description}})
	}
	s.Facts(facts)
	s.table(v)
	s.totals(v.Sums())
	return d, s.foot(v)
}

// LayOut returns the document of an invoice, or of a credit note of it if n is not nil. logo is nil for
// none.
func LayOut(v *invoice.Invoice, m *account.Merchant, n *invoice.CreditNote, logo *account.Logo) (*document.Document, error) {
	return layOut(contents{invoice: v, merchant: m, creditNote: n, logo: logo})
}

// head writes the letterhead. It leaves out a logo that it cannot decode.
func (s layout) head(c contents, name string) {
	h := document.Letterhead{Merchant: c.merchant.Name, Name: name, Contacts: []string{c.merchant.Address, phone.Spaced(c.merchant.Phone), c.merchant.Email}}
	if c.logo != nil {
		if logo, err := decodeLogo(c.logo.Data); err == nil {
			h.Logo = logo
		}
	}
	s.Letterhead(h)
}

// headline returns the amount that is due or, unless the invoice is open, its total and status.
func headline(v *invoice.Invoice) document.Headline {
	h := document.Headline{Label: "Total", Figures: money.Figures(v.Total)}
	switch v.Status {
	case invoice.Paid:
		h.Badge, h.Tone = "Paid", document.Good
		if v.PaidAt != nil {
			h.Label = day(v.PaidAt.Time)
		}
	case invoice.Void:
		h.Badge, h.Tone = "Void", document.Neutral
	case invoice.Draft:
		h.Badge, h.Tone = "Draft", document.Neutral
	case invoice.Uncollectible:
		h.Badge, h.Tone = "Uncollectible", document.Wait
	default:
		h.Label, h.Figures = "Amount due", money.Figures(v.AmountDue)
		if v.DueDate != nil && v.AmountDue > 0 {
			h.Label = "Due " + day(v.DueDate.Time) + within(v.InvoiceDate.Time, v.DueDate.Time)
		}
	}
	return h
}

// within says how long the customer has to pay. It counts from the invoice's date, so that the same
// invoice makes the same bytes on any day.
func within(from, due time.Time) string {
	const day = 24 * time.Hour
	switch days := int(due.Truncate(day).Sub(from.Truncate(day)) / day); {
	case days == 0:
		return ", the day of this invoice"
	case days == 1:
		return ", within 1 day"
	case days > 1:
		return fmt.Sprintf(", within %d days", days)
	}
	return ""
}

// recipient returns the row with the customer's name and addresses; nil if the invoice has none of them.
func recipient(v *invoice.Invoice) []document.Fact {
	var texts []string
	for _, text := range []*string{v.Name, v.Address, v.Email} {
		if text != nil && *text != "" {
			texts = append(texts, *text)
		}
	}
	if v.Phone != nil && *v.Phone != "" {
		texts = append(texts, phone.Spaced(*v.Phone))
	}
	if len(texts) == 0 {
		return nil
	}
	return []document.Fact{{Name: "For", Lines: texts}}
}

func day(t time.Time) string { return t.Format("2 January 2006") }

// width is the width of a page's body.
const width = document.Right - document.Left

// The right ends of the columns of numbers, and the width of the first column.
const (
	quantityEnd = document.Right - 175
	priceEnd    = document.Right - 90
	amountEnd   = document.Right
	textWidth   = quantityEnd - 64 - document.Left
	rowPadding  = 5.0
	rowDrop     = 1.5 // a line already has room below its letters, so a row needs more above
)

// table writes the lines. It repeats its head on every page that has lines, and breaks a line over two pages
// only if the line is longer than a page.
func (s layout) table(v *invoice.Invoice) {
	head := func() {
		for _, c := range []struct {
			x    float64
			text string
		}{{quantityEnd, "Quantity"}, {priceEnd, "Price"}, {amountEnd, document.Cedis}} {
			s.Put(document.Text{X: c.x, Size: document.Label, Soft: true, Right: true, Text: c.text})
		}
		s.Put(document.Text{X: document.Left, Size: document.Label, Soft: true, Text: "Description"})
		s.Space(document.Label*document.Leading + rowPadding)
		s.Rule()
	}
	const line, detail = document.Body * document.Leading, document.Detail * document.Leading
	s.Room(60) // so that the head does not stand alone at the foot of a page
	head()
	s.Head = head
	for _, row := range invoice.ShownLines(v.Lines.Data) {
		text := s.Wrap(document.Text{Size: document.Body, Text: row.Description}, textWidth)
		details := details(&row)
		s.Room(2*rowPadding + float64(len(text))*line + float64(len(details))*detail)
		s.Room(2*rowPadding + line) // for the first part of a line that is longer than a page
		s.Space(rowPadding + rowDrop)
		for i, part := range text {
			s.Room(line)
			s.Put(document.Text{X: document.Left, Size: document.Body, Text: part})
			if i == 0 {
				s.Put(document.Text{X: quantityEnd, Size: document.Body, Soft: true, Right: true, Text: row.Quantity.String()})
				s.Put(document.Text{X: priceEnd, Size: document.Body, Soft: true, Right: true, Text: money.Figures(row.UnitAmount)})
				s.Put(document.Text{X: amountEnd, Size: document.Body, Right: true, Text: money.Figures(row.Amount)})
			}
			s.Space(line)
		}
		for _, d := range details {
			s.Room(detail)
			s.Put(document.Text{X: document.Left, Size: document.Detail, Soft: true, Text: d[0]})
			s.Line(document.Text{X: amountEnd, Size: document.Detail, Soft: true, Right: true, Text: d[1]})
		}
		s.Space(rowPadding - rowDrop)
		s.Rule()
	}
	s.Head = nil
	s.Space(8)
}

// details returns the soft rows below a line, each with a text and an amount or "".
func details(l *invoice.ShownLine) [][2]string {
	var rows [][2]string
	if l.Period != nil {
		rows = append(rows, [2]string{l.Period.String(), ""})
	}
	if l.Discount > 0 {
		rows = append(rows, [2]string{"Discount", money.Figures(-l.Discount)})
	}
	if l.NotTaxed {
		rows = append(rows, [2]string{"not taxed", ""})
	}
	return rows
}

// sumsFrom is the left end of the totals.
const sumsFrom = document.Left + 260

func (s layout) totals(sums []invoice.Sum) {
	const line = document.Body*document.Leading + 3
	s.Room(float64(len(sums))*line + 2*rowPadding)
	for _, sum := range sums {
		if sum.Bold {
			s.Space(rowPadding)
		}
		s.Put(document.Text{X: sumsFrom, Size: document.Body, Soft: !sum.Bold, Bold: sum.Bold, Text: sum.Name})
		s.Put(document.Text{X: amountEnd, Size: document.Body, Soft: !sum.Bold, Bold: sum.Bold, Right: true, Text: money.Figures(sum.Amount)})
		s.Space(line)
		if sum.Bold {
			s.Space(rowPadding)
		}
	}
	s.Space(16)
}

// foot writes how to pay, and the merchant's own words.
func (s layout) foot(v *invoice.Invoice) error {
	if v.Status == invoice.Open {
		code, err := qr.New(v.HostedURL, qr.Medium)
		if err != nil {
			return fmt.Errorf("invoice: QR code: %w", err)
		}
		const side, beside = 76.0, document.Left + 76 + 16
		s.Room(side + 30)
		s.Rule()
		s.Space(16)
		s.Code(document.Left, side, code.Bitmap())
		below := s.Y() + side
		s.Space(14)
		s.Line(document.Text{X: beside, Size: document.Body, Bold: true, Text: "Pay online"})
		s.Space(2)
		s.Line(document.Text{X: beside, Size: document.Body, Text: "Scan the code with a phone, or open"})
		s.Space(1)
		s.Paragraph(beside, document.Right-beside, document.Text{Size: document.Detail, Soft: true, Text: v.HostedURL})
		s.Space(max(0, below-s.Y()) + 16)
	}
	if v.Footer != nil && *v.Footer != "" {
		s.Room(16 + document.Detail*document.Leading)
		s.Rule()
		s.Space(12)
		s.Paragraph(document.Left, width, document.Text{Size: document.Detail, Soft: true, Text: *v.Footer})
	}
	return nil
}

// note writes a credit note.
func (s layout) note(c contents) {
	v, n := c.invoice, c.creditNote
	s.Headline(document.Headline{Label: "Refunded " + day(n.CreatedAt.Time), Figures: money.Figures(n.Amount)})
	facts := append(recipient(v),
		document.Fact{Name: "Invoice", Lines: []string{fmt.Sprintf("%s of %s, %s %s", v.Number, day(v.InvoiceDate.Time), document.Cedis, money.Figures(v.Total))}},
	)
	if n.Reason != "" {
		facts = append(facts, document.Fact{Name: "Reason", Lines: []string{n.Reason}})
	}
	s.Facts(append(facts, document.Fact{Name: "Refund", Lines: []string{n.Refund}}))
	// The invoice's footer is left out: it may say how to pay.
	s.Put(document.Text{X: amountEnd, Size: document.Label, Soft: true, Right: true, Text: document.Cedis})
	s.Space(document.Label*document.Leading + rowPadding)
	s.RuleFrom(sumsFrom)
	s.Space(rowPadding)
	s.totals(noteSums(n, v))
}

// noteSums returns the totals of a credit note.
func noteSums(n *invoice.CreditNote, v *invoice.Invoice) (sums []invoice.Sum) {
	taxes, tax := noteTaxRows(n, v)
	if slices.ContainsFunc(taxes, func(t invoice.TaxRow) bool { return t.Amount != 0 }) {
		sums = append(sums, invoice.Sum{Name: "Before tax", Amount: n.Amount - tax})
		for _, t := range taxes {
			sums = append(sums, invoice.Sum{Name: t.Label(), Amount: t.Amount})
		}
	}
	return append(sums, invoice.Sum{Name: "Refunded", Amount: n.Amount, Bold: true})
}
