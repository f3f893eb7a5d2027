package chargertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The simulated charger of test mode keeps all promises that need no memory. It does not remember
// which charges and refunds it has seen and which codes it has got, so it skips five checks.
func TestSimulated(t *testing.T) {
	needMemory := map[string]bool{
		"charge: an unknown order": true, "refund: an unknown order": true, "charge: the state after a code": true,
		"refund: more than the charge": true, "refund: of a refused charge": true,
	}
	phone := func(digits string) Payer { return Payer{Phone: "+23324123" + digits, Network: "mtn"} }
	method := func(m string) Payer { return Payer{PaymentMethod: m} }
	for name, r := range map[string]Rig{
		"method": {
			Charger: provider.Simulated{}, Paid: method("pm_1"), Refused: method("pm_fail_1"),
			RefundRefused: method("pm_refund_fail_1"), RefundSlow: method("pm_refund_slow_1"),
		},
		"phone": {
			Charger: provider.Simulated{}, Paid: phone("0000"), Refused: phone("0901"), Slow: phone("0903"),
			RefundRefused: phone("0911"), RefundSlow: phone("0912"), NeedsCode: phone("0907"), Code: "123456",
		},
	} {
		for _, c := range checks {
			if needMemory[c.Name] {
				continue
			}
			t.Run(name+"/"+c.Name, func(t *testing.T) { expect.NoError(t, c.Run(t, &r), "run") })
		}
	}
}

func TestAGoodCharger(t *testing.T) {
	conformance.TestComplete(t, checks, func() *Rig { return phoneRig("") })
	t.Run("phone", func(t *testing.T) { Run(t, func(*testing.T) Rig { return *phoneRig("") }) })
	t.Run("method", func(t *testing.T) { Run(t, func(*testing.T) Rig { return *rig("") }) })
}

// A charger with a fault fails the checks that must find it.
func TestBadChargers(t *testing.T) {
	faults := map[string]conformance.Fault[*Rig]{}
	for fault, found := range map[string][]string{
		"moves twice":                      {"submitted twice", "submitted by many", "a lost answer"},
		"refuses repetitions":              {"submitted twice", "submitted by many", "a lost answer"},
		"moves when asked":                 {"an unknown order"},
		"moves though cancelled":           {"a cancelled context"},
		"pays what it refused":             {"a refused order"},
		"refuses the unknown":              {"an unknown order", "a lost request"},
		"takes orders alike for one":       {"two orders alike"},
		"takes loss for no":                {"a lost request", "a lost answer", "a cancelled context", "a status that gets lost"},
		"quotes payers":                    {"a lost request", "a lost answer", "a cancelled context", "a status that gets lost"},
		"quotes its key":                   {"a lost request", "a lost answer"},
		"rounds the amount":                {"what the provider is told"},
		"reports cedis":                    {"a paid order"},
		"has a reference for each attempt": {"submitted twice", "submitted by many", "a lost answer"},
		"has a reference for each moment":  {"submitted twice", "a lost answer"},
		"remembers the last order only":    {"two orders alike"},
		"refuses without words":            {"a refused order"},
		"refuses by code only":             {"a refused order"},
		"quotes payers in refusals":        {"a refused order"},
		"guesses":                          {"a slow order"},
		"forgets":                          {"a paid order"},
	} {
		for _, flow := range []string{"charge: ", "refund: "} {
			prefixed := make([]string, len(found))
			for i, name := range found {
				prefixed[i] = flow + name
			}
			faults[flow+fault] = conformance.Fault[*Rig]{Open: func() *Rig { return rig(flow + fault) }, Found: prefixed}
			faults["phone, "+flow+fault] = conformance.Fault[*Rig]{Open: func() *Rig { return phoneRig(flow + fault) }, Found: prefixed}
		}
	}
	for fault, found := range map[string][]string{
		"refund: pays anything":                {"refund: more than the charge", "refund: of a refused charge"},
		"refund: pays all of a charge at once": {"refund: several of one charge"},
		"charge: takes back what is refunded":  {"refund: leaves its charge paid"},
		"charge: has a name that is none":      {"charge: the name of the provider"},
		"charge: changes its name":             {"charge: the name of the provider"},
	} {
		faults[fault] = conformance.Fault[*Rig]{Open: func() *Rig { return rig(fault) }, Found: found}
	}
	for fault, found := range map[string][]string{
		"takes any code":                   {"a code", "the state after a code"},
		"refuses a wrong code":             {"a code", "the state after a code"},
		"takes a code twice":               {"a code", "a code with a lost answer"},
		"refuses a code twice":             {"a code", "a code with a lost answer"},
		"forgets the code":                 {"the state after a code", "a code with a lost answer"},
		"takes loss for no":                {"a code with a lost request", "a code with a lost answer"},
		"quotes payers":                    {"a code with a lost request", "a code with a lost answer"},
		"gives up early":                   {"waits until its deadline"},
		"gives up by its own clock":        {"waits until its deadline"},
		"gives up after attempts":          {"waits until its deadline"},
		"asks the paid for a code":         {"a paid order"},
		"prompts at length":                {"a slow order", "a code"},
		"prompts with the number":          {"a slow order", "a code"},
		"prompts with the national number": {"a slow order", "a code"},
		"has the number as its reference":  {"a paid order", "a slow order", "a refused order"},
		"groups the number in refusals":    {"a refused order"},
		"quotes the e-mail address":        {"a refused order"},
	} {
		prefixed := make([]string, len(found))
		for i, name := range found {
			prefixed[i] = "charge: " + name
		}
		faults["phone alone, "+fault] = conformance.Fault[*Rig]{Open: func() *Rig { return phoneRig("charge: " + fault) }, Found: prefixed}
	}
	faults["asks for codes and takes none"] = conformance.Fault[*Rig]{Open: func() *Rig {
		r := phoneRig("")
		r.Charger = struct{ provider.Charger }{r.Charger}
		return r
	}, Found: []string{"charge: a code"}}
	conformance.TestFaults(t, checks, faults)
}

// notes keeps what a charger is told.
type notes struct {
	*fake
	charges []provider.Charge
	refunds []provider.Refund
}

func (n *notes) Charge(ctx context.Context, c provider.Charge) (provider.Result, error) {
	n.charges = append(n.charges, c)
	return n.fake.Charge(ctx, c)
}

func (n *notes) Refund(ctx context.Context, r provider.Refund) (provider.Result, error) {
	n.refunds = append(n.refunds, r)
	return n.fake.Refund(ctx, r)
}

// A charger is told what the library tells it: of phones, or of payment methods.
func TestWhatTheChargerIsTold(t *testing.T) {
	told := func(r *Rig) (provider.Charge, provider.Refund) {
		n := &notes{fake: r.Charger.(*fake)}
		r.Charger = n
		for _, c := range refundChecks {
			if c.Name == "refund: leaves its charge paid" {
				expect.NoError(t, c.Run(t, r), "run")
			}
		}
		return n.charges[0], n.refunds[0]
	}
	c, back := told(phoneRig(""))
	expect.True(t, strings.HasPrefix(c.ID, "pay_"), "a charge of a phone: %+v", c)
	expect.Equal(t, c.Phone, "+233241234561", "a charge of a phone: phone")
	expect.Equal(t, c.Network, "mtn", "a charge of a phone: network")
	expect.True(t, c.Email != "", "a charge of a phone: %+v", c)
	expect.True(t, c.Description != "", "a charge of a phone: %+v", c)
	expect.True(t, c.Deadline.After(c.Now), "a charge of a phone: %+v", c)
	expect.Equal(t, c.PaymentMethod, "", "a charge of a phone: payment method")
	expect.Equal(t, c.Invoice, "", "a charge of a phone: invoice")
	expect.Equal(t, back.Charge, c.ID, "its refund: charge")
	expect.Equal(t, back.Payment, c.ID, "its refund: payment")
	expect.Equal(t, back.Phone, c.Phone, "its refund: phone")
	expect.Equal(t, back.Network, c.Network, "its refund: network")
	expect.Equal(t, back.PaymentMethod, "", "its refund: payment method")
	c, back = told(rig(""))
	expect.True(t, strings.HasPrefix(c.ID, "att_"), "a charge of a payment method: %+v", c)
	expect.Equal(t, c.Phone, "", "a charge of a payment method: phone")
	expect.Equal(t, c.Network, "", "a charge of a payment method: network")
	expect.True(t, c.Deadline.IsZero(), "a charge of a payment method: %+v", c)
	expect.True(t, c.PaymentMethod != "", "a charge of a payment method: %+v", c)
	expect.True(t, c.Invoice != "", "a charge of a payment method: %+v", c)
	expect.Equal(t, back.Charge, c.ID, "its refund: charge")
	expect.Equal(t, back.Phone, "", "its refund: phone")
	expect.Equal(t, back.Network, "", "its refund: network")
	expect.Equal(t, back.PaymentMethod, c.PaymentMethod, "its refund: payment method")
}

// A charger that gives no refunds passes without the checks of refunds.
func TestChargerWithoutRefunds(t *testing.T) {
	Run(t, func(*testing.T) Rig {
		r := rig("")
		r.Charger = struct{ provider.Charger }{r.Charger}
		return *r
	})
}

func TestChaosKeepsTheContract(t *testing.T) {
	refunded := 0
	for seed := range uint64(200) {
		c := NewChaos(seed)
		charge := provider.Charge{Order: provider.Order{ID: []string{"att_1", "pay_1"}[seed%2], Amount: 100}}
		refunds := make([]provider.Refund, 3) // there is money for one only
		for i := range refunds {
			refunds[i] = provider.Refund{Order: provider.Order{ID: fmt.Sprint("re_", i), Amount: 60}, Charge: charge.ID}
		}
		for range 10 {
			_, _ = c.Charge(t.Context(), charge)
			_, _ = c.ChargeStatus(t.Context(), charge)
		}
		for range 10 {
			for _, r := range refunds {
				_, _ = c.Refund(t.Context(), r)
				_, _ = c.RefundStatus(t.Context(), r)
			}
		}
		c.Settle()
		reported := map[string]provider.Result{}
		for _, b := range c.Callbacks() {
			reported[b.ID] = b.Result
		}
		check := func(id string, result provider.Result, err error) int {
			moved := c.Moved(id)
			if err != nil || (result.Outcome == provider.Paid) != (moved == 1) || moved > 1 ||
				result.Outcome != provider.NotFound && (result.Outcome == provider.InProgress || reported[id] != result) {
				t.Errorf("seed %d, %s: %+v, %v, moved %d, reported %+v", seed, id, result, err, moved, reported[id])
			}
			return moved
		}
		result, err := c.ChargeStatus(t.Context(), charge)
		taken, back := check(charge.ID, result, err), 0
		for _, r := range refunds {
			result, err := c.RefundStatus(t.Context(), r)
			back += check(r.ID, result, err)
		}
		expect.True(t, back <= taken, "seed %d: %d charges and %d refunds, or a callback twice", seed, taken, back)
		expect.Equal(t, len(c.Callbacks()), 0, "seed %d: number of callbacks", seed)
		refunded += back
	}
	expect.True(t, refunded > 50, "only %d refunds in 200 runs", refunded)
}
