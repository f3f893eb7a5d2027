package main

// Coupons: a redemption is counted once, never more often than allowed, and no discount exceeds what
// it reduces.
var couponGuards = []guard{
	{
		"coupon: it is redeemed no more often than it may be", "catalog/internal.go",
		"case c.MaxRedemptions != nil && c.TimesRedeemed-own >= *c.MaxRedemptions:", "", "./invoice", "TestCouponsAreCountedAtFinalization|TestMaxRedemptionsHoldsUnderConcurrency",
	},
	{
		"coupon: its time ends", "catalog/internal.go",
		"case c.RedeemBy != nil && now.After(time.Unix(*c.RedeemBy, 0)):", "", "./invoice", "TestCouponsAreCountedAtFinalization",
	},
	{
		"coupon: an inactive one is put on nothing", "catalog/internal.go",
		"if !o.Value.Active {\n\t\treturn nil, notRedeemable", "if false {\n\t\treturn nil, notRedeemable", "./invoice", "TestCouponsAreCountedAtFinalization",
	},
	{
		"coupon: a void gives it back once", "invoice/discount.go",
		"if r.Redemption == nil || !r.Redemption.Counted {", "if true {", "./invoice", "TestCouponsAreCountedAtFinalization",
	},
	{
		"coupon: it takes off no more than there is", "catalog/coupon.go",
		"return min(*t.AmountOff, subtotal)", "return *t.AmountOff", "./catalog", "TestTermsNeverExceedTheSubtotal",
	},
	{
		"discount: with the lines' own it takes off no more than there is", "invoice/discount.go",
		"discount += max(min(r.Redemption.Discount(subtotal), left-discount), 0)", "discount += r.Redemption.Discount(subtotal)", "./invoice", "TestDiscountReducesTaxes|TestDiscountIsShared",
	},
	{
		"discount: it reduces the tax", "invoice/line.go",
		"return l.Amount - l.Discount - l.DiscountShare", "return l.Amount - l.Discount", "./invoice", "TestDiscountReducesTaxes",
	},
	{
		"product: an inactive one is put on nothing", "catalog/internal.go",
		"if !o.Value.Active {\n\t\treturn nil, api.Invalid(\"product\"", "if false {\n\t\treturn nil, api.Invalid(\"product\"", "./catalog", "TestListsFilter",
	},
}
