package payout

import (
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is where a transfer stands.
type Status string

// The statuses of transfers. Succeeded ends an external payout; Completed ends a
// payout to a wallet, and every disbursement.
const (
	Created    Status = "created"
	Pending    Status = "pending"    // queued, amount and fee reserved
	Processing Status = "processing" // with the rail
	Succeeded  Status = "succeeded"
	Completed  Status = "completed"
	Failed     Status = "failed" // the reserve is released
	Cancelled  Status = "cancelled"
)

var statuses = []string{
	string(Created), string(Pending), string(Processing), string(Succeeded),
	string(Completed), string(Failed), string(Cancelled),
}

// Statuses are the statuses of payouts, for filters. A disbursement has all but
// Succeeded.
func Statuses() []Status {
	return []Status{Created, Pending, Processing, Succeeded, Completed, Failed, Cancelled}
}

// transitions is the state machine: from which statuses each one is entered. A
// transfer is born in Created, and leaves no status that is not listed here.
// "Succeeded" stands for the noun's own word for it.
var transitions = map[Status][]Status{
	Pending:    {Created},
	Processing: {Pending},
	Succeeded:  {Processing},
	Completed:  {Created, Processing}, // a wallet's at once
	Failed:     {Processing},
	Cancelled:  {Created, Pending},
}

// final reports a status that is never left.
func (s Status) final() bool {
	switch s {
	case Succeeded, Completed, Failed, Cancelled:
		return true
	}
	return false
}

// Transfer is a payout or a disbursement.
type Transfer struct {
	ID     string `json:"id"`     // po_…
	Object string `json:"object"` // "payout" or "disbursement"
	// Amount is what the recipient gets, Fee what the merchant pays beside it, both
	// in GHS.
	Amount      api.GHS     `json:"amount"`
	Currency    string      `json:"currency"`
	Fee         api.GHS     `json:"fee"`
	Status      Status      `json:"status"`
	Destination Destination `json:"destination"`
	Description string      `json:"description"`
	// Reference is the caller's own; nil on a payout, which has none.
	Reference *string      `json:"reference,omitempty"`
	Metadata  api.Metadata `json:"metadata"`
	// ProviderReference is the rail's; nil for wallets, and until the rail gives it.
	ProviderReference *string `json:"provider_reference"`
	// FailureReason says why a transfer failed.
	FailureReason *string  `json:"failure_reason"`
	CreatedAt     api.Time `json:"created_at"`
	// CompletedAt is when the money arrived; nil until then.
	CompletedAt *api.Time `json:"completed_at"`
}

// record is what is kept of a transfer.
type record struct {
	Transfer
	// To is the destination unmasked, as the rail is told; nil for wallets, and once it is
	// no longer kept, see [Retention].
	To *target `json:"to,omitempty"`
	outside.Course
}

func (r *record) course() *outside.Course { return &r.Course }

// pesewas returns amount and fee together.
func (r *record) pesewas() (amount, fee int64) {
	return inPesewas(r.Amount), inPesewas(r.Fee)
}

// inPesewas converts what was made by api.Pesewas.
func inPesewas(a api.GHS) int64 { return a.Shift(2).IntPart() }

// Noun is what distinguishes payouts from disbursements.
type Noun struct {
	// Object is the name of the object, as "payout".
	Object string
	// Done is the status that ends an external transfer well.
	Done Status
	// NotCancellable is the code of a refused cancellation.
	NotCancellable api.Code

	transfers *storage.Collection[record]
}

// The nouns. Each has a table of its own, so that one's list never meets the
// other's objects.
var (
	Payouts       = newNoun("payout", "payouts", Succeeded, api.PayoutNotCancellable)
	Disbursements = newNoun("disbursement", "disbursements", Completed, api.DisbursementNotCancellable)

	nouns = []*Noun{Payouts, Disbursements}
)

func newNoun(object, table string, done Status, notCancellable api.Code) *Noun {
	return &Noun{
		Object: object, Done: done, NotCancellable: notCancellable,
		transfers: storage.NewCollection(table, []storage.Field[record]{
			{
				Column: storage.Column{Name: "status", Type: storage.Text, OneOf: statuses, Indexed: true},
				Value:  func(r *record) any { return string(r.Status) },
			},
			{
				Column: storage.Column{Name: "created", Type: storage.Time, Indexed: true},
				Value:  func(r *record) any { return r.CreatedAt.Time },
			},
			outside.DueField((*record).course),
		}, storage.DueBy("due")),
	}
}

// entered returns the event of a status: payout.completed for both ways of
// ending well, payout.canceled in the spelling of the events' lists.
func (n *Noun) entered(s Status) event.Type {
	verb := string(s)
	switch s {
	case Succeeded:
		verb = string(Completed)
	case Cancelled:
		verb = "canceled"
	}
	return event.Type(n.Object + "." + verb)
}

// enter moves the transfer to another status, or reports that the table does not
// have that step.
func (r *record) enter(to Status) bool {
	if !slices.Contains(transitions[to], r.Status) {
		return false
	}
	r.Status = to
	return true
}

// after is a time from now on.
func after(now time.Time, d time.Duration) *api.Time { return api.AtOrNil(now.Add(d)) }

// orders index the transfers that rails carry.
var orders = outside.NewOrders("rail_orders")

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	kinds := []*storage.Kind{orders.Kind(), days.Kind(), otps.Kind(), nameCounts.Kind()}
	for _, n := range nouns {
		kinds = append(kinds, n.transfers.Kind())
	}
	return kinds
}
