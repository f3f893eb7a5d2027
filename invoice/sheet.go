package invoice

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/money"
)

// A document is laid out before it is drawn: as sheets of texts and lines with
// their places, in points from the upper left corner of an A4 page. So its pages
// are counted before the first is drawn, and a test reads what it says.

// The measures of a sheet, in points.
const (
	pageWidth, pageHeight = 595.28, 841.89
	margin                = 48.0
	right                 = pageWidth - margin
	bottom                = pageHeight - 64 // above it the body, below it the page number
)

// sheet is one page.
type sheet struct {
	texts []textAt
	rules []ruleAt
	logo  *placeAt
	code  *placeAt
	stamp string
}

// textAt is a line of text. X is its left end, or its right end with Right set.
type textAt struct {
	x, y, size float64
	bold, grey bool
	right      bool
	text       string
}

// ruleAt is a horizontal line.
type ruleAt struct{ y float64 }

type placeAt struct{ x, y, width, height float64 }

// document is what a document is made of.
type document struct {
	invoice  *Invoice
	merchant *account.Merchant
	// note is set where the document is a credit note of the invoice.
	note *CreditNote
	logo *account.Logo
	// logoSize is the size of the picture in pixels.
	logoSize [2]int
}

// measure returns the width of a text in points.
type measure func(text string, size float64, bold bool) float64

// layout is a document under way.
type layout struct {
	width measure
	pages []*sheet
	y     float64
	head  func() // draws what stands at the top of each further page of the table
}

func (l *layout) page() *sheet { return l.pages[len(l.pages)-1] }

func (l *layout) newPage() {
	l.pages = append(l.pages, &sheet{})
	l.y = margin
}

// room begins a new page unless so much is left on this one.
func (l *layout) room(height float64) {
	if l.y+height <= bottom {
		return
	}
	l.newPage()
	if l.head != nil {
		l.head()
	}
}

func (l *layout) put(t textAt) {
	t.text = plain(t.text)
	t.y += l.y
	l.page().texts = append(l.page().texts, t)
}

func (l *layout) rule() { l.page().rules = append(l.page().rules, ruleAt{l.y}) }

// paragraph writes a text in lines of at most so wide, and moves on below it.
func (l *layout) paragraph(x, width, size float64, bold, grey bool, text string) {
	for _, line := range l.wrap(text, width, size, bold) {
		l.room(size * leading)
		l.put(textAt{x: x, size: size, bold: bold, grey: grey, text: line})
		l.y += size * leading
	}
}

// leading is the height of a line as a multiple of the size of its letters.
const leading = 1.35

// wrap breaks a text into lines: between words, and within a word that is longer
// than a line.
func (l *layout) wrap(text string, width, size float64, bold bool) []string {
	var lines []string
	for given := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line := ""
		for word := range strings.FieldsSeq(plain(given)) {
			joined := word
			if line != "" {
				joined = line + " " + word
			}
			if l.width(joined, size, bold) <= width {
				line = joined
				continue
			}
			if line != "" {
				lines = append(lines, line)
			}
			for line = word; l.width(line, size, bold) > width; {
				cut := l.fits(line, width, size, bold)
				lines = append(lines, line[:cut])
				line = line[cut:]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// fits returns how many bytes of a word fit into a width: at least one character.
func (l *layout) fits(word string, width, size float64, bold bool) int {
	fits := 0
	for i, r := range word {
		end := i + len(string(r))
		if fits > 0 && l.width(word[:end], size, bold) > width {
			break
		}
		fits = end
	}
	return fits
}

// plain leaves out what has no shape of its own and would change how the rest is
// read: control characters and those that turn the direction of writing.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}

// lay lays a document out.
func lay(d document, width measure) []*sheet {
	l := &layout{width: width}
	l.newPage()
	if d.note != nil {
		l.note(d)
	} else {
		v := d.invoice
		l.header(d, "Invoice", v.facts(), v.stamp())
		if v.Description != nil {
			l.y -= 6
			l.paragraph(margin, right-margin, 10, false, false, *v.Description)
			l.y += 16
		}
		l.table(v)
		l.totals(v.Sums())
		l.foot(v)
	}
	for i, p := range l.pages {
		p.texts = append(p.texts, textAt{
			x: right, y: pageHeight - 36, size: 8, grey: true, right: true,
			text: fmt.Sprintf("%s · page %d of %d", d.number(), i+1, len(l.pages)),
		})
	}
	return l.pages
}

// number is what the document is called.
func (d *document) number() string {
	if d.note != nil {
		return d.note.Number
	}
	return d.invoice.Number
}

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
func (l *layout) header(d document, title string, rows [][2]string, stamp string) {
	v, top, half := d.invoice, l.y, (right-margin)/2-12
	if d.logo != nil {
		const maxWidth, maxHeight = 150.0, 48.0
		scale := min(maxWidth/float64(d.logoSize[0]), maxHeight/float64(d.logoSize[1]))
		place := placeAt{margin, l.y, float64(d.logoSize[0]) * scale, float64(d.logoSize[1]) * scale}
		l.page().logo = &place
		l.y += place.height + 8
	}
	l.paragraph(margin, half, 15, true, false, d.merchant.Name)
	for _, text := range []string{d.merchant.Address, d.merchant.Phone, d.merchant.Email} {
		if text != "" {
			l.paragraph(margin, half, 9, false, true, text)
		}
	}
	below := l.y

	l.y = top
	l.put(textAt{x: right, size: 22, bold: true, right: true, text: title})
	l.y += 32
	for _, row := range rows {
		l.put(textAt{x: right - 110, size: 9, grey: true, right: true, text: row[0]})
		l.put(textAt{x: right, size: 9, right: true, text: row[1]})
		l.y += 9 * leading
	}
	if l.page().stamp = stamp; stamp != "" {
		l.y += 34
	}
	l.y = max(l.y, below) + 18

	l.put(textAt{x: margin, size: 8, bold: true, grey: true, text: "BILL TO"})
	l.y += 8 * leading
	named := false
	for _, text := range []*string{v.Name, v.Address, v.Email, v.Phone} {
		if text != nil {
			l.paragraph(margin, half, 10, !named, false, *text)
			named = true
		}
	}
	l.y += 16
}

func day(t interface{ Format(string) string }) string { return t.Format("2 January 2006") }

// The right ends of the columns of numbers, and the width of the first column.
const (
	quantityEnd = right - 170
	priceEnd    = right - 85
	amountEnd   = right
	textWidth   = quantityEnd - 60 - margin
)

// table writes the lines. Its head stands on every page that has some.
func (l *layout) table(v *Invoice) {
	head := func() {
		for _, c := range []struct {
			x    float64
			text string
		}{{quantityEnd, "Quantity"}, {priceEnd, "Price"}, {amountEnd, "Amount (GHS)"}} {
			l.put(textAt{x: c.x, size: 8, bold: true, grey: true, right: true, text: c.text})
		}
		l.put(textAt{x: margin, size: 8, bold: true, grey: true, text: "Description"})
		l.y += 14
		l.rule()
		l.y += 6
	}
	l.room(60) // the head is not left alone at the foot of a page
	head()
	l.head = head
	for i := range v.Lines.Data {
		line := &v.Lines.Data[i]
		text := l.wrap(line.Description, textWidth, 10, false)
		l.room(10*leading + 4)
		l.put(textAt{x: quantityEnd, size: 10, right: true, text: line.Quantity.String()})
		l.put(textAt{x: priceEnd, size: 10, right: true, text: money.Text(line.UnitAmount)})
		l.put(textAt{x: amountEnd, size: 10, right: true, text: money.Text(line.Amount)})
		for _, part := range text {
			l.room(10 * leading)
			l.put(textAt{x: margin, size: 10, text: part})
			l.y += 10 * leading
		}
		if line.Discount > 0 {
			l.room(9 * leading)
			l.put(textAt{x: margin, size: 9, grey: true, text: "Discount"})
			l.put(textAt{x: amountEnd, size: 9, grey: true, right: true, text: "-" + money.Text(line.Discount)})
			l.y += 9 * leading
		}
		l.y += 4
	}
	l.head = nil
	l.rule()
	l.y += 8
}

// Sum is a row of the totals, as page and document show them.
type Sum struct {
	Name   string
	Amount int64 // pesewas
	Bold   bool
}

// Sums returns the totals in the order in which they are shown.
func (v *Invoice) Sums() []Sum {
	sums := []Sum{{Name: "Subtotal", Amount: v.Subtotal}}
	for _, t := range v.TaxRows() {
		sums = append(sums, Sum{Name: fmt.Sprintf("%s %s%%", t.Name, t.Percent), Amount: t.Amount})
	}
	if v.Discount > 0 {
		sums = append(sums, Sum{Name: "Discount", Amount: -v.Discount})
	}
	sums = append(sums, Sum{Name: "Total", Amount: v.Total, Bold: true})
	if v.AmountPaid > 0 {
		paid := "Paid"
		if v.PaidOutside != nil {
			paid = "Paid outside"
			if *v.PaidOutside != "" {
				paid += " (" + *v.PaidOutside + ")"
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

func (l *layout) totals(sums []Sum) {
	l.room(float64(len(sums)) * 11 * leading)
	for _, s := range sums {
		l.put(textAt{x: priceEnd, size: 10, right: true, bold: s.Bold, text: s.Name})
		l.put(textAt{x: amountEnd, size: 10, right: true, bold: s.Bold, text: money.Text(s.Amount)})
		l.y += 11 * leading
	}
	l.y += 16
}

// foot writes how to pay, and the merchant's own words.
func (l *layout) foot(v *Invoice) {
	if v.Status == Open {
		const side = 84.0
		l.room(side + 8)
		l.page().code = &placeAt{margin, l.y, side, side}
		top := l.y
		l.y += 22
		l.put(textAt{x: margin + side + 14, size: 10, bold: true, text: "Pay online"})
		l.y += 10 * leading
		l.put(textAt{x: margin + side + 14, size: 10, text: "Scan the code, or open"})
		l.y += 10 * leading
		for _, line := range l.wrap(v.HostedURL, right-margin-side-14, 8, false) {
			l.put(textAt{x: margin + side + 14, size: 8, grey: true, text: line})
			l.y += 8 * leading
		}
		l.y = max(l.y, top+side) + 14
	}
	if v.Footer != nil {
		l.paragraph(margin, right-margin, 9, false, true, *v.Footer)
	}
}

// note writes a credit note.
func (l *layout) note(d document) {
	v, n := d.invoice, d.note
	l.header(d, "Credit note", [][2]string{
		{"Number", n.Number},
		{"Date", day(n.CreatedAt.Time)},
		{"Invoice", v.Number},
		{"Invoice date", day(v.InvoiceDate.Time)},
	}, "")
	l.paragraph(margin, right-margin, 10, false, false, fmt.Sprintf("Refund of invoice %s: GHS %s of GHS %s.", v.Number, money.Text(n.Amount), money.Text(v.Total)))
	if n.Reason != "" {
		l.paragraph(margin, right-margin, 10, false, false, "Reason: "+n.Reason)
	}
	l.paragraph(margin, right-margin, 9, false, true, "Refund "+n.Refund)
	l.y += 16
	l.rule()
	l.y += 8
	taxes, tax := n.taxes(v)
	var sums []Sum
	if tax > 0 {
		sums = append(sums, Sum{Name: "Before tax", Amount: n.Amount - tax})
		for _, t := range taxes {
			sums = append(sums, Sum{Name: fmt.Sprintf("%s %s%%", t.Name, t.Percent), Amount: t.Amount})
		}
	}
	// The invoice's footer is left out: it may say how to pay.
	l.totals(append(sums, Sum{Name: "Refunded", Amount: n.Amount, Bold: true}))
}
