package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/provider"
)

// The table in words says what the rail does.
func TestSimulatedCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range (provider.Simulated{}).Cases() {
		digits := c.Digits[:4]
		if c.Digits == "other" {
			digits = "4567"
		}
		now := time.Now()
		o := provider.Transfer{Order: provider.Order{ID: "po_1", CreatedAt: now, SubmittedAt: now, Now: now, Attempts: 1}, Number: "+23324123" + digits}
		var is string
		if refusal := (provider.Simulated{}).Check(t.Context(), o); refusal != nil {
			is = "refused with " + refusal.Error()
		} else if result, err := (provider.Simulated{}).Submit(t.Context(), o); err != nil {
			is = "does not answer"
		} else {
			is = map[provider.Outcome]string{
				provider.Paid: "succeeds at once", provider.InProgress: "stays in progress", provider.Refused: "fails with " + string(result.Reason.Code),
			}[result.Outcome]
			if result.PollAfter > 0 {
				is = "succeeds after " + result.PollAfter.String()[:2]
			}
		}
		is, _, _ = strings.Cut(is, ":")
		expect.True(t, strings.Contains(strings.ToLower(c.Answer), is), "%s: the table says %q, the rail %s", c.Digits, c.Answer, is)
		seen[is] = true
	}
	expect.Equal(t, len(seen), 7, "outcomes %v", seen)
}

// What the rail leaves open it decides by the clock or by the second question, or never.
func TestSimulatedRailDecidesLater(t *testing.T) {
	sent := time.Now()
	for _, c := range []struct {
		digits   string
		after    time.Duration
		attempts int
		want     provider.Outcome
	}{
		{"0903", 30 * 24 * time.Hour, 9, provider.InProgress},
		{"0904", 25*time.Second - time.Millisecond, 1, provider.InProgress},
		{"0904", 25 * time.Second, 1, provider.Paid},
		{"0905", time.Hour, 2, provider.Paid},
	} {
		o := provider.Order{ID: "po_1", CreatedAt: sent, SubmittedAt: sent, Now: sent.Add(c.after), Attempts: c.attempts}
		result, err := provider.Simulated{}.Status(t.Context(), provider.Transfer{Order: o, Number: "+23324123" + c.digits})
		expect.True(t, err == nil && result.Outcome == c.want, "%s after %s: %+v, %v, want %s", c.digits, c.after, result, err, c.want)
	}
}
