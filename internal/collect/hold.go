package collect

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// held lists the payments that hold an object: an invoice, a checkout session, or a QR code with a limit, of which
// each payment holds one use. Its id is the object's.
type held struct {
	By []hold `json:"by"`
}

// hold is the claim of one payment. It ends with the payment, or at Until.
type hold struct {
	Payment string   `json:"payment"`
	Until   api.Time `json:"until"`
}

// maxHolds bounds the payments that hold one object at once, and so the size of its record.
const maxHolds = 1000

// silentHold is how long a payment that was started on a page holds its object while the provider has not
// answered that the phone was asked. The number may be a stranger's, or may not exist.
const silentHold = 2 * time.Minute

// addressHolds is how many holds of one object a network address may start in an hour, in live mode.
const addressHolds = 2

var holds = storage.NewCollection[held]("payment_holds", nil)

// CountHolds returns how many payments hold an object now. A hold ends with its payment, or when
// its time is over.
func (*Service) CountHolds(tx storage.ReadTx, scope storage.Scope, now time.Time, object string) (int, error) {
	o, err := holds.GetOrNew(tx, scope, object)
	if err != nil {
		return 0, fmt.Errorf("payment: read holds: %w", err)
	}
	return len(o.Value.at(now)), nil
}

// HeldUntil returns the time at which the last hold of an object ends, or the zero time if no payment
// holds it now.
func (*Service) HeldUntil(tx storage.ReadTx, scope storage.Scope, now time.Time, object string) (until time.Time, err error) {
	o, err := holds.GetOrNew(tx, scope, object)
	if err != nil {
		return until, fmt.Errorf("payment: read holds: %w", err)
	}
	for _, h := range o.Value.at(now) {
		if h.Until.After(until) {
			until = h.Until.Time
		}
	}
	return until, nil
}

// OpenUntil returns the last deadline of the payments of a checkout session that have no outcome, including
// those whose hold has ended. It returns the zero time if all their deadlines have passed.
func (*Service) OpenUntil(tx storage.ReadTx, scope storage.Scope, now time.Time, session string) (until time.Time, err error) {
	for _, status := range []payment.Status{payment.Pending, payment.Processing} {
		where := engine.Where(engine.Where(nil, "checkout_session", session), "status", string(status))
		q := storage.Query{Scope: scope, Where: where, Limit: api.MaxLimit}
		for more := true; more; {
			page, further, err := payments.List(tx, q)
			if err != nil {
				return until, fmt.Errorf("payment: list of session: %w", err)
			}
			for _, o := range page {
				if d := o.Value.Deadline; d != nil && d.After(now) && d.After(until) {
					until = d.Time
				}
				q.After = o.ID
			}
			more = further
		}
	}
	return until, nil
}

// at returns the holds that are still valid.
func (h *held) at(now time.Time) []hold {
	return slices.DeleteFunc(slices.Clone(h.By), func(h hold) bool { return !now.Before(h.Until.Time) })
}

// newHold returns the holds of an object, with one more for a payment. The caller writes them once nothing can
// refuse the payment any more: after a refusal, the transaction of an automatic charge still commits.
func newHold(tx *engine.Tx, object, payment string, until api.Time) (*storage.Object[held], error) {
	o, err := holds.GetOrNew(tx, engine.Scope(tx.Caller), object)
	if err != nil {
		return nil, fmt.Errorf("payment: read holds: %w", err)
	}
	o.Value.By = append(o.Value.at(tx.Now), hold{payment, until})
	if len(o.Value.By) > maxHolds {
		return nil, api.Errorf(api.PaymentInProgress, "", "Too many payments of this are under way at once. Try again in a few minutes.")
	}
	return o, nil
}

// extendHold makes a hold last until the deadline, once the provider has answered that the phone was asked.
func (r *record) extendHold(tx *engine.Tx) error {
	if !r.HoldExpiresAt.Before(r.Deadline.Time) {
		return nil
	}
	o, err := holds.GetOrNew(tx, engine.Scope(tx.Caller), r.Phoned.Held)
	if err != nil {
		return fmt.Errorf("payment: read holds: %w", err)
	}
	i := slices.IndexFunc(o.Value.By, func(h hold) bool { return r.ID == h.Payment })
	if i < 0 { // a process whose clock is ahead has seen the hold end
		r.HoldExpiresAt = nil
		return nil
	}
	r.HoldExpiresAt, o.Value.By[i].Until = new(*r.Deadline), *r.Deadline
	if err := holds.Replace(tx, o); err != nil {
		return fmt.Errorf("payment: extend hold: %w", err)
	}
	return nil
}

// endHold ends the hold of a payment, if it has one.
func (r *record) endHold(tx *engine.Tx) error {
	if r.HoldExpiresAt == nil {
		return nil
	}
	r.HoldExpiresAt = nil
	o, err := holds.GetOrNew(tx, engine.Scope(tx.Caller), r.Phoned.Held)
	if err != nil {
		return fmt.Errorf("payment: read holds: %w", err)
	}
	o.Value.By = slices.DeleteFunc(o.Value.at(tx.Now), func(h hold) bool { return h.Payment == r.ID })
	switch {
	case o.Version == 0:
		return nil
	case len(o.Value.By) == 0:
		err = holds.Delete(tx, o)
	default:
		err = holds.Replace(tx, o)
	}
	if err != nil {
		return fmt.Errorf("payment: end hold: %w", err)
	}
	return nil
}

// endedHold says that a payment no longer holds its checkout session: the payer chose another way to pay, or the
// payment was cancelled or released. Its id is the payment's. It is due at once, so that a worker of package
// session acts on it.
type endedHold struct {
	Session string   `json:"session"`
	Due     api.Time `json:"due"`
}

var endedHolds = storage.NewCollection("payment_ended_holds", []storage.Field[endedHold]{
	storage.NullTimeColumn("due", func(h *endedHold) *api.Time { return &h.Due }),
}, storage.DueBy("due"))

// EndedHolds is the kind of the due rows that say that a payment no longer holds its checkout session.
func (*Service) EndedHolds() *storage.Kind { return endedHolds.Kind() }

// TakeEndedHold deletes a row of EndedHolds and returns the id of its checkout session; "" if another
// worker has taken it.
func (*Service) TakeEndedHold(tx *engine.Tx, payment string) (session string, err error) {
	o, err := engine.OrNil(endedHolds.Get(tx, engine.Scope(tx.Caller), payment))
	if o == nil || err != nil {
		return "", err
	}
	return o.Value.Session, endedHolds.Delete(tx, o)
}

// tellHoldEnded writes the row of EndedHolds of a payment of a checkout session that still has a hold.
func (r *record) tellHoldEnded(tx *engine.Tx) error {
	if r.CheckoutSession == nil || r.HoldExpiresAt == nil {
		return nil
	}
	if _, err := endedHolds.Insert(tx, engine.Scope(tx.Caller), r.ID, endedHold{*r.CheckoutSession, api.At(tx.Now)}); err != nil {
		return fmt.Errorf("payment: end hold: %w", err)
	}
	tx.WakeAfterCommit(endedHolds.Kind())
	return nil
}

// holdsAt reports whether the payment still holds what it is for.
func (r *record) holdsAt(now time.Time) bool {
	return r.HoldExpiresAt != nil && now.Before(r.HoldExpiresAt.Time)
}
