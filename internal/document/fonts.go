package document

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"
	"github.com/signintech/gopdf"
)

// The embedded fonts hold the glyphs of the common letters, from DejaVu Sans Condensed
// (LICENSE-DejaVu).
//
// They are small for speed: gopdf writes the widths, places and hints of all glyphs of a
// font into each document and compresses them. See docs/notes/performance.md.
//
//go:generate go run ./gen
var (
	//go:embed regular.ttf
	regular []byte
	//go:embed bold.ttf
	bold []byte
)

// family names a font. gopdf keys fonts by family alone, so bold is a family of its own. Texts
// with a rare letter use the whole font.
type family struct{ bold, whole bool }

func (f family) name() string {
	name := "regular"
	if f.bold {
		name = "bold"
	}
	if f.whole {
		name += "-whole"
	}
	return name
}

// Each container is parsed once, on its first use. Few documents need the whole fonts.
var (
	fonts = sync.OnceValues(func() (*gopdf.FontContainer, error) {
		return parse(map[family][]byte{{}: regular, {bold: true}: bold})
	})
	wholeFonts = sync.OnceValues(func() (*gopdf.FontContainer, error) {
		return parse(map[family][]byte{
			{whole: true}: dejavusanscondensed.TTF, {bold: true, whole: true}: dejavusanscondensedbold.TTF,
		})
	})
)

func parse(files map[family][]byte) (*gopdf.FontContainer, error) {
	c := &gopdf.FontContainer{}
	// A letter that the font lacks shows as a replacement mark, not as a gap.
	option := gopdf.TtfOption{OnGlyphNotFoundSubstitute: func(rune) rune { return '\uFFFD' }}
	for f, data := range files {
		if err := c.AddTTFFontDataWithOption(f.name(), data, option); err != nil {
			return nil, fmt.Errorf("document: parse font: %w", err)
		}
	}
	return c, nil
}

// advances are the widths of the common letters in thousandths of the size.
type advances struct {
	ascii [128]int
	rest  map[rune]int
}

// commonAdvances are those of the regular and the bold font. A layout that asks gopdf for every
// width takes more than twice as long; see docs/notes/performance.md.
var commonAdvances = sync.OnceValues(func() (map[bool]*advances, error) {
	shared, err := fonts()
	if err != nil {
		return nil, err
	}
	const perThousand = 1000 // the size at which a letter is as wide as its advance
	all := map[bool]*advances{}
	for _, bold := range []bool{false, true} {
		var pdf gopdf.GoPdf
		pdf.Start(gopdf.Config{PageSize: *gopdf.PageSizeA4})
		name := family{bold: bold}.name()
		if err := pdf.AddTTFFontFromFontContainer(name, shared); err != nil {
			return nil, fmt.Errorf("document: font: %w", err)
		}
		if err := pdf.SetFont(name, "", perThousand); err != nil {
			return nil, fmt.Errorf("document: font: %w", err)
		}
		a := &advances{rest: map[rune]int{}}
		for _, r := range Common {
			w, err := pdf.MeasureTextWidth(string(r))
			if err != nil {
				return nil, fmt.Errorf("document: measure %q: %w", r, err)
			}
			if int(r) < len(a.ascii) {
				a.ascii[r] = int(w)
			} else {
				a.rest[r] = int(w)
			}
		}
		all[bold] = a
	}
	return all, nil
})

// measure returns the width of a text in thousandths of its size, if all its letters are common.
func measure(text string, bold bool) (int, bool) {
	all, err := commonAdvances()
	if err != nil {
		return 0, false // gopdf will say so again
	}
	a, sum := all[bold], 0
	for _, r := range text {
		if r < ' ' {
			return 0, false
		}
		if int(r) < len(a.ascii)-1 {
			sum += a.ascii[r]
			continue
		}
		w, ok := a.rest[r]
		if !ok {
			return 0, false
		}
		sum += w
	}
	return sum, true
}
