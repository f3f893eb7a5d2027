package collect

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/payment"
)

// The test repeats the state machine. The code must refuse every move that is missing here.
func TestPaymentStates(t *testing.T) {
	allowed := map[[2]payment.Status]bool{
		{payment.Pending, payment.Processing}: true, {payment.Pending, payment.Failed}: true, {payment.Pending, payment.Cancelled}: true,
		{payment.Processing, payment.Completed}: true, {payment.Processing, payment.Failed}: true,
	}
	all := []payment.Status{payment.Pending, payment.Processing, payment.Completed, payment.Failed, payment.Cancelled}
	for _, from := range all {
		for _, to := range all {
			is := from
			entered := transitions.Enter("payment", &is, to) == nil
			expect.Equal(t, entered, allowed[[2]payment.Status{from, to}], "from %s to %s", from, to)
			want := map[bool]payment.Status{true: to, false: from}[entered]
			expect.Equal(t, is, want, "the status after %s to %s", from, to)
		}
	}
}
