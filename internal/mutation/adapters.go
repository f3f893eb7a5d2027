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
	{
		"Paystack: an abandoned charge ends long after its deadline", "provider/paystack/charge.go",
		"&& o.Now.After(o.Deadline.Add(abandonedAfter)):", ":", "./provider/paystack", "TestAbandonedCharge",
	},
	{
		"Paystack: a charge's request may still arrive after the deadline", "provider/paystack/charge.go",
		"late >= 0 && late < settled {", "late < 0 {", "./provider/paystack", "TestUnknownChargeAfterDeadline",
	},
	{
		"Paystack: a reversal that nothing explains ends no charge", "provider/paystack/returned.go",
		"case reversed && (whole == 0 || is.ours+is.byHand+is.lost < whole):", "", "./provider/paystack", "TestReversedCharge|TestMoneyThatWentBack",
	},
	{
		"Paystack: a refund of the library is no reversal", "provider/paystack/returned.go",
		"case is.taken() == 0 || is.ours >= whole:", "", "./provider/paystack", "TestReversedCharge",
	},
	{
		"Paystack: a dispute is of its own charge", "provider/paystack/returned.go",
		"if row.Transaction == ofWhich(x.ID) && resolutions", "if resolutions", "./provider/paystack", "TestMoneyThatWentBack",
	},
	{
		"Paystack: a dispute takes money back when it ends for the payer", "provider/paystack/returned.go",
		"&& resolutions[string(row.Resolution)] {", "{", "./provider/paystack", "TestDisputes|TestMoneyThatWentBack",
	},
	{
		"Paystack: what a dispute takes back is counted once", "provider/paystack/returned.go",
		"return max(is.byHand, is.lost)", "return is.byHand + is.lost", "./provider/paystack", "TestMoneyThatWentBack",
	},
	{
		"Paystack: a refund is in the list of all", "provider/paystack/refund.go",
		"if r.Attempts > 1 && !listed && err == nil {", "", "./provider/paystack", "TestRefundsWithOneNote",
	},
	{
		"Paystack: a refund may be what reversed its charge", "provider/paystack/refund.go",
		`case x.Status == "reversed" && r.Attempts > 1: // perhaps by this refund`, "", "./provider/paystack", "TestRefundOfAReversedCharge",
	},
	{
		"Paystack: two refunds with one note are for a person", "provider/paystack/refund.go",
		"case is == best && is == rank[provider.Paid]:", "", "./provider/paystack", "TestRefundsWithOneNote",
	},
	{
		"Paystack: a charge that is not paid has no refund", "provider/paystack/refund.go",
		"case provider.InProgress:", "case \"never\":", "./provider/paystack", "TestRefundOfAnOpenCharge",
	},
	{
		"Paystack: a list ends at a page without a new row", "provider/paystack/paystack.go",
		"if len(all) == before {", "if len(all) == before || len(rows) < perPage {", "./provider/paystack", "TestRefundsInPages|TestBanksInPages",
	},
	{
		"Paystack: null is no empty list", "provider/paystack/paystack.go",
		`if string(answer.Data) == "null" || json`, "if json", "./provider/paystack", "TestRefundsInPages",
	},
	{
		"MTN: a new order may be not found", "provider/mtnmomo/orders.go",
		"case waited < visibleAfter:", "", "./provider/mtnmomo", "TestNotFound",
	},
	{
		"MTN: an order that MTN forgot is not paid twice", "provider/mtnmomo/orders.go",
		"case waited >= forgottenAfter:", "", "./provider/mtnmomo", "TestNotFound",
	},
	{
		"MTN: a charge's request may still arrive after the deadline", "provider/mtnmomo/orders.go",
		"late >= 0 && late < decidedAfter {", "late < 0 {", "./provider/mtnmomo", "TestNotFoundAfterDeadline",
	},
	{
		"MTN: a malformed request proves nothing about an earlier one", "provider/mtnmomo/orders.go",
		"o.Attempts > 1 && (waited < visibleAfter || waited >= forgottenAfter) {", "waited < 0 {", "./provider/mtnmomo", "TestMalformedSubmission",
	},
	{
		"MTN: not found is MTN's own word", "provider/mtnmomo/orders.go",
		"if a.status == http.StatusNotFound && a.code == notFound {", "if a.status == http.StatusNotFound {", "./provider/mtnmomo", "TestNotFound|TestAnswers",
	},
	{
		"MTN: refused keys renew no token", "provider/mtnmomo/client.go",
		"|| p.isRefused(c.cfg.Now()) {", "{", "./provider/mtnmomo", "TestRefusedTokens",
	},
	{
		"MTN: callbacks get half of the queries", "provider/mtnmomo/callback.go",
		"if c.callbacks.count(c.cfg.Now()) > max(1, c.cfg.StatusQueries/2) {", "", "./provider/mtnmomo", "TestForgedCallbacks|TestCallbackAnswers|TestStatusQueriesAreLimited",
	},
	{
		"MTN: a callback outlives its sender", "provider/mtnmomo/callback.go",
		"context.WithTimeout(context.WithoutCancel(r.Context()), callbackTimeout)", "context.WithTimeout(r.Context(), callbackTimeout)", "./provider/mtnmomo", "TestCallbackWhoseSenderHangsUp",
	},
	{
		"MTN: an alert comes once", "provider/mtnmomo/mtnmomo.go",
		"if a.told[alert] {", "", "./provider/mtnmomo", "TestAlertsComeOnce",
	},
	{
		"dispatch: another amount than was booked is listed", "internal/dispatch/decide.go",
		"if paid && booked.otherAmount(r) {", "", "./payment", "TestAmountThatChangesLaterIsListed",
	},
	{
		"dispatch: a report before the first attempt chooses the provider", "internal/dispatch/dispatch.go",
		`if s.SubmittedAt == nil && s.Route == "" {`, "", "./internal/providers", "TestReportBeforeTheFirstAttempt",
	},
}
