package subscription

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
)

// ListParams selects subscriptions; zero values select all.
type ListParams struct {
	api.Page
	Customer string    `param:"customer,id"`
	Plan     string    `param:"plan,id"`
	Status   Status    `param:"status"`
	Created  api.Times `param:"created"`
}

// Service keeps and bills subscriptions. It is safe for concurrent use. It may grow in any release: embed it
// in a fake.
type Service interface {
	// Create starts a subscription. Without a trial it begins its first period at once, with an invoice
	// that is sent or charged. With an idempotency key it may be repeated safely.
	//
	// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, resource_missing (customer,
	// plan, coupon), coupon_not_redeemable, permission_denied for a key that may not read customers, plans or coupons.
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*Subscription, error)

	// Get returns one subscription.
	Get(ctx context.Context, caller api.Caller, id string) (*Subscription, error)

	// List returns subscriptions, newest first.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Subscription], error)

	// Update changes a subscription. A change of the quantity, or of the plan within the same interval,
	// keeps the period. With prorations the next invoice gets two more lines. One is credit for what the period
	// charges for its rest, whether its invoice is paid already or not. The other charges that rest at the new
	// price. Both carry the period's discount. A plan of another interval starts a new period at once, with an
	// invoice that also has the credit. While the subscription is in its trial or paused, nothing is prorated
	// and no period starts.
	//
	// A credit belongs to the invoice whose time it credits. It goes if that invoice is voided or becomes
	// uncollectible. It falls in the proportion in which the invoice's payment is refunded or reversed. What an
	// invoice has used of it stays used.
	//
	// Refusals: resource_missing (also of plan and coupon), parameter_invalid, parameter_missing,
	// invalid_phone_number, coupon_not_redeemable, subscription_cancelled, permission_denied for a key that may
	// not read plans or coupons it names.
	Update(ctx context.Context, caller api.Caller, id string, p UpdateParams) (*Subscription, error)

	// Cancel ends a subscription, without credit for the rest of the period. It bills the lines that wait for
	// the next invoice, less the credit balance, on a final invoice of that moment. If they come to nothing or
	// less, they lapse. A subscription that is cancelled at once has its open invoices charged no more. They
	// stay payable. One that is cancelled at the period's end makes no further invoice but the final one. With
	// an idempotency key it may be repeated safely.
	//
	// Refusals: resource_missing, subscription_cancelled.
	Cancel(ctx context.Context, caller api.Caller, id string, p CancelParams) (*Subscription, error)

	// Pause stops the invoices of a subscription, and ends its trial. It gives no credit. Open invoices
	// are collected as before.
	//
	// Refusals: resource_missing, subscription_paused, subscription_cancelled.
	Pause(ctx context.Context, caller api.Caller, id string) (*Subscription, error)

	// Resume begins a new period of a paused subscription, with its invoice and a new anchor.
	//
	// Refusals: resource_missing, subscription_not_paused, subscription_cancelled.
	Resume(ctx context.Context, caller api.Caller, id string) (*Subscription, error)

	// Phone returns the whole number that a subscription charges, +233XXXXXXXXX; "" if none is known.
	Phone(ctx context.Context, caller api.Caller, id string) (string, error)

	// Hosted finds a subscription by the secret in the URL of its page. An unknown secret is
	// resource_missing.
	Hosted(ctx context.Context, token string) (*Hosted, error)

	// StartPhoneChange sends a code by SMS to a new phone, for [Service.ConfirmPhone]. The new code
	// replaces an earlier one. At most 5 codes are sent in 10 minutes, and 20 in a day; in test mode 100 in 10
	// minutes. These limits count the codes of the subscription. In live mode they also count those to the
	// number, over all merchants. Of these, one network address may have 4 and 10 sent on pages. It ignores an
	// idempotency key: each call sends a new code.
	//
	// Refusals: resource_missing, parameter_missing, invalid_phone_number, subscription_cancelled,
	// rate_limited, otp_attempts_exceeded after 10 wrong entries in a day (UTC; in test mode 100 in 10 minutes),
	// and service_unavailable in live mode without a Texter.
	StartPhoneChange(ctx context.Context, caller api.Caller, id string, p StartPhoneChangeParams) (*PhoneChange, error)

	// ConfirmPhone checks the code of StartPhoneChange. If it is right, later charges ask the new phone.
	// Each wrong code counts, also concurrent ones. It ignores an idempotency key: a call after a success is
	// otp_invalid. It cannot be called in a host's transaction, whose
	// rollback would lose the count.
	//
	// Refusals: resource_missing, parameter_invalid, otp_invalid, otp_expired, otp_attempts_exceeded,
	// subscription_cancelled.
	ConfirmPhone(ctx context.Context, caller api.Caller, id, code string) (*Subscription, error)
}
