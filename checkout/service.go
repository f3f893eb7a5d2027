package checkout

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// ListParams selects sessions; zero values select all.
type ListParams struct {
	api.Page
	Status       Status `param:"status"`
	Customer     string `param:"customer,id"`
	Payment      string `param:"payment,id"`
	Subscription string `param:"subscription,id"`
	// Reference is the caller's own, exactly.
	Reference string    `param:"reference"`
	Created   api.Times `param:"created"`
}

// Service makes sessions, and takes their money. It is safe for concurrent use. It may grow in any release:
// embed it in a fake.
type Service interface {
	// Create makes an open session. With an idempotency key it may be repeated safely.
	//
	// For a host that keeps its own customers, ModeSubscription requires Customer.
	//
	// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, currency_not_supported,
	// resource_missing (customer, plan, product, coupon), coupon_not_redeemable, permission_denied (a key
	// that may not read customers, plans, products or coupons).
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*Session, error)

	// Get returns one session.
	Get(ctx context.Context, caller api.Caller, id string) (*Session, error)

	// List returns sessions, newest first.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Session], error)

	// ListLines lists the lines of a session in their order. Cursors are lines' ids: starting_after goes
	// forward.
	ListLines(ctx context.Context, caller api.Caller, id string, p api.Page) (*api.List[invoice.Line], error)

	// Expire ends an open session, so that it can no longer be paid. With an idempotency key it may be
	// repeated safely.
	//
	// Refusals: resource_missing, checkout_not_open, payment_in_progress (a payment from a phone holds it).
	Expire(ctx context.Context, caller api.Caller, id string) (*Session, error)

	// Pay pays an open session. With an idempotency key it may be repeated safely; a replay does not check
	// the PIN. The caller stands for the session's merchant; see [Hosted].
	//
	// From a consumer's wallet, one transaction debits the wallet, credits the merchant, redeems the
	// coupon, writes the payment and completes the session.
	//
	// From a phone, Pay starts a payment, and the session stays open until the payment is completed; see
	// [payment.Payments.Create]. The payment holds the session until it ends, or for
	// payments.Config.PaymentDeadline. With From, it holds the session for 2 minutes, until the provider has
	// answered that the phone was asked. In live mode an address starts at most two such payments of one session
	// in an hour. A payer may approve after the hold, when the session is no longer open. That payment is
	// refunded if the Charger is a provider.RefundRail; otherwise Providers.List shows it. If the session is
	// still open, it is completed.
	//
	// The session has one redemption of its coupon from the first payment on. It keeps the redemption until it
	// ends, or until all its payments have an outcome or have passed their deadline. A later approval counts
	// another redemption, and is refunded if none is left.
	//
	// If nothing is due, Pay redeems the coupon and completes the session without a payment. In ModeSubscription
	// the phone is confirmed before, in live mode: Pay sends it a code, and [Service.ConfirmPhone] completes the
	// session.
	//
	// A phone gets one trial of a plan at a merchant. With a phone that had one, however it began, the session costs
	// the first period, which Pay takes.
	//
	// In ModeSubscription the completion begins the subscription, with a paid invoice of its first period or
	// with its trial, in the same transaction. A session without a customer makes one.
	//
	// Refusals: resource_missing, checkout_not_open, payment_in_progress, coupon_not_redeemable,
	// parameter_invalid, and parameter_missing (phone_number in ModeSubscription, or if neither a phone nor
	// a wallet is named; pin with a wallet).
	//
	// Refusals from a wallet: account_not_found (an unknown account id), pin_invalid (also a phone number
	// or service id without an open wallet), pin_locked, wallet_not_active, insufficient_balance.
	//
	// Refusals from a phone: invalid_phone_number, too_many_prompts, and service_unavailable in live mode
	// without a charger. With a code, also rate_limited and otp_attempts_exceeded, and service_unavailable in live
	// mode without a Texter.
	Pay(ctx context.Context, caller api.Caller, id string, p PayParams) (*Session, error)

	// ConfirmPhone checks the code that [Service.PayHosted], or in live mode Pay, has sent to the phone of a
	// session for which nothing is due now. If it is right, the session is completed, and its subscription begins.
	// If the phone has meanwhile had its trial another way, the session stays open, and now costs the first period.
	//
	// Each wrong code counts, also concurrent ones. It ignores an idempotency key: a call after a success is
	// checkout_not_open. It cannot be called in a host's transaction, whose rollback would lose the count.
	//
	// Refusals: resource_missing, parameter_invalid, otp_invalid, otp_expired, otp_attempts_exceeded,
	// checkout_not_open, payment_in_progress, coupon_not_redeemable.
	ConfirmPhone(ctx context.Context, caller api.Caller, id, code string) (*Session, error)

	// Hosted finds a session by the secret in its page's address. An unknown secret is resource_missing.
	Hosted(ctx context.Context, token string) (*Hosted, error)

	// HostedByID is Hosted for a page that knows the session's id and merchant. [Service.Brief] is less work.
	HostedByID(ctx context.Context, caller api.Caller, id string) (*Hosted, error)

	// Brief returns a session without its lines, of which there may be many: a page that waits for a payment
	// reads it every few seconds. An unknown id is resource_missing.
	Brief(ctx context.Context, caller api.Caller, id string) (*Brief, error)

	// PayHosted is Pay for a page, which reads the session afterwards. It sends a code in test mode, too, which is
	// 123456. The price changes if the phone has had its trial, or has one after all. Then PayHosted only writes that
	// into the session, so that the page asks again. It stores no copy of the session with
	// the idempotency key: a payer may try often, and a session may have many lines.
	PayHosted(ctx context.Context, caller api.Caller, id string, p PayParams) error
}
