package orders

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// maker makes no orders.
type maker struct{ Maker }

// An order of an object that nothing makes is an error, and no panic.
func TestOrderWithoutMakerIsAnError(t *testing.T) {
	s := new(Service)
	expect.NoError(t, s.Register(
		Registration{Flow: Transfers, Object: "payout", Maker: maker{}},
		Registration{Flow: Refunds, Object: "refund", Prefix: "re_", Maker: maker{}},
		Registration{Flow: Charges, Object: "payment", Prefix: "pay_", Maker: maker{}},
	), "register")
	_, err := s.makerOf(Transfers, Ref{Object: "payout"})
	expect.NoError(t, err, "a payout")
	for _, object := range []string{"refund", "gift", ""} {
		ref := Ref{Object: object, ID: "po_1"}
		_, err := s.makerOf(Transfers, ref)
		expect.True(t, err != nil, "a transfer of a %q has a maker", object)
		_, err = s.info(Transfers, nil, ref, &Entry{})
		expect.True(t, err != nil, "a transfer of a %q has an info", object)
	}
}

// What is due of orders that nothing makes would never be done.
func TestEveryFlowNeedsMaker(t *testing.T) {
	transfers := Registration{Flow: Transfers, Object: "payout", Maker: maker{}}
	refunds := Registration{Flow: Refunds, Object: "refund", Prefix: "re_", Maker: maker{}}
	charges := Registration{Flow: Charges, Object: "payment", Prefix: "pay_", Maker: maker{}}
	expect.NoError(t, new(Service).Register(transfers, refunds, charges), "all flows")
	nobody := charges
	nobody.Maker = nil
	prefixed := transfers
	prefixed.Prefix = "po_"
	for name, some := range map[string][]Registration{
		"no transfers": {refunds, charges}, "no refunds": {transfers, charges}, "no charges": {transfers, refunds},
		"no maker": {transfers, refunds, nobody}, "ids of nobody": {prefixed, refunds, charges},
	} {
		expect.True(t, new(Service).Register(some...) != nil, "%s: registered", name)
	}
}
