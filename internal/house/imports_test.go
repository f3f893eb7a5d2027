package house_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

var update = flag.Bool("update", false, "write the picture of the packages into docs/architecture.md")

// story is a row of packages, with what they are.
type story struct {
	what     string
	packages []string
}

// rows are the packages of the library, the highest first. A package imports those of lower
// rows, and of its own row those to which arrows lead. A path that ends in /... stands for
// the packages under it.
var rows = []story{
	{"", []string{"examples/..."}},
	{"HTTP", []string{"httpapi", "httpapi/...", "otelpayments"}},
	{"the look of all pages", []string{"internal/look"}},
	{"the wiring: Config, New, Start, InTx", []string{"payments"}},
	{"a person's data leaves every copy", []string{"internal/erasure"}},
	{domainsRow, []string{
		"internal/session", "internal/refunding", "internal/billing/subscribing", "internal/billing/invoicing", "internal/billing/offering",
		"internal/transfer", "internal/collect/scanning", "internal/collect", "internal/orders", "internal/party",
		"internal/notify/delivering", "internal/notify/messaging", "internal/notify/recording",
	}},
	{"adapters of providers", []string{"provider/..."}},
	{facesRow, []string{
		"checkout", "disbursement", "refund", "subscription", "webhook", "invoice", "qrcode", "payout", "payment", "account", "catalog",
		"event", "message",
	}},
	{"classes of errors", []string{"internal/classed"}},
	{"what a payment provider must be", []string{"provider"}},
	{"removal by age, daily totals", []string{"internal/retention", "internal/totals"}},
	{"a call is a transaction", []string{"internal/engine"}},
	{"due work, ledger, personal data, upgrade", []string{"internal/work", "internal/ledger", "internal/pii", "internal/upgrade"}},
	{"small rules", []string{"internal/check", "internal/fee", "internal/lookup", "internal/otp", "internal/pace", "internal/spreadsheet", "internal/status"}},
	{"Caller, Error, List, GHS", []string{"api"}},
	{"databases", []string{"storage/memory", "storage/sqlite", "storage/postgres"}},
	{"what the two SQL databases share", []string{"storage/internal/sqlstore"}},
	{"stored declarations of kinds", []string{"storage/internal/..."}},
	{"the contract of databases", []string{"storage"}},
	{"small packages", []string{
		"internal/document", "internal/httpcall", "internal/ids", "internal/money", "internal/phone", "internal/pin", "internal/plainjson",
		"internal/retry", "internal/signature",
	}},
}

// arrows are the imports within a row.
var arrows = map[string][]string{
	"httpapi/inspector": {"httpapi"},
	"httpapi/reference": {"httpapi"},

	"checkout":     {"account", "catalog", "invoice", "payment"},
	"subscription": {"account", "catalog", "invoice"},
	"invoice":      {"account", "catalog", "payment"},
	"disbursement": {"payout"},
	"qrcode":       {"account", "payment"},
	"payment":      {"account"},
	"payout":       {"account"},
	"webhook":      {"event"},

	"internal/session":             {"internal/billing/subscribing"},
	"internal/billing/subscribing": {"internal/billing/invoicing"},
	"internal/refunding":           {"internal/billing/invoicing"},
	"internal/billing/invoicing":   {"internal/billing/offering", "internal/collect"},
	"internal/billing/offering":    {"internal/notify/recording"},
	"internal/transfer":            {"internal/collect/scanning"},
	"internal/collect/scanning":    {"internal/collect"},
	"internal/collect":             {"internal/orders"},
	"internal/orders":              {"internal/party"},
	"internal/party":               {"internal/notify/messaging", "internal/notify/recording"},
	"internal/notify/delivering":   {"internal/notify/recording"},

	"internal/otp":      {"internal/pace"},
	"internal/document": {"internal/money"},
}

// support are the packages for tests: the module's own in internal/test, the test suites for
// hosts, and two tools. They import any package. Only tests, examples and each other import them.
var support = []string{
	"internal/test/*", "internal/house", "internal/document/gen",
	"httpapi/paymentstest", "provider/*test", "provider/*/*test", "storage/storagetest", "storage/postgres/pgtest",
}

// supports reports whether a package is for tests.
func supports(name string) bool {
	return slices.ContainsFunc(support, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// row returns the row in which a package stands, or -1.
func row(path string) int {
	found := -1
	for i, r := range rows {
		if slices.Contains(r.packages, path) {
			return i
		}
		for _, p := range r.packages {
			if under, ok := strings.CutSuffix(p, "..."); ok && strings.HasPrefix(path, under) && found < 0 {
				found = i
			}
		}
	}
	return found
}

// leads reports whether arrows lead from one package of a row to another.
func leads(from, to string) bool {
	for _, next := range arrows[from] {
		if next == to || leads(next, to) {
			return true
		}
	}
	return false
}

// TestImportsRunDown checks that no package imports one that stands above it.
func TestImportsRunDown(t *testing.T) {
	own := all(t)
	var breaches []string
	for _, p := range own {
		from := p.short()
		if supports(from) {
			continue
		}
		expect.True(t, row(from) >= 0, "%s stands in no row: add it to rows, or to support", from)
		for _, to := range p.own() {
			down := row(from) < row(to) || row(from) == row(to) && leads(from, to)
			if !down && !supports(to) {
				breaches = append(breaches, fmt.Sprintf("%s imports %s", from, to))
			}
		}
	}
	slices.Sort(breaches)
	compare(t, "imports.txt", "imports run down only", breaches)
}

// TestProductImportsNoTestSupport checks that no test support comes with the library: of the
// code that is no test, only examples and test support import any.
func TestProductImportsNoTestSupport(t *testing.T) {
	own := all(t)
	found := 0
	for _, p := range own {
		from := p.short()
		if supports(from) {
			found++
			continue
		}
		if strings.HasPrefix(from, "examples/") {
			continue
		}
		for _, to := range p.own() {
			expect.True(t, !supports(to), "%s imports %s, which is for tests only", from, to)
		}
	}
	expect.True(t, found > len(support), "found %d packages for tests only", found)
}

// The rows of faces, which hold only what hosts see, and of the domains, which make what the faces describe.
const (
	facesRow   = "faces: what hosts see of a resource"
	domainsRow = "domains: what faces promise"
)

// in reports whether a package stands in the row of that name.
func in(name, path string) bool { i := row(path); return i >= 0 && rows[i].what == name }

// TestFacesHoldNoWork checks that no face can reach records or transactions.
func TestFacesHoldNoWork(t *testing.T) {
	leaves := []string{"api", "provider", "internal/check", "internal/money", "internal/spreadsheet"}
	own := all(t)
	found := 0
	for _, p := range own {
		from := p.short()
		if !in(facesRow, from) {
			continue
		}
		found++
		for _, to := range p.own() {
			expect.True(t, slices.Contains(leaves, to) || in(facesRow, to), "%s is a face, and imports %s", from, to)
		}
	}
	expect.Equal(t, found, 13, "faces")
}

// TestDomainsAreBehindFaces checks that only the wiring, the erasure of people, and domains import a domain.
func TestDomainsAreBehindFaces(t *testing.T) {
	above := []string{"payments", "internal/erasure"}
	own := all(t)
	for _, p := range own {
		from := p.short()
		if supports(from) || slices.Contains(above, from) || in(domainsRow, from) {
			continue
		}
		for _, to := range p.own() {
			expect.True(t, !in(domainsRow, to), "%s imports the domain %s", from, to)
		}
	}
}

// The lines of docs/architecture.md between which the picture stands.
const (
	pictureBegins = "<!-- go test ./internal/house -run TestPicture -update -->\n"
	pictureEnds   = "<!-- end of the picture -->\n"
)

// picture draws the rows, with the packages that are there, and the arrows within rows.
func picture(own []pkg) string {
	var b strings.Builder
	b.WriteString("```\n")
	for i, r := range rows {
		var names []string
		for _, p := range own {
			if name := p.short(); !supports(name) && p.Name != "main" && row(name) == i {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(x, y string) int { return place(r, x) - place(r, y) })
		const width = 74
		line := ""
		what := r.what
		flush := func() {
			fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-*s  %s", width, line, what), " "))
			line, what = "", ""
		}
		for _, name := range names {
			if line != "" && len(line)+3+len(name) > width {
				flush()
			}
			if line != "" {
				line += "   "
			}
			line += name
		}
		if line != "" {
			flush()
		}
	}
	b.WriteString("```\n\nWithin a row:")
	var from []string
	for name := range arrows {
		from = append(from, name)
	}
	slices.Sort(from)
	for i, name := range from {
		end := ";"
		if i == len(from)-1 {
			end = "."
		}
		fmt.Fprintf(&b, "\n`%s` → `%s`%s", name, strings.Join(arrows[name], "`, `"), end)
	}
	return b.String() + "\n"
}

// place is where a package stands in its row; those that ... stands for come last.
func place(r story, name string) int {
	if i := slices.Index(r.packages, name); i >= 0 {
		return i
	}
	return len(r.packages)
}

// TestPicture checks that docs/architecture.md draws the packages as they are.
func TestPicture(t *testing.T) {
	own := all(t)
	const file = "../../docs/architecture.md"
	text := string(must.Get(os.ReadFile(file))(t))
	before, rest, begins := strings.Cut(text, pictureBegins)
	was, after, ends := strings.Cut(rest, pictureEnds)
	must.True(t, begins && ends, "%s has no place for the picture", file)
	is := picture(own)
	if *update {
		must.Do(t, os.WriteFile(file, []byte(before+pictureBegins+is+pictureEnds+after), 0o644))
		return
	}
	expect.Same(t, was, is, "the picture of the packages; write it with -update")
}
