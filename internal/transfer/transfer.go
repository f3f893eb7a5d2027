package transfer

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// transitions is the state machine: for each status, the statuses from which a transfer may enter
// it. A transfer begins in Created, and leaves no status that is not listed here. An external
// payout ends in Succeeded. A disbursement and every transfer to a wallet end in Completed. An
// external transfer that has ended so becomes Failed if the rail takes it back.
var transitions = status.Transitions[payout.Status]{
	payout.Pending:    {payout.Created},
	payout.Processing: {payout.Pending},
	payout.Succeeded:  {payout.Processing},
	payout.Completed:  {payout.Created, payout.Processing}, // at once for a wallet
	payout.Failed:     {payout.Processing, payout.Succeeded, payout.Completed},
	payout.Cancelled:  {payout.Created, payout.Pending},
}

// final reports whether a transfer has ended. Only a reversal changes it then.
func final(s payout.Status) bool {
	switch s {
	case payout.Succeeded, payout.Completed, payout.Failed, payout.Cancelled:
		return true
	}
	return false
}

// record is the stored form of a transfer.
type record struct {
	payout.Transfer
	// To is the unmasked destination for the rail. It is nil for wallets, and after retention has
	// removed it; see [Service.Retention].
	To *target `json:"to,omitempty"`
	// Reversed says that a failed transfer failed because the provider took it back.
	Reversed bool `json:"reversed,omitempty"`
	orders.Submission
}

func (r *record) submission() *orders.Submission { return &r.Submission }

// pesewas returns amount and fee together.
func (r *record) pesewas() (amount, fee int64) {
	return inPesewas(r.Amount), inPesewas(r.Fee)
}

// inPesewas converts an amount that api.FromPesewas made.
func inPesewas(a api.GHS) int64 { return a.Shift(2).IntPart() }

// The collections of transfers.
var (
	payouts       = newCollection(Payout)
	disbursements = newCollection(Disbursement)
)

// collection returns the collection of a variant's transfers.
func collection(v *Variant) *storage.Collection[record] {
	if v == Payout {
		return payouts
	}
	return disbursements
}

func newCollection(v *Variant) *storage.Collection[record] {
	return storage.NewCollection(v.Table, []storage.Field[record]{
		storage.EnumColumn("status", func(r *record) payout.Status { return r.Status }, payout.Statuses()...).Indexed(),
		storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
		orders.DueField((*record).submission),
		storage.NullTextColumn("reference", (*record).reference).Indexed(),
	}, storage.DueBy("due")).Passthrough(func(r *record) any { return &r.Transfer })
}

// reference returns the caller's own reference; nil for none.
func (r *record) reference() *string {
	if r.Reference == nil || *r.Reference == "" {
		return nil
	}
	return r.Reference
}

// statusEvent returns the event of a status: payout.completed for both ways of
// ending well, payout.canceled in the spelling of the events' lists.
func statusEvent(v *Variant, s payout.Status) event.Type {
	verb := string(s)
	switch s {
	case payout.Succeeded:
		verb = string(payout.Completed)
	case payout.Cancelled:
		verb = "canceled"
	}
	return event.Type(v.Object + "." + verb)
}

// enter moves the transfer to another status. It fails, and changes nothing, if the state
// machine has no such transition.
func (r *record) enter(to payout.Status) error {
	return transitions.Enter(r.Object, &r.Status, to)
}

// after is a time from now on.
func after(now time.Time, d time.Duration) *api.Time { return api.AtOrNil(now.Add(d)) }
