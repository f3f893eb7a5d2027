// Package document makes PDF documents of plain A4 pages: lines of text, wrapped paragraphs,
// rules, a table head on every page, pictures, stamps, page numbers.
//
// It lays out the whole document as texts with positions, and draws it afterwards. So the number
// of pages is known before the first is drawn, and a test can read the texts. The packages that
// make documents write their content.
package document

import (
	"bytes"
	"fmt"
	"image"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/signintech/gopdf"
)

// The measures of a page, in points from its upper left corner.
const (
	pageWidth, pageHeight = 595.28, 841.89
	Left                  = 48.0
	Right                 = pageWidth - Left
	bottom                = pageHeight - 64 // the body ends here; the page number is below
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

// testMark is the text of the strip.
var testMark = Text{X: Left, y: 5, Size: 9, Bold: true, Text: "TEST MODE: no real money moves"}

// testStrip is the height of the strip, above the body.
const testStrip = 22.0

// Text is a line of text. X is its left end, or its right end with Right set.
type Text struct {
	X, Size           float64
	Bold, Grey, Right bool
	Text              string

	y float64
}

// Colour is red, green and blue.
type Colour [3]uint8

// place is a box on a page, from its upper left corner.
type place struct{ x, y, width, height float64 }

type page struct {
	texts    []Text
	rules    []float64
	pictures []picture
	stamps   []stamp
	codes    []code
}

type picture struct {
	place
	image image.Image
}

type stamp struct {
	word   Text
	colour Colour
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
	// colour fills texts and areas. A page begins with black.
	colour Colour
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

// Room begins a new page unless this one has that height left.
func (d *Document) Room(height float64) {
	if d.y+height <= bottom {
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

// Rule draws a line from margin to margin.
func (d *Document) Rule() { d.page().rules = append(d.page().rules, d.y) }

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

// Stamp draws a word in a frame of its colour, at the right margin and the current height, and
// stays there.
func (d *Document) Stamp(word string, c Colour) {
	p := d.page()
	p.stamps = append(p.stamps, stamp{Text{X: Right, Size: 16, Bold: true, Right: true, Text: word, y: d.y}, c})
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

// Wrap breaks a text into lines of at most that width: between words, and within a word that is
// longer than a line.
func (d *Document) Wrap(t Text, width float64) []string {
	var lines []string
	for given := range strings.SplitSeq(strings.ReplaceAll(t.Text, "\r\n", "\n"), "\n") {
		words := strings.Fields(plain(given))
		if whole := strings.Join(words, " "); d.width(whole, t.Size, t.Bold) <= width {
			lines = append(lines, whole)
			continue
		}
		line := ""
		for _, word := range words {
			joined := word
			if line != "" {
				joined = line + " " + word
			}
			if d.width(joined, t.Size, t.Bold) <= width {
				line = joined
				continue
			}
			if line != "" {
				lines = append(lines, line)
			}
			for line = word; d.width(line, t.Size, t.Bold) > width; {
				cut := d.fits(line, width, t.Size, t.Bold)
				if cut == len(line) {
					break // one letter, wider than a line
				}
				lines = append(lines, line[:cut])
				line = line[cut:]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// fits returns the number of bytes of a word that fit into a width: at least one character.
func (d *Document) fits(word string, width, size float64, isBold bool) int {
	fits := 0
	for i, r := range word {
		end := i + utf8.RuneLen(r)
		if fits > 0 && d.width(word[:end], size, isBold) > width {
			break
		}
		fits = end
	}
	return fits
}

// Fit returns a text, shortened to a width if necessary.
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
	d.font(text, size, isBold)
	w, err := d.pdf.MeasureTextWidth(text)
	d.keep(err)
	return w
}

// font selects the font of a text. The PDF lists fonts in the order of their first use, so the
// same texts make the same bytes.
func (d *Document) font(text string, size float64, isBold bool) {
	f := family{bold: isBold, whole: !isCommon(text)}
	if !d.fonts[f] {
		if err := d.add(f); err != nil {
			d.keep(err)
			return
		}
	}
	d.keep(d.pdf.SetFont(f.name(), "", size))
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
// test mode first, stamps last. It leaves out the feet.
func (d *Document) Pages() [][]Placed {
	said := make([][]Placed, len(d.pages))
	for i, p := range d.pages {
		if d.info.Test {
			said[i] = append(said[i], d.placed(testMark))
		}
		for _, t := range p.texts {
			said[i] = append(said[i], d.placed(t))
		}
		for _, s := range p.stamps {
			said[i] = append(said[i], d.placed(s.word))
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
	// Making the compressor takes longer than writing one page.
	if len(d.pages) == 1 {
		d.pdf.SetNoCompression()
	}
	// gopdf does not report a failing writer, so write to memory.
	var b bytes.Buffer
	if _, err := d.pdf.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("document: write PDF: %w", err)
	}
	return b.Bytes(), nil
}

// drawTestMark draws the strip of test mode, in the amber of the hosted pages' strip.
func (d *Document) drawTestMark() {
	d.fill(Colour{0xfd, 0xf0, 0xd5})
	d.pdf.RectFromUpperLeftWithStyle(0, 0, pageWidth, testStrip, "F")
	d.font(testMark.Text, testMark.Size, testMark.Bold)
	d.fill(Colour{0x85, 0x50, 0x00})
	d.pdf.SetXY(testMark.X, testMark.y)
	d.keep(d.pdf.Cell(nil, testMark.Text))
}

func (d *Document) drawPage(p *page, foot string) {
	d.colour = Colour{}
	if d.info.Test {
		d.drawTestMark()
	}
	for _, i := range p.pictures {
		d.keep(d.pdf.ImageFrom(i.image, i.x, i.y, &gopdf.Rect{W: i.width, H: i.height}))
	}
	d.pdf.SetLineWidth(0.5)
	d.pdf.SetStrokeColor(200, 200, 200)
	for _, y := range p.rules {
		d.pdf.Line(Left, y, Right, y)
	}
	for _, t := range p.texts {
		d.draw(t)
	}
	d.draw(Text{X: Right, y: pageHeight - 36, Size: 8, Grey: true, Right: true, Text: foot})
	for _, s := range p.stamps {
		d.drawStamp(s)
	}
	for _, c := range p.codes {
		d.drawCode(c)
	}
}

func (d *Document) draw(t Text) {
	if t.Text == "" {
		return
	}
	x := t.X
	if t.Right {
		x -= d.width(t.Text, t.Size, t.Bold)
	}
	d.font(t.Text, t.Size, t.Bold)
	if t.Grey {
		d.fill(Colour{100, 100, 100})
	} else {
		d.fill(Colour{20, 20, 20})
	}
	// Cell writes from the upper edge of its text, as the layout does.
	d.pdf.SetXY(x, t.y)
	d.keep(d.pdf.Cell(nil, t.Text))
}

// fill sets the colour of texts and areas. gopdf's own colour of texts would stand before each
// text again.
func (d *Document) fill(c Colour) {
	if c != d.colour {
		d.colour = c
		d.pdf.SetFillColor(c[0], c[1], c[2])
	}
}

// drawStamp draws a word with a frame around it.
func (d *Document) drawStamp(s stamp) {
	const height, side, above = 24.0, 10.0, 4.0
	width := d.width(s.word.Text, s.word.Size, s.word.Bold) + 2*side
	d.pdf.SetLineWidth(1.5)
	d.pdf.SetStrokeColor(s.colour[0], s.colour[1], s.colour[2])
	d.fill(s.colour)
	d.pdf.RectFromUpperLeftWithStyle(s.word.X-width, s.word.y, width, height, "D")
	d.pdf.SetXY(s.word.X-width+side, s.word.y+above)
	d.keep(d.pdf.Cell(nil, s.word.Text))
}

// drawCode draws a code as rectangles, which stay sharp at every size. It joins adjacent modules,
// and adjacent equal rows, so that no seams show.
func (d *Document) drawCode(c code) {
	side := c.width / float64(len(c.bits))
	d.fill(Colour{})
	for y, row := range c.bits {
		for x := 0; x < len(row); x++ {
			width := run(row, x)
			if width == 0 || y > 0 && run(c.bits[y-1], x) == width {
				x += width
				continue // already drawn with the row above
			}
			height := 1
			for y+height < len(c.bits) && run(c.bits[y+height], x) == width {
				height++
			}
			d.pdf.RectFromUpperLeftWithStyle(c.x+float64(x)*side, c.y+float64(y)*side, float64(width)*side, float64(height)*side+0.05, "F")
			x += width
		}
	}
}

// run returns the length of the run of dark modules that begins at x; 0 if none begins there.
func run(row []bool, x int) int {
	if x > 0 && row[x-1] {
		return 0
	}
	n := 0
	for x+n < len(row) && row[x+n] {
		n++
	}
	return n
}

// plain removes characters without a shape that would change the rest: control characters, and
// those that turn the direction of writing.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}
