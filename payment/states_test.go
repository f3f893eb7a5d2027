package payment

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// The test repeats the state machine. The code must refuse every move that is missing here.
func TestPaymentStates(t *testing.T) {
	allowed := map[[2]Status]bool{
		{Pending, Processing}: true, {Pending, Failed}: true, {Pending, Cancelled}: true,
		{Processing, Completed}: true, {Processing, Failed}: true,
	}
	all := []Status{Pending, Processing, Completed, Failed, Cancelled}
	for _, from := range all {
		for _, to := range all {
			r := record{Payment: Payment{Status: from}}
			entered := r.enter(to) == nil
			expect.Equal(t, entered, allowed[[2]Status{from, to}], "from %s to %s", from, to)
			want := map[bool]Status{true: to, false: from}[entered]
			expect.Equal(t, r.Status, want, "the status after %s to %s", from, to)
		}
	}
}
