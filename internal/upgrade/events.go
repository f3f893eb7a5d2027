package upgrade

import (
	"errors"

	"github.com/seed-7082ffec/payments/storage"
)

// fannedOut ends the due time of an event that was fanned out before. It was made due again in order to
// remove it.
func fannedOut(_ *record, d *document) error {
	if d.has("fanned_out") {
		d.remove("due")
	}
	return nil
}

const headID = "head"

// headOf sees that the head covers an event. The newest event of all merchants once stood in a head for
// each merchant, or in none. A head that is "whole" covers all.
func headOf(of *record, _ *document) error {
	k, err := kindOf(of.kinds, "event_heads")
	if err != nil {
		return err
	}
	found, err := of.tx.Get(k, storage.Scope{}, headID)
	if errors.Is(err, storage.ErrNotFound) {
		d := &document{}
		if err := d.set("event", of.ID); err != nil {
			return err
		}
		data, err := d.encode()
		if err != nil {
			return err
		}
		return of.tx.Insert(k, storage.Record{ID: headID, Data: data})
	}
	if err != nil {
		return err
	}
	d, err := parse(found.Data)
	if err != nil {
		return err
	}
	var newest string
	if err := d.read("event", &newest); err != nil || d.has("whole") || newest >= of.ID {
		return err
	}
	if err := d.set("event", of.ID); err != nil {
		return err
	}
	if found.Data, err = d.encode(); err != nil {
		return err
	}
	return of.tx.Replace(k, found)
}

// oneHead removes the heads of single merchants.
func oneHead(of *record, d *document) error {
	d.remove("whole")
	d.gone = of.ID != headID || of.Scope != storage.Scope{}
	return nil
}
