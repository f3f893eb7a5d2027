package provider_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
)

func phoneCharge(phone string) provider.Charge {
	now := time.Now()
	return provider.Charge{
		Order: provider.Order{ID: "pay_1", Amount: 1250, CreatedAt: now.Add(-time.Minute), SubmittedAt: now, Now: now, Attempts: 1},
		Phone: phone, Network: "mtn", Deadline: now.Add(10 * time.Minute),
	}
}

// A charge of a phone that waits says what the payer has to do, and when to ask again.
func TestSimulatedChargeWaits(t *testing.T) {
	const approve = "Approve the payment of GHS 12.50 on your phone."
	waits := func(prompt string, pollAfter time.Duration) provider.Result {
		return provider.Result{Outcome: provider.InProgress, Reference: "SIM-pay_1", Prompt: prompt, PollAfter: pollAfter}
	}
	asks := waits("Enter the code for the payment of GHS 12.50. In test mode it is 123456.", 0)
	asks.NeedsCode = true
	declined := func(why provider.Failure, message string, pollAfter time.Duration) provider.Result {
		return provider.Result{Outcome: provider.Refused, Reference: "SIM-pay_1", Reason: provider.Refusal{Message: message, Failure: why}, PollAfter: pollAfter}
	}
	paid := provider.Result{Outcome: provider.Paid, Reference: "SIM-pay_1"}
	for _, c := range []struct {
		digits   string
		after    time.Duration
		attempts int
		want     provider.Result
	}{
		{"0903", 0, 1, waits(approve, 0)},
		{"0903", 30 * 24 * time.Hour, 99, waits(approve, 0)},
		{"0904", 0, 1, waits(approve, 25*time.Second)},
		{"0904", 24 * time.Second, 3, waits(approve, time.Second)},
		{"0904", 25 * time.Second, 1, paid},
		{"0906", 0, 1, paid},
		{"0907", 0, 1, asks},
		{"0907", time.Hour, 9, asks},
		{"0909", 0, 1, waits(approve, 10*time.Minute)},
		{"0909", 10*time.Minute - time.Millisecond, 9, waits(approve, time.Millisecond)},
		{"0909", 10 * time.Minute, 9, declined(provider.FailureTimeout, "The payer did not answer in time.", 0)},
		{"0909", time.Hour, 9, declined(provider.FailureTimeout, "The payer did not answer in time.", 0)},
		{"0910", 0, 1, declined(provider.FailureDeclined, "The payer declined.", time.Minute)},
		{"0910", 59 * time.Second, 2, declined(provider.FailureDeclined, "The payer declined.", time.Second)},
		{"0910", time.Minute, 2, paid},
	} {
		charge := phoneCharge("+23324123" + c.digits)
		charge.Now, charge.Attempts = charge.Now.Add(c.after), c.attempts
		for name, call := range map[string]func(context.Context, provider.Charge) (provider.Result, error){
			"Charge": provider.Simulated{}.Charge, "ChargeStatus": provider.Simulated{}.ChargeStatus,
		} {
			result, err := call(t.Context(), charge)
			expect.NoError(t, err, "%s of %s after %s", name, c.digits, c.after)
			expect.Equal(t, result, c.want, "%s of %s after %s: result", name, c.digits, c.after)
		}
	}
	endless := phoneCharge("+233241230909")
	endless.Deadline = time.Time{}
	result, err := provider.Simulated{}.ChargeStatus(t.Context(), endless)
	must.Do(t, err)
	expect.Equal(t, result, waits(approve, 0), "0909 without a deadline: result")
	result, err = provider.Simulated{}.ConfirmCharge(t.Context(), phoneCharge("+233241230901"), "123456")
	must.Do(t, err)
	expect.Equal(t, result, declined(provider.FailureDeclined, "The payer declined.", 0), "a code for a charge that waits for none: result")
}

// A phone number decides alone: the payment method counts for charges without one.
func TestSimulatedChargeByPhoneOrMethod(t *testing.T) {
	for _, c := range []struct {
		phone, method string
		want, back    provider.Outcome
	}{
		{"", "pm_fail_0001", provider.Refused, provider.Paid},
		{"", "pm_0901", provider.Paid, provider.Paid},
		{"", "", provider.Paid, provider.Paid},
		{"", "pm_refund_slow_0911", provider.Paid, provider.InProgress},
		{"+233241234567", "pm_fail_1", provider.Paid, provider.Paid},
		{"+233241234567", "pm_refund_fail_1", provider.Paid, provider.Paid},
		{"+233241230901", "pm_1", provider.Refused, provider.Paid},
		{"+233241230911", "pm_1", provider.Paid, provider.Refused},
	} {
		charge := phoneCharge(c.phone)
		charge.PaymentMethod = c.method
		result, err := provider.Simulated{}.Charge(t.Context(), charge)
		expect.NoError(t, err, "%q, %q", c.phone, c.method)
		expect.Equal(t, result.Outcome, c.want, "%q, %q: outcome", c.phone, c.method)
		back := provider.Refund{Order: charge.Order, Charge: charge.ID, Phone: c.phone, PaymentMethod: c.method}
		result, err = provider.Simulated{}.Refund(t.Context(), back)
		expect.NoError(t, err, "a refund of %q, %q", c.phone, c.method)
		expect.Equal(t, result.Outcome, c.back, "a refund of %q, %q: outcome", c.phone, c.method)
	}
}

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
		} else if wait := (provider.Simulated{}).SubmitTransferAfter(o); wait > 0 {
			is = fmt.Sprintf("stays pending for %.0f seconds", wait.Seconds())
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
	expect.Equal(t, len(seen), 8, "outcomes %v", seen)
}

// The table of charges says in words what the charger does.
func TestSimulatedChargeCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range (provider.Simulated{}).ChargeCases() {
		digits := c.Digits
		if c.Digits == "other" {
			digits = "4567"
		}
		is := describeCharge(t, "+23324123"+digits)
		if c.Digits == "0908" {
			// The charger takes it, and the library refuses it before.
			expect.Equal(t, is, "succeeds at once, and is refunded at once", "%s: the charger", c.Digits)
			is = "is refused with " + string(api.TooManyPrompts) + " before the charger is asked"
		}
		expect.True(t, strings.HasPrefix(strings.ToLower(c.Answer), strings.ToLower(is)), "%s: the table says %q, the charger %s", c.Digits, c.Answer, is)
		seen[is] = true
	}
	expect.Equal(t, len(seen), 14, "outcomes %v", seen)
}

// describeCharge says what the simulated charger does with a charge of a phone number.
func describeCharge(t *testing.T, phone string) string {
	s, c := provider.Simulated{}, phoneCharge(phone)
	answers := func(c provider.Charge) provider.Result {
		result, err := s.ChargeStatus(t.Context(), c)
		expect.NoError(t, err, "%s: ChargeStatus", phone)
		return result
	}
	if wait := s.SubmitAfter(c); wait > 0 {
		return fmt.Sprintf("stays pending for %.0f seconds", wait.Seconds())
	}
	result, err := s.Charge(t.Context(), c)
	later := c
	later.Now = c.Now.Add(result.PollAfter)
	switch {
	case err != nil:
		later.Attempts++
		expect.Equal(t, answers(later).Outcome, provider.Paid, "%s: the second call", phone)
		return "does not answer the first call; the next one reports it paid"
	case result.NeedsCode:
		wrong, err1 := s.ConfirmCharge(t.Context(), c, "123457")
		right, err2 := s.ConfirmCharge(t.Context(), c, "123456")
		must.Do(t, err1)
		must.Do(t, err2)
		expect.Equal(t, wrong, result, "the codes: wrong")
		expect.Equal(t, right.Outcome, provider.Paid, "the codes: outcome")
		return "asks for a code: 123456 is right, any other is wrong"
	case result.Outcome == provider.Refused && result.PollAfter > 0:
		expect.Equal(t, answers(later).Outcome, provider.Paid, "%s: later", phone)
		return fmt.Sprintf("is declined: %s Is reported paid %.0f seconds later", result.Reason.Message, result.PollAfter.Seconds())
	case result.Outcome == provider.Refused:
		return "is declined: " + result.Reason.Message
	case result.PollAfter > 0 && answers(later).Outcome == provider.Refused:
		expect.True(t, later.Now.Equal(c.Deadline), "%s: declined at %s, the deadline is %s", phone, later.Now, c.Deadline)
		return "is declined at its deadline: " + answers(later).Reason.Message
	case result.PollAfter > 0:
		expect.Equal(t, answers(later).Outcome, provider.Paid, "%s: later", phone)
		return fmt.Sprintf("succeeds after %.0f seconds", result.PollAfter.Seconds())
	case result.Outcome == provider.InProgress:
		return "stays in progress"
	}
	r := provider.Refund{Order: c.Order, Charge: c.ID, Phone: c.Phone, Network: c.Network}
	result, err = s.Refund(t.Context(), r)
	switch {
	case err != nil:
		r.Attempts++
		result, err = s.RefundStatus(t.Context(), r)
		expect.NoError(t, err, "%s", phone)
		expect.Equal(t, result.Outcome, provider.Paid, "%s: the second call for a refund: outcome", phone)
		return "succeeds at once; a refund does not answer the first call, and the next one reports it paid"
	case result.Outcome == provider.Refused:
		return "succeeds at once; a refund is declined"
	case result.Outcome == provider.InProgress:
		return "succeeds at once; a refund stays in progress"
	}
	return "succeeds at once, and is refunded at once"
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
		expect.NoError(t, err, "%s after %s", c.digits, c.after)
		expect.Equal(t, result.Outcome, c.want, "%s after %s: outcome", c.digits, c.after)
	}
}
