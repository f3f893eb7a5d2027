package invoice

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// The state machine, written out once more: every move that is not here is
// refused.
func TestInvoiceStates(t *testing.T) {
	allowed := map[[2]Status]bool{
		{Draft, Open}: true, {Open, Paid}: true, {Open, Void}: true, {Open, Uncollectible}: true, {Uncollectible, Void}: true,
	}
	all := []Status{Draft, Open, Paid, Void, Uncollectible}
	for _, from := range all {
		for _, to := range all {
			r := record{Invoice: Invoice{Status: from}}
			entered := r.enter(to) == nil
			expect.True(t, entered == allowed[[2]Status{from, to}], "from %s to %s: %t", from, to, entered)
			want := map[bool]Status{true: to, false: from}[entered]
			expect.True(t, r.Status == want, "from %s to %s: it is %s", from, to, r.Status)
		}
	}
}
