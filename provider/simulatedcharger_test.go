package provider_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
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
	declined := func(message string, pollAfter time.Duration) provider.Result {
		return provider.Result{Outcome: provider.Refused, Reference: "SIM-pay_1", Reason: provider.Refusal{Message: message}, PollAfter: pollAfter}
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
		{"0909", 10 * time.Minute, 9, declined("The payer did not answer in time.", 0)},
		{"0909", time.Hour, 9, declined("The payer did not answer in time.", 0)},
		{"0910", 0, 1, declined("The payer declined.", time.Minute)},
		{"0910", 59 * time.Second, 2, declined("The payer declined.", time.Second)},
		{"0910", time.Minute, 2, paid},
	} {
		charge := phoneCharge("+23324123" + c.digits)
		charge.Now, charge.Attempts = charge.Now.Add(c.after), c.attempts
		for name, call := range map[string]func(context.Context, provider.Charge) (provider.Result, error){
			"Charge": provider.Simulated{}.Charge, "ChargeStatus": provider.Simulated{}.ChargeStatus,
		} {
			result, err := call(t.Context(), charge)
			expect.True(t, err == nil && result == c.want, "%s of %s after %s: %+v, %v, want %+v", name, c.digits, c.after, result, err, c.want)
		}
	}
	endless := phoneCharge("+233241230909")
	endless.Deadline = time.Time{}
	result, err := provider.Simulated{}.ChargeStatus(t.Context(), endless)
	expect.True(t, err == nil && result == waits(approve, 0), "0909 without a deadline: %+v, %v", result, err)
	result, err = provider.Simulated{}.ConfirmCharge(t.Context(), phoneCharge("+233241230901"), "123456")
	expect.True(t, err == nil && result == declined("The payer declined.", 0), "a code for a charge that waits for none: %+v, %v", result, err)
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
		expect.True(t, err == nil && result.Outcome == c.want, "%q, %q: %+v, %v, want %s", c.phone, c.method, result, err, c.want)
		back := provider.Refund{Order: charge.Order, Charge: charge.ID, Phone: c.phone, PaymentMethod: c.method}
		result, err = provider.Simulated{}.Refund(t.Context(), back)
		expect.True(t, err == nil && result.Outcome == c.back, "a refund of %q, %q: %+v, %v, want %s", c.phone, c.method, result, err, c.back)
	}
}
