package payout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/payout"
)

// The table in words says what the rail does.
func TestSimulatedCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range (payout.Simulated{}).Cases() {
		digits := c.Digits[:4]
		if c.Digits == "other" {
			digits = "4567"
		}
		now := time.Now()
		o := payout.Order{ID: "po_1", Number: "+23324123" + digits, CreatedAt: now, SubmittedAt: now, Now: now, Asked: 1}
		var is string
		if refusal := (payout.Simulated{}).Check(t.Context(), o); refusal != nil {
			is = "refused with " + refusal.Error()
		} else if result, err := (payout.Simulated{}).Submit(t.Context(), o); err != nil {
			is = "does not answer"
		} else {
			is = map[payout.Outcome]string{
				payout.Paid: "succeeds at once", payout.InProgress: "stays in progress", payout.Refused: "fails with " + string(result.Reason.Code),
			}[result.Outcome]
			if result.Again > 0 {
				is = "succeeds after " + result.Again.String()[:2]
			}
		}
		is, _, _ = strings.Cut(is, ":")
		if !strings.Contains(strings.ToLower(c.Answer), is) {
			t.Errorf("%s: the table says %q, the rail %s", c.Digits, c.Answer, is)
		}
		seen[is] = true
	}
	if len(seen) != 7 {
		t.Errorf("outcomes %v", seen)
	}
}
