package payout

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// CreateParams describe a payout.
type CreateParams struct {
	// Amount is in GHS.
	Amount      decimal.Decimal   `json:"amount" param:",required"`
	Currency    string            `json:"currency,omitempty"` // GHS when empty
	Destination DestinationParams `json:"destination" param:",required"`
	// OTPCode is the code that VerifyOTP accepted in the last 10 minutes; required. Inside a host's
	// transaction leave it empty: there the merchant's verified code counts.
	OTPCode     string       `json:"-"`
	Description string       `json:"description,omitempty"` // at most 500 characters
	Metadata    api.Metadata `json:"metadata,omitempty"`
}

// ListParams selects transfers; zero values select all.
type ListParams struct {
	api.Page
	Status Status `param:"status"`
	// Reference is that of disbursements, exactly. Payouts have none.
	Reference string    `param:"reference"`
	Created   api.Times `param:"created"`
}

// Service makes payouts, and the one-time codes that they need. It is safe for concurrent use. It may grow in
// any release: embed it in a fake.
type Service interface {
	// Create sends money out. A payout to a wallet or float is completed when Create returns. For any other
	// payout, Create reserves amount and fee, and a worker submits the payout to the rail, often right
	// after the commit. The answer always says pending, even if a worker is already submitting the payout.
	// Such a payout can no longer be cancelled. With an idempotency key the call may be repeated safely; a
	// replay needs no one-time code. A code that is missing, wrong or expired is otp_verification_required.
	//
	// Refusals: parameter_missing, parameter_invalid, currency_not_supported, amount_too_small,
	// amount_too_large, invalid_phone_number, invalid_destination, invalid_service_id,
	// otp_verification_required. Only with a verified code: recipient_unavailable, account_name_mismatch,
	// service_id_not_found, service_id_not_payable, subagent_not_payable, account_not_found,
	// wallet_not_active, daily_limit_exceeded, insufficient_balance. In live mode without a rail, or if
	// MatchName is set and the rail does not tell the name: service_unavailable.
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*Transfer, error)

	// Get returns one payout.
	Get(ctx context.Context, caller api.Caller, id string) (*Transfer, error)

	// List returns payouts, newest first.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Transfer], error)

	// Cancel cancels a payout that was not yet submitted to the rail, and releases amount and fee. It
	// refuses any other payout with payout_not_cancellable.
	Cancel(ctx context.Context, caller api.Caller, id string) (*Transfer, error)

	// RecipientNumber returns the whole number to which a payout goes: +233XXXXXXXXX, or the digits of a
	// bank account. It is "" for a wallet, and after payments.Config.NumberRetention or an erasure.
	RecipientNumber(ctx context.Context, caller api.Caller, id string) (string, error)

	// RequestOTP sends a new code by SMS to the merchant's registered phone. The new code replaces one that is
	// not verified yet, and must be verified within 10 minutes. It expires when the merchant gets another phone.
	//
	// Refusals: parameter_missing and parameter_invalid (purpose), invalid_phone_number for a merchant
	// without a registered phone, rate_limited after 5 codes in 10 minutes, otp_attempts_exceeded after 10
	// wrong entries in a day (UTC), and service_unavailable in live mode without a Texter. In test mode both
	// limits are 100 in 10 minutes of the test clock.
	RequestOTP(ctx context.Context, caller api.Caller, purpose Purpose) (*OTP, error)

	// VerifyOTP checks a code that the merchant has entered. A verified code may be used for 10
	// minutes, also after another was requested. Verifying it again changes nothing. Five wrong entries end a
	// code, also a verified one; the merchant then requests a new code. Each wrong entry counts against each
	// code that lives, also one in Create.
	//
	// Refusals: parameter_missing (purpose), parameter_invalid, otp_invalid, otp_expired, and
	// otp_attempts_exceeded after five wrong entries of the code or ten in a day (UTC; in test mode 100 in 10
	// minutes of the test clock).
	VerifyOTP(ctx context.Context, caller api.Caller, p OTPParams) (*OTP, error)

	// LookUpAccountName asks the rail for the registered name of a mobile-money wallet or a bank
	// account. An empty Type follows from the number that is given. For a service wallet call
	// [account.Wallets.LookUpServiceID].
	//
	// Do not give it the idempotency key of the payout that follows: it stores its answer under the key, so
	// the payout would be refused with idempotency_key_reused.
	//
	// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, invalid_destination,
	// recipient_unavailable, rate_limited (beyond the [NameQuota] of the merchant and mode), and
	// service_unavailable. The last means that there is no rail, or that the rail does not tell names or
	// does not answer.
	//
	// [account.Wallets.LookUpServiceID]: https://pkg.go.dev/github.com/seed-7082ffec/payments/account#Wallets.LookUpServiceID
	LookUpAccountName(ctx context.Context, caller api.Caller, p DestinationParams) (*AccountName, error)

	// ListBanks lists the banks that can receive payouts.
	ListBanks(context.Context, api.Caller) (*api.List[provider.Bank], error)

	// DailyTotals returns one entry for each day of a period. The entry counts the payouts created on that
	// day, and adds up their amounts without fees, in pesewas, by network and outcome. A payout that the
	// provider took back counts as failed. It reads a few records a day.
	//
	// Both ends of the period are required, and it has at most two years. It is rounded outwards to days in
	// UTC.
	//
	// Refusals: parameter_invalid (period).
	DailyTotals(ctx context.Context, caller api.Caller, period api.Times) ([]api.DayTotals, error)
}
