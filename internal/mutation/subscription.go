package main

// Subscriptions: each period has one invoice, and what is prorated, credited or taken off is counted once.
var subscriptionGuards = []guard{
	{
		"subscription: a call does not find the period before, which waits for a charge", "subscription/work.go",
		"\t\tif p.inCall {\n", "\t\tif false {\n", "./subscription", "TestCallEndsWaitForCharge",
	},
	{
		"subscription: no period is left out", "subscription/work.go",
		"r.enterPeriod(r.Period + 1)", "r.enterPeriod(r.Period + 2)", "./subscription", "TestRenewalsCatchUp",
	},
	{
		"subscription: a renewal waits for charges of an earlier time", "subscription/work.go",
		"if next.ends && !p.inCall {", "if false {", "./subscription", "TestRenewalWaitsForEarlierCharge",
	},
	{
		"subscription: it waits for no charge without end", "invoice/awaited.go",
		"; !until.After(tx.Now) {", "; false {", "./subscription", "TestUndecidedChargeHoldsUpNoRenewal",
	},
	{
		"subscription: a renewal waits for the charges of days", "invoice/awaited.go",
		"NextWorkAt.After(since): //", "NextWorkAt.After(since) && false: //", "./subscription", "TestDecliningPhoneAfterTwoYears",
	},
	{
		"subscription: a renewal waits until the end of the charges is booked", "invoice/awaited.go",
		"if r.Status == Open && r.NextPaymentAttempt == nil ||", "if r.NextPaymentAttempt == nil ||", "./invoice", "TestAwaitsOutcome",
	},
	{
		"subscription: a late look begins the wait anew", "subscription/work.go",
		"&& tx.Now.Sub(r.NextAt.Time) < lookLate {", "{", "./subscription", "TestDecliningPhoneAfterMoreStops",
	},
	{
		"subscription: a paused one makes no invoices", "subscription/work.go",
		"case r.Status != Paused:\n\t\tconsider", "case true:\n\t\tconsider", "./subscription", "TestPauseAndResume",
	},
	{
		"subscription: a paid invoice is not overdue", "subscription/outcome.go",
		"\t\t\tr.paid(is.Invoice)\n", "\t\t\t_ = is\n", "./subscription", "TestUnpaidDueDateMakesPastDue",
	},
	{
		"subscription: unpaid time gives no credit", "subscription/update.go",
		"if v.Status != invoice.Paid {", "", "./subscription", "TestUnpaidPeriodGivesNoCredit",
	},
	{
		"subscription: the credit of a change is for what it has made of the period", "subscription/update.go",
		"Amount: amount, Changed: true, Terms: r.Terms}", "Amount: cost.Amount, Changed: true, Terms: r.Terms}", "./subscription", "TestChangeOfQuantityIsProrated",
	},
	{
		"subscription: nothing is prorated in a trial", "subscription/update.go",
		"if r.Status != Active && r.Status != PastDue {\n\t\treturn s.checkNext(r)", "if false {\n\t\treturn s.checkNext(r)", "./subscription", "TestNothingIsProratedInTrialAndPause",
	},
	{
		"subscription: waiting lines stand on one invoice", "subscription/bill.go",
		"\tr.Waiting = nil\n", "\t_ = r.Waiting\n", "./subscription", "TestChangeOfQuantityIsProrated|TestSubscriptionsFollowThePlainModel",
	},
	{
		"subscription: a discount of once is on one invoice", "subscription/bill.go",
		"(r.Coupon.Once && p.Coupon != \"\" || r.discountOver(p.Date))", "r.discountOver(p.Date)", "./subscription", "TestCouponsOfSubscriptions",
	},
	{
		"subscription: a discount that repeats ends", "subscription/bill.go",
		"return r.Discount.End != nil && start.Unix() >= *r.Discount.End", "return false", "./subscription", "TestSubscriptionsFollowThePlainModel|TestCouponsOfSubscriptions",
	},
	{
		"subscription: the same coupon counts once", "subscription/update.go",
		"(r.Discount == nil || *p.Coupon != r.Discount.Coupon)", "true", "./subscription", "TestCouponsOfSubscriptions",
	},
	{
		"subscription: its next invoice fits into one", "subscription/bill.go",
		"if api.CodeOf(err) == api.ParameterInvalid {", "if true {\n\t\treturn nil\n\t}\n\tif false {", "./subscription", "TestInvalidChangesAreRefused|TestInvalidSubscriptionsAreRefused",
	},
	{
		"subscription: a cancelled one has no credit", "subscription/actions.go",
		"r.Waiting, r.CreditBalance, r.Unpaid, r.Paid = nil, 0, nil, nil", "r.Waiting, r.Unpaid, r.Paid = nil, nil, nil", "./subscription", "TestCreditIsCarriedOver",
	},
	{
		"subscription: a cancelled one is charged no more", "subscription/actions.go",
		"return s.config.Invoices.StopCharges(tx, charged)", "_ = charged\n\treturn nil", "./subscription", "TestFailedChargesCancel",
	},
	{
		"subscription: a cancelled one does not change", "subscription/actions.go",
		"if r.Status == Cancelled {", "", "./subscription", "TestCancel",
	},
	{
		"subscription: wrong codes for a phone are counted", "subscription/phonechange.go",
		"return s.write(tx, o) // the count stays", "return nil // the count stays", "./subscription", "TestWrongCodesAreCounted",
	},
	{
		"subscription: a code for a phone expires", "subscription/phonechange.go",
		"!tx.Now.Before(c.ExpiresAt.Time)", "false", "./subscription", "TestWrongCodesAreCounted",
	},
	{
		"subscription: codes to one number are counted over all merchants", "subscription/phonechange.go",
		"if err := s.config.Payments.CountCode(tx, number); err != nil {", "if err := error(nil); err != nil {", "./subscription", "TestCodesToOneNumber",
	},
	{
		"subscription: its number goes with the customer", "subscription/departure.go",
		"o.Value.setPhone(\"\")", "_ = o.Value", "./subscription", "TestDeletedCustomersSubscriptionsAreCancelled",
	},
}
