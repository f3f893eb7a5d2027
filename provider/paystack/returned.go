package paystack

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-7082ffec/payments/provider"
)

// returned is what went back of a charge to the payer, in pesewas.
type returned struct {
	ours   int64 // by refunds that the library made
	byHand int64 // by other refunds
	lost   int64 // by disputes
}

// taken is what went back otherwise than by refunds that the library made. Unconfirmed: whether the
// list of refunds has what a dispute takes back, so that is not counted twice.
func (is returned) taken() int64 { return max(is.byHand, is.lost) }

// countsFor reports whether a refund gave back money of a transaction, or is about to.
func (is refund) countsFor(x transaction) bool {
	return is.Transaction == ofWhich(x.ID) && outcome(refundWords, is.Status) != provider.Refused
}

// returnedBy returns what went back of a transaction according to a list of refunds. With open it counts
// refunds that are under way, too, which may still fail.
func returnedBy(rows []refund, x transaction, open bool) (is returned) {
	for _, row := range rows {
		switch {
		case !row.countsFor(x) || row.Amount == nil || !open && outcome(refundWords, row.Status) != provider.Paid:
		case isRefundID(row.note()):
			is.ours += int64(*row.Amount)
		default:
			is.byHand += int64(*row.Amount)
		}
	}
	return is
}

// dispute is a complaint of a payer about a charge, to a bank or a network.
type dispute struct {
	ID          number  `json:"id"`
	Resolution  text    `json:"resolution"`
	Amount      number  `json:"refund_amount"`
	Transaction ofWhich `json:"transaction"`
}

// lostDisputes returns what disputes took back of a charge. Unconfirmed: that a dispute of mobile money
// goes the way of one about a card, and that its refund_amount is what the payer gets.
func (c *Client) lostDisputes(ctx context.Context, x transaction) (pesewas int64, err error) {
	rows, err := pages(ctx, c, "/dispute", ofCharge(x), func(d dispute) number { return d.ID })
	for _, row := range rows {
		if row.Transaction == ofWhich(x.ID) && resolutions[string(row.Resolution)] {
			pesewas += int64(row.Amount)
		}
	}
	return pesewas, err
}

// returnedOf returns the refunds of a charge, and what went back of it. It asks for the disputes if
// disputed is set, or if the refunds do not explain why Paystack calls the charge reversed. If only the
// disputes fail, rows are the refunds all the same.
// Unconfirmed: that Paystack filters refunds by the transaction, and by its id. Without the filter the list
// has the refunds of all transactions since this one was made.
func (c *Client) returnedOf(ctx context.Context, x transaction, disputed bool) (rows []refund, is returned, err error) {
	if rows, err = c.list(ctx, ofCharge(x)); err != nil {
		return nil, is, err
	}
	reversed := x.Status == "reversed" // then all refunds are through, whatever the list says
	is = returnedBy(rows, x, reversed)
	if disputed || reversed && x.Amount != nil && is.ours+is.byHand < int64(*x.Amount) {
		is.lost, err = c.lostDisputes(ctx, x)
	}
	return rows, is, err
}

// afterReturn answers for a charge of which money went back. A charge that went back by refunds of the
// library alone was paid. One that went back otherwise is reversed. If only a part went back
// otherwise, the charge is paid with the rest, for which the library has a person look. As long as the lists
// do not explain that Paystack calls a charge reversed, a refund of ours may be missing from them.
func (x transaction) afterReturn(is returned, o provider.Charge) (provider.Result, error) {
	whole := int64(0)
	if x.Amount != nil {
		whole = int64(*x.Amount)
	}
	switch reversed := x.Status == "reversed"; {
	case reversed && (whole == 0 || is.ours+is.byHand+is.lost < whole):
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the charge %s went back, and the lists of refunds and disputes do not say why", o.ID)
	case is.taken() == 0 || is.ours >= whole:
		x.Status = "success"
	case reversed || is.ours+is.taken() >= whole:
		x.Status = "reversed"
	}
	r, err := x.result(o)
	if r.Outcome == provider.Paid && is.ours < whole {
		r.Amount -= is.taken()
	}
	return r, err
}

// list lists all refunds that a query selects.
func (c *Client) list(ctx context.Context, query url.Values) ([]refund, error) {
	return pages(ctx, c, "/refund", query, func(row refund) number { return row.ID })
}

// ofCharge selects what belongs to a transaction.
func ofCharge(x transaction) url.Values {
	query := url.Values{}
	if made, err := time.Parse(time.RFC3339, string(x.CreatedAt)); err == nil {
		query = since(made)
	}
	query.Set("transaction", strconv.FormatInt(int64(x.ID), 10))
	return query
}

// since selects what was made after a time, with a day for clocks that differ.
func since(t time.Time) url.Values {
	return url.Values{"from": {t.Add(-24 * time.Hour).UTC().Format(time.RFC3339)}}
}
