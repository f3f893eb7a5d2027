package inspector

import (
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// Every class that the template gives has a rule, and nothing needs a style outside of the sheet, a
// script inside of a page, or another origin.
func TestTheTemplateUsesTheSheet(t *testing.T) {
	sheet := look.Shared + look.Console
	for _, bad := range []string{" style=", "<script>", "onclick", "://"} {
		expect.True(t, !strings.Contains(pageHTML, bad), "the template holds %q", bad)
	}
	plain := regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAllString(pageHTML, " ")
	for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(plain, -1) {
		for _, class := range strings.Fields(m[1]) {
			if class != "t-" { // whose end is the tone
				expect.True(t, regexp.MustCompile(`\.`+class+`\b`).MatchString(sheet), "no rule for the class %s", class)
			}
		}
	}
}

// The menu names pages that there are, and every list is in it.
func TestTheMenuIsWhole(t *testing.T) {
	named := map[string]bool{"search": true}
	for _, g := range navigation {
		for _, e := range g.Entries {
			named[e.Path] = true
			expect.True(t, pages[e.Path] != nil, "there is no page %q", e.Path)
		}
	}
	for path := range pages {
		expect.True(t, named[strings.TrimSuffix(path, "/*")], "%q is not in the menu", path)
	}
}

func TestValuesOnPages(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{cedis(-352), `<span class="money">−<span class="unit">GH₵</span>3.52</span>`},
		{id("<b>"), `<span class="id">&lt;b&gt;</span>`},
		{"one\r\n<two>", "one<br>&lt;two&gt;"},
		{state("completed"), `<span class="badge good">Completed</span>`},
		{state("strange"), `<span class="badge neutral">Strange</span>`},
		{badge{}, ""},
		{(*int64)(nil), ""},
		{nil, ""},
	} {
		expect.Equal(t, string(value(c.value)), c.want, "%#v", c.value)
	}
	expect.Equal(t, string(sentence("<%s>", "a&b")), "&lt;a&amp;b&gt;", "a sentence")
	expect.Equal(t, len(facts("Name", "Ama", "Phone", "", "Fee", (*int64)(nil), "Invoice", link{})), 1, "facts without a value")
}
