package collect

import (
	"fmt"

	"github.com/seed-7082ffec/payments/internal/fee"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
)

// networkFee returns the fee of a network, and what the configuration calls it. It fails for an unknown network.
func networkFee(f *payment.Fees, network string) (name string, of fee.Fee, err error) {
	switch network {
	case phone.MTN:
		return "CollectionFees.MTN", fee.Fee(f.MTN), nil
	case phone.Telecel:
		return "CollectionFees.Telecel", fee.Fee(f.Telecel), nil
	case phone.AirtelTigo:
		return "CollectionFees.AirtelTigo", fee.Fee(f.AirtelTigo), nil
	}
	return "", fee.Fee{}, fmt.Errorf("payment: CollectionFees has no fee for the network %q", network)
}

func checkFees(f *payment.Fees) error {
	for _, network := range phone.Networks() {
		name, of, err := networkFee(f, network)
		if err != nil {
			return err
		}
		if err := of.Check(name); err != nil {
			return err
		}
	}
	return nil
}

// feeOf returns the fee for an amount, both in pesewas. It fails for an unknown network.
func feeOf(f *payment.Fees, network string, amount int64) (int64, error) {
	_, of, err := networkFee(f, network)
	if err != nil {
		return 0, err
	}
	return min(of.Of(amount), amount), nil
}
