package ids

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// Every id has one text in base 36, without upper case, and the text leads back to the id.
func TestBase36(t *testing.T) {
	source := New(time.Now, nil)
	all := []string{"po_" + strings.Repeat("0", Length), "pay_" + strings.Repeat("z", Length), "att_0000000000000000000001"}
	for range 500 {
		all = append(all, source.Make("po_"), source.Make("re_"))
	}
	seen := map[string]bool{}
	for _, id := range all {
		text, ok := ToBase36(id)
		must.True(t, ok, "%s is refused", id)
		prefix, _, _ := strings.Cut(id, "_")
		expect.True(t, text == strings.ToLower(text) && len(text) == len(prefix)+1+base36Chars && !seen[text], "%s becomes %s", id, text)
		seen[text] = true
		back, ok := FromBase36(text)
		expect.True(t, ok && back == id, "%s becomes %s, then %s", id, text, back)
	}
	last, _ := ToBase36("po_" + strings.Repeat("z", Length))
	for _, bad := range []string{
		"", "po", "po_", "po_1", "po_000000000000000000000-", "po_00000000000000000000000", "PO_0000000000000000000000",
		"_0000000000000000000000", "po-0000000000000000000000", "longprefix_0000000000000000000000",
	} {
		_, ok := ToBase36(bad)
		expect.True(t, !ok, "%q passes", bad)
	}
	for _, bad := range []string{
		"", "po", "po-", "po-1", "po_" + strings.Repeat("0", 26), "po-" + strings.Repeat("z", 26), "po-+" + strings.Repeat("0", 25),
		"po--" + strings.Repeat("0", 25), "-" + strings.Repeat("0", 26), strings.ToUpper(last), "po-" + strings.ToUpper(last[3:]), last + "0",
	} {
		id, ok := FromBase36(bad)
		expect.True(t, !ok, "%q passes as %s", bad, id)
	}
}
