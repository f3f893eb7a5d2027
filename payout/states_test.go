package payout

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// The test repeats the state machine. The code must refuse every move that is missing here.
func TestTransferStates(t *testing.T) {
	allowed := map[[2]Status]bool{
		{Created, Pending}: true, {Created, Completed}: true, {Created, Cancelled}: true,
		{Pending, Processing}: true, {Pending, Cancelled}: true,
		{Processing, Succeeded}: true, {Processing, Completed}: true, {Processing, Failed}: true,
		{Succeeded, Failed}: true, {Completed, Failed}: true, // reversed
	}
	all := []Status{Created, Pending, Processing, Succeeded, Completed, Failed, Cancelled}
	for _, from := range all {
		for _, to := range all {
			r := record{Transfer: Transfer{Status: from}}
			entered := r.enter(to) == nil
			expect.Equal(t, entered, allowed[[2]Status{from, to}], "from %s to %s", from, to)
			want := map[bool]Status{true: to, false: from}[entered]
			expect.True(t, r.Status == want, "from %s to %s: it is %s", from, to, r.Status)
		}
		final := from == Succeeded || from == Completed || from == Failed || from == Cancelled
		expect.True(t, from.final() == final, "%s is final: %t", from, from.final())
	}
}
