package payment

import (
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/fee"
	"github.com/seed-7082ffec/payments/internal/phone"
)

// Fee is the operator's price for one payment from a phone: Flat plus Percent of the amount, at
// least Min and at most Cap, and never more than the amount. If Cap is below Min, the fee is Cap. A
// zero Cap means no maximum. All but Percent are in GHS. Percent is rounded half up to the pesewa.
type Fee struct {
	Flat, Percent, Min, Cap decimal.Decimal
}

// Fees are the fees of payments from phones, by network. The merchant gets the amount less the fee.
// The zero value charges nothing.
type Fees struct {
	MTN, Telecel, AirtelTigo Fee
}

func (f *Fees) check() error {
	for name, of := range map[string]Fee{
		"CollectionFees.MTN": f.MTN, "CollectionFees.Telecel": f.Telecel, "CollectionFees.AirtelTigo": f.AirtelTigo,
	} {
		if err := fee.Fee(of).Check(name); err != nil {
			return err
		}
	}
	return nil
}

// of returns the fee for an amount, both in pesewas.
func (f *Fees) of(network string, amount int64) int64 {
	byNetwork := map[string]Fee{phone.MTN: f.MTN, phone.Telecel: f.Telecel, phone.AirtelTigo: f.AirtelTigo}
	return min(fee.Fee(byNetwork[network]).Of(amount), amount)
}
