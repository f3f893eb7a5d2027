package httpapi

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// A payer's page is small enough for a slow network.
func TestStyleSheetsStaySmall(t *testing.T) {
	var packed bytes.Buffer
	w := must.Get(gzip.NewWriterLevel(&packed, gzip.BestCompression))(t)
	must.Get(w.Write([]byte(pageStyle)))(t)
	must.Do(t, w.Close())
	for name, size := range map[string]struct{ is, most int }{
		"the payers' part": {len(payerStyle), 4500},
		"a payer's page":   {len(pageStyle), 9200}, "a payer's page, packed": {packed.Len(), 3000},
	} {
		t.Logf("%s: %d bytes", name, size.is)
		expect.True(t, size.is <= size.most, "%s has %d bytes of styles, and may have %d", name, size.is, size.most)
	}
}

// Every class that a template gives has a rule, so that a renamed one does not go unnoticed, and
// nothing needs a style outside of the sheet or a script.
func TestTemplatesUseTheSheet(t *testing.T) {
	classes := regexp.MustCompile(`class="([^"]*)"`)
	for _, entry := range must.Get(pageTemplates.ReadDir("pages"))(t) {
		text := string(must.Get(pageTemplates.ReadFile("pages/" + entry.Name()))(t))
		for _, bad := range []string{" style=", "<script", "onclick", "://"} {
			expect.True(t, !strings.Contains(text, bad), "%s holds %q", entry.Name(), bad)
		}
		for _, m := range classes.FindAllStringSubmatch(regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAllString(text, " "), -1) {
			for _, class := range strings.Fields(m[1]) {
				expect.True(t, regexp.MustCompile(`\.`+class+`\b`).MatchString(pageStyle), "%s: no rule for the class %s", entry.Name(), class)
			}
		}
	}
}
