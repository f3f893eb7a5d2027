package payout

import (
	"slices"

	"github.com/seed-7082ffec/payments/api"
)

// Status is the state of a transfer.
type Status string

// The statuses of transfers. Succeeded ends an external payout; Completed ends a
// payout to a wallet, and every disbursement.
const (
	Created    Status = "created"    // shown by the event payout.created or disbursement.created alone
	Pending    Status = "pending"    // queued, amount and fee reserved
	Processing Status = "processing" // with the rail
	Succeeded  Status = "succeeded"
	Completed  Status = "completed"
	Failed     Status = "failed" // amount and fee are available again
	Cancelled  Status = "cancelled"
)

var statuses = []Status{Created, Pending, Processing, Succeeded, Completed, Failed, Cancelled}

// Statuses returns the statuses of payouts, for filters. Disbursements have all of them but
// Succeeded. Created finds nothing, because each payout leaves it in the transaction that creates it.
func Statuses() []Status { return slices.Clone(statuses) }

// Transfer is a payout or a disbursement. [provider.Transfer] is what the rail gets of one.
type Transfer struct {
	ID     string `json:"id"`     // po_…
	Object string `json:"object"` // "payout" or "disbursement"
	// Amount is the recipient's, and the merchant pays Fee on top of it, both in GHS.
	Amount      api.GHS     `json:"amount"`
	Currency    string      `json:"currency"`
	Fee         api.GHS     `json:"fee"`
	Status      Status      `json:"status"`
	Destination Destination `json:"destination"`
	Description string      `json:"description"`
	// Reference is the caller's own; nil on a payout, which has none.
	Reference *string      `json:"reference,omitempty"`
	Metadata  api.Metadata `json:"metadata"`
	// ProviderReference is the rail's reference; nil for wallets, and until the rail returns one.
	ProviderReference *string `json:"provider_reference"`
	// FailureReason says why a transfer failed. It begins with "reversed: " if the provider had paid
	// the transfer and took it back.
	FailureReason *string  `json:"failure_reason"`
	CreatedAt     api.Time `json:"created_at"`
	// CompletedAt is the time of the money's arrival; nil until then, and after a reversal.
	CompletedAt *api.Time `json:"completed_at"`
}
