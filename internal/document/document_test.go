package document

import (
	"bytes"
	"image"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func begin(t *testing.T) *Document {
	t.Helper()
	return must.Get(New(Info{Title: "Test", Author: "Ɛdɔm", At: time.Unix(1, 0), Foot: "Foot"}))(t)
}

// said returns the texts of a page.
func said(page []Placed) []string {
	texts := make([]string, len(page))
	for i, t := range page {
		texts[i] = t.Text
	}
	return texts
}

func TestParagraph(t *testing.T) {
	d := begin(t)
	d.Paragraph(Left, 60, Text{Size: 10, Text: "one two three four\r\nfive\n\n" + strings.Repeat("x", 50) + " six\u202e\x00"})
	page := d.Pages()[0]
	texts := said(page)
	expect.Equal(t, texts[2], "five", "third")
	expect.Equal(t, texts[3], "", "fourth")
	expect.True(t, strings.HasSuffix(texts[len(texts)-1], "x six"), "%q", texts)
	expect.Equal(t, strings.Join(texts[:2], " "), "one two three four", "the first paragraph")
	// A word that is longer than a line is broken, and keeps all its letters.
	expect.Equal(t, strings.Join(texts[4:], ""), strings.Repeat("x", 50)+" six", "the long word")
	for _, text := range page {
		expect.Equal(t, text.From, Left, "from")
		expect.True(t, text.To-text.From <= 60, "%q is at %.1f–%.1f", text.Text, text.From, text.To)
	}
	// A letter that is wider than a line gets its own line.
	got := d.Wrap(Text{Size: 10, Text: "ab c"}, 1)
	expect.True(t, len(got) == 3, "%q", got)
}

// Pictures and codes stay where they were put, and take no room.
func TestPlaces(t *testing.T) {
	d := begin(t)
	d.Space(100)
	y := d.Y()
	d.Picture(Left, 30, 20, image.NewRGBA(image.Rect(0, 0, 3, 2)))
	d.Code(Left+40, 10, [][]bool{{true, true}, {false, true}})
	expect.True(t, d.Y() == y, "at %.1f, and began at %.1f", d.Y(), y)
	data := must.Get(d.Bytes())(t)
	expect.True(t, bytes.Contains(data, []byte("/Subtype /Image")), "there is no picture")
}

// A letterhead is as high as the higher of its columns, and nothing of it is below or beside it.
func TestLetterhead(t *testing.T) {
	logo := image.NewRGBA(image.Rect(0, 0, 300, 100))
	for name, h := range map[string]Letterhead{
		"plain":         {Merchant: "Adom", Name: "Invoice 1"},
		"logo":          {Merchant: "Adom", Name: "Invoice 1", Logo: logo},
		"long name":     {Merchant: strings.Repeat("Adom Juice Bar ", 17), Name: "Invoice 1", Logo: logo},
		"long contacts": {Merchant: "Adom", Name: "Invoice 1", Contacts: []string{"", strings.Repeat("x\n", 250), strings.Repeat("W", 90)}},
	} {
		d := begin(t)
		d.Letterhead(h)
		expect.Equal(t, len(d.Pages()), 1, "%s: pages", name)
		for _, at := range d.Pages()[0] {
			expect.True(t, at.From >= Left, "%s: %+v, and it ends at %.0f", name, at, d.Y())
			expect.True(t, at.To <= Right+0.01, "%s: %+v, and it ends at %.0f", name, at, d.Y())
			expect.True(t, at.Top >= Left, "%s: %+v, and it ends at %.0f", name, at, d.Y())
			expect.True(t, at.Top+at.Size <= d.Y(), "%s: %+v, and it ends at %.0f", name, at, d.Y())
		}
		for _, p := range d.page().pictures {
			expect.Equal(t, p.width, 144, "%s: width", name)
			expect.Equal(t, p.height, 48, "%s: height", name)
		}
	}
}

// The figures are the largest text. The unit stands before them, and a sign before the unit.
func TestHeadline(t *testing.T) {
	for pesewas, want := range map[int64][]string{
		123450: {"To pay", "GH₵", "1,234.50", "Paid"}, -352: {"To pay", "−", "GH₵", "3.52", "Paid"},
	} {
		d := begin(t)
		d.Headline(Headline{Badge: "Paid", Tone: Good, Label: "To pay", Figures: money.Figures(pesewas)})
		page := d.Pages()[0]
		expect.Same(t, said(page), want, "%d", pesewas)
		largest, end := 0.0, Left
		for _, at := range page[1 : len(page)-1] {
			expect.True(t, at.From >= end, "%+v begins before %.1f", at, end)
			largest, end = max(largest, at.Size), at.To
		}
		expect.Equal(t, page[len(page)-2].Size, largest, "%d: size", pesewas)
		expect.True(t, page[len(page)-1].To < page[0].From, "%d: %+v", pesewas, page)
	}
}

// The widths are those that gopdf measures, for common letters and others.
func TestWidths(t *testing.T) {
	d := begin(t)
	for _, bold := range []bool{false, true} {
		for _, text := range append([]string{"", "Akwaaba ₵5 Ɛyɛ", "GH₵ 1,234.50", "Привет", "a\u0301"}, strings.Split(string(Common), "")...) {
			for _, size := range []float64{8.5, 10, 30} {
				d.font(text, size, bold)
				want := must.Get(d.pdf.MeasureTextWidth(text))(t)
				expect.Equal(t, d.width(text, size, bold), want, "%q of size %v, bold %t", text, size, bold)
			}
		}
	}
	// The digits are of one width, so that columns of amounts align.
	for digit := range 10 {
		expect.Equal(t, d.width(string(rune('0'+digit)), 10, false), d.width("0", 10, false), "digit %d", digit)
	}
}

func TestFit(t *testing.T) {
	d := begin(t)
	for text, want := range map[string]string{"short": "short", "": "", "a\x00b": "ab"} {
		expect.Equal(t, d.Fit(Text{Size: 10, Text: text}, 100), want, "%q", text)
	}
	long := strings.Repeat("ɛ", 100)
	for _, width := range []float64{-1, 0, 1, 20, 50} {
		got := d.Fit(Text{Size: 10, Text: long}, width)
		expect.True(t, strings.HasSuffix(got, "…"), "%.0f wide: %q", width, got)
		expect.True(t, width <= 10 || d.width(got, 10, false) <= width, "%.0f wide: %q", width, got)
	}
}

// Every page repeats the table head, and no text is below the body.
func TestPages(t *testing.T) {
	draw := func() (*Document, []byte) {
		d := begin(t)
		head := func() {
			d.Line(Text{X: Left, Size: 8, Bold: true, Text: "HEAD"})
			d.Rule()
		}
		head()
		d.Head = head
		for range 150 {
			d.Room(12)
			d.Put(Text{X: Left, Size: 8, Text: "left ₵"})
			d.Line(Text{X: Right, Size: 8, Right: true, Soft: true, Text: "right"})
		}
		data := must.Get(d.Bytes())(t)
		return d, data
	}
	d, data := draw()
	if _, again := draw(); !bytes.Equal(data, again) {
		t.Error("made again, the bytes differ")
	}
	lines := 0
	for i, page := range d.Pages() {
		said := said(page)
		expect.Equal(t, said[0], "HEAD", "page %d: first", i+1)
		expect.True(t, !slices.Contains(said[1:], "HEAD"), "page %d: %q", i+1, said)
		lines += len(said) - 1
		for _, text := range d.pages[i].texts {
			expect.True(t, text.y+text.Size <= bottom, "page %d: %q stands at %.0f", i+1, text.Text, text.y)
		}
	}
	expect.Equal(t, lines, 300, "number of texts")
	expect.True(t, len(d.pages) >= 3, "%d texts on %d pages", lines, len(d.pages))
	if pdftotext, err := exec.LookPath("pdftotext"); err == nil {
		command := exec.Command(pdftotext, "-layout", "-", "-")
		command.Stdin = bytes.NewReader(data)
		out := must.Get(command.Output())(t)
		expect.Equal(t, strings.Count(string(out), "left ₵"), 150, "lines in the PDF")
		var feet []string
		for line := range strings.SplitSeq(string(out), "\n") {
			if strings.Contains(line, "Foot") {
				feet = append(feet, strings.TrimSpace(line))
			}
		}
		expect.Same(t, feet, []string{"Foot · page 1 of 3", "Foot · page 2 of 3", "Foot · page 3 of 3"}, "feet")
	}
}

// Only a text with a rare letter uses the whole font.
func TestRareLetters(t *testing.T) {
	for text, whole := range map[string]bool{"Akwaaba ₵5 Ɛyɛ": false, "ŋ Ŋ ɔ Ɔ … – €": false, "": false, "Привет": true, "你好": true} {
		d := must.Get(New(Info{}))(t)
		d.Line(Text{X: Left, Size: 10, Text: "Invoice"})
		d.Line(Text{X: Left, Size: 10, Text: text})
		data := must.Get(d.Bytes())(t)
		expect.Equal(t, bytes.Contains(data, []byte("/regular-whole")), whole, "%q: whole font", text)
	}
}

// A letter that neither font has shows as U+FFFD. One that the whole font has shows as itself.
func TestMissingLetters(t *testing.T) {
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("pdftotext is not installed")
	}
	d := begin(t)
	d.Line(Text{X: Left, Size: 10, Text: "Tea 你 Чай ₵ ɛ\u0303 ŋ"})
	data := must.Get(d.Bytes())(t)
	command := exec.Command(pdftotext, "-layout", "-", "-")
	command.Stdin = bytes.NewReader(data)
	out := must.Get(command.Output())(t)
	want := "Tea \uFFFD Чай ₵ ɛ\u0303 ŋ"
	expect.True(t, strings.Contains(string(out), want), "got %q, want %q in it", out, want)
}
