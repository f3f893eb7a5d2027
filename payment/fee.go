package payment

import "github.com/shopspring/decimal"

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
