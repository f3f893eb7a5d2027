package provider

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Service manages the orders at the host's providers: transfers, refunds and charges alike. It is
// the field Providers of payments.Service.
type Service interface {
	// Notify books the result that a provider's callback reports for the order with that id.
	// Reports may be repeated, late or concurrent with a status query. The host must verify the
	// callback's signature first.
	//
	// Reversed books back a transfer that was paid: it becomes failed, and the merchant gets amount and
	// fee back. It also books back the charge of a payment that was paid. What was not refunded before
	// becomes a refund with the reason "Reversed by the provider". The merchant owes what its balance
	// does not cover. If there were refunds before, List shows the charge. A person who has found out
	// that the provider took money back may report it here, too.
	//
	// Notify fails with resource_missing for an unknown id, and for a live order that a provider's test
	// mode reports. It fails with parameter_invalid for an outcome other than InProgress, Paid, Refused
	// and Reversed. It fails with ErrContradicted when the opposite, or a payment of another amount, was
	// booked before. A reversal is such a contradiction if it is of another amount than was paid, or of a
	// refund or a top-up that was paid. These three errors are final: answer the provider that its callback
	// has arrived. After any other error, let the provider repeat it.
	Notify(ctx context.Context, id string, r Result) error
	// Settle plays the provider in test mode: it books the result for an order of the caller's.
	//
	// Refusals: payment_not_settleable (a payment that has ended), transfer_settled (another order that
	// has ended with another outcome), permission_denied (live mode).
	Settle(ctx context.Context, caller api.Caller, id string, r Result) error
	// List lists the orders of the caller's mode that need a person: first those that the provider
	// contradicted, then those that are stuck. Among either come transfers, then refunds, then
	// charges, each the newest first. The library goes on asking the provider about stuck orders.
	// A caller without Merchant lists the orders of all merchants.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[OrderInfo], error)
	// Get returns an order of the caller's as the library has booked it, by the order's id. A caller without
	// Merchant may get that of any merchant. A payment from a wallet has no order: resource_missing.
	Get(ctx context.Context, caller api.Caller, id string) (*OrderInfo, error)
	// Resolve takes an order that the provider contradicted off the list, once a person has
	// found out what happened. Resolve books nothing; account.Service.Adjust books what is
	// missing or too much on a balance. An id that is not contradicted is resource_missing.
	// Resolve does not check who calls: let only the operator use it.
	Resolve(ctx context.Context, id string) error
	// Reconcile compares a provider's statement with the orders that the provider was given, over
	// all merchants of the caller's mode. It ignores caller.Merchant: let only the operator use it.
	// Without p.Book, Reconcile changes nothing. A person must look into the differences of orders, and
	// Notify books them.
	// Reconcile reads in small steps while other calls go on, and keeps the statement's references
	// in memory. If p.Rows fails, Reconcile returns that error; without p.Rows it is parameter_missing.
	Reconcile(ctx context.Context, caller api.Caller, p ReconcileParams) (*Reconciliation, error)
	// RecordSettlement books money that a provider has paid to the operator's bank account, or the
	// operator to the provider. Only the operator may call it: a caller without Merchant. The
	// same settlement may be recorded again, which changes nothing.
	//
	// Refusals: permission_denied, parameter_missing, parameter_invalid (a reference that was recorded
	// with another amount or fee).
	RecordSettlement(ctx context.Context, caller api.Caller, p SettlementParams) (*Settlement, error)
	// Position compares what lies with a provider by the books with what the provider says. It changes
	// nothing, reads in small steps while other calls go on, and keeps the references of the period in
	// memory. Only the operator may call it: a caller without Merchant.
	//
	// In test mode each merchant has its own clock, so a period is refused with parameter_invalid.
	// Other refusals: permission_denied.
	Position(ctx context.Context, caller api.Caller, p PositionParams) (*Position, error)
}

// Flow is one of the three flows of orders.
type Flow string

// The flows.
const (
	Transfers Flow = "transfer"
	Refunds   Flow = "refund"
	Charges   Flow = "charge"
)

// ListParams selects orders that need a person; zero values select all of them.
type ListParams struct {
	api.Page
	Flow Flow
	// Contradicted selects only contradicted orders, without the stuck ones.
	Contradicted bool
}

// OrderInfo is an order as the library has booked it.
type OrderInfo struct {
	ID   string
	Flow Flow
	// Object is "payout", "disbursement", "refund", "payment", "invoice", "top_up" or
	// "top_up_refund", and Record the id of that object. Record is the same as ID, except for a
	// charge att_…, whose Record is the invoice's id.
	Object, Record string
	Merchant       string
	Live           bool
	// Route is the order's, as in [Order].
	Route string
	// Network is that of the phone which pays or gets the money, such as "mtn"; empty for an order
	// without a phone.
	Network string
	// Amount is in pesewas, without the library's fee.
	Amount int64
	// Outcome is what is booked: Paid, Refused or Reversed; InProgress from the first submission on,
	// though the provider may not have got it; NotFound if the order was never submitted.
	Outcome Outcome
	// Contradiction says what is booked and what the provider reported later, such as "failed, and
	// now paid". It is empty for a stuck order, and after Resolve.
	Contradiction string
	// Reported is the outcome that the provider reported later than Outcome and against it, also after
	// Resolve. It is empty if a person must look after the order for another reason, such as another
	// amount.
	Reported Outcome
	// ReportedAt is when the provider contradicted itself, also after Resolve; zero if it did not.
	ReportedAt time.Time
	// ResolvedAt is when Resolve took a contradiction off the list; zero while one is on it.
	ResolvedAt time.Time
	// Attempts counts as in [Order].
	Attempts int
	// ProviderFee is the provider's own fee that is booked, in pesewas; 0 if the provider told none.
	ProviderFee int64
	CreatedAt   time.Time
	// SubmittedAt is when the order was first submitted; zero if it never was.
	SubmittedAt time.Time
	// UnansweredAt is when an attempt last brought no answer; zero if each was answered, and for a charge
	// att_….
	UnansweredAt time.Time
	// LastError is the class of the call of the provider that failed last, or ClassAmountMismatch if the
	// provider has reported another amount since; empty for none.
	LastError Class
	// Payment is the id of the payment that a paid charge att_… has made; empty for other orders.
	Payment string
}
