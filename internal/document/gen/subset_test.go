package main

import (
	"bytes"
	"testing"
	"unicode"

	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"
	"github.com/signintech/gopdf"

	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// With a subset, every common letter has the width, height and outline of the whole font.
func TestSubset(t *testing.T) {
	for name, whole := range map[string][]byte{"regular": dejavusanscondensed.TTF, "bold": dejavusanscondensedbold.TTF} {
		small, err := subset(whole, document.Common)
		if err != nil {
			t.Fatal(name, err)
		}
		expect.True(t, len(small) <= len(whole)/5, "%s: %d bytes of %d", name, len(small), len(whole))
		a, b := read(whole), read(small)
		drawn := 0
		for _, r := range document.Common {
			was, is := a.find(r), b.find(r)
			if was == 0 || is == 0 {
				t.Errorf("%s: no %c, which was glyph %d and is %d", name, r, was, is)
				continue
			}
			compare(t, a, b, was, is)
			if len(b.outline(is)) > 0 {
				drawn++
			}
		}
		if drawn < len(document.Common)-8 { // the spaces
			t.Errorf("%s: %d of %d letters have an outline", name, drawn, len(document.Common))
		}
		for _, r := range "Жא你" {
			expect.Equal(t, b.find(r), 0, "%s: has %c", name, r)
		}

		// gopdf's widths with the two fonts.
		widths := map[bool][]float64{}
		for isSmall, data := range map[bool][]byte{false: whole, true: small} {
			var pdf gopdf.GoPdf
			pdf.Start(gopdf.Config{PageSize: *gopdf.PageSizeA4})
			must.Do(t, pdf.AddTTFFontData("f", data))
			must.Do(t, pdf.SetFont("f", "", 100))
			for _, r := range document.Common {
				w := must.Get(pdf.MeasureTextWidth(string(r)))(t)
				widths[isSmall] = append(widths[isSmall], w)
			}
		}
		for i, r := range document.Common {
			if widths[true][i] != widths[false][i] || widths[true][i] == 0 && !unicode.IsMark(r) && unicode.IsGraphic(r) {
				t.Errorf("%s: %c is %v wide, was %v", name, r, widths[true][i], widths[false][i])
			}
		}
	}
}

func read(font []byte) *subsetter {
	s := &subsetter{tables: map[string][]byte{}, numbers: map[uint16]uint16{}}
	for i := range int(u16(font, 4)) {
		entry := font[12+16*i:]
		s.tables[string(entry[:4])] = font[u32(entry, 8):][:u32(entry, 12)]
	}
	return s
}

// compare fails for glyphs that are drawn differently, apart from hints.
func compare(t *testing.T, a, b *subsetter, was, is uint16) {
	t.Helper()
	from, to := a.outline(was), b.outline(is)
	if len(from) == 0 || len(to) == 0 {
		expect.Equal(t, len(from), len(to), "glyph %d has %d bytes, %d has %d", was, len(from), is, len(to))
		return
	}
	if contours := int16(u16(from, 0)); contours >= 0 {
		at := 10 + 2*int(contours)
		if !bytes.Equal(from[:at], to[:at]) || u16(to, at) != 0 || !bytes.HasPrefix(to[at+2:], from[at+2+int(u16(from, at)):]) {
			t.Errorf("glyph %d is not drawn as %d", is, was)
		}
		return
	}
	for at := 10; ; {
		flags := u16(from, at)
		if u16(to, at) != flags&^hasHints {
			t.Errorf("the parts of glyph %d are not as those of %d", is, was)
			return
		}
		compare(t, a, b, u16(from, at+2), u16(to, at+2))
		size := 6
		for _, flag := range []struct {
			of   uint16
			more int
		}{{wordArguments, 2}, {hasScale, 2}, {twoScales, 4}, {twoByTwo, 8}} {
			if flags&flag.of != 0 {
				size += flag.more
			}
		}
		expect.True(t, bytes.Equal(from[at+4:at+size], to[at+4:at+size]), "a part of glyph %d is elsewhere than in %d", is, was)
		if at += size; flags&moreParts == 0 {
			return
		}
	}
}

// A truncated font is refused.
func TestSubsetRefusesTruncatedFont(t *testing.T) {
	whole := dejavusanscondensed.TTF
	for _, n := range []int{0, 3, 100, 5000, len(whole) / 2} {
		if _, err := subset(whole[:n:n], document.Common); err == nil {
			t.Errorf("the first %d bytes of a font were taken for one", n)
		}
	}
	if _, err := subset(whole, []rune("你")); err == nil {
		t.Error("a font without a letter was made")
	}
}
