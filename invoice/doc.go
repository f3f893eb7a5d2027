// Package invoice makes invoices: their drafts and lines, totals, statuses and collection.
package invoice
