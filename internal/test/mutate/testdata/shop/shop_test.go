// Package shop_test tests a fee that till's own tests do not know.
package shop_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/mutate/testdata/till"
)

func TestFee(t *testing.T) {
	if fee := till.Fee(3); fee != 6 {
		t.Fatal(fee)
	}
}
