// Package fee computes the operator's fees. Packages payout and payment share it.
package fee

import (
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/money"
)

// Fee is the merchant's price for one transfer or payment: Flat plus Percent of the amount. Percent
// is rounded half up to the pesewa. Cap bounds the fee from above, and Min from below. If Cap is
// below Min, the fee is Cap. A zero Cap means no maximum. All but Percent are in GHS. The zero
// value is free of charge.
type Fee struct {
	Flat, Percent, Min, Cap decimal.Decimal
}

// Of returns the fee for an amount, both in pesewas.
func (f Fee) Of(amount int64) int64 {
	fee := pesewas(f.Flat) + money.Share(amount, f.Percent)
	fee = max(fee, pesewas(f.Min))
	if most := pesewas(f.Cap); most > 0 {
		fee = min(fee, most)
	}
	return fee
}

// Check refuses a fee that is not in GHS, or with a wrong percentage. name is what it is called
// in the refusal.
func (f Fee) Check(name string) error {
	for _, d := range []decimal.Decimal{f.Flat, f.Min, f.Cap} {
		if n, err := money.ToPesewas(d); err != nil || n < 0 || n > money.Max {
			return api.Invalid(name, "%s must be in GHS from 0 to %s, with at most two decimals.", name, money.Text(money.Max))
		}
	}
	if f.Percent.IsNegative() || f.Percent.GreaterThan(decimal.NewFromInt(100)) || f.Percent.Exponent() < -6 {
		return api.Invalid(name, "%s.Percent must be from 0 to 100, with at most six decimals.", name)
	}
	return nil
}

// pesewas converts a checked amount to pesewas.
func pesewas(d decimal.Decimal) int64 {
	n, _ := money.ToPesewas(d)
	return n
}
