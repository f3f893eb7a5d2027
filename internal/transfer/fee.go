package transfer

import (
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/fee"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/payout"
)

func feeOf(f *payout.Fees, t payout.Type, amount int64) int64 {
	switch t {
	case payout.MobileMoney:
		return fee.Fee(f.MobileMoney).Of(amount)
	case payout.BankTransfer:
		return fee.Fee(f.BankTransfer).Of(amount)
	}
	return 0
}

// The limits if the host configures none, in pesewas.
const (
	minPayout       = 1_00
	minDisbursement = 1
	maxTransfer     = 20_000_00
	dailyPayouts    = 50_000_00
)

// bounds holds limits in pesewas; daily is 0 for none.
type bounds struct{ min, max, daily int64 }

func newBounds(l payout.Limits, name string, smallest, daily int64) (bounds, error) {
	b := bounds{min: smallest, max: maxTransfer, daily: daily}
	for _, f := range []struct {
		given decimal.Decimal
		into  *int64
	}{{l.Min, &b.min}, {l.Max, &b.max}, {l.Daily, &b.daily}} {
		if f.given.IsZero() {
			continue
		}
		n, err := money.ToPesewas(f.given)
		if err != nil || n < 1 {
			return b, api.Invalid(name, "%s must be amounts in GHS above zero, with at most two decimals.", name)
		}
		*f.into = n
	}
	if b.min > b.max || b.max > money.Max {
		return b, api.Invalid(name, "%s: Min must not exceed Max, nor Max GHS %s.", name, money.Text(money.Max))
	}
	return b, nil
}

// check returns an amount of GHS in pesewas if it is within the limits, and refuses it otherwise.
func (b bounds) check(amount decimal.Decimal) (int64, error) {
	n, err := money.ToPesewas(amount)
	switch {
	case err == money.ErrRange && amount.IsPositive():
		return 0, api.Errorf(api.AmountTooLarge, "amount", "amount must be at most GHS %s.", money.Text(b.max))
	case err != nil:
		return 0, api.Invalid("amount", "amount must be in GHS with at most two decimals.").WithCause(err)
	case n < b.min:
		return 0, api.Errorf(api.AmountTooSmall, "amount", "amount must be at least GHS %s.", money.Text(b.min))
	case n > b.max:
		return 0, api.Errorf(api.AmountTooLarge, "amount", "amount must be at most GHS %s.", money.Text(b.max))
	}
	return n, nil
}
