package house_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// rows are the packages of the library, the highest first. A package imports those of lower
// rows, and of its own row those to which arrows lead. A path that ends in /... stands for
// the packages under it.
var rows = [][]string{
	{"examples/..."},
	{"httpapi", "httpapi/...", "otelpayments"},
	{"internal/look"},
	{"payments"},
	{"internal/providers", "internal/erasure", "internal/outbox"},
	{"provider/..."}, // adapters
	{
		"checkout", "subscription", "invoice", "refund", "webhook", "disbursement", "payout", "qrcode", "payment", "account", "catalog",
	},
	{"message", "event"}, // records that other nouns write
	{"internal/dispatch"},
	{"provider"},
	{"internal/retention", "internal/totals"},
	{"internal/engine"},
	{"internal/work", "internal/ledger", "internal/pii"},
	{"internal/check", "internal/fee", "internal/lookup", "internal/otp", "internal/pace", "internal/spreadsheet", "internal/transfer"},
	{"api"},
	{"storage/memory", "storage/sqlite", "storage/postgres"},
	{"storage/internal/sqlstore"},
	{"storage/internal/..."},
	{"storage"},
	{
		"internal/document", "internal/httpcall", "internal/ids", "internal/money", "internal/phone", "internal/pin", "internal/plainjson",
		"internal/retry", "internal/signature",
	},
}

// arrows are the imports within a row.
var arrows = map[string][]string{
	"httpapi/inspector": {"httpapi"},
	"httpapi/reference": {"httpapi"},

	"provider/arkesel/arkeseltest": {"provider/smstest"},
	"provider/hubtel/hubteltest":   {"provider/smstest"},

	"checkout":     {"subscription"},
	"subscription": {"invoice", "payment", "catalog"},
	"invoice":      {"payment", "catalog"},
	"refund":       {"invoice", "payment"},
	"disbursement": {"payout", "qrcode"},
	"qrcode":       {"payment"},
	"payment":      {"account"},
	"payout":       {"account"},

	"internal/otp": {"internal/pace"},
}

// support are the packages of tests. They import any, and are imported by each other, by
// tests and by examples.
var support = []string{
	"internal/expect", "httpapi/paymentstest", "provider/railtest", "provider/chargertest", "storage/storagetest", "storage/postgres/pgtest",
	"internal/apidocs", "internal/benchbase", "internal/browsertest", "internal/conformance", "internal/contract", "internal/crash", "internal/document/gen", "internal/effort", "internal/faults", "internal/faultstore",
	"internal/fixtures", "internal/house", "internal/httpload", "internal/lifebench", "internal/must", "internal/mutation", "internal/openapitest", "internal/pgbin", "internal/race",
	"internal/smssuite",
	"internal/testkit", "internal/simulation", "internal/testhook",
}

// row returns the row in which a package stands, or -1.
func row(path string) int {
	found := -1
	for i, packages := range rows {
		if slices.Contains(packages, path) {
			return i
		}
		for _, p := range packages {
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
	own, _ := all(t)
	var breaches []string
	for _, p := range own {
		from := p.short()
		if slices.Contains(support, from) {
			continue
		}
		expect.True(t, row(from) >= 0, "%s stands in no row: add it to rows, or to support", from)
		for _, path := range p.Imports {
			if path != module && !strings.HasPrefix(path, module+"/") {
				continue
			}
			to := short(path)
			down := row(from) < row(to) || row(from) == row(to) && leads(from, to)
			if slices.Contains(support, to) {
				down = strings.HasPrefix(from, "examples/")
			}
			if !down {
				breaches = append(breaches, fmt.Sprintf("%s imports %s", from, to))
			}
		}
	}
	slices.Sort(breaches)
	compare(t, "imports.txt", "imports run down only", breaches)
}
