// Package refund gives a merchant's customers their money back: the whole of a payment or parts
// of it, never more than was paid. The money goes from the merchant's balance to its origin.
//
// It describes refunds. A payment shows its refunded amount, and an invoice its credit notes. Money that a charger
// took goes back through the same charger, if it is a [provider.RefundRail]; a worker calls it until it is
// conclusive. The operator keeps the fee of a refunded payment.
package refund
