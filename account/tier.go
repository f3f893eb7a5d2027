package account

import "github.com/shopspring/decimal"

// Tier says how well the operator knows a holder: which documents the holder has shown.
type Tier string

// The tiers. A holder without one counts as TierMinimum.
const (
	TierMinimum  Tier = "minimum"
	TierMedium   Tier = "medium"
	TierEnhanced Tier = "enhanced"
)

// TierLimits bound the top-ups of one wallet, in GHS. Zero means no limit.
type TierLimits struct {
	// Day and Month bound the top-ups completed in one day and one calendar month (UTC, Ghana's
	// time).
	Day, Month decimal.Decimal
	// Balance bounds the wallet's balance after a top-up.
	Balance decimal.Decimal
}

// WalletTiers are the limits of consumers' wallets, by the holder's tier.
type WalletTiers struct {
	Minimum, Medium, Enhanced TierLimits
}

// BankOfGhanaTiers returns the limits of mobile-money wallets that the Bank of Ghana has set from 1
// March 2024. The Bank of Ghana bounds all transactions of a day and a month; this library applies
// these limits to top-ups alone. The host must check that the limits are still valid.
//
// The figures are those of the announcement by the Ghana Chamber of Telecommunications, as reported at
// https://sixscribes.com/bank-of-ghana-announces-revised-momo-balance-transaction-limits-effective-march-1-2024/.
func BankOfGhanaTiers() *WalletTiers {
	limits := func(day, month, balance int64) TierLimits {
		return TierLimits{Day: decimal.NewFromInt(day), Month: decimal.NewFromInt(month), Balance: decimal.NewFromInt(balance)}
	}
	return &WalletTiers{
		Minimum:  limits(3_000, 10_000, 5_000),
		Medium:   limits(15_000, 0, 40_000),
		Enhanced: limits(25_000, 0, 75_000),
	}
}
