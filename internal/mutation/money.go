package main

// PINs: guesses are few.
var pinGuards = []guard{
	{
		"PIN: a wrong one is refused", "account/pin.go",
		"case !right:", "", "./account", "TestPINs$",
	},
	{
		"PIN: a locked one is refused", "account/pinattempts.go",
		"if refusal := t.locked(now); refusal != nil {", "", "./account", "TestPINs$|TestLocksGrow",
	},
	{
		"PIN: five wrong entries lock it", "account/pinattempts.go",
		"if open < maxPINAttempts {", "if true || open < maxPINAttempts {", "./account", "TestPINs$|TestLocksGrow",
	},
	{
		"PIN: the last lock stays", "account/pinattempts.go",
		"case !ends:", "", "./account", "TestLocksGrow",
	},
	{
		"PIN: one address is locked out before the holder", "account/pinattempts.go",
		`if from != "" && len(here) >= maxPINAttemptsPerAddress {`, "", "./account", "TestOneAddressCannotLockPIN",
	},
	{
		"PIN: one changed meanwhile confirms nothing", "account/pin.go",
		"if r.Version != p.version {", "", "./account", "PIN|Attempt|Lock",
	},
	{
		"PIN: one locked meanwhile confirms nothing", "account/pin.go",
		"if now.Locks > p.attempts.Locks {", "", "./account", "TestLockByAnotherProcessHolds",
	},
	{
		"PIN: entries are compared one at a time", "account/pin.go",
		"s.guard.Lock(ctx, e.Account)", `s.guard.Lock(ctx, fmt.Sprintf("%p", &e))`, "./account", "TestConcurrentRightPINs",
	},
	{
		"PIN: test mode locks it for one merchant", "account/pin.go",
		"return r.Test[caller.Merchant]", `return r.Test[""]`, "./account", "TestTestClockLocksPINForOneMerchant|TestPINs$|TestLocksGrow",
	},
	{
		"PIN: live mode refuses easy ones", "account/pin.go",
		"if live && isSequence(pin) {", "", "./account", "TestLiveModeRefusesEasyPINs",
	},
	{
		"wallet: a frozen one does not pay", "account/holder.go",
		"if c.Status != Active {", "", "./account", "TestOnlyUsableWalletsPay",
	},
	{
		"API key: one that has ended is refused", "account/key.go",
		"if o.Value.ended(now) {", "", "./account", "TestKeysOfMerchants|TestEndedKeys|TestRights",
	},
	{
		"API key: a known one that has ended is refused", "account/keycache.go",
		"known.ends != nil && !now.Before(known.ends.Time) {", "false {", "./account", "TestEndedKeys|TestKeysAreReadOnce|TestKeysOfMerchants",
	},
	{
		"API key: a read-only one does not write", "account/key.go",
		"if write && a.ReadOnly {", "", "./account", "TestRightsOfKeys",
	},
}

// One-time codes: guesses are few, lives are short.
var codeGuards = []guard{
	{
		"otp: five guesses of one code", "internal/otp/otp.go",
		"case s.Guesses >= guesses:", "case false:", "./payout", "TestOTPLimits|TestParallelGuesses",
	},
	{
		"otp: ten wrong guesses a day", "internal/otp/otp.go",
		"if s.Day != dayOf(now) || s.Failures < failures {", "if true {", "./internal/otp", "TestLimits",
	},
	{
		"otp: five sends in ten minutes", "internal/otp/otp.go",
		"if wait > 0 {", "if false {", "./internal/otp", "TestLimits",
	},
	{
		"otp: an old code is not compared", "internal/otp/otp.go",
		"case expired:", "case false:", "./internal/otp", "TestLimits",
	},
	{
		"otp: a verified code ends", "payout/otp.go",
		"return !now.Before(o.ValidUntil.Time)", "return false", "./payout", "TestOTPLife",
	},
	{
		"otp: a payout needs a verified code", "payout/otp.go",
		"if found == nil || found.Value.ValidUntil == nil {", "if found == nil {", "./payout", "TestOTPLife|TestSingleUse",
	},
	{
		"otp: a single-use code is used up", "payout/otp.go",
		"found.Value.Used = true", "found.Value.Used = false", "./payout", "TestSingleUse",
	},
	{
		"otp: a newer code takes the place of one that was guessed", "payout/otp.go",
		"o.Code != codeID || o.Exhausted(tx.Now)", "o.Exhausted(tx.Now)", "./payout", "TestNewerCodeReplaces",
	},
	{
		"otp: a lock ends a code that was compared", "internal/otp/otp.go",
		"return s.Guesses >= guesses || s.locked(now) != nil", "return s.Guesses >= guesses", "./payout", "TestLockBetweenComparisonAndUse",
	},
	{
		"otp: a used idempotency key guesses for nothing", "payout/otp.go",
		"if _, wrong := s.checkCode(ctx, caller, purpose, code); wrong != nil {", "if wrong := error(nil); wrong != nil {", "./payout", "TestGuessesUnderAUsedKey",
	},
}

// Transfers: limits, fees, the state machine, and the rail.
var transferGuards = []guard{
	{
		"limit: the least of a transfer", "payout/fee.go",
		"case n < b.min:", "", "./payout", "TestInvalidTransfersAreRefused",
	},
	{
		"limit: the most of a transfer", "payout/fee.go",
		"case n > b.max:", "", "./payout", "TestInvalidTransfersAreRefused",
	},
	{
		"limit: the most of a day", "payout/internal.go",
		"if amount > 0 && found.Value.Pesewas > most {", "", "./payout", "TestDailyLimit",
	},
	{
		"limit: a payout that failed counts for no day", "payout/dispatch.go",
		"o.internal.countDailyTotal(tx, o.variant, r.CreatedAt.Time, -amount)", "o.internal.countDailyTotal(tx, o.variant, r.CreatedAt.Time, 0*amount)", "./payout", "TestDailyLimit|TestRandomLivesMatchTheModel",
	},
	{
		"limit: names of a day", "payout/namequota.go",
		"case quota.Day >= 0 && c.InDay >= quota.Day:", "", "./payout", "TestNamesAreLookedUpWithinAQuota",
	},
	{
		"limit: names of an hour", "payout/namequota.go",
		"case quota.Hour >= 0 && c.InHour >= quota.Hour:", "", "./payout", "TestNamesAreLookedUpWithinAQuota",
	},
	{
		"limit: digits of an amount", "payout/internal.go",
		"if money.FewDigits(amount) {", "if true || money.FewDigits(amount) {", "./internal/faults", "TestHugeExponents",
	},
	{
		"fee: it is taken", "payout/internal.go",
		"fee: in.config.Fees.of(p.Destination.Type, amount),", "fee: 0 * in.config.Fees.of(p.Destination.Type, amount),", "./payout", "TestFeeFollowsAmountAndDestination",
	},
	{
		"fee: it has a cap", "internal/fee/fee.go",
		"if most := pesewas(f.Cap); most > 0 {", "", "./payout", "TestFeeFollowsAmountAndDestination",
	},
	{
		"fee: it is from 0 to all", "internal/fee/fee.go",
		"if f.Percent.IsNegative() || f.Percent.GreaterThan(decimal.NewFromInt(100)) || f.Percent.Exponent() < -6 {", "", "./payout", "TestConfigRefused",
	},
	{
		"states: an object moves by its table", "internal/status/status.go",
		"if !slices.Contains(m[to], *s) {", "", "./internal/status", "TestEnter",
	},
	{
		"states: a transfer that its creating call submits is written as submitted", "internal/dispatch/orders.go",
		"if _, err := o.CountAttempt(tx, r); err != nil {", "if err := error(nil); err != nil {", "./payout", "TestFreeSlotSubmitsAfterCommit",
	},
	{
		"states: a transfer is not cancelled once the rail knows it", "payout/transfer.go",
		"{Created, Pending},", "{Created, Pending, Processing},", "./payout", "TestTransferStates|TestRandomLivesMatchTheModel",
	},
	{
		"states: a name that must match does", "payout/internal.go",
		"d.MatchName && !p.in.config.NameMatch(d.AccountName, r.Name) {", "false {", "./payout", "TestMatchNameRefusesOtherNames|TestAccountNames",
	},
	{
		"dispatch: what has ended is booked once", "internal/dispatch/orders.go",
		"if s.Outcome.Final() {\n\t\tbooked :=", "if false {\n\t\tbooked :=", "./payout", "TestCallbacksBookTheOutcomeOnce|TestContradictionsBookNothing",
	},
	{
		"dispatch: a reversal is booked once", "internal/dispatch/decide.go",
		"case booked.Outcome == provider.Paid && r.Outcome == provider.Reversed && booked.Reversible",
		"case booked.Outcome != \"\" && r.Outcome == provider.Reversed && booked.Reversible", "./payout", "TestReversedTransferComesBack",
	},
	{
		"dispatch: a reversal of another amount is listed", "internal/dispatch/decide.go",
		"booked.Reversible && !booked.otherAmount(r):", "booked.Reversible:", "./payout", "TestReversalOfAnotherAmountBooksNothing",
	},
	{
		"money: a payment is taken back once", "payment/dispatch.go",
		"if r.Reversed {\n\t\treturn dispatch.Booked{", "if false {\n\t\treturn dispatch.Booked{", "./refund", "TestPaymentTakenBackIsARefund",
	},
	{
		"money: a debt is netted", "account/debt.go",
		"if !m.owes(live) {", "if !m.owes(live) || true {", "./refund", "TestDebtIsNettedFromReceipts/memory",
	},
	{
		"money: a debt ends", "account/debt.go",
		"if debt.Amount+paid < 0 {", "if true {", "./refund", "TestDebtIsNettedFromReceipts/memory",
	},
	{
		"money: a late payment of a debtor is refunded whole", "payment/dispatch.go",
		"givenBack := !c.taken &&", "givenBack := false &&", "./refund", "TestLatePaymentOfADebtorIsRefunded",
	},
	{
		"money: a refund that fails after the payment was taken back", "payment/refund.go",
		"if o.Value.Reversed {\n\t\treturn o.Value.counted", "if false {\n\t\treturn o.Value.counted", "./refund", "TestPaymentTakenBackAfterARefund",
	},
	{
		"dispatch: a transfer within the service is not reversed", "payout/dispatch.go",
		"Reversible: r.SubmittedAt != nil}", "Reversible: true}", "./payout", "TestTransferToWalletIsNotReversed",
	},
	{
		"dispatch: what has ended is not sent", "internal/dispatch/orders.go",
		"if s.Outcome.Final() && s.Due == nil { // a callback came first", "if false {", "./internal/faults", "TestACallbackOneByOne",
	},
	{
		"dispatch: it polls before it submits again", "internal/dispatch/call.go",
		"if !c.first {", "", "./internal/dispatch", "TestOrderIsSubmittedOnce",
	},
	{
		"dispatch: no answer is no outcome", "internal/dispatch/call.go",
		"case result.Outcome != provider.NotFound:", "", "./internal/dispatch", "TestOrderIsSubmittedOnce",
	},
	{
		"dispatch: an order is left alone while the rail is asked", "internal/dispatch/dispatch.go",
		"stopRenewal, err := tx.LeaseAndRenew(o.Kind, o.Record, version)", "stopRenewal, err := func() {}, error(nil)", "./internal/faults", "TestSlowRailIsAskedByOneWorker",
	},
	{
		"dispatch: a contradiction is noted", "internal/dispatch/decide.go",
		"if r.Outcome.Final() && paid != (booked.Outcome == provider.Paid) {", "", "./payout", "TestContradictionsBookNothing|TestCallbacksBookTheOutcomeOnce",
	},
}

// Refunds never exceed what was paid.
var refundGuards = []guard{
	{
		"refund: no more than is left", "payment/refund.go",
		"case give > left:", "", "./payment", "TestRefunds",
	},
	{
		"refund: nothing of nothing", "payment/refund.go",
		"case give < 1 && amount != nil:", "", "./payment", "TestRefunds",
	},
	{
		"refund: it is counted", "payment/refund.go",
		"p.AmountRefunded += give", "p.AmountRefunded += 0 * give", "./payment", "TestRefunds",
	},
	{
		"refund: a failed one takes back what it counted", "payment/refund.go",
		"if amount < 1 || amount > o.Value.AmountRefunded {", "", "./payment", "TestRefunds",
	},
	{
		"refund: what failed may be refunded again", "payment/refund.go",
		"o.Value.AmountRefunded -= amount", "o.Value.AmountRefunded -= 0 * amount", "./refund", "TestRefundThroughCharger|TestCallbacksBookTheOutcomeOnce|TestLostRefund",
	},
	{
		"refund: only of what was paid", "payment/refund.go",
		"if p.Status != Completed || p.Amount == 0 {", "", "./payment", "TestRefunds",
	},
	{
		"refund: a contradiction is noted", "internal/dispatch/decide.go",
		"if r.Outcome.Final() && paid != (booked.Outcome == provider.Paid) {", "",
		"./refund", "TestContradictionsBookNothing|TestCallbacksBookTheOutcomeOnce",
	},
}

// Batches make each row once.
var batchGuards = []guard{
	{
		"batch: a row and its disbursement are one transaction", "disbursement/disbursement.go",
		"if err == nil && then != nil {", "", "./disbursement", "TestBatch|TestShared",
	},
	{
		"batch: a row whose key was used is settled", "disbursement/batchwork.go",
		"case err == nil && replayed:", "", "./disbursement", "TestBatch|TestShared",
	},
	{
		"batch: a passing fault refuses no row", "disbursement/batchwork.go",
		"isTransient(refusal) &&", "false && isTransient(refusal) &&", "./disbursement", "TestRefusedRows|TestBatch",
	},
	{
		"batch: tries of a row are bounded", "disbursement/batchwork.go",
		"retrySchedule.After(o.Value.Attempts + 1)", "retrySchedule.After(1)", "./disbursement", "TestRefusedRows|TestBatch",
	},
	{
		"batch: a key stands on one row", "disbursement/batch.go",
		"if same, ok := keys[r.IdempotencyKey]; ok {", "", "./disbursement", "TestInvalidBatchesAreRefused",
	},
	{
		"batch: rows are bounded", "disbursement/batch.go",
		"if len(p.Rows) > MaxRows {", "", "./disbursement", "TestInvalidBatchesAreRefused",
	},
	{
		"batch: a settled row keeps no number", "disbursement/batchwork.go",
		"r.Params, r.Due = nil, nil", "r.Due = nil", "./disbursement", "TestSettledRowsKeepNoNumbers",
	},
}
