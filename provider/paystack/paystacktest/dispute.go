package paystacktest

import (
	"net/url"
	"time"
)

// The ends of a dispute. The first two take the money back.
const (
	MerchantAccepted = "merchant-accepted"
	AutoAccepted     = "auto-accepted" // the operator did not answer in time
	Declined         = "declined"
)

type dispute struct {
	id           int64
	of           *transaction
	amount       int64
	resolution   string
	byFault      bool // it ends by itself
	made, hidden time.Time
}

func (d *dispute) object() object {
	is := object{
		"id": d.id, "refund_amount": d.amount, "currency": "GHS", "status": "awaiting-merchant-feedback", "resolution": nil, "domain": "live",
		"transaction": d.of.object(false), "transaction_reference": nil, "category": "chargeback", "created_at": d.made.UTC().Format(time.RFC3339),
	}
	if d.resolution != "" {
		is["status"], is["resolution"] = "resolved", d.resolution
	}
	return is
}

// Dispute opens a dispute of a charge by its payer, over an amount in pesewas. ResolveDispute ends it.
// Dispute reports false if no charge with that id was paid, or if less than the amount is left of it
// after refunds.
func (f *Fake) Dispute(id string, pesewas int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.charge(id)
	if o == nil || o.status != "success" || pesewas > o.amount-o.back {
		return false
	}
	f.dispute(&dispute{of: o, amount: pesewas})
	return true
}

// ResolveDispute ends the dispute of a charge with one of the words above.
func (f *Fake) ResolveDispute(id, resolution string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.charge(id)
	for _, d := range f.disputes {
		if d.of == o && d.resolution == "" {
			f.resolve(d, resolution)
		}
	}
}

func (f *Fake) charge(id string) *transaction {
	for _, o := range f.transactions {
		if o.order() == id {
			return o
		}
	}
	return nil
}

// dispute opens a dispute. What it is about can no longer be refunded.
func (f *Fake) dispute(d *dispute) {
	d.id, d.made, d.hidden = f.next(), f.now(), f.lag()
	d.of.back += d.amount
	f.disputes = append(f.disputes, d)
	f.send("charge.dispute.create", d.object())
}

func (f *Fake) resolve(d *dispute, resolution string) {
	d.resolution = resolution
	if o := d.of; resolution == Declined {
		o.back -= d.amount
	} else {
		f.float -= d.amount
		f.giveBack(o, d.amount)
		if d.amount == o.amount {
			o.moved--
		}
	}
	f.send("charge.dispute.resolve", d.object())
}

// giveBack notes that a part of a charge has gone back.
func (f *Fake) giveBack(o *transaction, pesewas int64) {
	if o.returned += pesewas; o.returned == o.amount {
		o.status = "reversed"
	}
}

// decideDispute plays what payers and operators do about a charge that was paid.
func (f *Fake) decideDispute(o *transaction) {
	for _, d := range f.disputes {
		switch {
		case d.of != o:
			continue
		case d.byFault && d.resolution == "":
			f.resolve(d, []string{MerchantAccepted, AutoAccepted, Declined}[f.dice.IntN(3)])
		}
		return
	}
	if o.status == "success" && o.back == 0 && f.roll(f.faults.Dispute) {
		f.dispute(&dispute{of: o, amount: o.amount, byFault: true})
	}
}

func (f *Fake) listDisputes(query url.Values) answer {
	var all []listed
	for _, d := range f.disputes {
		all = append(all, listed{d.of, d.made, d.hidden, d.object()})
	}
	return f.list(all, query)
}
