package fee_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/fee"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// A fee is flat plus percent, rounded half up; then at least min, and at most cap.
func TestFee(t *testing.T) {
	of := func(flat, percent, least, most string) fee.Fee {
		return fee.Fee{
			Flat: decimal.RequireFromString(flat), Percent: decimal.RequireFromString(percent),
			Min: decimal.RequireFromString(least), Cap: decimal.RequireFromString(most),
		}
	}
	for _, c := range []struct {
		name         string
		fee          fee.Fee
		amount, want int64
	}{
		{"free", fee.Fee{}, 100_00, 0},
		{"flat and percent", of("0.50", "1", "0", "0"), 100_00, 50 + 1_00},
		{"just below half a pesewa", of("0", "1", "0", "0"), 49, 0},
		{"half a pesewa", of("0", "1", "0", "0"), 50, 1},
		{"below min", of("0.10", "1", "0.50", "0"), 10_00, 50},
		{"above min", of("0.50", "1", "0.50", "0"), 10_00, 60},
		{"above cap", of("0.50", "1", "0", "1"), 1000_00, 1_00},
		{"below cap", of("0.50", "1", "0", "100"), 1000_00, 10_50},
		{"the smallest cap", of("0.50", "1", "0", "0.01"), 1000_00, 1},
		{"a cap below min", of("0", "1", "2", "1.50"), 10_00, 1_50},
	} {
		expect.Equal(t, c.fee.Of(c.amount), c.want, "%s", c.name)
	}
}

func TestFeeIsChecked(t *testing.T) {
	highest := api.FromPesewas(money.Max).Decimal
	tooHigh, hundred := highest.Add(decimal.New(1, -2)), decimal.NewFromInt(100)
	for name, f := range map[string]fee.Fee{
		"free":                       {},
		"the highest amounts":        {Flat: highest, Min: highest, Cap: highest},
		"all of the amount":          {Percent: hundred},
		"six decimals of a per cent": {Percent: decimal.New(1, -6)},
	} {
		expect.NoError(t, f.Check("Fee"), "%s", name)
	}
	for name, f := range map[string]fee.Fee{
		"flat below zero":              {Flat: decimal.New(-1, -2)},
		"min below zero":               {Min: decimal.New(-1, -2)},
		"cap below zero":               {Cap: decimal.New(-1, -2)},
		"flat above all amounts":       {Flat: tooHigh},
		"min above all amounts":        {Min: tooHigh},
		"cap above all amounts":        {Cap: tooHigh},
		"half a pesewa":                {Flat: decimal.New(5, -3)},
		"a percentage below zero":      {Percent: decimal.New(-1, -6)},
		"more than all of the amount":  {Percent: hundred.Add(decimal.New(1, -6))},
		"seven decimals of a per cent": {Percent: decimal.New(1, -7)},
	} {
		expect.Equal(t, api.CodeOf(f.Check("Fee")), api.ParameterInvalid, "%s", name)
	}
}
