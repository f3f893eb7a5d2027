package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	if w, ok := measure(text, isBold); ok {
		return float64(w) * (size / 1000)
	}
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
