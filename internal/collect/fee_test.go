package collect

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
)

// Each network has a fee of its own. A payment from an unknown one fails, and is not free.
func TestEachNetworkHasAFee(t *testing.T) {
	flat := func(pesewas int64) payment.Fee { return payment.Fee{Flat: decimal.New(pesewas, -2)} }
	f := &payment.Fees{MTN: flat(1), Telecel: flat(2), AirtelTigo: flat(3)}
	must.Do(t, checkFees(f))
	for i, network := range phone.Networks() {
		fee := must.Get(feeOf(f, network, 100))(t)
		expect.Equal(t, fee, int64(i)+1, "fee of %s", network)
	}
	for _, network := range []string{"", "other", "MTN"} {
		_, err := feeOf(f, network, 100)
		expect.True(t, err != nil, "network %q has a fee", network)
	}
}
