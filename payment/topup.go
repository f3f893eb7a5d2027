package payment

import "github.com/seed-7082ffec/payments/api"

// Returned is the status of a top-up that the payer has paid and the wallet could not take: its limits
// were reached in the meantime, or it was closed. The library gives the money back if the
// Charger is a provider.RefundRail; otherwise Providers.List shows the top-up. Payments are never
// Returned.
const Returned Status = "returned"

// TopUp is money that a consumer moves from their own phone into their own wallet. It is no
// payment, and emits no events.
type TopUp struct {
	ID     string `json:"id"`     // tu_…
	Object string `json:"object"` // always "top_up"
	// Account is the consumer's id.
	Account string `json:"account_id"`
	// Amount is in pesewas.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Status   Status `json:"status"`
	// Provider is the mobile-money network that takes the money.
	Provider string `json:"provider"`
	// ProviderReference is the provider's; nil until it gives one.
	ProviderReference *string `json:"provider_reference"`
	// FailureReason says why a top-up has failed, or why the money goes back.
	FailureReason *string `json:"failure_reason"`
	// Refund is the id of the order (re_…) that gives back the money of a returned top-up.
	Refund      *string   `json:"refund"`
	Livemode    bool      `json:"livemode"`
	CreatedAt   api.Time  `json:"created_at"`
	CompletedAt *api.Time `json:"completed_at"`
	// NextAction says what the payer is to do; nil before the provider's first answer and after the end.
	NextAction *NextAction `json:"next_action"`
	// Balance is the wallet's balance in GHS. For a completed top-up it is the balance right after
	// it. In the answer of [TopUps.TopUp] it is otherwise the current balance. It is nil
	// everywhere else.
	Balance *api.GHS `json:"balance"`
}

// TopUpParams describe a top-up.
type TopUpParams struct {
	// Account is the consumer's id.
	Account string `json:"account_id"`
	// Amount is in pesewas, from 1 to 99,999,999.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency,omitempty"` // GHS when empty
	// Provider is as in [MobileMoney].
	Provider string `json:"provider,omitempty"`
}

// ListTopUpsParams selects top-ups; zero values select all.
type ListTopUpsParams struct {
	api.Page
	// Account is a consumer's id.
	Account string
}
