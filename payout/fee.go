package payout

import (
	"github.com/shopspring/decimal"
)

// Fee is the merchant's price for one transfer: Flat plus Percent of the amount, at least Min and
// at most Cap. If Cap is below Min, the fee is Cap. A zero Cap means no maximum. All but Percent
// are in GHS. Percent is rounded half up to the pesewa. The zero value is free of charge.
type Fee struct {
	Flat, Percent, Min, Cap decimal.Decimal
}

// Fees are the fees of external transfers. Transfers within the service cost nothing.
type Fees struct {
	MobileMoney, BankTransfer Fee
}

// DefaultFees are the fees if the host configures none: for mobile money 1%, at least GHS 0.10
// and at most 10.00; for bank transfers GHS 5.00.
func DefaultFees() *Fees {
	return &Fees{
		MobileMoney: Fee{
			Percent: decimal.NewFromInt(1), Min: decimal.New(10, -2), Cap: decimal.NewFromInt(10),
		},
		BankTransfer: Fee{Flat: decimal.NewFromInt(5)},
	}
}

// Limits bound the amount of one transfer, and a merchant's payouts in one day, in GHS. Zero
// leaves the default.
type Limits struct {
	// Min and Max bound one transfer.
	Min, Max decimal.Decimal
	// Daily bounds the payouts that a merchant creates in one mode on one day (UTC, Ghana's
	// time). It leaves out fees, and payouts that failed or were cancelled. Disbursements have no
	// daily limit: payments.New refuses one.
	Daily decimal.Decimal
}
