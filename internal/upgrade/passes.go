package upgrade

import (
	"fmt"

	"github.com/seed-7082ffec/payments/storage"
)

// pass is what changes in the records of one kind.
type pass struct {
	kind    string
	changes []change
	// to is the kind into which the records move; empty if they stay.
	to string
}

// change changes the document of a record. It may write other records. A pass visits each record once: it
// writes its place in the same transaction.
type change func(of *record, d *document) error

// record is the record whose document changes.
type record struct {
	storage.Record
	tx    storage.Tx
	kinds []*storage.Kind
}

// passes are in the order in which they run. Those at index n lead from version n to the next one.
var passes = [Version][]pass{
	{
		{kind: "rail_orders", changes: orderIndex},
		{kind: "refund_orders", changes: orderIndex},
		{kind: "charge_orders", changes: orderIndex},
		{kind: "payouts", changes: []change{submission("")}},
		{kind: "disbursements", changes: []change{submission("")}},
		{kind: "disbursement_batch_rows", changes: []change{rename("", "made", "disbursement_id"), rename("", "tries", "attempts")}},
		{kind: "payments", changes: []change{submission(""), completed, failed}},
		{kind: "refunds", changes: []change{submission(""), failed}},
		{kind: "invoices", changes: []change{
			openCharge, submission("attempt"), rename("attempt", "origin", "finalized_by"), rename("", "attempt", "open_charge"),
			rename("", "origin", "finalized_by"), rename("", "off", "invoice_discount"), rename("", "outside", "out_of_band_method"),
			rename("", "from", "unlinked_customer"), rename("", "due", "next_work_at"),
		}},
		{kind: "invoice_reminders", changes: []change{rename("", "due", "send_at")}},
		{kind: "events", changes: []change{rename("", "told", "fanned_out"), rename("", "held", "partly_stored"), fannedOut}},
		{kind: "event_tellings", to: "subscriber_calls"},
		{kind: "test_clocks", changes: []change{awake}},
		{kind: "erasures", changes: []change{remove("recipients")}},
		{kind: "products", changes: []change{untaxed}},
	},
	{
		{kind: "rail_orders", changes: []change{causes}},
		{kind: "refund_orders", changes: []change{causes}},
		{kind: "charge_orders", changes: []change{causes}},
		{kind: "invoices", changes: []change{statedFigures, periodCoupon}},
		{kind: "subscriptions", changes: []change{netWaiting}},
		{kind: "events", changes: []change{activations}},
		{kind: "webhook_subscriptions", changes: []change{activation}}, // after the events
		{kind: "webhook_endpoints", changes: []change{remove("after")}},
		{kind: "event_heads", changes: []change{gone}},
	},
}

// orderIndex changes an entry of an index of orders.
var orderIndex = []change{rename("", "noun", "object"), rename("", "of", "record")}

// submission changes the state of an order's submission, which is the object at a path of a record.
func submission(path string) change { return rename(path, "asked", "attempts") }

// rename gives a member of the objects at a path another name.
func rename(path, from, to string) change {
	return func(_ *record, d *document) error {
		return d.in(path, func(d *document) error { return d.rename(from, to) })
	}
}

// gone removes the record.
func gone(_ *record, d *document) error {
	d.gone = true
	return nil
}

// remove removes a member.
func remove(name string) change {
	return func(_ *record, d *document) error {
		d.remove(name)
		return nil
	}
}

// completed gives a completed payment its fee, what the merchant got, and the time. Payments once had
// none of these: they were completed as they were made, without a fee.
func completed(_ *record, d *document) error {
	if !d.is("status", "completed") || d.has("net") {
		return nil
	}
	for _, m := range []struct{ name, as string }{{"net", "amount"}, {"completed_at", "created_at"}, {"phone_number", "phone"}} {
		if d.has(m.as) {
			if err := d.set(m.name, d.members[d.index(m.as)].value); err != nil {
				return err
			}
		}
	}
	return d.set("fee", 0)
}

// failed gives an order that has failed a code for programs.
func failed(_ *record, d *document) error {
	if !d.is("status", "failed") || d.has("failure_code") {
		return nil
	}
	return d.set("failure_code", "other")
}

// openCharge refuses a charge that is in no index. The worker of the earlier program indexes it.
func openCharge(_ *record, d *document) error {
	return d.in("attempt", func(d *document) error {
		if !d.has("submitted_at") {
			return fmt.Errorf("%w: an open charge is not indexed", errOlder)
		}
		return nil
	})
}

// awake gives a test clock its due time. Clocks once never rested, and had none.
func awake(_ *record, d *document) error {
	if d.has("resting") || d.has("due") {
		return nil
	}
	return d.set("due", "1970-01-01T00:00:00.000Z")
}

// untaxed says of a product with a rate that is not taxable that it is so.
func untaxed(_ *record, d *document) error {
	if !d.has("tax_percent") || d.has("taxable") {
		return nil
	}
	return d.set("taxable", false)
}
