// Package refund gives a merchant's customers their money back: the whole of a payment or parts
// of it, never more than was paid. The money goes from the merchant's balance to its origin.
//
// It owns refunds. Package payment owns the refunded amount of a payment, and package invoice the
// credit notes. Money that a charger took goes back through the same charger, if it is a
// [provider.RefundRail]; a worker calls it until it is conclusive. The operator keeps the fee of a
// refunded payment.
package refund
