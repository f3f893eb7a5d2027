package main

// Checkout sessions: each is paid once, holds hold, and a coupon is redeemed with the money.
var checkoutGuards = []guard{
	{
		"checkout: a held session is not paid or expired", "checkout/pay.go",
		"if err != nil || held == 0 {", "if true || held == 0 {", "./checkout", "TestPhonePaysSession",
	},
	{
		"checkout: a payment from a phone holds the session", "checkout/pay.go",
		"CheckoutSession: &r.ID, HeldObject: r.ID,", "CheckoutSession: &r.ID,", "./checkout", "TestPhonePaysSession",
	},
	{
		"checkout: the clock closes a session", "checkout/pay.go",
		"if r.over(now) {", "if false {", "./checkout", "TestSessionExpires",
	},
	{
		"checkout: a session that is not open is not paid", "checkout/pay.go",
		"if r.Status != Open {", "if false {", "./checkout", "TestExpireEndsSession|TestWalletPaysSession",
	},
	{
		"checkout: expiry waits for the hold", "checkout/internal.go",
		"if !until.IsZero() {", "if false {", "./checkout", "TestSessionExpires",
	},
	{
		"checkout: a late payment takes an open session alone", "checkout/internal.go",
		"case r.Status != Open || r.over(tx.Now) && !p.HoldActive:\n\t\treturn false, nil", "case r.Status != Open || r.over(tx.Now) && !p.HoldActive:\n\t\treturn true, nil", "./checkout", "TestLateApproval",
	},
	{
		"checkout: an expired session takes no late payment, whatever the worker has done", "checkout/internal.go",
		"r.Status != Open || r.over(tx.Now) && !p.HoldActive", "r.Status != Open", "./checkout", "TestTimeEndsSessionBeforeWorker",
	},
	{
		"checkout: a payer's entries count with the payment", "checkout/internal.go",
		"if r.Attempt != p.ID {", "if false {", "./checkout", "TestEntriesCountWithPayment",
	},
	{
		"checkout: an attempt redeems the coupon", "checkout/pay.go",
		"return s.config.Catalog.Redeem(tx, *r.Coupon)", "return nil", "./checkout", "TestCouponIsHeldWithSession",
	},
	{
		"checkout: an attempt redeems the coupon once", "checkout/pay.go",
		"if r.Redeemed { // by an attempt", "if false { // by an attempt", "./checkout", "TestNextAttemptTakesOneRedemption",
	},
	{
		"checkout: a failed payment gives the redemption back", "checkout/internal.go",
		"\tif err := s.returnRedemption(tx, r); err != nil {\n\t\treturn err\n\t}\n\tr.Due", "\tr.Due", "./checkout", "TestCouponIsHeldWithSession",
	},
	{
		"checkout: a payer who leaves gives the redemption back", "payment/hold.go",
		"if r.CheckoutSession == nil || r.HoldExpiresAt == nil {", "if true {", "./checkout", "TestCouponIsHeldWithSession|TestCancelledPaymentGivesCouponBack",
	},
	{
		"checkout: a late payment counts the redemption", "checkout/internal.go",
		"if r.Coupon != nil && !r.Redeemed {", "if false {", "./checkout", "TestLateApprovalCountsCoupon",
	},
	{
		"checkout: a used up coupon is put on nothing", "catalog/internal.go",
		"o, err := redeemableCoupon(tx, scope, now, id, 0)", "o, err := usableCoupon(tx, scope, id)", "./checkout", "TestInvalidSessionsAreRefused",
	},
	{
		"checkout: the page goes to the host that was named", "checkout/url.go",
		"|| !plainHost.MatchString(host)) {", ") {", "./checkout", "TestReturnAddresses",
	},
	{
		"checkout: live mode goes to https alone", "checkout/url.go",
		"u.Scheme == \"http\" && !live:", "u.Scheme == \"http\":", "./checkout", "TestReturnAddresses",
	},
	{
		"checkout: a subscription begins with the payment", "checkout/pay.go",
		"case r.Mode == ModeSubscription: // whose invoice sends the receipt", "case false: // whose invoice sends the receipt", "./checkout", "TestSessionBeginsSubscription",
	},
	{
		"checkout: a deleted customer begins no subscription", "checkout/internal.go",
		"return !deleted, err", "return deleted || true, err", "./checkout", "TestDeletedCustomerBeginsNoSubscription",
	},
	{
		"checkout: copies name the customer who is made later", "checkout/session.go",
		"return v.NewCustomer }", "return \"\" }", "./internal/erasure", "TestErasureReachesCustomersOfSessions",
	},
	{
		"checkout: a deleted customer's data is not taken again", "checkout/pay.go",
		"case deleted:", "", "./internal/erasure", "TestErasureReachesCheckoutSessions",
	},
}
