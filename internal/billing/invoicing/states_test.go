package invoicing

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/invoice"
)

// The state machine, written out once more: every move that is not here is
// refused.
func TestInvoiceStates(t *testing.T) {
	allowed := map[[2]invoice.Status]bool{
		{invoice.Draft, invoice.Open}: true, {invoice.Open, invoice.Paid}: true, {invoice.Open, invoice.Void}: true,
		{invoice.Open, invoice.Uncollectible}: true, {invoice.Uncollectible, invoice.Void}: true,
	}
	all := []invoice.Status{invoice.Draft, invoice.Open, invoice.Paid, invoice.Void, invoice.Uncollectible}
	for _, from := range all {
		for _, to := range all {
			is := from
			entered := transitions.Enter("invoice", &is, to) == nil
			expect.Equal(t, entered, allowed[[2]invoice.Status{from, to}], "from %s to %s", from, to)
			want := map[bool]invoice.Status{true: to, false: from}[entered]
			expect.Equal(t, is, want, "the status after %s to %s", from, to)
		}
	}
}
