// Package document makes PDF documents of plain A4 pages, in the look of the hosted pages: a
// letterhead, one loud amount, hairlines, a table head on every page, pictures, badges, page
// numbers.
//
// It lays out the whole document as texts with positions, and draws it afterwards. So the number
// of pages is known before the first is drawn, and a test can read the texts. The packages that
// make documents write their content.
package document

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"time"

	"github.com/signintech/gopdf"
)

// The measures of a page, in points from its upper left corner.
const (
	pageWidth, pageHeight = 595.28, 841.89
	Left                  = 48.0
	Right                 = pageWidth - Left
	bottom                = pageHeight - 64 // the body ends here; the page number is below
	// maxHeight is the height that every page has below a table head.
	maxHeight = bottom - Left - 40
	// Leading is the height of a line as a multiple of the size of its letters.
	Leading = 1.35
)

// Info describes a document.
type Info struct {
	Title, Author string
	// At is the creation time. The same time and texts make the same bytes.
	At time.Time
	// Foot stands at the foot of every page, before its number.
	Foot string
	// Test marks a document of test mode with a strip at the top of every page.
	Test bool
}

// testMark is the text of the strip. X is its middle.
var testMark = Text{X: pageWidth / 2, y: 6, Size: 9, Text: "TEST MODE: no real money moves"}

// testStrip is the height of the strip, above the body.
const testStrip = 22.0

// Text is a line of text. X is its left end, or its right end with Right set. Soft is for labels
// and details.
type Text struct {
	X, Size           float64
	Bold, Soft, Right bool
	Text              string

	y float64
}

// place is a box on a page, from its upper left corner.
type place struct{ x, y, width, height float64 }

type page struct {
	texts    []Text
	rules    []rule
	pictures []picture
	badges   []badge
	codes    []code
}

type picture struct {
	place
	image image.Image
}

// rule is a hairline from x to the right margin.
type rule struct{ x, y float64 }

type badge struct {
	place
	word Text
	tone Tone
}

type code struct {
	place
	bits [][]bool
}

// Document is a document under construction. It is for one goroutine.
type Document struct {
	// Head draws the top of each further page; nil for nothing.
	Head func()

	info  Info
	pdf   *gopdf.GoPdf
	fonts map[family]bool // the fonts that pdf has
	pages []*page
	y     float64
	// filled is the colour of texts and areas. A page begins with black.
	filled colour
	err    error
}

// New begins a document.
func New(info Info) (*Document, error) {
	d := &Document{info: info, pdf: &gopdf.GoPdf{}, fonts: map[family]bool{}}
	d.pdf.Start(gopdf.Config{PageSize: gopdf.Rect{W: pageWidth, H: pageHeight}})
	for _, f := range []family{{}, {bold: true}} {
		if err := d.add(f); err != nil {
			return nil, err
		}
	}
	d.pdf.SetInfo(gopdf.PdfInfo{Title: info.Title, Author: plain(info.Author), Creator: "payments", CreationDate: info.At.UTC()})
	d.pdf.AddPage() // gopdf can measure texts only after the first page exists
	d.turn()
	return d, nil
}

// add gives the document a font.
func (d *Document) add(f family) error {
	parsed := fonts
	if f.whole {
		parsed = wholeFonts
	}
	shared, err := parsed()
	if err != nil {
		return err
	}
	if err := d.pdf.AddTTFFontFromFontContainer(f.name(), shared); err != nil {
		return fmt.Errorf("document: font: %w", err)
	}
	d.fonts[f] = true
	return nil
}

func (d *Document) turn() {
	d.pages = append(d.pages, &page{})
	d.y = Left
}

func (d *Document) page() *page { return d.pages[len(d.pages)-1] }

// Room begins a new page unless this one has that height left. A height that no page has is
// taken for one that fits.
func (d *Document) Room(height float64) {
	if d.y+height <= bottom || height > maxHeight {
		return
	}
	d.turn()
	if d.Head != nil {
		d.Head()
	}
}

// Space moves down by that height.
func (d *Document) Space(height float64) { d.y += height }

// Put writes a text at the current height, and stays there.
func (d *Document) Put(t Text) {
	t.Text, t.y = plain(t.Text), d.y
	d.page().texts = append(d.page().texts, t)
}

// Line writes a text and moves on below it.
func (d *Document) Line(t Text) {
	d.Put(t)
	d.y += t.Size * Leading
}

// Rule draws a hairline from margin to margin.
func (d *Document) Rule() { d.RuleFrom(Left) }

// RuleFrom draws a hairline from x to the right margin.
func (d *Document) RuleFrom(x float64) { d.page().rules = append(d.page().rules, rule{x, d.y}) }

// Y is the current height, from the top of the page.
func (d *Document) Y() float64 { return d.y }

// Picture draws an image at the current height, and stays there. A page draws its images before
// everything else.
func (d *Document) Picture(x, width, height float64, i image.Image) {
	p := d.page()
	p.pictures = append(p.pictures, picture{place{x, d.y, width, height}, i})
}

// Code draws the bits of a QR code as a square at the current height, and stays there.
func (d *Document) Code(x, side float64, bits [][]bool) {
	p := d.page()
	p.codes = append(p.codes, code{place{x, d.y, side, side}, bits})
}

// Paragraph writes a text in lines of at most that width, and moves on below them.
func (d *Document) Paragraph(x, width float64, t Text) {
	t.X = x
	for _, line := range d.Wrap(t, width) {
		d.Room(t.Size * Leading)
		t.Text = line
		d.Line(t)
	}
}

func (d *Document) keep(err error) {
	if d.err == nil && err != nil {
		d.err = err
	}
}

// Placed is a text on its page: From and To are its ends, Top its upper edge.
type Placed struct {
	Text          string
	Size          float64
	Bold          bool
	From, To, Top float64
}

// Pages returns the texts of the pages and their positions, in the order of drawing: the mark of
// test mode first, badges last. It leaves out the feet.
func (d *Document) Pages() [][]Placed {
	said := make([][]Placed, len(d.pages))
	for i, p := range d.pages {
		if d.info.Test {
			said[i] = append(said[i], d.placed(d.testMark()))
		}
		for _, t := range p.texts {
			said[i] = append(said[i], d.placed(t))
		}
		for _, b := range p.badges {
			said[i] = append(said[i], d.placed(b.word))
		}
	}
	return said
}

func (d *Document) placed(t Text) Placed {
	width := d.width(t.Text, t.Size, t.Bold)
	from := t.X
	if t.Right {
		from -= width
	}
	return Placed{Text: t.Text, Size: t.Size, Bold: t.Bold, From: from, To: from + width, Top: t.y}
}

// Bytes draws the document. The caller calls it once.
func (d *Document) Bytes() ([]byte, error) {
	for i, p := range d.pages {
		if i > 0 {
			d.pdf.AddPage()
		}
		d.drawPage(p, fmt.Sprintf("%s · page %d of %d", plain(d.info.Foot), i+1, len(d.pages)))
	}
	if d.err != nil {
		return nil, fmt.Errorf("document: draw: %w", d.err)
	}
	// Making the compressor takes longer than writing one page. With many pages a quick one saves
	// more time than it adds bytes.
	const many = 5
	switch {
	case len(d.pages) == 1:
		d.pdf.SetNoCompression()
	case len(d.pages) >= many:
		d.pdf.SetCompressLevel(zlib.BestSpeed)
	}
	// gopdf does not report a failing writer, so write to memory.
	var b bytes.Buffer
	if _, err := d.pdf.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("document: write PDF: %w", err)
	}
	return b.Bytes(), nil
}
