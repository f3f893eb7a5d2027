package invoice_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

// The end of a period waits for the charges that end before it, and for their outcome until that is booked.
func TestAwaitsOutcome(t *testing.T) {
	s := newIssuer(t)
	start := s.now
	made := s.issue(invoice.IssueParams{
		PriceParams: invoice.PriceParams{Lines: []invoice.SubscriptionLine{planned(5)}}, Person: &account.Customer{Name: "Ama"}, Date: s.now,
		CollectionMethod: invoice.ChargeAutomatically, ChargedPhone: "+233241230901",
	})
	last := start.Add(5 * 24 * time.Hour)
	awaits := func(what string, end, since, want time.Time) {
		t.Helper()
		s.update(func(tx *engine.Tx) error {
			until, err := s.AwaitsCharge(tx, made.ID, end, since)
			expect.True(t, until.Equal(want), "%s: it waits until %s, want %s", what, until, want)
			return err
		})
	}
	end := last.Add(time.Second)
	awaits("a charge that is due", end, start, start.Add(time.Hour))
	awaits("charges that end with the period", last, start, time.Time{})
	s.update(func(tx *engine.Tx) error { return testkit.Err(s.Begin(t.Context(), tx, "invoice", made.ID)) })
	asked := payment.Ended{Payment: s.paymentsOf(made.ID)[0]}
	s.now = start.Add(time.Hour - time.Second)
	awaits("a payment under way", end, start, start.Add(time.Hour))
	s.now = start.Add(time.Hour)
	awaits("a payment without an outcome", end, start, time.Time{})
	asked.Status = payment.Failed
	s.update(func(tx *engine.Tx) error { return s.PaymentEnded(tx, &asked) })
	next := start.Add(24 * time.Hour)
	awaits("a charge that is planned", end, start, next.Add(time.Hour))
	s.now = next.Add(2 * time.Hour)
	awaits("a charge that was not made", end, next, time.Time{})
	asked.Status = payment.Completed
	s.update(func(tx *engine.Tx) error { return s.PaymentEnded(tx, &asked) })
	awaits("an outcome that is not booked", end, s.now, s.now.Add(time.Hour))
}
