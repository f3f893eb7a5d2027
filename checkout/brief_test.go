package checkout_test

import (
	"slices"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// What a waiting page reads every few seconds costs the same for a session with many lines.
func TestBriefReadsNoLines(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{})
	price := int64(100)
	allocations := func(lines int) float64 {
		made := must.Get(s.Checkout.Create(t.Context(), s.Caller, checkout.CreateParams{
			SuccessURL: "https://shop.example/{CHECKOUT_SESSION_ID}", Reference: "Order 2041",
			Lines: slices.Repeat([]invoice.LineParams{{Description: "Kente shirt", UnitAmount: &price}}, lines),
		}))(t)
		full := must.Get(s.Checkout.HostedByID(t.Context(), s.Caller, made.ID))(t)
		brief := must.Get(s.Checkout.Brief(t.Context(), s.Caller, made.ID))(t)
		expect.Equal(t, brief.Token, full.Token, "token")
		expect.Same(t, brief.Reference, new("Order 2041"), "reference")
		expect.True(t, brief.Payment == nil, "Payment is set")
		expect.Equal(t, brief.Destination(), made.Destination(), "destination")
		return testing.AllocsPerRun(20, func() { must.Get(s.Checkout.Brief(t.Context(), s.Caller, made.ID))(t) })
	}
	one, many := allocations(1), allocations(200)
	expect.True(t, many < one+20, "%g allocations for one line, and %g for 200", one, many)
	testkit.WantCode(t, "an unknown one", testkit.Err(s.Checkout.Brief(t.Context(), s.Caller, "cs_0")), api.ResourceMissing)
}
