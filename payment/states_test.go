package payment

import (
	"slices"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// A payment enters a status from those of its table alone, and leaves no final one.
func TestPaymentStates(t *testing.T) {
	all := []Status{Pending, Processing, Completed, Failed, Cancelled}
	for _, from := range all {
		for _, to := range all {
			r := record{Payment: Payment{Status: from}}
			allowed := slices.Contains(transitions[to], from)
			final := from == Completed || from == Failed || from == Cancelled
			expect.True(t, !final || !allowed, "%s becomes %s", from, to)
			expect.Equal(t, r.enter(to) == nil, allowed, "%s enters %s", from, to)
			if want := from; !allowed {
				expect.Equal(t, r.Status, want, "%s, after %s was refused", from, to)
			}
		}
	}
}
