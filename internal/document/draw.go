package document

import "github.com/signintech/gopdf"

// testMark returns the text of the strip where it stands.
func (d *Document) testMark() Text {
	t := testMark
	t.X -= d.width(t.Text, t.Size, t.Bold) / 2
	return t
}

// drawTestMark draws the strip of test mode.
func (d *Document) drawTestMark() {
	t := d.testMark()
	d.fill(Wait.ground)
	d.pdf.RectFromUpperLeftWithStyle(0, 0, pageWidth, testStrip, "F")
	d.fill(Wait.ink)
	d.cell(t.X, t)
}

func (d *Document) drawPage(p *page, foot string) {
	d.filled = colour{}
	if d.info.Test {
		d.drawTestMark()
	}
	for _, i := range p.pictures {
		d.keep(d.pdf.ImageFrom(i.image, i.x, i.y, &gopdf.Rect{W: i.width, H: i.height}))
	}
	d.pdf.SetLineWidth(0.5)
	d.pdf.SetStrokeColor(hairline[0], hairline[1], hairline[2])
	for _, r := range p.rules {
		d.pdf.Line(r.x, r.y, Right, r.y)
	}
	for _, t := range p.texts {
		d.draw(t)
	}
	d.draw(Text{X: Right, y: pageHeight - 36, Size: 8, Soft: true, Right: true, Text: foot})
	for _, b := range p.badges {
		d.drawBadge(b)
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
	if t.Soft {
		d.fill(soft)
	} else {
		d.fill(ink)
	}
	d.cell(x, t)
}

// cell writes a text from x on. gopdf's Cell writes from the upper edge of its text, as the layout
// does.
func (d *Document) cell(x float64, t Text) {
	d.font(t.Text, t.Size, t.Bold)
	d.pdf.SetXY(x, t.y)
	d.keep(d.pdf.Cell(nil, t.Text))
}

// fill sets the colour of texts and areas. gopdf's own colour of texts would stand before each
// text again.
func (d *Document) fill(c colour) {
	if c != d.filled {
		d.filled = c
		d.pdf.SetFillColor(c[0], c[1], c[2])
	}
}

// drawBadge draws a word on its ground, with the shape of its tone before it.
func (d *Document) drawBadge(b badge) {
	round := func(x, y, width, height float64) {
		d.keep(d.pdf.Rectangle(x, y, x+width, y+height, "F", height/2, 8))
	}
	d.fill(b.tone.ground)
	round(b.x, b.y, b.width, b.height)
	const side = 6.0
	x, y := b.x+badgePadding, b.y+(b.height-side)/2
	d.fill(b.tone.ink)
	switch b.tone.shape {
	case square:
		d.pdf.RectFromUpperLeftWithStyle(x, y, side, side, "F")
	case ring:
		const line = 1.5
		round(x, y, side, side)
		d.fill(b.tone.ground)
		round(x+line, y+line, side-2*line, side-2*line)
		d.fill(b.tone.ink)
	default:
		round(x, y, side, side)
	}
	d.cell(b.word.X, b.word)
}

// drawCode draws a code as rectangles, which stay sharp at every size. It joins adjacent modules,
// and adjacent equal rows, so that no seams show.
func (d *Document) drawCode(c code) {
	side := c.width / float64(len(c.bits))
	d.fill(colour{})
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
