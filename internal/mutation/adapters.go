package main

var adapterGuards = []guard{
	{
		"Paystack: a rejection ends no order that Paystack knows", "provider/paystack/words.go",
		"if askErr != nil || r.Outcome != provider.NotFound {", "", "./provider/paystack", "TestRejections|TestRail|TestCharger",
	},
	{
		"Paystack: a rejection ends no order whose first request may still arrive", "provider/paystack/words.go",
		"case o.Attempts > 1 && o.Now.Sub(o.SubmittedAt) < settled:", "", "./provider/paystack", "TestRejections",
	},
	{
		"Paystack: a success is of the order's amount", "provider/paystack/paystack.go",
		"case o.Amount != 0 && amount != nil && int64(*amount) != o.Amount:", "", "./provider/paystack", "TestOtherMoney",
	},
	{
		"Paystack: a refund waits for an earlier request", "provider/paystack/refund.go",
		"if one.wait(r) > 0 {", "", "./provider/paystack", "TestRefundWaits|TestRefundThatIsNotListed",
	},
	{
		"Paystack: a refund that was made is not made again", "provider/paystack/refund.go",
		"case one.made:", "", "./provider/paystack", "TestRefundThatIsNotListed",
	},
	{
		"Paystack: a refund waits for another process", "provider/paystack/refund.go",
		"if r.Attempts > 2 && r.Attempts%2 == 1 && (err != nil || result.Outcome == provider.NotFound) {", "", "./provider/paystack", "TestRefundWaits",
	},
	{
		"Paystack: a webhook is signed", "provider/paystack/webhook.go",
		"case !c.signed(r.Header.Get(SignatureHeader), body):", "", "./provider/paystack", "TestWebhook",
	},
	{
		"Paystack: a webhook is of the key's mode", "provider/paystack/webhook.go",
		`case e.Data.Domain != "" && e.Data.Domain != c.domain():`, "", "./provider/paystack", "TestWebhook",
	},
	{
		"Paystack: a charge's event ends no payout", "provider/paystack/webhook.go",
		"!ours || !kindFits(kind, id)", "!ours", "./provider/paystack", "TestWebhookOfAnotherKind",
	},
	{
		"Paystack: a full refund may be our own, whose answer was lost", "provider/paystack/words.go",
		"case m == wentBack && o.Attempts > 1:", "", "./provider/paystack", "TestFullyReversedByItself",
	},
	{
		"Paystack: a key takes orders of its own mode", "provider/paystack/paystack.go",
		"case live && !c.live():", "", "./provider/paystack", "TestModes",
	},
	{
		"Paystack: a refund that failed explains no reversal", "provider/paystack/returned.go",
		"&& outcome(refundWords, is.Status) != provider.Refused", "&& is.Status != \"\"", "./provider/paystack", "TestReversedCharge",
	},
	{
		"Paystack: a refund whose note may be lost is not made again", "provider/paystack/refund.go",
		"case r.Attempts > 1 && withoutNote:", "", "./provider/paystack", "TestRefundWithoutNote",
	},
	{
		"MTN: a success is of the order's amount", "provider/mtnmomo/words.go",
		`case s.Amount != "" && o.Amount != 0 && amount != o.Amount:`, "", "./provider/mtnmomo", "TestOtherMoney",
	},
	{
		"MTN: wrong settings end no order", "provider/mtnmomo/orders.go",
		"if json.Unmarshal(a.body, &object) != nil || reasons[a.code].alert == repair {", "", "./provider/mtnmomo", "TestRefusedSubmissionWaits",
	},
	{
		"MTN: status queries have a limit", "provider/mtnmomo/orders.go",
		"n > c.cfg.StatusQueries {", "n < 0 {", "./provider/mtnmomo", "TestStatusQueriesAreLimited",
	},
	{
		"MTN: the sandbox takes no live order", "provider/mtnmomo/mtnmomo.go",
		"case live && isSandbox:", "", "./provider/mtnmomo", "TestModes",
	},
}
