// Package document makes PDF documents of plain A4 pages: lines of text, wrapped
// paragraphs, rules, a table head that comes again on every page, page numbers.
//
// A document is laid out before it is drawn, as texts with their places, so that
// its pages are counted before the first is drawn, and a test reads what it says.
// What a document says is the business of the package whose document it is.
package document

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"
	"github.com/signintech/gopdf"
)

// The measures of a page, in points from its upper left corner.
const (
	pageWidth, pageHeight = 595.28, 841.89
	Left                  = 48.0
	Right                 = pageWidth - Left
	bottom                = pageHeight - 64 // above it the body, below it the page number
	// leading is the height of a line as a multiple of the size of its letters.
	leading = 1.35
)

// The fonts have the cedi sign and the letters of Ghana's languages. They are
// parsed once. A font container knows fonts by their family alone, so that bold
// has one of its own.
const (
	regular = "regular"
	bold    = "bold"
)

var fonts = sync.OnceValues(func() (*gopdf.FontContainer, error) {
	c := &gopdf.FontContainer{}
	// A letter that the font does not have shows as a mark, and not as a gap.
	option := gopdf.TtfOption{OnGlyphNotFoundSubstitute: func(rune) rune { return '\uFFFD' }}
	for family, data := range map[string][]byte{regular: dejavusanscondensed.TTF, bold: dejavusanscondensedbold.TTF} {
		if err := c.AddTTFFontDataWithOption(family, data, option); err != nil {
			return nil, fmt.Errorf("document: parse font: %w", err)
		}
	}
	return c, nil
})

// Info is what is said of a document.
type Info struct {
	Title, Author string
	// At is when it was made; the same time and texts make the same bytes.
	At time.Time
	// Foot stands at the foot of every page, before its number.
	Foot string
}

// Text is a line of text. X is its left end, or its right end with Right set.
type Text struct {
	X, Size           float64
	Bold, Grey, Right bool
	Text              string

	y float64
}

type page struct {
	texts []Text
	rules []float64
}

// Document is a document under way. It is for one goroutine.
type Document struct {
	// Head draws what stands at the top of each further page; nil for nothing.
	Head func()

	info  Info
	pdf   *gopdf.GoPdf
	pages []*page
	y     float64
	err   error
}

// New begins a document.
func New(info Info) (*Document, error) {
	shared, err := fonts()
	if err != nil {
		return nil, err
	}
	d := &Document{info: info, pdf: &gopdf.GoPdf{}}
	d.pdf.Start(gopdf.Config{PageSize: gopdf.Rect{W: pageWidth, H: pageHeight}})
	for _, family := range []string{regular, bold} {
		if err := d.pdf.AddTTFFontFromFontContainer(family, shared); err != nil {
			return nil, fmt.Errorf("document: font: %w", err)
		}
	}
	d.pdf.SetInfo(gopdf.PdfInfo{Title: info.Title, Author: plain(info.Author), Creator: "payments", CreationDate: info.At.UTC()})
	d.pdf.AddPage() // before the first, nothing can be measured
	d.turn()
	return d, nil
}

func (d *Document) turn() {
	d.pages = append(d.pages, &page{})
	d.y = Left
}

func (d *Document) page() *page { return d.pages[len(d.pages)-1] }

// Room begins a new page unless so much is left on this one.
func (d *Document) Room(height float64) {
	if d.y+height <= bottom {
		return
	}
	d.turn()
	if d.Head != nil {
		d.Head()
	}
}

// Space moves on by so much.
func (d *Document) Space(height float64) { d.y += height }

// Put writes a text where the document is, and stays there.
func (d *Document) Put(t Text) {
	t.Text, t.y = plain(t.Text), d.y
	d.page().texts = append(d.page().texts, t)
}

// Line writes a text and moves on below it.
func (d *Document) Line(t Text) {
	d.Put(t)
	d.y += t.Size * leading
}

// Rule draws a line from margin to margin.
func (d *Document) Rule() { d.page().rules = append(d.page().rules, d.y) }

// Paragraph writes a text in lines of at most so wide, and moves on below them.
func (d *Document) Paragraph(x, width float64, t Text) {
	for given := range strings.SplitSeq(strings.ReplaceAll(t.Text, "\r\n", "\n"), "\n") {
		line := ""
		put := func() {
			d.Room(t.Size * leading)
			t.X, t.Text = x, line
			t.Text = d.Fit(t, width) // a word that is longer than a line
			d.Line(t)
		}
		for word := range strings.FieldsSeq(given) {
			joined := word
			if line != "" {
				joined = line + " " + word
			}
			if line == "" || d.width(joined, t.Size, t.Bold) <= width {
				line = joined
				continue
			}
			put()
			line = word
		}
		put()
	}
}

// Fit returns a text shortened, if need be, to a width.
func (d *Document) Fit(t Text, width float64) string {
	text := plain(t.Text)
	if d.width(text, t.Size, t.Bold) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && d.width(string(runes)+"…", t.Size, t.Bold) > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

func (d *Document) width(text string, size float64, isBold bool) float64 {
	d.font(size, isBold)
	w, err := d.pdf.MeasureTextWidth(text)
	d.keep(err)
	return w
}

func (d *Document) font(size float64, isBold bool) {
	family := regular
	if isBold {
		family = bold
	}
	d.keep(d.pdf.SetFont(family, "", size))
}

func (d *Document) keep(err error) {
	if d.err == nil && err != nil {
		d.err = err
	}
}

// Pages returns what the pages say, in the order of writing.
func (d *Document) Pages() [][]string {
	said := make([][]string, len(d.pages))
	for i, p := range d.pages {
		for _, t := range p.texts {
			said[i] = append(said[i], t.Text)
		}
	}
	return said
}

// Bytes draws the document. It is called once.
func (d *Document) Bytes() ([]byte, error) {
	for i, p := range d.pages {
		if i > 0 {
			d.pdf.AddPage()
		}
		d.pdf.SetLineWidth(0.5)
		d.pdf.SetStrokeColor(200, 200, 200)
		for _, y := range p.rules {
			d.pdf.Line(Left, y, Right, y)
		}
		for _, t := range p.texts {
			d.draw(t)
		}
		foot := fmt.Sprintf("%s · page %d of %d", plain(d.info.Foot), i+1, len(d.pages))
		d.draw(Text{X: Right, y: pageHeight - 36, Size: 8, Grey: true, Right: true, Text: foot})
	}
	if d.err != nil {
		return nil, fmt.Errorf("document: draw: %w", d.err)
	}
	// Into memory, since gopdf does not report a writer that fails.
	var b bytes.Buffer
	if _, err := d.pdf.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("document: write PDF: %w", err)
	}
	return b.Bytes(), nil
}

func (d *Document) draw(t Text) {
	if t.Text == "" {
		return
	}
	x := t.X
	if t.Right {
		x -= d.width(t.Text, t.Size, t.Bold)
	}
	d.font(t.Size, t.Bold)
	d.pdf.SetTextColor(20, 20, 20)
	if t.Grey {
		d.pdf.SetTextColor(100, 100, 100)
	}
	// Cell writes from its upper edge down, as the layout counts.
	d.pdf.SetXY(x, t.y)
	d.keep(d.pdf.Cell(nil, t.Text))
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
