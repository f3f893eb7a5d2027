package refunding

import (
	"time"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

// transitions is the state machine: for each status, the statuses from which a refund may enter
// it. A refund to a wallet begins in Succeeded, any other in Pending.
var transitions = status.Transitions[refund.Status]{
	refund.Processing: {refund.Pending},
	refund.Succeeded:  {refund.Processing},
	refund.Failed:     {refund.Processing},
}

// statusEvent maps statuses to their events; the others have none.
var statusEvent = map[refund.Status]event.Type{
	refund.Succeeded: event.RefundSucceeded,
	refund.Failed:    event.RefundFailed,
}

// record is the stored form of a refund.
type record struct {
	refund.Refund
	orders.Submission
	// Charge is the id under which the provider took the money; empty for wallets.
	Charge string `json:"charge,omitempty"`
	// Phone and Network are those of a payment from a phone; empty for others.
	Phone   string `json:"phone,omitempty"`
	Network string `json:"network,omitempty"`
	// Customer is the payment's, if it is from a phone. The number goes with the customer.
	Customer string `json:"customer,omitempty"`
	// PaymentReference is the merchant's reference of the payment; empty for none.
	PaymentReference string `json:"payment_reference,omitempty"`
	// Automatic says that the library refunds a payment that came when there was nothing left to
	// pay. The object that it was for never counted it.
	Automatic bool `json:"automatic,omitempty"`
}

// enter moves the refund to another status. It fails, and changes nothing, if the state
// machine has no such transition.
func (r *record) enter(to refund.Status) error {
	return transitions.Enter("refund", &r.Status, to)
}

// shown returns the refund as callers see it.
func (r *record) shown() refund.Refund { return r.Refund }

func (r *record) ended() bool { return r.Status == refund.Succeeded || r.Status == refund.Failed }

var refunds = storage.NewCollection("refunds", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) refund.Status { return r.Status }, refund.Statuses()...).Indexed(),
	storage.TextColumn("payment", func(r *record) string { return r.Payment }).Indexed(),
	storage.NullTextColumn("invoice", func(r *record) *string { return r.Invoice }).Indexed(),
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
	orders.DueField(func(r *record) *orders.Submission { return &r.Submission }),
	storage.TextColumn("reference", func(r *record) string { return r.PaymentReference }).Nullable().Indexed(),
}, storage.DueBy("due")).Passthrough(func(r *record) any { return &r.Refund })

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{refunds.Kind()} }
