package paystack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/provider"
)

// Paystack knows no reference of a refund: a second request is a second refund. So the id of a
// refund stands in its merchant_note, and Refund looks for it in the list first. If an answer got
// lost and the list lags behind, the refund may exist and not be found (unconfirmed: for how long).
// So refundWait lies between two requests for one refund. Nothing is stored here and several
// processes may run, so the number of the attempt tells them apart: requests go out at the first and
// at even attempts, and odd ones wait.
const refundWait = 10 * time.Minute

// clockSkew is by how much Paystack's clock may differ from ours.
const clockSkew = 5 * time.Minute

type refundRequest struct {
	Transaction string `json:"transaction"`
	Amount      int64  `json:"amount"` // pesewas
	Currency    string `json:"currency"`
	Note        string `json:"merchant_note"`
}

type refund struct {
	ID           number  `json:"id"`
	Status       string  `json:"status"`
	Amount       *number `json:"amount"`
	Currency     string  `json:"currency"`
	MerchantNote text    `json:"merchant_note"`
	CreatedAt    text    `json:"createdAt"`
	Transaction  ofWhich `json:"transaction"`
}

// note returns the id of the refund, if the library made it.
func (is refund) note() string { return strings.TrimSpace(string(is.MerchantNote)) }

// ofWhich is the id of a transaction, which some answers give alone and some in an object.
type ofWhich number

func (w *ofWhich) UnmarshalJSON(data []byte) error {
	var object struct {
		ID number `json:"id"`
	}
	if json.Unmarshal(data, &object) != nil {
		_ = json.Unmarshal(data, &object.ID) // a text is a reference, which is not needed
	}
	*w = ofWhich(object.ID)
	return nil
}

// refunding serializes the requests for one refund in this process.
type refunding struct {
	mu   sync.Mutex
	made bool      // Paystack has answered that it made the refund
	used time.Time // the last call, by the order's clock; guarded by Client.mu
}

// wait returns how long a request for the refund has to wait, because an earlier one may have
// arrived and not be listed yet.
func (one *refunding) wait(r provider.Refund) time.Duration {
	switch {
	case one.made:
		return refundWait
	case r.Attempts <= 1:
		return 0
	}
	return max(0, r.SubmittedAt.Add(refundWait).Sub(r.Now))
}

// Refund implements [provider.RefundRail].
func (c *Client) Refund(ctx context.Context, r provider.Refund) (provider.Result, error) {
	one := c.refunding(r)
	one.mu.Lock()
	defer one.mu.Unlock()
	result, err := c.refundState(ctx, r)
	if err != nil || result.Outcome != provider.NotFound {
		return result, err
	}
	if one.wait(r) > 0 {
		return provider.Result{}, fmt.Errorf("paystack: an earlier request for the refund %s has no answer yet", r.ID)
	}
	reference, err := c.reference(r.Live, r.Charge)
	if err != nil {
		return provider.Result{}, err
	}
	var made refund
	err = c.call(ctx, http.MethodPost, "/refund", nil, refundRequest{
		Transaction: reference, Amount: r.Amount, Currency: currency, Note: r.ID,
	}, &made)
	if err == nil {
		one.made = true
		return made.result(r.Order)
	}
	return afterRejection(r.Order, err, func() (provider.Result, error) { return c.refundState(ctx, r) })
}

// RefundStatus implements [provider.RefundRail]. Paystack may still be working on a lost request.
// So for a refund that is not in Paystack's list yet, RefundStatus first answers InProgress.
func (c *Client) RefundStatus(ctx context.Context, r provider.Refund) (provider.Result, error) {
	result, err := c.refundState(ctx, r)
	if r.Attempts > 2 && r.Attempts%2 == 1 && (err != nil || result.Outcome == provider.NotFound) {
		return provider.Result{Outcome: provider.InProgress, PollAfter: refundWait}, nil
	}
	if err != nil || result.Outcome != provider.NotFound {
		return result, err
	}
	one := c.refunding(r)
	one.mu.Lock()
	defer one.mu.Unlock()
	if wait := one.wait(r); wait > 0 {
		return provider.Result{Outcome: provider.InProgress, PollAfter: wait}, nil
	}
	return result, nil
}

// refunding returns the entry of a refund, and forgets those that no request needs any more.
func (c *Client) refunding(r provider.Refund) *refunding {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.refunds[r.ID]
	if one == nil {
		maps.DeleteFunc(c.refunds, func(_ string, other *refunding) bool { return r.Now.Sub(other.used) > 2*refundWait })
		one = &refunding{}
		c.refunds[r.ID] = one
	}
	one.used = r.Now
	return one
}

// refundState returns a refund as Paystack's list has it. It answers NotFound if the list does not
// have it and it may still be made, and Refused if it cannot.
func (c *Client) refundState(ctx context.Context, r provider.Refund) (provider.Result, error) {
	if !isRefundID(r.ID) {
		return provider.Result{}, fmt.Errorf("paystack: %q is no id of a refund, re_ with 22 letters and digits", r.ID)
	}
	x, found, err := c.verify(ctx, provider.Order{ID: r.Charge, Live: r.Live})
	if err != nil {
		return provider.Result{}, err
	}
	if !found || x.ID == 0 {
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the charge %s of the refund %s is not found", r.Charge, r.ID)
	}
	switch outcome(chargeWords, x.Status) {
	case provider.InProgress:
		return provider.Result{}, fmt.Errorf("paystack: the charge %s of the refund %s is not paid yet", r.Charge, r.ID)
	case provider.Refused:
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "The payment was not completed."}}, nil
	}
	rows, back, err := c.returnedOf(ctx, x, false)
	if err != nil {
		return provider.Result{}, err
	}
	row, listed, err := find(rows, r.ID)
	if r.Attempts > 1 && !listed && err == nil {
		// The refund may be made twice if the list does not filter as expected, so the list of all
		// refunds has to miss it, too.
		var recent []refund
		if recent, err = c.list(ctx, since(r.SubmittedAt)); err == nil {
			row, listed, err = find(recent, r.ID)
		}
	}
	if err != nil {
		return provider.Result{}, err
	}
	if listed {
		return row.result(r.Order)
	}
	withoutNote := slices.ContainsFunc(rows, func(row refund) bool { return row.couldBe(r) && row.countsFor(x) })
	all := returnedBy(rows, x, true)
	all.lost = back.lost
	switch {
	case r.Attempts > 1 && withoutNote:
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the charge %s has a refund without a note, which may be %s", r.Charge, r.ID)
	case x.Amount != nil && all.ours+all.taken()+r.Amount > int64(*x.Amount):
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "The refunds would exceed the payment."}}, nil
	case x.Status == "reversed" && r.Attempts > 1: // perhaps by this refund
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the charge %s went back, and no list has the refund %s", r.Charge, r.ID)
	}
	return provider.Result{Outcome: provider.NotFound}, nil
}

// find returns the refund with an id of ours from a list. Several may have it, if a request arrived
// that was taken for lost. Then the one that was paid counts, or else one that is open. Two that were
// paid need a person.
func find(rows []refund, id string) (found refund, listed bool, err error) {
	rank := map[provider.Outcome]int{provider.Refused: 1, provider.InProgress: 2, provider.Paid: 3}
	best := 0
	for _, row := range rows {
		if row.note() != id {
			continue
		}
		switch is := rank[outcome(refundWords, row.Status)]; {
		case is == best && is == rank[provider.Paid]:
			return refund{}, false, failed(provider.ClassUnreadable, "paystack: the refund %s was made twice, as %d and %d", id, found.ID, row.ID)
		case is > best:
			found, listed, best = row, true, is
		}
	}
	return found, listed, nil
}

// couldBe reports whether a refund without an id of ours may be the one that was asked for before, by
// a Paystack that lost the note, and not one by hand.
func (is refund) couldBe(r provider.Refund) bool {
	if isRefundID(is.note()) || is.Amount != nil && int64(*is.Amount) != r.Amount {
		return false
	}
	made, err := time.Parse(time.RFC3339, string(is.CreatedAt))
	return err != nil || made.After(r.SubmittedAt.Add(-clockSkew))
}

// result translates a refund.
func (is refund) result(o provider.Order) (provider.Result, error) {
	if is.Status == "" {
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the answer for %s has no status", o.ID)
	}
	r := provider.Result{Outcome: outcome(refundWords, is.Status)}
	if is.ID != 0 {
		r.Reference = strconv.FormatInt(int64(is.ID), 10)
	}
	if r.Outcome == provider.Refused {
		r.Reason.Message = "The payer's bank or network did not take the refund."
	}
	return r, sameMoney(o, is.Amount, is.Currency, "")
}

func isRefundID(text string) bool {
	_, ok := ids.ToBase36(text)
	return ok && strings.HasPrefix(text, "re_")
}
