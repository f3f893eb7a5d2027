package refund

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
)

// CreateParams describe a refund.
type CreateParams struct {
	// Payment is the id of a payment. Invoice is the id of a paid invoice. Set one of them, or both if
	// the payment is the invoice's.
	Payment string `json:"payment,omitempty"`
	Invoice string `json:"invoice,omitempty"`
	// Amount is in pesewas; nil refunds the rest.
	Amount   *int64 `json:"amount,omitempty" param:",pesewas"`
	Currency string `json:"currency,omitempty"` // GHS when empty
	// Reason is the merchant's, at most 500 characters. The provider gets it, and an invoice's
	// credit note shows it to the customer.
	Reason   string       `json:"reason,omitempty"`
	Metadata api.Metadata `json:"metadata,omitempty"`
}

// ListParams selects refunds; zero values select all.
type ListParams struct {
	api.Page
	// Payment and Invoice are ids of refunded objects.
	Payment string `param:"payment,id"`
	Invoice string `param:"invoice,id"`
	Status  Status `param:"status"`
	// Reference is that of the payments, exactly.
	Reference string    `param:"reference"`
	Created   api.Times `param:"created"`
}

// Service makes refunds. It is safe for concurrent use. It may grow in any release: embed it in a fake.
type Service interface {
	// Create gives money back: the merchant pays the whole amount, and the operator keeps the fee of the
	// payment. A refund to a wallet has succeeded when Create returns. Any other refund reserves its amount
	// and is pending. It is processing once the charger that took the money is asked to return it.
	// Concurrent refunds never exceed their payment. A refunded invoice stays paid and shows its refunds. A
	// refund does not undo the use of a QR code. With an idempotency key it may be repeated safely.
	//
	// Refusals: parameter_missing, parameter_invalid, currency_not_supported, resource_missing (payment,
	// invoice), payment_not_refundable, payment_already_refunded, amount_too_large, insufficient_balance;
	// account_not_found and wallet_not_active (the wallet that paid); and service_unavailable if the
	// charger cannot refund. A payment that has failed can be refunded once staff have booked it as paid; see
	// [account.AdjustParams].
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*Refund, error)

	// Get returns one refund.
	Get(ctx context.Context, caller api.Caller, id string) (*Refund, error)

	// List returns refunds, newest first.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Refund], error)

	// CreditNoteURL returns the URL of the PDF of a refund's credit note. The URL needs no key.
	//
	// Refusals: resource_missing, also for a refund without a credit note: one that has not
	// succeeded, or that is not of an invoice.
	CreditNoteURL(ctx context.Context, caller api.Caller, id string) (string, error)
}
