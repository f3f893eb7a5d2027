package refund

import (
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is the state of a refund.
type Status string

// The statuses of refunds.
const (
	Pending    Status = "pending"    // queued, the amount reserved
	Processing Status = "processing" // with the provider
	Succeeded  Status = "succeeded"
	Failed     Status = "failed" // the reserve is released
)

var statuses = []Status{Pending, Processing, Succeeded, Failed}

// Statuses are all statuses, for filters.
func Statuses() []Status { return slices.Clone(statuses) }

// moves is the state machine: for each status, the statuses from which a refund may enter
// it. A refund to a wallet begins in Succeeded, any other in Pending.
var moves = status.Moves[Status]{
	Processing: {Pending},
	Succeeded:  {Processing},
	Failed:     {Processing},
}

// statusEvent maps statuses to their events; the others have none.
var statusEvent = map[Status]event.Type{
	Succeeded: event.RefundSucceeded,
	Failed:    event.RefundFailed,
}

// Refund is money that goes back to a customer.
type Refund struct {
	ID     string `json:"id"`     // re_…
	Object string `json:"object"` // always "refund"
	// Amount is in pesewas.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Status   Status `json:"status"`
	// Payment is the id of the payment, and QRCode or Invoice that of the paid object.
	Payment string  `json:"payment"`
	QRCode  *string `json:"qr_code"`
	Invoice *string `json:"invoice"`
	// PaymentMethod is the payment's. The money goes back the same way.
	PaymentMethod string  `json:"payment_method"`
	Reason        *string `json:"reason"` // the merchant's, or "Paid twice" or "Reversed by the provider"; the credit note shows it
	// CreditNote is the number of the credit note. It is set once the refund of an invoice has
	// succeeded, and nil otherwise.
	CreditNote *string `json:"credit_note"`
	// ProviderReference is the provider's; nil for wallets, and until it gives one.
	ProviderReference *string `json:"provider_reference"`
	// FailureReason says why a refund failed.
	FailureReason *string      `json:"failure_reason"`
	Metadata      api.Metadata `json:"metadata"`
	Livemode      bool         `json:"livemode"`
	CreatedAt     api.Time     `json:"created_at"`
	// CompletedAt is the time when the money was back; nil until then.
	CompletedAt *api.Time `json:"completed_at"`
}

// record is the stored form of a refund.
type record struct {
	Refund
	dispatch.Submission
	// Charge is the id under which the provider took the money; empty for wallets.
	Charge string `json:"charge,omitempty"`
	// Phone and Network are those of a payment from a phone; empty for others.
	Phone   string `json:"phone,omitempty"`
	Network string `json:"network,omitempty"`
	// Customer is the payment's, if it is from a phone. The number goes with the customer.
	Customer string `json:"customer,omitempty"`
	// Automatic says that the library refunds a payment that came when there was nothing left to
	// pay. The object that it was for never counted it.
	Automatic bool `json:"automatic,omitempty"`
}

// enter moves the refund to another status. It fails, and changes nothing, if the state
// machine has no such transition.
func (r *record) enter(to Status) error {
	return moves.Enter("refund", &r.Status, to)
}

func (r *record) ended() bool { return r.Status == Succeeded || r.Status == Failed }

var refunds = storage.NewCollection("refunds", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) Status { return r.Status }, statuses...).Indexed(),
	storage.TextColumn("payment", func(r *record) string { return r.Payment }).Indexed(),
	storage.NullTextColumn("invoice", func(r *record) *string { return r.Invoice }).Indexed(),
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
	dispatch.DueField(func(r *record) *dispatch.Submission { return &r.Submission }),
}, storage.DueBy("due")).Passthrough(func(r *record) any { return &r.Refund })

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{refunds.Kind()} }
