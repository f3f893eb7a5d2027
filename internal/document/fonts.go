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
// font into each document and compresses them. See docs/performance.md.
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
