// Package refund gives a merchant's customers their money back: the whole of a payment or parts
// of it, never more than was paid. The money goes from the merchant's balance to its origin.
//
// It owns refunds. It stands above qrcode, invoice and payment because it needs all of them.
// qrcode and invoice take money and do not know refunds. Both use payment, so payment cannot know
// invoices, whose documents show refunds. Package payment owns the refunded amount of a payment,
// and package invoice the credit notes. The host brings the provider that carries money back
// ([provider.RefundRail]). The loop that calls it until it is conclusive is in
// internal/providers.
package refund
