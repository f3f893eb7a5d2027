package paystacktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Statement returns all orders that have ended as comma-separated values, for provider.CSV: with
// Paystack's references, amounts and fees in GHS. A refund has the id that stands in its note.
func (f *Fake) Statement() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	b.WriteString("Reference,Amount,Status,Fee,Type\n")
	row := func(reference string, pesewas int64, status string, fee int64, kind string) {
		fmt.Fprintf(&b, "%s,%s,%s,%s,%s\n", reference, cedis(pesewas), status, cedis(fee), kind)
	}
	for _, reference := range slices.Sorted(maps.Keys(f.transfers)) {
		switch o := f.transfers[reference]; o.status {
		case "success":
			row(reference, o.amount, o.status, o.fee(), "transfer")
		case "failed", "abandoned", "reversed":
			row(reference, o.amount, o.status, 0, "transfer")
		}
	}
	for _, reference := range slices.Sorted(maps.Keys(f.transactions)) {
		switch o := f.transactions[reference]; o.status {
		case "success", "reversed":
			row(reference, o.amount, o.status, o.fee(), "charge")
		case "failed":
			row(reference, o.amount, o.status, 0, "charge")
		}
	}
	for _, r := range f.refunds {
		if r.status == "processed" || r.status == "failed" {
			row(r.note, r.amount, r.status, 0, "refund")
		}
	}
	return b.String()
}

func cedis(pesewas int64) string { return fmt.Sprintf("%d.%02d", pesewas/100, pesewas%100) }
