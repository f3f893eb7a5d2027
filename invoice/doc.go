// Package invoice makes invoices: their drafts and lines, totals, statuses and collection.
//
// It owns invoices, their charges, their reminders and credit notes. It
// does not own payments (package payment), refunds (package refund), customers
// (package account), or the messages it queues (package message).
//
// The host's [provider.Charger] takes the money. Pay calls it. A worker calls it for automatic charges
// and payments from phones, and after a crash.
package invoice
