package subscription

import (
	"math/big"
	"time"
)

// prorate returns what an amount for a whole period costs for the rest of it: amount × left / whole,
// where left and whole are seconds. It rounds half up once, by absolute value.
func prorate(amount int64, left, whole time.Duration) int64 {
	if left <= 0 || whole <= 0 {
		return 0
	}
	seconds, all := int64(left/time.Second), int64(whole/time.Second)
	abs := big.NewInt(amount)
	abs.Abs(abs)
	// floor((2 × amount × left + whole) / (2 × whole))
	n := new(big.Int).Mul(abs, big.NewInt(2*seconds))
	n.Add(n, big.NewInt(all)).Quo(n, big.NewInt(2*all))
	if amount < 0 {
		n.Neg(n)
	}
	return n.Int64()
}
