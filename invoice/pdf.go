package invoice

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // a logo is a PNG or a JPEG picture
	_ "image/png"
	"sync"

	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"
	"github.com/signintech/gopdf"
	"github.com/skip2/go-qrcode"
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
			return nil, fmt.Errorf("invoice: parse font: %w", err)
		}
	}
	return c, nil
})

// pen draws sheets. The first error is kept, and ends the document.
type pen struct {
	pdf *gopdf.GoPdf
	err error
}

func newPen(d document) (*pen, error) {
	shared, err := fonts()
	if err != nil {
		return nil, err
	}
	p := &pen{pdf: &gopdf.GoPdf{}}
	p.pdf.Start(gopdf.Config{PageSize: gopdf.Rect{W: pageWidth, H: pageHeight}})
	for _, family := range []string{regular, bold} {
		if err := p.pdf.AddTTFFontFromFontContainer(family, shared); err != nil {
			return nil, fmt.Errorf("invoice: font: %w", err)
		}
	}
	// The time is the invoice's, so that the same invoice makes the same bytes.
	title, made := "Invoice "+d.invoice.Number, d.invoice.InvoiceDate
	if d.note != nil {
		title, made = "Credit note "+d.note.Number, d.note.CreatedAt
	}
	p.pdf.SetInfo(gopdf.PdfInfo{Title: title, Author: plain(d.merchant.Name), Creator: "payments", CreationDate: made.Time})
	return p, nil
}

// width implements measure.
func (p *pen) width(text string, size float64, isBold bool) float64 {
	p.font(size, isBold)
	w, err := p.pdf.MeasureTextWidth(text)
	p.keep(err)
	return w
}

func (p *pen) font(size float64, isBold bool) {
	family := regular
	if isBold {
		family = bold
	}
	p.keep(p.pdf.SetFont(family, "", size))
}

func (p *pen) keep(err error) {
	if p.err == nil && err != nil {
		p.err = err
	}
}

// render makes the PDF of a document.
func render(d document) ([]byte, error) {
	var logo image.Image
	if d.logo != nil {
		var err error
		if logo, err = decodeLogo(d.logo.Data); err != nil {
			d.logo = nil // a picture that cannot be shown is no reason for no invoice
		} else {
			d.logoSize = [2]int{logo.Bounds().Dx(), logo.Bounds().Dy()}
		}
	}
	p, err := newPen(d)
	if err != nil {
		return nil, err
	}
	p.pdf.AddPage() // before the first, nothing can be measured
	for i, s := range lay(d, p.width) {
		if i > 0 {
			p.pdf.AddPage()
		}
		p.draw(s, logo, d.invoice.HostedURL)
	}
	if p.err != nil {
		return nil, fmt.Errorf("invoice: draw: %w", p.err)
	}
	var b bytes.Buffer
	if _, err := p.pdf.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("invoice: write PDF: %w", err)
	}
	return b.Bytes(), nil
}

// maxLogoSide bounds a logo in pixels: a small file can hold a huge picture.
const maxLogoSide = 4096

func decodeLogo(data []byte) (image.Image, error) {
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxLogoSide || size.Height > maxLogoSide {
		return nil, fmt.Errorf("a logo of %d by %d pixels", size.Width, size.Height)
	}
	logo, _, err := image.Decode(bytes.NewReader(data))
	return logo, err
}

func (p *pen) draw(s *sheet, logo image.Image, url string) {
	if s.logo != nil && logo != nil {
		p.keep(p.pdf.ImageFrom(logo, s.logo.x, s.logo.y, &gopdf.Rect{W: s.logo.width, H: s.logo.height}))
	}
	p.pdf.SetLineWidth(0.5)
	p.pdf.SetStrokeColor(200, 200, 200)
	for _, r := range s.rules {
		p.pdf.Line(margin, r.y, right, r.y)
	}
	for _, t := range s.texts {
		if t.text == "" {
			continue
		}
		p.font(t.size, t.bold)
		p.pdf.SetTextColor(20, 20, 20)
		if t.grey {
			p.pdf.SetTextColor(100, 100, 100)
		}
		x := t.x
		if t.right {
			w, err := p.pdf.MeasureTextWidth(t.text)
			p.keep(err)
			x -= w
		}
		// Cell writes from its upper edge down, as the layout counts.
		p.pdf.SetXY(x, t.y)
		p.keep(p.pdf.Cell(nil, t.text))
	}
	if s.stamp != "" {
		p.stamp(s)
	}
	if s.code != nil {
		p.code(*s.code, url)
	}
}

// stamp marks an invoice that is not to be paid.
func (p *pen) stamp(s *sheet) {
	const size, height = 16.0, 24.0
	w := p.width(s.stamp, size, true) + 20
	y := 0.0
	for _, t := range s.texts { // below the rows of the right side
		if t.right && t.x == right && t.size == 9 {
			y = max(y, t.y)
		}
	}
	y += 20
	p.pdf.SetLineWidth(1.5)
	red, green, blue := uint8(176), uint8(32), uint8(32)
	if s.stamp == "PAID" {
		red, green, blue = 22, 120, 60
	}
	p.pdf.SetStrokeColor(red, green, blue)
	p.pdf.SetTextColor(red, green, blue)
	p.pdf.RectFromUpperLeftWithStyle(right-w, y, w, height, "D")
	p.pdf.SetXY(right-w+10, y+4)
	p.font(size, true)
	p.keep(p.pdf.Cell(nil, s.stamp))
}

// code draws a QR code as squares, which stay sharp at every size.
func (p *pen) code(at placeAt, url string) {
	q, err := qrcode.New(url, qrcode.Medium)
	if err != nil {
		p.keep(err)
		return
	}
	bits := q.Bitmap()
	side := at.width / float64(len(bits))
	p.pdf.SetFillColor(0, 0, 0)
	for y, row := range bits {
		for x := 0; x < len(row); x++ {
			run := 0 // neighbours are one rectangle, without seams between them
			for x+run < len(row) && row[x+run] {
				run++
			}
			if run > 0 {
				p.pdf.RectFromUpperLeftWithStyle(at.x+float64(x)*side, at.y+float64(y)*side, float64(run)*side, side+0.05, "F")
				x += run
			}
		}
	}
}
