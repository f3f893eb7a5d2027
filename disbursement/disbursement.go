// Package disbursement sends a merchant's money out without a one-time code, for servers. It pays
// the same destinations as a payout, and a consumer whose QR code was scanned.
//
// It describes the calls that make disbursements, and batches with their rows. Package payout describes the
// life of payouts and disbursements alike: see [payout.Transfer].
package disbursement

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payout"
)

// CreateParams describe a disbursement.
type CreateParams struct {
	// Amount is in GHS.
	Amount      decimal.Decimal          `json:"amount" param:",required"`
	Currency    string                   `json:"currency,omitempty"` // GHS when empty
	Destination payout.DestinationParams `json:"destination" param:",required"`
	Description string                   `json:"description,omitempty"` // at most 500 characters
	Reference   string                   `json:"reference,omitempty"`   // at most 100 characters
	Metadata    api.Metadata             `json:"metadata,omitempty"`
}

// CreateQRParams describe a disbursement to a consumer whose code was scanned.
type CreateQRParams struct {
	// Payload is the text of the consumer's QR code.
	Payload string `json:"qr_payload" param:",required"`
	// Amount is in GHS and overrides the code's; nil takes the code's.
	Amount      *decimal.Decimal `json:"amount,omitempty"`
	Currency    string           `json:"currency,omitempty"`    // GHS when empty
	Description string           `json:"description,omitempty"` // at most 500 characters
	Reference   string           `json:"reference,omitempty"`   // at most 100 characters
	Metadata    api.Metadata     `json:"metadata,omitempty"`
}

// Statuses are the statuses of disbursements, for filters: those of payouts except succeeded. An
// external disbursement ends in completed instead.
func Statuses() []payout.Status {
	return slices.DeleteFunc(payout.Statuses(), func(s payout.Status) bool { return s == payout.Succeeded })
}

// Service makes disbursements. It is safe for concurrent use. It may grow in any release: embed it in a fake.
type Service interface {
	// Create sends money out. A disbursement to a wallet or float is completed when Create returns.
	// For any other disbursement, Create reserves amount and fee, and a worker submits the disbursement
	// to the rail, often right after the commit. The answer always says pending, even if a worker is
	// already submitting the disbursement. Such a disbursement can no longer be cancelled. With an
	// idempotency key the call may be repeated safely.
	//
	// Refusals: those of [payout.Service.Create] but for one-time codes and the daily
	// limit.
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*payout.Transfer, error)

	// CreateQR pays the consumer whose code was scanned, at once. The same transaction counts the use
	// of the code.
	//
	// Refusals: parameter_missing, parameter_invalid, currency_not_supported, invalid_qr, invalid_consumer_qr,
	// qr_inactive, qr_expired, qr_limit_reached, amount_required, amount_too_small, amount_too_large,
	// account_not_found, wallet_not_active, insufficient_balance.
	CreateQR(ctx context.Context, caller api.Caller, p CreateQRParams) (*payout.Transfer, error)

	// Get returns one disbursement.
	Get(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error)

	// List returns disbursements, newest first.
	List(ctx context.Context, caller api.Caller, p payout.ListParams) (*api.List[payout.Transfer], error)

	// Cancel cancels a disbursement that was not yet submitted to the rail, and releases amount and fee. It
	// refuses any other disbursement with disbursement_not_cancellable.
	Cancel(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error)

	// RecipientNumber is [payout.Service.RecipientNumber] for a disbursement.
	RecipientNumber(ctx context.Context, caller api.Caller, id string) (string, error)

	// CreateBatch accepts many disbursements at once. It checks all rows first. One wrong row refuses
	// the whole batch, and the refusal names the parameter, for example rows[2].amount. Otherwise
	// CreateBatch stores the batch and returns it. Background work then makes each row's disbursement
	// as [Service.Create] would, exactly once, also after a crash. A refusal of a row does not stop
	// the others.
	//
	// CreateBatch reserves no money. If the balance is too low when a row's turn comes, the row is
	// refused with insufficient_balance. The turns follow the order of the rows, several at a time.
	//
	// Refusals: those of [Service.Create] that need neither the rail nor the balance; parameter_missing (rows),
	// and parameter_invalid for more than [MaxRows] rows, two with one idempotency key, or one with the batch's.
	CreateBatch(ctx context.Context, caller api.Caller, p CreateBatchParams) (*Batch, error)

	// GetBatch returns one batch.
	GetBatch(ctx context.Context, caller api.Caller, id string) (*Batch, error)

	// ListBatches lists batches, newest first.
	ListBatches(ctx context.Context, caller api.Caller, p ListBatchesParams) (*api.List[Batch], error)

	// ListRows lists the rows of a batch in the given order, each with its disbursement's present
	// state.
	ListRows(ctx context.Context, caller api.Caller, batch string, p ListRowsParams) (*api.List[Row], error)

	// DailyTotals returns one entry for each day of a period. The entry counts the disbursements created on
	// that day, and adds up their amounts without fees, in pesewas, by network and outcome. A disbursement
	// that the provider took back counts as failed. It reads a few records a day.
	//
	// Both ends of the period are required, and it has at most two years. It is rounded outwards to days in
	// UTC.
	//
	// Refusals: parameter_invalid (period).
	DailyTotals(ctx context.Context, caller api.Caller, period api.Times) ([]api.DayTotals, error)
}
