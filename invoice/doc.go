// Package invoice asks customers to pay: drafts with lines, their totals, what
// becomes of them, and how they are collected.
//
// It owns invoices, the attempts to charge them, their reminders and credit notes. It
// does not own payments (package payment), refunds (package refund), customers
// (package account), or the messages it queues (package message). The [provider.Charger]
// that takes money outside is the host's, and internal/providers calls it.
package invoice
