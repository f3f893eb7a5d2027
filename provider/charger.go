package provider

import "context"

// Charger takes money from a customer's payment method. The host implements it for its provider.
// Package provider/chargertest is a test suite for this contract and for that of [RefundRail].
//
// A Charger carries out two calls of Charge with one id as one charge, and answers the
// second with the outcome of the first. It must be safe for concurrent use. The library
// calls it outside of any transaction, with a context that ends after 30 seconds.
//
// An error means that the outcome is unknown: the provider may have taken the money or not. Only a
// [Result] is an answer. So a Charger must not answer Refused for a time-out, a broken connection
// or a server error of its provider.
type Charger interface {
	// Charge takes the money.
	Charge(ctx context.Context, c Charge) (Result, error)
	// ChargeStatus returns the state of a charge that may never have arrived. If the provider has
	// never seen the charge, it answers NotFound, and the library calls Charge again.
	ChargeStatus(ctx context.Context, c Charge) (Result, error)
}

// Charge is money that is taken from a customer.
type Charge struct {
	Order
	// PaymentMethod is the caller's, as it came; may be empty.
	PaymentMethod string
	// OffSession says that the customer is not there to confirm.
	OffSession bool
	// Invoice and Number name what is paid, Customer who pays (may be empty).
	Invoice, Number, Customer string
}

// RefundRail is an optional interface of a [Charger]: it gives back money that the Charger took.
// Without it, refunds of charges are refused with service_unavailable.
//
// A RefundRail carries out two calls of Refund with one id as one refund, and answers the
// second with the outcome of the first. It must be safe for concurrent use. The library
// calls it outside of any transaction, with a context that ends after 30 seconds.
//
// An error means that the outcome is unknown: the money may be on its way back or not. Only a
// [Result] is an answer. So a RefundRail must not answer Refused for a time-out, a broken
// connection or a server error of its provider, and must not return an error for what the provider
// has conclusively refused.
type RefundRail interface {
	// Refund gives money back. Paid means that the customer has the money or will certainly get it.
	Refund(ctx context.Context, r Refund) (Result, error)
	// RefundStatus returns the state of a refund. If the provider has never seen it, RefundStatus
	// answers NotFound, and the library calls Refund again. A provider that cannot tell "not yet
	// seen" from "never seen" answers InProgress.
	RefundStatus(ctx context.Context, r Refund) (Result, error)
}

// Refund is money that goes back to a customer. Several refunds of one charge never
// exceed it.
type Refund struct {
	Order
	// Charge is the id of the charge, att_…, whose money is given back.
	Charge string
	// PaymentMethod is as the charge had it; "default" when it had none.
	PaymentMethod string
	// Payment and Invoice name what is given back; Invoice may be empty.
	Payment, Invoice string
	// Reason is the merchant's, and may be empty.
	Reason string
}
