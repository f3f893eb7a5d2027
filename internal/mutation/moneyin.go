package main

// Payments from phones: what is paid for is held, prompts are few, and money that comes late or twice
// is booked once.
var moneyInGuards = []guard{
	{
		"prompt: a phone with an open one gets no other", "payment/prompt.go",
		`if p.Open != "" {`, "", "./payment", "TestPromptLimits",
	},
	{
		"prompt: a few in ten minutes, and in a day", "payment/prompt.go",
		"if limit.most > 0 {", "", "./payment", "TestPromptLimits",
	},
	{
		"prompt: it ends with its payment", "payment/prompt.go",
		"if p.Open == payment {", "", "./payment", "TestPromptLimits",
	},
	{
		"prompt: another payment's end does not end it", "payment/prompt.go",
		"|| p.Open != payment && unsent.IsZero() {\n\t\treturn nil\n\t}\n\tif p.Open == payment {", "{\n\t\treturn nil\n\t}\n\t{", "./payment", "TestLaterPromptStaysOpen",
	},
	{
		"prompt: a number of test mode is refused", "payment/prompt.go",
		`if strings.HasSuffix(number, "0908") {`, "", "./payment", "TestPromptRefusedInTestMode",
	},
	{
		"hold: it ends at its time", "payment/hold.go",
		"return !now.Before(h.Until.Time)", "return false", "./payment", "TestHoldEndsWithoutWorker",
	},
	{
		"hold: it ends with its payment", "payment/hold.go",
		"return h.Payment == r.ID", "return false", "./payment", "TestPaymentHoldsUse",
	},
	{
		"hold: a payment holds no longer than its time", "payment/hold.go",
		"return r.HoldExpiresAt != nil && now.Before(r.HoldExpiresAt.Time)", "return r.HoldExpiresAt != nil", "./payment", "TestPaymentHoldsUse|TestLateSuccessIsRefunded",
	},
	{
		"hold: a code's is what is left of its limit", "qrcode/pay.go",
		"return c.UsageCount+int64(held) < *c.UsageLimit, err", "return c.UsageCount+0*int64(held) < *c.UsageLimit, err", "./payment", "TestPaymentHoldsUse",
	},
	{
		"hold: a payment of a code with a limit holds a use", "qrcode/pay.go",
		"if c.UsageLimit != nil {\n\t\tstart.HeldObject", "if false {\n\t\tstart.HeldObject", "./payment", "TestPaymentHoldsUse",
	},
	{
		"hold: a late payment of a code takes a free use alone", "qrcode/internal.go",
		"return i.svc.free(tx, tx.Now, code)", "return true, nil", "./payment", "TestLateSuccessIsRefunded",
	},
	{
		"hold: a payment of a code takes the use that it holds", "qrcode/internal.go",
		"if c := &code.Value; p.HoldActive {", "if c := &code.Value; false && p.HoldActive {", "./payment", "TestPaymentHoldsUse|TestLateSuccessIsRefunded",
	},
	{
		"hold: a held invoice is not paid", "invoice/pay.go",
		"if err != nil || held == 0 {", "if true || held == 0 {", "./invoice", "TestPaymentHoldsInvoice",
	},
	{
		"hold: a held invoice is not voided", "invoice/actions.go",
		"if err := s.notHeld(tx, tx.Now, o); err != nil {", "", "./invoice", "TestPaymentHoldsInvoice",
	},
	{
		"hold: a held invoice is not charged automatically", "invoice/dispatch.go",
		"if err := s.notHeld(tx, tx.Now, o); err != nil {", "", "./invoice", "TestAutomaticMethodWaitsForPayer",
	},
	{
		"hold: a held invoice is not closed by the last failure", "invoice/phone.go",
		"if !until.IsZero() && r.NextPaymentAttempt != nil {", "", "./invoice", "TestLastFailureLeavesHold",
	},
	{
		"invoice: a charge of another amount has not paid it", "invoice/pay.go",
		"case decision == dispatch.StillPending: // also if another amount is paid", "", "./invoice", "TestOtherAmountIsNotPaid",
	},
	{
		"invoice: a late payment takes an open one alone", "invoice/phone.go",
		"return o.Value.Status == Open && o.Value.OpenCharge == nil, nil", "return true, nil", "./invoice", "TestLateApproval|TestPaymentHoldsInvoice",
	},
	{
		"invoice: a payment waits for the charge under way", "invoice/phone.go",
		"return o.Value.Status == Open && o.Value.OpenCharge == nil, nil", "return o.Value.Status == Open, nil", "./invoice", "TestAutomaticPaymentGivenBack",
	},
	{
		"invoice: one automatic payment at a time", "invoice/dispatch.go",
		`case r.OpenPayment != "":`, "", "./invoice", "TestAutomaticChargeOfPhone",
	},
	{
		"invoice: a cancelled automatic payment has failed", "invoice/phone.go",
		"case payment.Pending, payment.Processing:", "case payment.Pending, payment.Processing, payment.Cancelled:", "./invoice", "TestCancelledAutomaticPayment",
	},
	{
		"invoice: an automatic payment that was given back is not waited for", "invoice/phone.go",
		`r.OpenPayment, r.NextWorkAt = "", r.NextPaymentAttempt`, "r.NextWorkAt = api.AtOrNil(tx.Now.Add(awaitAgain))", "./invoice", "TestAutomaticPaymentGivenBack",
	},
	{
		"payment: only a pending one is cancelled", "payment/phoned.go",
		"if o.Value.Status != Pending {", "", "./payment", "TestSubmittedPaymentIsNotCancelled",
	},
	{
		"payment: it is not sent after its deadline", "internal/dispatch/orders.go",
		"case s.SubmittedAt == nil && s.Deadline != nil && !tx.Now.Before(s.Deadline.Time):", "", "./payment", "TestPendingPaymentFailsAtItsDeadline",
	},
	{
		"dispatch: a charge is not sent again after its deadline", "internal/dispatch/dispatch.go",
		"if !first && o.Deadline != nil && !tx.Now.Before(o.Deadline.Time) {", "", "./payment", "TestNoPromptAfterDeadline",
	},
	{
		"payment: what has ended is booked once", "internal/dispatch/orders.go",
		"if s.Outcome.Final() {\n\t\tbooked :=", "if false {\n\t\tbooked :=", "./payment", "TestPhonesToTestWith|TestPaymentIsBookedOnce",
	},
	{
		"payment: a refused one is polled, and not charged again", "internal/dispatch/orders.go",
		"if s.Outcome.Final() { // the provider may contradict itself, and gets no other order", "if false {", "./payment", "TestRefusedPaymentIsNotChargedAgain",
	},
	{
		"payment: live mode needs a charger", "payment/phoned.go",
		"if by == nil {\n\t\treturn nil, errNoCharger", "if false {\n\t\treturn nil, errNoCharger", "./payment", "TestNoCharger",
	},
	{
		"payment: a page has a secret", "payment/page.go",
		"if r.Phoned == nil || subtle.ConstantTimeCompare([]byte(secret), []byte(r.Phoned.PageSecret)) == 0 {", "if r.Phoned == nil || secret == \"-\" {", "./payment", "TestPageOfPayment",
	},
	{
		"payment: a code is asked for", "payment/confirm.go",
		"!confirms || asked == nil || asked.Type != EnterCode {", "!confirms {", "./payment", "TestConfirm",
	},
	{
		"payment: codes are few", "payment/confirm.go",
		"if c.Codes++; c.Codes > maxCodes {", "", "./payment", "TestConfirm$",
	},
	{
		"payment: a repeated confirmation is answered", "payment/confirm.go",
		`if key != "" && c.CodeKey == key {`, "", "./payment", "TestConfirmIsRepeated",
	},
	{
		"payment: a wallet's is not settled", "payment/dispatch.go",
		"if err == nil && o.Value.Phoned == nil {", "", "./payment", "TestWalletPaymentIsNotSettled",
	},
	{
		"payment: one that has ended is not settled", "internal/providers/flow.go",
		`case ref.Object == "payment" && (decision == dispatch.Contradicted || decision == dispatch.AlreadyBooked):`, "", "./payment", "TestPaymentIsBookedOnce",
	},
	{
		"orders: a merchant gets its own", "internal/providers/providers.go",
		`owner.Live != caller.Live || caller.Merchant != "" && owner.Merchant != caller.Merchant {`, "owner.Live != caller.Live {", "./internal/providers", "TestOrderTellsTheContradiction",
	},
	{
		"collection fee: none of what is given back", "payment/dispatch.go",
		"if c.taken {", "if true {", "./payment", "TestLateSuccessIsRefunded",
	},
	{
		"collection fee: no more than the amount", "payment/fee.go",
		"return min(fee.Fee(byNetwork[network]).Of(amount), amount)", "return fee.Fee(byNetwork[network]).Of(amount)", "./payment", "TestCollectionFee",
	},
	{
		"money in: what is paid for is asked", "internal/providers/moneyin.go",
		"if r.Outcome == provider.Paid && !p.Ended {", "", "./payment", "TestLateSuccessIsRefunded",
	},
	{
		"money in: what is not taken is given back", "internal/providers/moneyin.go",
		"case !taken:", "", "./payment", "TestLateSuccessIsRefunded",
	},
	{
		"money in: what cannot be given back is listed", "internal/providers/moneyin.go",
		"if m.payments.RefundRail(tx.Caller.Live, p.Route()) == nil {", "", "./payment", "TestLateSuccessWithoutRefundIsListed",
	},
	{
		"money in: a use is counted", "internal/providers/moneyin.go",
		"case p.QRCode != nil && p.Status == payment.Completed:", "", "./payment", "TestPaymentHoldsUse",
	},
	{
		"money in: an automatic refund that failed is listed", "refund/dispatch.go",
		"case r.Automatic:", "", "./payment", "TestLateSuccessWithoutRefundIsListed",
	},
	{
		"money in: a refund of what came twice is none of the invoice", "refund/service.go",
		"return paidBy == r.Payment, err", "return true, err", "./invoice", "TestRefundOfSecondPayment|TestPaymentHoldsInvoice",
	},
	{
		"dispatch: a charge is polled at its deadline", "internal/dispatch/dispatch.go",
		"if o.Deadline != nil && tx.Now.Before(o.Deadline.Time) {", "", "./payment", "TestPhoneIsPolledAtDeadline",
	},
}
