package paystacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Faults says what goes wrong. The numbers are percent of the calls, orders or events.
type Faults struct {
	// LoseRequest cuts the connection before the request is seen, LoseAnswer after everything was
	// done. FailBefore and FailAfter answer 502 and 500 instead.
	LoseRequest, LoseAnswer, FailBefore, FailAfter int
	// Limit answers 429, and NoKey 401 for the right key.
	Limit, NoKey int
	// Late is the percentage of status queries that leave the order undecided.
	Late int
	// Refuse is how many orders fail instead of succeeding.
	Refuse int
	// Reverse is how many transfers are reversed after their success, and Dispute how many charges the
	// payer disputes.
	Reverse, Dispute int
	// Lag is how long, at most, a new order is missing from verifications and lists.
	Lag time.Duration
	// OTP makes transfers wait for a code of the operator. EmptyFloat refuses them.
	OTP, EmptyFloat bool
	// DropEvents loses events, RepeatEvents sends them twice. ForgeEvents adds events with a wrong
	// signature that report success, and EarlyEvents adds signed ones before the success.
	DropEvents, RepeatEvents, ForgeEvents, EarlyEvents int
}

// SetFaults sets what goes wrong from now on, also after Settle.
func (f *Fake) SetFaults(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.calm = faults, false
}

// fate is what happens to a call.
type fate int

const (
	serve fate = iota
	loseRequest
	loseAnswer
	failBefore
	failAfter
	limit
	noKey
)

type loss struct {
	fate fate
	ops  []string
}

// LoseRequest cuts the connection of the next call before the fake sees it: of the next call at all,
// or of the next one of ops, such as "POST /transfer".
func (f *Fake) LoseRequest(ops ...string) { f.loseNext(loss{loseRequest, ops}) }

// LoseAnswer cuts the connection of the next call after the fake did everything; ops are as for
// LoseRequest.
func (f *Fake) LoseAnswer(ops ...string) { f.loseNext(loss{loseAnswer, ops}) }

func (f *Fake) loseNext(l loss) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose = append(f.lose, l)
}

func (f *Fake) fate(op string) fate {
	for i, l := range f.lose {
		if len(l.ops) == 0 || slices.Contains(l.ops, op) {
			f.lose = slices.Delete(f.lose, i, i+1)
			return l.fate
		}
	}
	for _, c := range []struct {
		percent int
		fate    fate
	}{
		{f.faults.LoseRequest, loseRequest},
		{f.faults.LoseAnswer, loseAnswer},
		{f.faults.FailBefore, failBefore},
		{f.faults.FailAfter, failAfter},
		{f.faults.Limit, limit},
		{f.faults.NoKey, noKey},
	} {
		if f.roll(c.percent) {
			return c.fate
		}
	}
	return serve
}

// roll reports whether something happens that happens in so many of a hundred cases.
func (f *Fake) roll(percent int) bool { return percent > 0 && !f.calm && f.dice.IntN(100) < percent }

// SetClock sets the clock by which Faults.Lag is measured, which is time.Now at first.
func (f *Fake) SetClock(now func() time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
}

// lag returns until when a new order is not found.
func (f *Fake) lag() (until time.Time) {
	if f.calm || f.faults.Lag <= 0 {
		return until
	}
	return f.now().Add(time.Duration(f.dice.Int64N(int64(f.faults.Lag))))
}

func (f *Fake) hides(until time.Time) bool { return !f.calm && f.now().Before(until) }

// stays reports whether an order is left undecided by this call.
func (f *Fake) stays(number, digits string) bool {
	return !f.calm && (strings.HasSuffix(number, digits) || f.roll(f.faults.Late))
}

func (f *Fake) decideTransfer(o *transfer) {
	switch o.status {
	case "pending":
		if f.stays(o.to.number, Stays) {
			f.early("transfer", "success", o.object())
			return
		}
		if strings.HasSuffix(o.to.number, Fails) || f.roll(f.faults.Refuse) || o.amount+o.fee() > f.float {
			o.status = "failed"
		} else {
			o.status = "success"
			o.moved++
			f.float -= o.amount + o.fee()
		}
	case "otp":
		if !f.calm {
			return
		}
		o.status = "abandoned"
	case "success":
		if !f.roll(f.faults.Reverse) {
			return
		}
		o.status = "reversed"
		o.moved--
		f.float += o.amount
	default:
		return
	}
	f.send("transfer."+o.status, o.object())
}

func (f *Fake) decideCharge(o *transaction) {
	f.decideDispute(o)
	if o.status != "pay_offline" && (o.status != "send_otp" || !f.calm) {
		return
	}
	switch {
	case f.stays(o.phone, Stays):
		f.early("charge", "success", o.object(false))
	case o.status == "send_otp", strings.HasSuffix(o.phone, Fails), f.roll(f.faults.Refuse):
		o.status = "failed" // Paystack sends no reliable event for it
	default:
		o.status = "success"
		o.moved++
		f.float += o.amount - o.fee()
		f.send("charge.success", o.object(false))
	}
}

func (f *Fake) decideRefund(r *refund) {
	if r.status != "pending" && r.status != "processing" || f.stays(r.of.phone, RefundStays) {
		return
	}
	if strings.HasSuffix(r.of.phone, RefundFails) || f.roll(f.faults.Refuse) {
		r.status = "failed"
		r.of.back -= r.amount
	} else {
		r.status = "processed"
		r.moved++
		f.float -= r.amount
		f.giveBack(r.of, r.amount)
	}
	f.send("refund."+r.status, object{
		"status": r.status, "transaction_reference": r.of.reference, "refund_reference": nil, "amount": strconv.FormatInt(r.amount, 10),
		"currency": "GHS", "domain": "live",
	})
}

// Event is a webhook, to be posted with its signature.
type Event struct {
	Body      []byte
	Signature string
	Forged    bool
}

// Sign signs the body of an event.
func Sign(body []byte, key string) string {
	h := hmac.New(sha512.New, []byte(key))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

func (f *Fake) send(name string, data object) {
	body, err := json.Marshal(object{"event": name, "data": data})
	if err != nil {
		panic(err) // objects of texts and numbers can be written
	}
	if !f.roll(f.faults.DropEvents) {
		f.queue(Event{Body: body, Signature: Sign(body, SecretKey)})
		if f.roll(f.faults.RepeatEvents) {
			f.queue(Event{Body: body, Signature: Sign(body, SecretKey)})
		}
	}
}

// early queues events that report what has not happened.
func (f *Fake) early(kind, status string, data object) {
	forge, early := f.roll(f.faults.ForgeEvents), f.roll(f.faults.EarlyEvents)
	if !forge && !early {
		return
	}
	data = maps.Clone(data)
	data["status"] = status
	body, err := json.Marshal(object{"event": kind + "." + status, "data": data})
	if err != nil {
		panic(err)
	}
	if forge {
		f.queue(Event{Body: body, Signature: Sign(body, "sk_test_guess"), Forged: true})
	}
	if early {
		f.queue(Event{Body: body, Signature: Sign(body, SecretKey)})
	}
}

func (f *Fake) queue(e Event) {
	f.events = slices.Insert(f.events, f.dice.IntN(len(f.events)+1), e)
}

// Callbacks returns the events that wait, out of order, and removes them.
func (f *Fake) Callbacks() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting := f.events
	f.events = nil
	return waiting
}

// Request returns the request that brings an event to the address.
func (e Event) Request(ctx context.Context, address string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(e.Body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Paystack-Signature", e.Signature)
	return r, nil
}

// Settle ends the faults and decides every order: from now on, until SetFaults, each call is answered.
func (f *Fake) Settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calm, f.lose = true, nil
	for _, reference := range slices.Sorted(maps.Keys(f.transfers)) {
		f.decideTransfer(f.transfers[reference])
	}
	for _, reference := range slices.Sorted(maps.Keys(f.transactions)) {
		f.decideCharge(f.transactions[reference])
	}
	for _, r := range f.refunds {
		f.decideRefund(r)
	}
}

// Moved returns how often money moved for the order with that id: po_…, pay_…, att_… or re_…. A
// transfer that was reversed counts as not moved, and so does a charge of which a dispute took all back.
func (f *Fake) Moved(id string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.transfers {
		if o.order() == id {
			n += o.moved
		}
	}
	for _, o := range f.transactions {
		if o.order() == id {
			n += o.moved
		}
	}
	for _, r := range f.refunds {
		if r.note == id {
			n += r.moved
		}
	}
	return n
}

// Received returns the amount of an order, in pesewas, and the account or phone number, which is
// that of the charge for a refund.
func (f *Fake) Received(id string) (pesewas int64, number string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.transfers {
		if o.order() == id {
			return o.amount, o.to.number
		}
	}
	for _, o := range f.transactions {
		if o.order() == id {
			return o.amount, o.phone
		}
	}
	for _, r := range f.refunds {
		if r.note == id {
			return r.amount, r.of.phone
		}
	}
	return 0, ""
}

// Float returns the operator's balance in pesewas.
func (f *Fake) Float() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.float
}

// Problems returns what was wrong with requests, compared with Paystack's documents.
func (f *Fake) Problems() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.problems)
}
