package orders

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// maker makes no orders.
type maker struct{ Maker }

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
