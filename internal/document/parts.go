package document

import (
	"image"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/internal/money"
)

// colour is red, green and blue. Those here are the light ones of the pages' style sheet, on white.
type colour [3]uint8

var (
	ink      = colour{0x13, 0x1b, 0x17}
	soft     = colour{0x52, 0x60, 0x5a}
	hairline = colour{0xdd, 0xe3, 0xe0}
)

type shape int

const (
	dot shape = iota
	ring
	square
)

// Tone is what a badge means: its colours and its shape.
type Tone struct {
	ink, ground colour
	shape       shape
}

// The tones of badges.
var (
	Good    = Tone{colour{0x0b, 0x6a, 0x41}, colour{0xe0, 0xf4, 0xe8}, dot}
	Wait    = Tone{colour{0x85, 0x50, 0x00}, colour{0xfd, 0xf0, 0xd5}, ring}
	Neutral = Tone{soft, colour{0xeb, 0xef, 0xed}, ring}
)

// The sizes of letters.
const (
	Body   = 10.0
	Detail = 9.0
	Label  = 8.5 // heads of tables
	name   = 13.0
	loud   = 30.0
)

// Letterhead says whose document it is, and which.
type Letterhead struct {
	Logo           image.Image // nil for none
	Merchant, Name string
	// Contacts are the merchant's address and numbers. One may have line breaks, or be "".
	Contacts []string
}

// Letterhead writes the top of the first page: the logo, the merchant's name and the document's on
// the left, the contacts on the right.
func (d *Document) Letterhead(h Letterhead) {
	const contacts, between, maxContacts = 190.0, 12.0, 12
	top, x := d.y, Left
	below := top
	texts := name*Leading + Body*Leading
	if h.Logo != nil {
		const maxWidth, maxHeight = 150.0, 48.0
		w, height := float64(h.Logo.Bounds().Dx()), float64(h.Logo.Bounds().Dy())
		scale := min(maxWidth/w, maxHeight/height)
		d.Picture(Left, w*scale, height*scale, h.Logo)
		x += w*scale + between
		below = top + height*scale
		d.y += max(0, height*scale-texts) / 2
	}
	width := Right - contacts - between - x
	d.Paragraph(x, width, Text{Size: name, Bold: true, Text: h.Merchant})
	d.Paragraph(x, width, Text{Size: Body, Soft: true, Text: h.Name})
	below = max(below, d.y)

	d.y = top
	given := slices.DeleteFunc(slices.Clone(h.Contacts), func(text string) bool { return text == "" })
	var lines []string
	if len(given) > 0 {
		lines = d.Wrap(Text{Size: Detail, Text: strings.Join(given, "\n")}, contacts)
	}
	for _, line := range lines[:min(len(lines), maxContacts)] {
		d.Line(Text{X: Right, Size: Detail, Soft: true, Right: true, Text: line})
	}
	d.y = max(below, d.y) + 28
}

// Headline is the one loud thing of a document: an amount, what it is, and a badge unless Badge is
// "".
type Headline struct {
	Badge, Label string
	Tone         Tone
	Figures      string // of GH₵, as Figures writes them
}

// Headline writes it. The unit stands before the figures, smaller, and a sign before the unit.
func (d *Document) Headline(h Headline) {
	x := Left
	if h.Badge != "" {
		x += d.badge(x, h.Badge, h.Tone) + 8
	}
	d.Line(Text{X: x, Size: Body, Soft: true, Text: h.Label})
	d.y += 3
	if h.Badge != "" {
		d.y += 4
	}
	x = Left
	figures, negative := strings.CutPrefix(h.Figures, money.Minus)
	if negative {
		d.Put(Text{X: x, Size: loud, Bold: true, Text: money.Minus})
		x += d.width(money.Minus, loud, true)
	}
	const unit, drop = loud / 2, 0.8 // so that the tops of capitals and figures align
	d.y += drop
	d.Put(Text{X: x, Size: unit, Soft: true, Text: Cedis})
	d.y -= drop
	x += d.width(Cedis, unit, false) + unit/4
	d.Put(Text{X: x, Size: loud, Bold: true, Text: figures})
	d.y += loud*1.1 + 16
}

// Cedis is the unit of amounts.
const Cedis = "GH₵"

const badgePadding = 8.0

// badge draws a badge beside a line of text, and returns its width.
func (d *Document) badge(x float64, word string, tone Tone) float64 {
	const shape, above, height = 6.0 + 5, 2.5, 16.0
	text := Text{X: x + badgePadding + shape, y: d.y, Size: Detail, Bold: true, Text: word}
	text.y += baseline(Body) - baseline(Detail)
	width := shape + 2*badgePadding + d.width(word, text.Size, text.Bold)
	d.page().badges = append(d.page().badges, badge{place{x, d.y - above, width, height}, text, tone})
	return width
}

// baseline is how far the baseline of a text is below its upper edge.
func baseline(size float64) float64 { return 0.76 * size }

// Fact is a row of names and values. The first line of a value is louder than the rest.
type Fact struct {
	Name  string
	Lines []string
}

// Facts writes rows between two hairlines: names on the left, values beside them.
func (d *Document) Facts(facts []Fact) {
	const values = Left + 72
	d.Rule()
	d.y += 8
	for _, f := range facts {
		d.Room(Body * Leading)
		d.Put(Text{X: Left, Size: Body, Soft: true, Text: f.Name})
		for i, text := range f.Lines {
			d.Paragraph(values, Right-values, Text{Size: Body, Soft: i > 0, Text: text})
		}
		d.y += 3
	}
	d.y += 6
	d.Rule()
	d.y += 14
}
