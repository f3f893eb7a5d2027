package qrcode

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
)

// CreateParams describe a new code.
type CreateParams struct {
	// Type is Static when empty.
	Type Type `json:"type,omitempty" param:",nonempty"`
	// Amount is in pesewas, from 1 to 99,999,999; nil lets the customer enter it.
	Amount      *int64 `json:"amount,omitempty" param:",pesewas"`
	Currency    string `json:"currency,omitempty"`    // GHS when empty
	Name        string `json:"name,omitempty"`        // at most 255 characters
	Description string `json:"description,omitempty"` // at most 500 characters
	Reference   string `json:"reference,omitempty"`   // at most 100 characters
	// UsageLimit is for dynamic codes; nil stands for 1.
	UsageLimit *int64 `json:"usage_limit,omitempty"`
	// ExpiresAt must lie in the future; zero stands for a code without end.
	ExpiresAt time.Time    `json:"expires_at,omitzero"`
	Metadata  api.Metadata `json:"metadata,omitempty"`
}

// ListParams selects codes; zero values select all.
type ListParams struct {
	api.Page
	Type   Type  `param:"type"`
	Active *bool `param:"active"`
	// Reference is the caller's own, exactly.
	Reference string    `param:"reference"`
	Created   api.Times `param:"created"`
}

// UpdateParams change a code. Nil keeps a field.
type UpdateParams struct {
	Name        *string `json:"name,omitempty" param:",clear"`
	Description *string `json:"description,omitempty" param:",clear"`
	Active      *bool   `json:"active,omitempty"`
	// ExpiresAt must lie in the future; a pointer to the zero time clears it.
	ExpiresAt *time.Time `json:"expires_at,omitempty" param:",clear"`
	// Metadata is merged: a key with nil or "" is dropped. ClearMetadata drops all keys first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
}

// Service makes, shows and charges QR codes. It is safe for concurrent use. It may grow in any release: embed it in a
// fake.
type Service interface {
	// Create makes a code. With an idempotency key it may be repeated safely. Refusals:
	// parameter_invalid, currency_not_supported.
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*QRCode, error)

	// Get returns one code.
	Get(ctx context.Context, caller api.Caller, id string) (*QRCode, error)

	// List returns codes, newest first.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[QRCode], error)

	// Update changes a code. A dynamic code at its usage limit can be activated, but payments stay
	// refused with qr_limit_reached. Refusals: resource_missing, parameter_invalid.
	Update(ctx context.Context, caller api.Caller, id string, p UpdateParams) (*QRCode, error)

	// Delete removes a code. Its payments stay.
	//
	// Refusals: resource_missing.
	Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error)

	// Image returns the picture of one of the caller's codes.
	//
	// Refusals: resource_missing, parameter_invalid (size, format).
	Image(ctx context.Context, caller api.Caller, id string, p ImageParams) ([]byte, error)

	// Hosted finds a code by its id alone, for the payment page. An unknown id is resource_missing.
	Hosted(ctx context.Context, id string) (*Hosted, error)

	// Pay pays a code. Concurrent payments never exceed a usage limit. With an idempotency key it may be
	// repeated safely; a replay does not check the PIN.
	//
	// From a consumer's wallet, one transaction debits the wallet, credits the merchant, counts the use,
	// writes the payment and its events, and queues the messages to both parties. The last use of a code
	// with a limit switches the code off.
	//
	// From a phone, Pay returns a pending payment; see [payment.Payments.Create]. The payment holds a use of a
	// code with a limit until it ends, or for payments.Config.PaymentDeadline. With From, it holds the use for 2
	// minutes, until the provider has answered that the phone was asked. In live mode an address starts at most
	// two such payments of one code in an hour. The use is counted when the payment is completed. A payer may
	// approve after the hold, when no use is left. That payment is refunded if the Charger is a
	// provider.RefundRail; otherwise Providers.List shows it.
	//
	// The caller stands for the code's merchant; see [Hosted].
	//
	// Refusals: resource_missing, parameter_invalid (another amount than that of the code),
	// qr_limit_reached, qr_inactive, qr_expired, amount_required, and payment_in_progress (payments under
	// way hold what is left of the limit).
	//
	// Refusals from a wallet: parameter_missing (pin), account_not_found (an unknown account id),
	// pin_invalid, pin_locked, wallet_not_active, insufficient_balance. A phone number or service id
	// without an open wallet is pin_invalid, so that strangers cannot find out which numbers have a wallet.
	//
	// Refusals from a phone: invalid_phone_number, too_many_prompts, and service_unavailable in live mode
	// without a charger.
	Pay(ctx context.Context, caller api.Caller, id string, p PayParams) (*payment.Payment, error)

	// ListPayments lists the payments of a code, newest first.
	ListPayments(ctx context.Context, caller api.Caller, id string, p payment.ListParams) (*api.List[payment.Payment], error)

	// IssueConsumerCode makes a code for a consumer of the caller's mode, in any status. A code may
	// outlive the wallet; its use is then refused. With an idempotency key the call may be repeated
	// safely. IssueConsumerCode does not check caller.Merchant. Let only the operator or the consumer's
	// own app call it.
	//
	// Refusals: parameter_invalid, account_not_found.
	IssueConsumerCode(ctx context.Context, caller api.Caller, p IssueConsumerCodeParams) (*ConsumerCode, error)

	// Resolve returns the consumer behind a code. It moves no money.
	//
	// Do not give it the idempotency key of the payout that follows: it stores its answer under the key, so
	// the payout would be refused with idempotency_key_reused.
	//
	// Refusals: invalid_qr, invalid_consumer_qr, qr_limit_reached, qr_inactive, qr_expired (the last
	// three for dynamic codes), account_not_found.
	Resolve(ctx context.Context, caller api.Caller, text string) (*Resolved, error)
}
