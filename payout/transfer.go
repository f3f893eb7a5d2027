package payout

import (
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/storage"
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

// moves is the state machine: for each status, the statuses from which a transfer may enter
// it. A transfer begins in Created, and leaves no status that is not listed here. An external
// payout ends in Succeeded. A disbursement and every transfer to a wallet end in Completed. An
// external transfer that has ended so becomes Failed if the rail takes it back.
var moves = status.Moves[Status]{
	Pending:    {Created},
	Processing: {Pending},
	Succeeded:  {Processing},
	Completed:  {Created, Processing}, // at once for a wallet
	Failed:     {Processing, Succeeded, Completed},
	Cancelled:  {Created, Pending},
}

// final reports whether a transfer has ended. Only a reversal changes it then.
func (s Status) final() bool {
	switch s {
	case Succeeded, Completed, Failed, Cancelled:
		return true
	}
	return false
}

// Moves returns the state machine of a transfer, for the tests of this package. They are all external:
// with one inside, each build of the tests compiles all packages above this one anew.
func (*Internal) Moves() status.Moves[Status] { return moves }

// Final reports whether a transfer with that status has ended. It is for the same tests.
func (*Internal) Final(s Status) bool { return s.final() }

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

// record is the stored form of a transfer.
type record struct {
	Transfer
	// To is the unmasked destination for the rail. It is nil for wallets, and after retention has
	// removed it; see [Internal.Retention].
	To *target `json:"to,omitempty"`
	// Reversed says that a failed transfer failed because the provider took it back.
	Reversed bool `json:"reversed,omitempty"`
	dispatch.Submission
}

func (r *record) submission() *dispatch.Submission { return &r.Submission }

// pesewas returns amount and fee together.
func (r *record) pesewas() (amount, fee int64) {
	return inPesewas(r.Amount), inPesewas(r.Fee)
}

// inPesewas converts an amount that api.FromPesewas made.
func inPesewas(a api.GHS) int64 { return a.Shift(2).IntPart() }

// The collections of transfers.
var (
	payouts       = newCollection(transfer.Payout)
	disbursements = newCollection(transfer.Disbursement)
)

// collection returns the collection of a variant's transfers.
func collection(v *transfer.Variant) *storage.Collection[record] {
	if v == transfer.Payout {
		return payouts
	}
	return disbursements
}

func newCollection(v *transfer.Variant) *storage.Collection[record] {
	return storage.NewCollection(v.Table, []storage.Field[record]{
		storage.EnumColumn("status", func(r *record) Status { return r.Status }, statuses...).Indexed(),
		storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
		dispatch.DueField((*record).submission),
	}, storage.DueBy("due")).Passthrough(func(r *record) any { return &r.Transfer })
}

// statusEvent returns the event of a status: payout.completed for both ways of
// ending well, payout.canceled in the spelling of the events' lists.
func statusEvent(v *transfer.Variant, s Status) event.Type {
	verb := string(s)
	switch s {
	case Succeeded:
		verb = string(Completed)
	case Cancelled:
		verb = "canceled"
	}
	return event.Type(v.Object + "." + verb)
}

// enter moves the transfer to another status. It fails, and changes nothing, if the state
// machine has no such transition.
func (r *record) enter(to Status) error {
	return moves.Enter(r.Object, &r.Status, to)
}

// after is a time from now on.
func after(now time.Time, d time.Duration) *api.Time { return api.AtOrNil(now.Add(d)) }

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	kinds := []*storage.Kind{dailyTotals.Kind(), otps.Kind(), nameCounts.Kind()}
	for _, v := range transfer.Variants {
		kinds = append(kinds, collection(v).Kind())
	}
	return kinds
}
