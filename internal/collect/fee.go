package collect

import (
	"github.com/seed-7082ffec/payments/internal/fee"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
)

func checkFees(f *payment.Fees) error {
	for name, of := range map[string]payment.Fee{
		"CollectionFees.MTN": f.MTN, "CollectionFees.Telecel": f.Telecel, "CollectionFees.AirtelTigo": f.AirtelTigo,
	} {
		if err := fee.Fee(of).Check(name); err != nil {
			return err
		}
	}
	return nil
}

// feeOf returns the fee for an amount, both in pesewas.
func feeOf(f *payment.Fees, network string, amount int64) int64 {
	byNetwork := map[string]payment.Fee{phone.MTN: f.MTN, phone.Telecel: f.Telecel, phone.AirtelTigo: f.AirtelTigo}
	return min(fee.Fee(byNetwork[network]).Of(amount), amount)
}
