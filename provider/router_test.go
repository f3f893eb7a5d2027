package provider_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
)

func TestRouterValidate(t *testing.T) {
	one := provider.Simulated{}
	for _, c := range []struct {
		router provider.Router
		ok     bool
	}{
		{provider.Router{}, true},
		{provider.Router{Rails: map[string]provider.Rail{"paystack": one}, Chargers: map[string]provider.Charger{"mtn_momo_2": one}}, true},
		{provider.Router{Rails: map[string]provider.Rail{"": one, "paystack": one}}, true},
		{provider.Router{Rails: map[string]provider.Rail{"a": one, "b": one}}, false},
		{provider.Router{Chargers: map[string]provider.Charger{"a": one, "b": one}}, false},
		{provider.Router{Rails: map[string]provider.Rail{"Paystack": one}}, false},
		{provider.Router{Rails: map[string]provider.Rail{"a/b": one}}, false},
		{provider.Router{Rails: map[string]provider.Rail{"a": nil}}, false},
		{provider.Router{Chargers: map[string]provider.Charger{"a": nil}}, false},
	} {
		err := c.router.Validate()
		expect.Equal(t, err == nil, c.ok, "%+v: %v", c.router, err)
	}
}

// One provider needs no choice, and an order of a name without an entry has no known outcome.
func TestRouterWithoutChoice(t *testing.T) {
	r := &provider.Router{
		Rails:    map[string]provider.Rail{"paystack": provider.Simulated{}, "": provider.Simulated{}},
		Chargers: map[string]provider.Charger{"paystack": provider.Simulated{}},
	}
	route, ok := r.RouteTransfer(provider.Transfer{})
	expect.True(t, ok, "the route of a transfer is %q", route)
	expect.Equal(t, route, "paystack", "the route of a transfer")
	route, ok = r.RouteCharge(provider.Charge{})
	expect.True(t, ok, "the route of a charge is %q", route)
	expect.Equal(t, route, "paystack", "the route of a charge")

	unnamed, err := r.Submit(t.Context(), provider.Transfer{Number: "+233241234567"})
	must.Do(t, err)
	expect.Equal(t, unnamed.Outcome, provider.Paid, "a transfer from before the host named its providers: outcome")
	gone := provider.Order{Route: "gone"}
	for what, ask := range map[string]func() (provider.Result, error){
		"Submit":       func() (provider.Result, error) { return r.Submit(t.Context(), provider.Transfer{Order: gone}) },
		"Status":       func() (provider.Result, error) { return r.Status(t.Context(), provider.Transfer{Order: gone}) },
		"Charge":       func() (provider.Result, error) { return r.Charge(t.Context(), provider.Charge{Order: gone}) },
		"ChargeStatus": func() (provider.Result, error) { return r.ChargeStatus(t.Context(), provider.Charge{Order: gone}) },
		"ConfirmCharge": func() (provider.Result, error) {
			return r.ConfirmCharge(t.Context(), provider.Charge{Order: gone}, "1")
		},
		"Refund":       func() (provider.Result, error) { return r.Refund(t.Context(), provider.Refund{Order: gone}) },
		"RefundStatus": func() (provider.Result, error) { return r.RefundStatus(t.Context(), provider.Refund{Order: gone}) },
	} {
		result, err := ask()
		expect.True(t, err != nil, "%s of a name without an entry: %+v %v", what, result, err)
		expect.Equal(t, result.Outcome, "", "%s of a name without an entry: outcome", what)
	}
}
