package provider

import (
	"context"
	"time"
)

// Charger takes money from a customer's payment method. The host implements it for its provider.
// Package provider/chargertest is a test suite for this contract and for that of [RefundRail].
//
// A Charger carries out two calls of Charge with one id as one charge, and answers the second with the
// outcome of the first. It must be safe for concurrent use. In each mode, a process calls it for up to
// 1,024 payments of a merchant at once, and for 2,048 in all. It calls it for as many top-ups and
// invoices. The library calls it outside of any transaction, with a context that ends after 30 seconds.
//
// An error means that the outcome is unknown: the provider may have taken the money or not. Only a
// [Result] is an answer. So a Charger must not answer Refused for a time-out, a broken connection
// or a server error of its provider.
type Charger interface {
	// Charge takes the money.
	Charge(ctx context.Context, c Charge) (Result, error)
	// ChargeStatus returns the state of a charge that may never have arrived. If the provider has never
	// seen the charge, it answers NotFound, and the library calls Charge again. After the Deadline of a
	// charge of a phone, the library ends the charge as failed instead. A provider that cannot tell
	// "not yet seen" from "never seen" answers InProgress.
	ChargeStatus(ctx context.Context, c Charge) (Result, error)
}

// Charge is money that is taken from a customer. It comes from a mobile-money account, whose holder
// approves the charge on the phone, or from a payment method that the host has on file.
type Charge struct {
	Order
	// Phone is the payer's number, +233XXXXXXXXX, and Network its mobile-money network, such as
	// "mtn". Both are empty for a charge of a PaymentMethod.
	Phone, Network string
	// Email is the payer's; empty if unknown.
	Email string
	// PaymentMethod is the caller's, as it came. It is empty for a charge of a Phone, and may be
	// empty otherwise.
	PaymentMethod string
	// Description says what is paid for; may be empty.
	Description string
	// OffSession says that the customer is not there to confirm.
	OffSession bool
	// Deadline is the time until which an answer is wanted; zero for none. It follows the
	// merchant's clock. A charge without an answer stays in progress after it.
	Deadline time.Time
	// Invoice is the id of the invoice that is paid, and Number the invoice's number. Customer is the
	// id of the customer who pays. Each may be empty.
	Invoice, Number, Customer string
}

// ChargeConfirmer is an optional interface of a [Charger] whose provider asks some payers for a
// code, such as Telecel's voucher code. A charge that waits for the code is InProgress with
// NeedsCode.
type ChargeConfirmer interface {
	// ConfirmCharge passes on the code that the payer has got. An answer that is InProgress with
	// NeedsCode means that the code was wrong and another may be tried. The promises of Charge
	// hold: an error means that the outcome is unknown.
	ConfirmCharge(ctx context.Context, c Charge, code string) (Result, error)
}

// RefundRail is an optional interface of a [Charger]: it gives back money that the Charger took.
// Without it, refunds of charges are refused with service_unavailable.
//
// A RefundRail carries out two calls of Refund with one id as one refund, and answers the
// second with the outcome of the first. It must be safe for concurrent use. The library
// calls it outside of any transaction, with a context that ends after 30 seconds.
//
// An error means that the outcome is unknown: the money may be on its way back or not. Only a [Result]
// is an answer. So a RefundRail must not answer Refused for a time-out, a broken connection or a server
// error of its provider. It must not return an error for what the provider has conclusively refused.
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
	// Charge is the id of the charge, pay_…, tu_… or att_…, whose money is given back.
	Charge string
	// Phone and Network are as the charge had them. Phone is empty if the number was erased since.
	Phone, Network string
	// PaymentMethod is that of the payment: "mobile_money" for a charge of a phone, else as the charge
	// had it, or "default" when it had none.
	PaymentMethod string
	// Payment and Invoice name what is given back. Invoice may be empty. For a top-up, Payment is
	// empty too.
	Payment, Invoice string
	// Reason is the merchant's, and may be empty.
	Reason string
}
