package main

// The invoices of subscriptions: what is credited, who is charged and when, and what the subscription
// is told.
var issuedGuards = []guard{
	{
		"discount: a negative share is rounded from below", "invoice/discount.go",
		"if remainders[i] < 0 {", "if false {", "./invoice", "TestSubscriptionPrices",
	},
	{
		"discount: a coupon takes nothing off a subtotal below zero", "invoice/discount.go",
		"discount += max(min(r.Redemption.Discount(subtotal), left-discount), 0)", "discount += min(r.Redemption.Discount(subtotal), left-discount)", "./invoice", "TestSubscriptionPrices",
	},
	{
		"credit: what is used is no longer there", "invoice/subscriptionprice.go",
		"return p.CreditBalance + l.Amount, nil", "return p.CreditBalance, nil", "./invoice", "TestSubscriptionPrices",
	},
	{
		"credit: no more is used than there is", "invoice/subscriptionprice.go",
		"-min(r.Total, p.CreditBalance)", "-r.Total", "./invoice", "TestSubscriptionPrices",
	},
	{
		"subscription: the end of an invoice is told to it", "invoice/service.go",
		"return s.tellOutcome(tx, &o.Value, types)", "return nil", "./invoice", "TestOutcomes",
	},
	{
		"subscription: a cancelled one charges no more", "invoice/issue.go",
		"r.NextPaymentAttempt, r.NextWorkAt, r.ChargedPhone = nil, nil, \"\"", "r.ChargedPhone = \"\"", "./invoice", "TestChargesOfSubscription",
	},
	{
		"subscription: a charge that was postponed is made by day", "invoice/phone.go",
		"at.After(tx.Now) { // as after a wait for another payment", "false {", "./invoice", "TestPostponedChargeWaitsForDay",
	},
	{
		"subscription: the first charge is made by day", "invoice/actions.go",
		"first.After(tx.Now) {", "first.After(tx.Now) && false {", "./invoice", "TestAutomaticChargeByDay",
	},
	{
		"subscription: a form of a foreign page changes no phone", "httpapi/pages.go",
		"if r.Header.Get(\"Sec-Fetch-Site\") == \"cross-site\" {", "if false {", "./httpapi", "TestForeignPagesCannotPost",
	},
}
