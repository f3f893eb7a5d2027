package paystacktest

import (
	"net/url"
	"slices"
	"strconv"
	"time"
)

type refund struct {
	id           int64
	of           *transaction
	status, note string
	amount       int64
	moved        int
	made, hidden time.Time
}

func (f *Fake) makeRefund(in object) answer {
	o, amount := f.transactions[str(in, "transaction")], integer(in, "amount")
	switch {
	case o == nil:
		return refused("Transaction not found")
	case o.status == "reversed":
		return refused("Transaction has been fully reversed")
	case o.status != "success":
		return refused("Transaction is not successful")
	case amount <= 0 || o.back+amount > o.amount:
		return refused("Refund amount cannot be more than transaction amount")
	}
	r := &refund{id: f.next(), of: o, status: "pending", note: str(in, "merchant_note"), amount: amount, made: f.now(), hidden: f.lag()}
	o.back += amount
	f.refunds = append(f.refunds, r)
	f.decideRefund(r)
	made := r.object()
	made["transaction"] = object{"id": o.id, "reference": o.reference, "amount": o.amount, "domain": "live"}
	return done(made)
}

func (r *refund) object() object {
	return object{
		"id": r.id, "transaction": r.of.id, "status": r.status, "amount": r.amount, "currency": "GHS", "merchant_note": r.note,
		"customer_note": nil, "domain": "live", "createdAt": r.made.UTC().Format(time.RFC3339),
	}
}

func (f *Fake) listRefunds(query url.Values) answer {
	var all []listed
	for _, r := range f.refunds {
		f.decideRefund(r)
		all = append(all, listed{r.of, r.made, r.hidden, r.object()})
	}
	return f.list(all, query)
}

type listed struct {
	of           *transaction
	made, hidden time.Time
	row          object
}

// list returns the page of a list that a query selects, the newest first.
func (f *Fake) list(rows []listed, query url.Values) answer {
	all := []object{}
	since, _ := time.Parse(time.RFC3339, query.Get("from"))
	of := query.Get("transaction")
	for _, r := range slices.Backward(rows) {
		if !f.hides(r.hidden) && !r.made.Before(since) && (of == "" || of == strconv.FormatInt(r.of.id, 10)) {
			all = append(all, r.row)
		}
	}
	n, _ := strconv.Atoi(query.Get("page"))
	n = max(n-1, 0) * 100
	return done(all[min(n, len(all)):min(n+100, len(all))])
}
