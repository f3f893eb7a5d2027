package reference

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/seed-7082ffec/payments/internal/look"
)

var (
	// ownStyle has what the reference alone needs.
	//go:embed style.css
	ownStyle string

	// style is the sheet of all pages here. Of the consoles' sheet it has the rules that they use.
	style = look.Shared + used(look.Console, page+templatesText) + ownStyle
)

var (
	classAttribute = regexp.MustCompile(`class="([^"]*)"`)
	classSelector  = regexp.MustCompile(`\.([a-z][a-z0-9-]*)`)
)

// used returns the rules of a style sheet that can apply to a page: those with a selector all of whose
// classes the page has.
func used(sheet, page string) string {
	classes := map[string]bool{}
	for _, match := range classAttribute.FindAllStringSubmatch(page, -1) {
		for _, class := range strings.Fields(match[1]) {
			classes[class] = true
		}
	}
	return usedRules(sheet, classes)
}

func usedRules(sheet string, classes map[string]bool) string {
	var b strings.Builder
	for sheet = strings.TrimSpace(sheet); sheet != ""; sheet = strings.TrimSpace(sheet) {
		open := strings.IndexByte(sheet, '{')
		end := blockEnd(sheet, open)
		selector, body := strings.TrimSpace(sheet[:open]), sheet[open+1:end]
		sheet = sheet[end+1:]
		switch {
		case strings.HasPrefix(selector, "@media"), strings.HasPrefix(selector, "@container"):
			if body = usedRules(body, classes); body == "" {
				continue
			}
		case !canApply(selector, classes):
			continue
		}
		b.WriteString(selector + "{" + body + "}")
	}
	return b.String()
}

// blockEnd returns the place of the brace that closes the one at open.
func blockEnd(sheet string, open int) int {
	depth := 0
	for i := open; i < len(sheet); i++ {
		switch sheet[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	panic("reference: a block of the style sheet does not end") // it is embedded
}

func canApply(selector string, classes map[string]bool) bool {
	for part := range strings.SplitSeq(selector, ",") {
		all := true
		for _, match := range classSelector.FindAllStringSubmatch(part, -1) {
			all = all && classes[match[1]]
		}
		if all {
			return true
		}
	}
	return false
}
