package paystack

import "github.com/seed-7082ffec/payments/internal/ids"

// Reference returns the reference at Paystack of a transfer or a charge: "po_…" with 22 letters and
// digits becomes "po-" and 26 characters without upper case, which Paystack refuses. It reports false
// for a text that is no id of an order.
func Reference(id string) (reference string, ok bool) { return ids.ToBase36(id) }

// OrderID returns the id of the order that has a reference at Paystack, such as a line of Paystack's
// statement. It reports false for a reference that the library has not made.
func OrderID(reference string) (id string, ok bool) { return ids.FromBase36(reference) }
