package main

// Erasure leaves nothing of a person.
var erasureGuards = []guard{
	{
		"erasure: events are redacted", "event/erase.go",
		"changed := !bytes.Equal(kept, o.Value.Data.Object)", "changed := false && !bytes.Equal(kept, o.Value.Data.Object)",
		"./internal/erasure", "TestErasedPeople",
	},
	{
		"erasure: events of every step are redacted", "event/erase.go",
		"return changed, more, nil", "return changed, false, nil", "./internal/erasure", "TestErasureReachesUnlinkedDrafts/memory",
	},
	{
		"erasure: stored answers are found by their person", "internal/engine/key.go",
		"Person: person}", "Person: person[:0]}", "./internal/erasure", "TestErasureReachesUnlinkedDrafts/memory",
	},
	{
		"erasure: messages of every merchant are found", "message/erase.go",
		"if o.Value.Person == person {", "", "./internal/erasure", "TestErasedPeople",
	},
	{
		"erasure: quoted answers of deliveries go", "webhook/erase.go",
		`o.Value.Attempts[i].Response = ""`, "_ = i", "./internal/erasure", "TestErasureRemovesEndpointAnswers",
	},
	{
		"erasure: names of payees go", "payout/erase.go",
		`r.To, r.Destination.Name = nil, ""`, "_ = r", "./internal/erasure", "TestErasedPeople",
	},
	{
		"erasure: what is under way is waited for", "payout/erase.go",
		"case r.Status.final():", "case true || r.Status.final():", "./internal/erasure", "TestPayeeOfOpenTransfer",
	},
	{
		"erasure: an account with money stays", "account/eraseholder.go",
		"if b.Amount != 0 {", "", "./internal/erasure", "TestErasedPeople",
	},
	{
		"erasure: numbers of ended transfers go", "internal/dispatch/orders.go",
		"if outlived {", "",
		"./internal/erasure", "TestRetentionRemovesNumbersOfEndedTransfers/memory",
	},
}

// The host's transaction: what follows waits for its commit, and nothing leaves it.
var hostGuards = []guard{
	{
		"host transaction: what follows waits for the commit", "internal/engine/engine.go",
		"if e.Host != nil {\n\t\te.Host.add(last)", "if false {\n\t\te.Host.add(last)", "./internal/engine", "TestCommitHooksWaitForTheHost",
	},
	{
		"host transaction: it takes no place among the workers", "internal/engine/engine.go",
		"if tx.engine.Host != nil {", "", "./internal/engine", "TestCommitHooksWaitForTheHost",
	},
	{
		"host transaction: no PIN is compared in it", "account/pin.go",
		"if s.engine.Host != nil {", "", ".", "TestOwnTransactionTakesNoGuess/sqlite",
	},
	{
		"host transaction: no code is compared in it", "payout/otp.go",
		"if s.engine.Host != nil {\n\t\treturn \"\"", "if false {\n\t\treturn \"\"", ".", "TestOwnTransactionTakesNoGuess/sqlite",
	},
	{
		"host transaction: no rail is asked in it", "payout/internal.go",
		"if in.engine.Host != nil {", "", ".", "TestOwnTransactionAsksNobody/sqlite",
	},
	{
		"host transaction: no charger is asked in it", "invoice/pay.go",
		"if s.engine.Host != nil {", "", ".", "TestOwnTransactionAsksNobody/sqlite",
	},
	{
		"host transaction: no name is asked for in it", "payout/name.go",
		"if s.engine.Host != nil {", "", ".", "TestOwnTransactionAsksNobody/sqlite",
	},
	{
		"transaction: what an undone one wanted is undone", "internal/engine/engine.go",
		"if !committed {", "", "./internal/engine", "TestPanicRollsBack|TestTransactionMayRunAgain|TestDispatchBeginsAfterCommit",
	},
}

// Idempotency keys: a replay does nothing.
var keyGuards = []guard{
	{
		"idempotency: one key is one request", "internal/engine/key.go",
		"if o.Value.Fingerprint != digest {", "", "./internal/engine", "TestExecuteReplays",
	},
	{
		"idempotency: an answer is stored", "internal/engine/engine.go",
		"if err = storeAnswer(tx, caller.IdempotencyKey, digest, answer); err == nil {", `if err = storeAnswer(tx, caller.IdempotencyKey, "", answer); err == nil {`,
		"./internal/engine", "TestExecuteReplays|TestConcurrentCallsWithOneKey",
	},
	{
		"idempotency: a replay is undone", "internal/engine/engine.go",
		"return errReplayed", "return nil", "./internal/engine", "TestExecuteReplays|TestConcurrentCallsWithOneKey",
	},
	{
		"idempotency: a key ends", "internal/engine/key.go",
		"if !now.Before(o.Value.Expires.Time) {", "", "./internal/engine", "TestExecuteWithReplayRunsTheStepsOnce",
	},
	{
		"idempotency: a replay goes nowhere again", "internal/engine/engine.go",
		"if done, err := Replay[T](ctx, e, caller, op); done != nil || err != nil {", "if done, err := Replay[T](ctx, e, caller, op); err != nil {",
		"./internal/engine", "TestExecuteWithReplayRunsTheStepsOnce",
	},
	{
		"idempotency: a key is short", "internal/engine/key.go",
		`if key == "" || len(key) > maxIdempotencyKey {`, "", "./internal/engine", "TestInvalidKeysAreRefused",
	},
}

// Webhooks: who is told, once, and how many at a time.
var webhookGuards = []guard{
	{
		"webhook limiter: a failure narrows the window", "internal/pace/limiter.go",
		"if ep.healthy {\n\t\tep.window = min", "if true {\n\t\tep.window = min", "./internal/pace", "TestEndpointWindowGrowsWithSuccess|TestEndpointsShareTheLimiterFairly|TestFullEndpointBacksOff|TestFanOutWaitsForRoom",
	},
	{
		"webhook limiter: an endpoint has a window", "internal/pace/limiter.go",
		"ep.inFlight < ep.window && l.inFlight < MaxInFlight {\n\t\tep.inFlight++", "l.inFlight < MaxInFlight {\n\t\tep.inFlight++",
		"./internal/pace", "TestEndpointWindowGrowsWithSuccess|TestEndpointsShareTheLimiterFairly",
	},
	{
		"webhook limiter: all endpoints share a bound", "internal/pace/limiter.go",
		"ep.inFlight < ep.window && l.inFlight < MaxInFlight {\n\t\tep.inFlight++", "ep.inFlight < ep.window {\n\t\tep.inFlight++",
		"./internal/pace", "TestEndpointWindowGrowsWithSuccess|TestEndpointsShareTheLimiterFairly",
	},
	{
		"webhook limiter: the window grows to a bound", "internal/pace/limiter.go",
		"min(ep.window+1, maxPerEndpoint)", "ep.window+1", "./internal/pace", "TestEndpointWindowGrowsWithSuccess|TestEndpointsShareTheLimiterFairly",
	},
	{
		"webhook limiter: waiting deliveries are bounded", "internal/pace/limiter.go",
		"if !reserved && l.waitingFull(ep) {", "", "./internal/pace", "TestEndpointWindowGrowsWithSuccess|TestEndpointsShareTheLimiterFairly|TestFullEndpointBacksOff",
	},
	{
		"webhook: live mode goes to the public network", "webhook/address.go",
		"if live && !isPublicHost(u.Hostname()) {", "", "./webhook", "TestUnsafeURLsAreRefused",
	},
	{
		"webhook: live mode goes over TLS", "webhook/address.go",
		`case u.Scheme != "https" && (live || u.Scheme != "http"):`, `case u.Scheme != "https" && u.Scheme != "http":`, "./webhook", "TestUnsafeURLsAreRefused",
	},
	{
		"webhook: a signature is compared", "webhook/signature.go",
		"if !matches {", "", "./webhook", "TestVerifyRefusesForgedOrOldSignature",
	},
	{
		"webhook: a signature ages", "webhook/signature.go",
		"age > tolerance || age < -tolerance {", "false && age > tolerance {", "./webhook", "TestVerifyRefusesForgedOrOldSignature",
	},
	{
		"webhook latencies: a delivery counts when it has ended", "webhook/latency.go",
		"if d.Status == Pending {", "if len(d.Attempts) == 0 {", "./webhook", "TestDeliveriesCountByHowLongTheyTook",
	},
	{
		"totals: an order before the pass is counted by the pass alone", "internal/totals/rebuild.go",
		"return id <= r.ID", "return true", "./internal/totals", "TestRebuildCountsEachOrderOnce",
	},
	{
		"money flow: only the operator sees it", "account/flow.go",
		"if err := operatorOnly(caller); err != nil {", "", "./account", "TestMoneyFlowBalances",
	},
	{
		"webhook: a receiver handles an event once", "webhook/handler.go",
		"if err != nil || !fresh {", "if err != nil || false && !fresh {", "./webhook", "TestHandlerPassesVerifiedEventOnce",
	},
	{
		"webhook: an endpoint is told of nothing before it", "event/subscription.go",
		"if e.ID <= s.After {", "", "./webhook", "TestNewEndpointMissesEarlierEvents",
	},
}

// Invoices and QR codes are paid once.
var chargeGuards = []guard{
	{
		"invoice: a paid one is not paid again", "invoice/pay.go",
		"case r.Status == Paid:", "", "./invoice", "TestConcurrentCallsMoveMoneyOnce|TestStatusAllowsItsCallsOnly",
	},
	{
		"invoice: one charge at a time", "invoice/pay.go",
		"case r.OpenCharge != nil:", "", "./invoice", "TestConcurrentCallsMoveMoneyOnce|TestLostChargeBlocksAndIsBookedOnce",
	},
	{
		"invoice: a charge is booked once", "invoice/dispatch.go",
		"if r.OpenCharge == nil || r.OpenCharge.ID != ref.ID {", "if r.OpenCharge == nil {", "./invoice", "TestLateResultLeavesTheOpenChargeAlone",
	},
	{
		"invoice: it is not voided during a charge", "invoice/actions.go",
		"if r.OpenCharge != nil {\n\t\t\treturn chargeUnderWay()", "if false {\n\t\t\treturn chargeUnderWay()", "./invoice", "Test",
	},
	{
		"QR code: its uses are bounded", "qrcode/pay.go",
		"if c.UsageLimit != nil && c.UsageCount >= *c.UsageLimit {", "", "./qrcode", "TestUsageLimitsUnderConcurrency|TestRefusedPayments",
	},
	{
		"QR code: a fixed amount stands", "qrcode/pay.go",
		"case entered != nil && *entered != *c.Amount:", "", "./qrcode", "TestRefusedPayments|TestPayRefusesBadParams",
	},
	{
		"QR code: a consumer's payload is authentic", "qrcode/codec.go",
		"if hmac.Equal([]byte(p.MAC), []byte(mac(key, live, p.Entity, p.Code))) {", "if true || hmac.Equal([]byte(p.MAC), []byte(mac(key, live, p.Entity, p.Code))) {", "./qrcode", "TestCodec",
	},
}
