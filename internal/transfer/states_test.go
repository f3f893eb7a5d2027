package transfer

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/payout"
)

// The test repeats the state machine. The code must refuse every move that is missing here.
func TestTransferStates(t *testing.T) {
	allowed := map[[2]payout.Status]bool{
		{payout.Created, payout.Pending}: true, {payout.Created, payout.Completed}: true, {payout.Created, payout.Cancelled}: true,
		{payout.Pending, payout.Processing}: true, {payout.Pending, payout.Cancelled}: true,
		{payout.Processing, payout.Succeeded}: true, {payout.Processing, payout.Completed}: true, {payout.Processing, payout.Failed}: true,
		{payout.Succeeded, payout.Failed}: true, {payout.Completed, payout.Failed}: true, // reversed
	}
	all := []payout.Status{payout.Created, payout.Pending, payout.Processing, payout.Succeeded, payout.Completed, payout.Failed, payout.Cancelled}
	for _, from := range all {
		for _, to := range all {
			is := from
			entered := transitions.Enter("payout", &is, to) == nil
			expect.Equal(t, entered, allowed[[2]payout.Status{from, to}], "from %s to %s", from, to)
			want := map[bool]payout.Status{true: to, false: from}[entered]
			expect.Equal(t, is, want, "the status after %s to %s", from, to)
		}
		ended := from == payout.Succeeded || from == payout.Completed || from == payout.Failed || from == payout.Cancelled
		expect.Equal(t, final(from), ended, "%s is final", from)
	}
}
