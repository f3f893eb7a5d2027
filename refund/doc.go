// Package refund gives a merchant's customers their money back: the whole of a
// payment or parts of it, never more than was paid, from the merchant's balance to
// where the money came from.
//
// It owns refunds. It is a package of its own because a refund belongs to no one
// way of paying: qrcode and invoice take money and know nothing of its return, and
// payment, which both of them use, could not know invoices, whose documents show a
// refund. So this package stands above both. It does not own how much of a payment
// is refunded (package payment), credit notes (package invoice), the provider that
// carries money back ([provider.RefundRail], the host's), or the loop that calls the
// provider until it is conclusive (internal/providers).
package refund
