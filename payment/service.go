package payment

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
)

// Service takes, keeps and reads payments. It is safe for concurrent use. It may grow in any release: embed it in a
// fake.
type Service interface {
	Payments
	Pages
	TopUps
	Reports
}

// Payments takes payments from phones, and reads those of all kinds.
type Payments interface {
	// Create asks a phone to approve a payment. A worker submits the payment to the [provider.Charger],
	// often right after the commit, and books the outcome when the payer has decided. The answer always says
	// pending, even if a worker is already submitting the payment, which can then no longer be cancelled.
	//
	// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, currency_not_supported,
	// resource_missing (customer), permission_denied (a key that may not read customers), too_many_prompts,
	// and service_unavailable in live mode without a charger.
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*Payment, error)

	// Get returns one payment.
	Get(ctx context.Context, caller api.Caller, id string) (*Payment, error)

	// List returns payments, newest first.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Payment], error)

	// Search returns the payments that have the text as their id, reference, amount, number or name, newest
	// first. It reads by indexes alone. For a name it looks at the payments of the 10 newest customers and
	// the 10 newest consumers with it. A whole number finds payments whose payer's number has the same
	// first three and last four digits, so those of another payer may be among them. Where only the masked
	// number is left, in a payment from a wallet or after payments.Config.NumberRetention, its last three
	// digits find the payment.
	Search(ctx context.Context, caller api.Caller, p SearchParams) (list *api.List[Payment], err error)

	// Undecided returns the newest of the selected payments whose payer was asked on the phone, has not
	// answered in time, and has not chosen another way to pay. It may still be approved. It considers only
	// payments that held an invoice, a checkout session or a use of a QR code, and only the 100 newest in
	// processing. It returns nil for none. It ignores the status and the page of the parameters.
	Undecided(ctx context.Context, caller api.Caller, p ListParams) (found *Payment, err error)

	// Payer returns the payer of a payment.
	Payer(ctx context.Context, caller api.Caller, id string) (*Payer, error)

	// Confirm passes on a code that the payer got by phone, such as a voucher code, and returns the
	// payment as the charger's answer leaves it. After a wrong code the payment stays processing and
	// waits for another code. The payer may try five codes. The code is not stored. With an idempotency
	// key it may be repeated safely; another code needs another key. If the first call was lost but its
	// code ended the payment, a repeat with the same key returns the payment.
	//
	// Refusals: parameter_missing, parameter_invalid, resource_missing; payment_not_confirmable if no
	// code is asked for; otp_attempts_exceeded.
	Confirm(ctx context.Context, caller api.Caller, id string, p ConfirmParams) (*Payment, error)

	// Cancel ends a payment that was not submitted to the charger yet. Most payments are submitted as soon
	// as they are made. Cancel refuses a submitted payment with payment_not_cancellable. With an
	// idempotency key it may be repeated safely. If the payment was of a checkout session with a coupon, a
	// worker gives the redemption back, unless another payment of the session may still be approved.
	Cancel(ctx context.Context, caller api.Caller, id string) (*Payment, error)

	// Leave ends the hold of a payment when the payer chooses another way to pay. A payment that is still
	// pending is cancelled. One that was submitted goes on: its payer may still approve it. A
	// checkout session with a coupon keeps the redemption, for its next payment too, until this payment has an
	// outcome or its deadline has passed.
	//
	// Refusals: resource_missing. A payment that has ended stays as it is.
	Leave(ctx context.Context, caller api.Caller, id string) error

	// Release ends the hold of a payment that is pending or processing, so that another payer can pay the same
	// code, invoice or checkout session. The payment goes on: its payer may still approve it. It then completes
	// what still stands open, or is refunded. Release records no event, and a second call changes nothing. With
	// an idempotency key it may be repeated safely.
	//
	// Refusals: resource_missing; payment_not_releasable for a payment that has ended, or from a wallet.
	Release(ctx context.Context, caller api.Caller, id string) (*Payment, error)

	// SendReceipt texts the receipt of a completed payment to its payer once more: to the phone that paid, or to the
	// holder of the wallet. It does so at most 5 times an hour and 20 times a day. With an idempotency key it may be
	// repeated safely.
	//
	// Refusals: parameter_invalid (a payment that is not completed or came too late, or a payer without a number, also
	// after an erasure or Config.NumberRetention), rate_limited; service_unavailable in live mode without a Texter.
	SendReceipt(ctx context.Context, caller api.Caller, id string) (*Payment, error)

	// Networks returns the networks whose phones can pay in a mode, such as "mtn"; none without a
	// [provider.Charger].
	Networks(live bool) []string

	// TakesPhones reports whether payments from phones can be made in a mode.
	TakesPhones(live bool) bool
}

// Pages finds payments for the pages that follow them.
type Pages interface {
	// Hosted finds a payment by the token in its page's address. An unknown token is resource_missing.
	Hosted(ctx context.Context, token string) (*Hosted, error)

	// PageToken returns the last part of the address of the page that follows a payment from a phone.
	// It cannot be guessed. A payment of another method is resource_missing.
	PageToken(ctx context.Context, caller api.Caller, id string) (string, error)
}

// TopUps fills consumers' wallets.
type TopUps interface {
	// TopUp asks a consumer's phone for money, and puts it into the consumer's wallet. It returns once the
	// charger has answered: a completed top-up, or one that is pending or processing while the charger
	// has not decided. A worker then books the outcome, and GetTopUp shows it. With an idempotency key
	// the call may be repeated safely.
	//
	// In live mode the caller is the operator. In test mode it may also be a merchant; the top-up then
	// follows the merchant's test clock, and its SMS is among the merchant's messages.
	//
	// Refusals: parameter_missing, parameter_invalid, currency_not_supported, resource_missing (no such
	// consumer), account_not_found (a closed wallet), wallet_not_active, wallet_limit_exceeded,
	// invalid_phone_number (the number belongs to no network), too_many_prompts, payment_failed with the
	// provider's reason, permission_denied, and service_unavailable in live mode without a charger.
	TopUp(ctx context.Context, caller api.Caller, p TopUpParams) (*TopUp, error)

	// GetTopUp returns one top-up of the caller's.
	GetTopUp(ctx context.Context, caller api.Caller, id string) (*TopUp, error)

	// ListTopUps returns the top-ups of the caller's, newest first.
	ListTopUps(ctx context.Context, caller api.Caller, p ListTopUpsParams) (*api.List[TopUp], error)

	// ConfirmTopUp is Confirm for a top-up. Call it as the caller that made the
	// top-up: to any other it is resource_missing.
	ConfirmTopUp(ctx context.Context, caller api.Caller, id string, p ConfirmParams) (*TopUp, error)
}

// Reports tells what a merchant has received.
type Reports interface {
	// DailyTotals returns one entry for each day of a period. The entry counts the payments created on that
	// day, and adds up their amounts in pesewas, by network and outcome. A payment that has not ended
	// counts nowhere. A payment that was refunded, or that its provider took back, stays completed.
	//
	// Both ends of the period are required, and it has at most two years. It is rounded outwards to days in
	// UTC.
	//
	// It reads a few records a day, however many payments there are.
	//
	// Refusals: parameter_invalid (period).
	DailyTotals(ctx context.Context, caller api.Caller, period api.Times) (days []api.DayTotals, err error)

	// Export writes the selected payments as CSV, newest first: those of every status, unless the
	// parameters name one. Amounts are in GHS with two decimals. The first row names the columns, of which
	// later versions add more at the end. Export ignores the page of the parameters. It puts an apostrophe
	// before text that a spreadsheet would take for a formula.
	Export(ctx context.Context, caller api.Caller, p ExportParams) error
}
