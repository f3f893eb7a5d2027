package spreadsheet_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seed-7082ffec/payments/internal/spreadsheet"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// Any end of a line is one, also if it comes in pieces, and after the mark of UTF-8.
func TestReaderKnowsLineEnds(t *testing.T) {
	for _, mark := range []string{"", spreadsheet.Mark} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			text := mark + strings.Join([]string{"name,amount", `"Esi, Accra`, `Osu",5`, "Ama,6", ""}, end)
			for name, r := range map[string]*spreadsheet.Reader{
				"whole": spreadsheet.NewReader(strings.NewReader(text)), "in bytes": spreadsheet.NewReader(iotest.OneByteReader(strings.NewReader(text))),
			} {
				r.ReuseRecord = false
				all := must.Get(r.ReadAll())(t)
				expect.Same(t, all, [][]string{{"name", "amount"}, {"Esi, Accra\nOsu", "5"}, {"Ama", "6"}}, "%q, %s", text, name)
			}
		}
	}
	r := spreadsheet.NewReader(strings.NewReader("a\n\"x\ry\"\n"))
	must.Get(r.Read())(t)
	expect.Equal(t, must.Get(r.Read())(t)[0], "x\ry", "a CR within a cell, where lines end with LF")
}

func TestReaderNamesSeparator(t *testing.T) {
	for text, want := range map[string]rune{
		"a,b\n": 0, "a\n": 0, "": 0, "a b_c-d\n": 0, `"a","b;c"`: 0,
		"a;b\n1;2,3\n": ';', "a\tb\n": '\t', "a|b\r": '|', `"a";"b"` + "\n": ';', "a^b\n": '^',
	} {
		r := spreadsheet.NewReader(strings.NewReader(text))
		_, _ = r.Read()
		expect.Equal(t, r.Separator(), want, "%q", text)
	}
}
