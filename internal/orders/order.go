// Package orders brings orders to providers: transfers, refunds and charges. It submits each once under its
// id, polls until the outcome is conclusive, and has the outcome recorded once. It implements [provider.Service].
//
// A provider's answer may be lost, so the outcome of an order may be unknown. Unknown never means
// failed: the worker asks again, under the same id, until the answer is conclusive.
//
// The steps work in their caller's transaction. They change the [Submission] in the caller's record, and the
// index of orders, which has an [Entry] for each. [Orders] runs the steps in sequence, with the [Rules] of
// transfers, refunds, payments and top-ups. Package invoicing calls the steps one by one, because its charges
// are not records of their own.
//
// [Service] runs the background work. The packages that make orders and record their outcomes register with it;
// see [Maker]. The service owns the reports of callbacks, the list of stuck and contradicted orders, and the
// comparison with a provider's statement. The maker owns the effect of an outcome on money and objects.
package orders

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Flow is one of the three flows of orders: transfers, refunds and charges. It holds the
// operator's index, with an [Entry] for each order of the flow. A callback knows only an id, and
// finds the order's record through the index. The index also lists the orders of all merchants
// together.
type Flow struct {
	// Name is what an order is called in the log and in refusals.
	Name provider.Flow
	// Backoff is the wait after each inconclusive attempt. Its last entry stands for all later
	// ones.
	Backoff retry.Schedule
	// NoProvider is the outcome, for the log, of work without a provider.
	NoProvider string
	// clearing is the account in the books of a provider without a name.
	clearing string

	index *storage.Collection[Entry]
}

// The flows.
var (
	Transfers = &Flow{Name: provider.Transfers, Backoff: pollBackoff, NoProvider: "no_rail", clearing: "rail", index: newIndex("rail_orders")}
	Refunds   = &Flow{Name: provider.Refunds, Backoff: pollBackoff, NoProvider: "no_rail", clearing: "charges", index: newIndex("refund_orders")}
	Charges   = &Flow{Name: provider.Charges, Backoff: ChargeBackoff, NoProvider: "no_charger", clearing: "charges", index: newIndex("charge_orders")}
)

// flows are all of them, in the order in which they are listed.
var flows = []*Flow{Transfers, Refunds, Charges}

// Kinds are the kinds of records that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{Transfers.index.Kind(), Refunds.index.Kind(), Charges.index.Kind(), settlements.Kind()}
}

// Ref names an order and the record that it is part of.
type Ref struct {
	// Object is the type of the record: "payout", "disbursement", "refund", "payment", "invoice",
	// "top_up" or "top_up_refund".
	Object string
	// ID is the order's, under which the provider knows it.
	ID string
	// Record is the id of the record. It is the id of the order, except for charges of invoices.
	Record string
}

// Submission is the state of an order's submission to its provider, as a part of the record.
type Submission struct {
	// Request and IdempotencyKey belong to the call that made the order. Later events name them.
	Request        string `json:"request,omitempty"`
	IdempotencyKey string `json:"key,omitempty"`
	// Route is the provider's, as in [provider.Order].
	Route string `json:"route,omitempty"`
	// Attempts counts the attempts; see [Call].
	Attempts int `json:"attempts,omitempty"`
	// SubmittedAt is when the first attempt began, or when a callback came before that.
	SubmittedAt *api.Time `json:"submitted_at,omitempty"`
	// UnansweredAt is when an attempt last brought no answer.
	UnansweredAt *api.Time `json:"unanswered_at,omitempty"`
	// Stuck says that the log line about a stuck order was written.
	Stuck bool `json:"stuck,omitempty"`
	// Deadline is the time until which the payer of a charge is asked; nil for other orders.
	Deadline *api.Time `json:"deadline,omitempty"`
	// Due is the time of the worker's next attempt; nil if nothing is left to do.
	Due *api.Time `json:"due,omitempty"`
}

// NewSubmission returns the submission of an order that the caller makes. It is due at once.
func NewSubmission(tx *engine.Tx) Submission {
	return Submission{Request: tx.Caller.RequestID, IdempotencyKey: tx.Caller.IdempotencyKey, Due: api.AtOrNil(tx.Now)}
}

// markSubmitted notes that the provider may have the order from now on. The caller commits
// that before it calls the provider, or applies a callback. first reports that it was not
// noted before.
func (s *Submission) markSubmitted(now time.Time) (first bool) {
	if s.SubmittedAt != nil {
		return false
	}
	s.SubmittedAt = api.AtOrNil(now)
	return true
}

// markReported notes that the provider has reported on the order. first reports that this came before the
// worker's first attempt, from a callback or a test helper. Then route has chosen the provider.
func (s *Submission) markReported(now time.Time, route func() error) (first bool, err error) {
	if s.SubmittedAt == nil && s.Route == "" {
		err = route()
	}
	return err == nil && s.markSubmitted(now), err
}

// CountAttempt counts an attempt. first reports that no attempt and no callback came before:
// the provider cannot know the order, so it is submitted without a poll.
func (s *Submission) CountAttempt(now time.Time) (first bool) {
	first = s.markSubmitted(now)
	s.Attempts++
	return first
}

// AttributeEvents makes the events of the transaction name the call that made the order.
func (s *Submission) AttributeEvents(tx *engine.Tx) (restore func()) {
	return tx.AttributeEvents(s.Request, s.IdempotencyKey)
}

// DueField is the column by which workers claim records of type T.
func DueField[T any](submission func(*T) *Submission) storage.Field[T] {
	return storage.NullTimeColumn("due", func(r *T) *api.Time { return submission(r).Due })
}

// Order is an order in the transaction that drives it.
type Order struct {
	*Submission
	Ref
	Flow *Flow
	// Kind is what the record is stored as.
	Kind *storage.Kind
	// Since is when the order was made.
	Since time.Time

	// recheckAfter is the wait until the recheck: one more poll of an order that Decide found refused. Zero
	// means no recheck.
	recheckAfter time.Duration
}

// schedulePoll sets the time of the next poll: after pollAfter, which the provider asked for, or after the
// backoff if that is zero. It is never sooner than minPoll. An order with a deadline is also polled at the
// deadline. The worker finds the record at its own next poll of the store (Config.Poll). schedulePoll logs an
// order that takes too long, once. The caller writes the record.
func (o *Order) schedulePoll(ctx context.Context, tx *engine.Tx, pollAfter time.Duration) {
	if pollAfter <= 0 {
		pollAfter = o.backoff(tx.Now)
	}
	pollAfter = max(pollAfter, minPoll)
	if o.Deadline != nil && tx.Now.Before(o.Deadline.Time) {
		pollAfter = min(pollAfter, o.Deadline.Sub(tx.Now))
	}
	o.Due = api.AtOrNil(tx.Now.Add(pollAfter))
	age := tx.Now.Sub(o.Since)
	if o.Stuck || age < tx.StuckAfter() {
		return
	}
	o.Stuck = true
	flowName, id, attempts := string(o.Flow.Name), o.ID, o.Attempts
	tx.OnCommit(func() {
		tx.Log().ErrorContext(ctx, "a "+flowName+" is stuck: the provider has not decided", flowName, id, "age", age.String(), "attempts", attempts)
	})
}

// backoff returns the wait until the next poll. While a payer is asked, the answer comes within
// minutes, whatever the number of attempts. After the deadline the wait grows with the time since.
func (o *Order) backoff(now time.Time) time.Duration {
	// A callback may come before the first attempt.
	attempts := max(o.Attempts, 1)
	switch {
	case o.Deadline == nil:
		return o.Flow.Backoff.AfterOrLast(attempts)
	case now.Before(o.Deadline.Time):
		return promptBackoff.AfterOrLast(attempts)
	}
	return min(max(now.Sub(o.Deadline.Time), promptBackoff.AfterOrLast(attempts)), time.Hour)
}

// dueAfterEnd returns the time of the recheck of an order that has ended. Only a refused charge of a phone has
// one, if its provider may yet report the opposite. It returns nil for any other.
func (o *Order) dueAfterEnd(now time.Time) *api.Time {
	if o.recheckAfter <= 0 || o.Deadline == nil {
		return nil
	}
	return api.AtOrNil(now.Add(o.recheckAfter))
}

// endRecheck ends the recheck of an order that has ended, or schedules it again if its result is not
// conclusive. It reports whether Due has changed, and the caller then writes the record. A result that came
// before the recheck, from a callback, changes nothing.
func (o *Order) endRecheck(tx *engine.Tx, r provider.Result) bool {
	if o.Due == nil || o.Due.After(tx.Now) {
		return false
	}
	if o.Due = nil; !r.Outcome.Final() {
		o.Due = api.AtOrNil(tx.Now.Add(o.backoff(tx.Now)))
	}
	return true
}

// notSent is the reason why an order has failed that did not reach the provider before its deadline.
const notSent = "The payment could not be sent to the network in time."

// doNotSubmit replaces the submission of an order that has ended, or that the provider had not seen by the
// deadline: a prompt long after the payer asked for it would look like fraud. It refuses the order, and asks
// for a recheck, which finds a submission that was still on its way.
func doNotSubmit(context.Context) (provider.Result, error) {
	return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: notSent}, PollAfter: recheckAfter}, nil
}

// recheckAfter is the wait until the recheck of an order that was not sent.
const recheckAfter = time.Minute

// PostponeWithoutProvider postpones an order for which the host has configured no provider,
// and writes a log line. The caller writes the record.
func (o *Order) PostponeWithoutProvider(ctx context.Context, tx *engine.Tx) {
	o.schedulePoll(ctx, tx, providerWait)
	flowName, id, live := string(o.Flow.Name), o.ID, tx.Caller.Live
	work.SetReport(ctx, work.Report{Name: o.Flow.NoProvider, RequestID: o.Request})
	tx.OnCommit(func() {
		tx.Log().ErrorContext(ctx, "a "+flowName+" waits, because no provider is configured for it", flowName, id, "live", live)
	})
}

// reportAlreadyEnded reports to the observer that a callback was faster than the worker.
func (o *Order) reportAlreadyEnded(ctx context.Context) {
	work.SetReport(ctx, work.Report{Name: "ended_before", RequestID: o.Request})
}

// ProviderOrder returns the order, of this amount in pesewas, as its provider gets it.
func (o *Order) ProviderOrder(tx *engine.Tx, amount int64) provider.Order {
	order := provider.Order{
		ID: o.ID, Route: o.Route, Live: tx.Caller.Live, Amount: amount,
		CreatedAt: o.Since, Now: tx.Now, Attempts: o.Attempts,
	}
	if o.SubmittedAt != nil {
		order.SubmittedAt = o.SubmittedAt.Time
	}
	return order
}

// NewCall leases the record, which the caller has written at this version, and returns the
// call of the provider. The caller runs it with [Call.Do] after the commit. After the deadline of the
// order, only a first call submits it.
//
// to is the order as the provider gets it.
func (o *Order) NewCall(tx *engine.Tx, version int64, first bool, to provider.Order, submit, status providerFunc) (*Call, error) {
	stopRenewal, err := tx.LeaseAndRenew(o.Kind, o.Record, version)
	if err != nil {
		return nil, fmt.Errorf("orders: lease %s: %w", o.Flow.Name, err)
	}
	if !first && o.Deadline != nil && !tx.Now.Before(o.Deadline.Time) {
		submit = doNotSubmit
	}
	return &Call{
		Ref: o.Ref, worker: api.Caller{Merchant: tx.Caller.Merchant, Live: tx.Caller.Live}, flow: o.Flow, to: to, first: first, submit: submit, status: status, stopRenewal: stopRenewal,
		report: work.Report{Attempt: o.Attempts, RequestID: o.Request, Level: slog.LevelInfo},
	}, nil
}

// minPoll is the shortest wait between two polls. Times are stored rounded down to the millisecond, so a shorter
// wait could be due at once, again and again.
const minPoll = time.Second

// pollBackoff is the backoff of transfers and refunds, ChargeBackoff that of charges.
var (
	pollBackoff = retry.Schedule{
		2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
	}
	ChargeBackoff = retry.Schedule{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}
	// promptBackoff is for a payer who looks at the phone.
	promptBackoff = retry.Schedule{3 * time.Second, 3 * time.Second, 5 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second}
)

// providerWait is the wait of an order without a provider. Only a restart with a new
// configuration can change that.
const providerWait = 15 * time.Minute

// The stored lengths of a provider's references and words, in bytes.
const (
	MaxReference = 255
	MaxReason    = 500
)

// referenceAfter returns the provider's reference to store: that of the result, or the one from before.
func referenceAfter(before *string, r provider.Result) *string {
	if r.Reference == "" {
		return before
	}
	return new(Truncate(r.Reference, MaxReference))
}

// FailureReason returns why an order has failed, to store: the message of the result, or otherwise.
func FailureReason(r provider.Result, otherwise string) *string {
	return new(Truncate(cmp.Or(r.Reason.Message, otherwise), MaxReason))
}

// FailureCode is [FailureReason] for programs.
func FailureCode(r provider.Result) *provider.Failure { return new(r.Reason.Failure.OrOther()) }

// Truncate shortens a text of a provider's to at most so many bytes, between characters. It replaces
// what is not UTF-8, as the encoding of the record would: that makes a text longer.
func Truncate(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
