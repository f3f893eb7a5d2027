package provider

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Service is what a host tells the library about its providers' orders, and what it learns
// of them: transfers, refunds and charges alike. payments.Service has one as Providers.
type Service interface {
	// Notify books what a provider's callback reports of the order with that id. The same
	// report may come again, late, and while the provider is being asked. The host has made
	// sure that the callback is its provider's.
	//
	// It fails with resource_missing for an unknown id, and with ErrContradicted when the
	// opposite was booked before.
	Notify(ctx context.Context, id string, r Result) error
	// Settle plays the provider in test mode: it books the result for an order of the
	// caller's. One that has ended otherwise is refused with transfer_settled.
	Settle(ctx context.Context, caller api.Caller, id string, r Result) error
	// List lists the orders of the caller's mode that need a person: first those that the
	// provider contradicted, then those that are stuck, the newest first. They are asked
	// about as before. A caller without merchant lists those of all merchants.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[OrderInfo], error)
	// Resolve takes an order that the provider contradicted off the list, once a person has
	// found out what happened. It books nothing; account.Service.Adjust books what is
	// missing or too much on a balance. An id that is not contradicted is resource_missing.
	Resolve(ctx context.Context, id string) error
	// Reconcile compares a provider's statement with the orders that the provider was
	// given, over all merchants of the caller's mode. It changes nothing: people look into
	// the differences, and Notify books them. It reads in small steps beside traffic, and
	// remembers the references of the statement. An error of the reader ends it.
	Reconcile(ctx context.Context, caller api.Caller, p ReconcileParams) (*Reconciliation, error)
}

// Flow is one of the three flows of orders.
type Flow string

// The flows.
const (
	Transfers Flow = "transfer"
	Refunds   Flow = "refund"
	Charges   Flow = "charge"
)

// ListParams select orders; zero values select all that need a person.
type ListParams struct {
	api.Page
	Flow Flow
	// Contradicted leaves out the orders that are merely stuck.
	Contradicted bool
}

// OrderInfo is an order as the library has booked it.
type OrderInfo struct {
	ID   string
	Flow Flow
	// Object is "payout", "disbursement", "refund" or "invoice", and Record the id of that
	// object. Record is ID but for charges.
	Object, Record string
	Merchant       string
	Live           bool
	// Amount is in pesewas, without our fee.
	Amount int64
	// Outcome is what is booked: Paid or Refused; InProgress while the provider has the
	// order; NotFound if the provider never got it.
	Outcome Outcome
	// Contradiction says what is booked and what the provider reported afterwards, as
	// "failed, and now paid"; empty for an order that is merely stuck.
	Contradiction string
	// Attempts counts how often the order was submitted or asked about.
	Attempts  int
	CreatedAt time.Time
	// SubmittedAt is when the provider first got the order; zero if it never did.
	SubmittedAt time.Time
}
