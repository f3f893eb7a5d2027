package refund

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// ErrContradicted: a charger reports the opposite of what it reported before. What was
// booked stays. The log says so, the observer is told ("contradicted"), and [Service.Stuck]
// lists the refund until [Service.Resolve]: it is for people to find out what happened.
var ErrContradicted = outside.ErrContradicted

// port is a charger as package outside asks it.
type port struct{ invoice.RefundRail }

func (p port) Submit(ctx context.Context, r invoice.RefundOrder) (invoice.RefundResult, error) {
	return p.Refund(ctx, r)
}

func (p port) Status(ctx context.Context, r invoice.RefundOrder) (invoice.RefundResult, error) {
	return p.RefundStatus(ctx, r)
}

// trade is what the courier asks about refunds.
type trade struct{ *Service }

func (trade) Course(r *record) *outside.Course { return &r.Course }
func (trade) Created(r *record) time.Time      { return r.CreatedAt.Time }
func (trade) Ended(r *record) bool             { return r.ended() }

// Told enters Processing, of which nobody is told.
func (trade) Told(_ *engine.Tx, r *record) error {
	r.enter(Processing)
	return nil
}

func (trade) Order(r *record, live bool, now time.Time) invoice.RefundOrder {
	o := invoice.RefundOrder{
		ID: r.ID, Live: live, Charge: r.Charge, Amount: r.Amount, Currency: r.Currency,
		PaymentMethod: r.PaymentMethod, Payment: r.Payment,
		CreatedAt: r.CreatedAt.Time, SubmittedAt: r.SubmittedAt.Time, Now: now, Asked: r.Asked,
	}
	if r.Invoice != nil {
		o.Invoice = *r.Invoice
	}
	if r.Reason != nil {
		o.Reason = *r.Reason
	}
	return o
}

func (t trade) Port(live bool) outside.Port[invoice.RefundOrder, invoice.RefundResult] {
	if rail := t.config.Invoices.RefundRail(live); rail != nil {
		return port{rail}
	}
	return nil
}

func (trade) Outcome(r invoice.RefundResult) string { return string(r.Outcome) }

func (trade) Read(r invoice.RefundResult) outside.Reading {
	switch r.Outcome {
	case invoice.Refunded, invoice.RefundDeclined, invoice.RefundUndecided:
		return outside.Seen
	case invoice.RefundUnseen:
		return outside.Unseen
	}
	return outside.NoAnswer
}

// Book books what a charger has said of a refund.
func (t trade) Book(tx *engine.Tx, o *storage.Object[record], result invoice.RefundResult) (ended bool, again time.Duration, err error) {
	r := &o.Value
	if result.Reference != "" {
		r.ProviderReference = new(outside.Cut(result.Reference, outside.MaxReference))
	}
	switch result.Outcome {
	case invoice.Refunded:
		return true, 0, t.settle(tx, o)
	case invoice.RefundDeclined:
		return true, 0, t.giveBack(tx, o, result.Reason)
	}
	return false, result.Again, nil
}

func (trade) Contradiction(r *record, result invoice.RefundResult) string {
	if result.Outcome == invoice.Refunded && r.Status == Failed || result.Outcome == invoice.RefundDeclined && r.Status == Succeeded {
		return fmt.Sprintf("%s, and now %s", r.Status, result.Outcome)
	}
	return ""
}

// settle books a refund that has arrived: the reserve leaves the merchant, to the
// provider who has paid it out.
func (s *Service) settle(tx *engine.Tx, o *storage.Object[record]) error {
	r, live := &o.Value, tx.Caller.Live
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_settled", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{
			chart.Reserved(tx.Caller.Merchant, live).Move(-r.Amount),
			chart.Clearing(invoice.Clearing, live).Move(r.Amount),
		},
	})
	if err != nil {
		return fmt.Errorf("refund: settle: %w", err)
	}
	r.enter(Succeeded)
	if err := s.succeeded(tx, r, "", ""); err != nil {
		return err
	}
	return s.end(tx, o)
}

// giveBack releases the reserve of a refund that was declined; the amount may be
// refunded again.
func (s *Service) giveBack(tx *engine.Tx, o *storage.Object[record], reason string) error {
	r, merchant, live := &o.Value, tx.Caller.Merchant, tx.Caller.Live
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_released", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{chart.Reserved(merchant, live).Move(-r.Amount), chart.Available(merchant, live).Move(r.Amount)},
	})
	if err != nil {
		return fmt.Errorf("refund: release: %w", err)
	}
	if err := s.config.Payments.RefundFailedTx(tx, r.Payment, r.Amount); err != nil {
		return err
	}
	r.enter(Failed)
	if reason == "" {
		reason = "The provider declined the refund."
	}
	r.FailureReason = new(outside.Cut(reason, outside.MaxReason))
	return s.end(tx, o)
}

// end writes a refund that has entered its final status.
func (s *Service) end(tx *engine.Tx, o *storage.Object[record]) error {
	o.Value.Due = nil
	if err := refunds.Replace(tx, o); err != nil {
		return fmt.Errorf("refund: write: %w", err)
	}
	if err := orders.CloseTx(tx, o.ID); err != nil {
		return err
	}
	return s.config.Events.RecordTx(tx, &o.Value.Refund, entered[o.Value.Status])
}

// Notify books what a charger's callback reports of the refund with that id. It may
// be told the same again, late, and while the charger is being asked. An unknown id
// is resource_missing. ErrContradicted means that the opposite was booked before.
//
// The host has made sure that the callback is its provider's.
func (s *Service) Notify(ctx context.Context, id string, result invoice.RefundResult) error {
	if (trade{}).Read(result) != outside.Seen {
		return api.Invalid("outcome", "outcome must be undecided, refunded or declined.")
	}
	_, caller, err := orders.Find(ctx, s.engine, id, "refund")
	if err != nil {
		return err
	}
	_, err = s.courier.Report(ctx, caller, id, result)
	return err
}

// Settle plays the provider in test mode: it ends a refund of the caller's as the
// result says. One that has ended otherwise is refused with transfer_settled.
func (s *Service) Settle(ctx context.Context, caller api.Caller, id string, result invoice.RefundResult) (*Refund, error) {
	if caller.Live {
		return nil, api.Errorf(api.PermissionDenied, "", "A refund can be settled by hand in test mode only.")
	}
	call := engine.Call{Name: "refund.settle", Params: settling{id, result}}
	return engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*Refund, error) {
		r, err := s.courier.ReportTx(ctx, tx, id, result)
		if errors.Is(err, ErrContradicted) {
			return nil, api.Errorf(api.TransferSettled, "", "This refund is %s already.", r.Status)
		}
		if err != nil {
			return nil, err
		}
		return &r.Refund, nil
	})
}

// settling is what a call of Settle says.
type settling struct {
	ID     string               `json:"id"`
	Result invoice.RefundResult `json:"result"`
}

// Stuck is a refund that has been on its way for too long, or of which the charger has
// reported the opposite of what it reported before.
type Stuck struct {
	Merchant string
	Live     bool
	Refund   Refund
	// Contradiction says what is booked and what the charger reported afterwards, as
	// "failed, and now refunded"; empty for a refund that is on its way.
	Contradiction string
	// SubmittedAt is when the charger was first told; zero if it never was.
	SubmittedAt time.Time
	// Asked counts how often the charger was submitted to or asked.
	Asked int
}

// CountStuckTx counts the refunds of a mode that Stuck would list, up to limit.
func (s *Service) CountStuckTx(tx storage.ReadTx, live bool, limit int) (int, error) {
	return orders.CountStuckTx(tx, s.engine, live, s.config.StuckAfter, limit)
}

// Stuck lists the refunds of all merchants, in both modes, that were created longer
// ago than StuckAfter and have not ended, the oldest last. They go on being carried;
// the list is for people, who ask the provider. Before them it lists those that have ended
// and that the charger contradicted since; see [ErrContradicted].
func (s *Service) Stuck(ctx context.Context) ([]Stuck, error) {
	var all []Stuck
	list := func(tx *engine.ReadTx, id string, ordered *outside.Order) error {
		o, err := refunds.Get(tx, tx.Caller.Scope(), id)
		if err != nil {
			return err
		}
		r := &o.Value
		if r.ended() && ordered.Contradiction == "" {
			return nil
		}
		stuck := Stuck{
			Merchant: tx.Caller.Merchant, Live: tx.Caller.Live, Refund: r.Refund, Asked: r.Asked,
			Contradiction: ordered.Contradiction,
		}
		if r.SubmittedAt != nil {
			stuck.SubmittedAt = r.SubmittedAt.Time
		}
		all = append(all, stuck)
		return nil
	}
	err := orders.EachContradicted(ctx, s.engine, list)
	if err == nil {
		err = orders.EachStuck(ctx, s.engine, s.config.StuckAfter, list)
	}
	if err != nil {
		return nil, fmt.Errorf("refund: list stuck refunds: %w", err)
	}
	return all, nil
}

// Resolve takes a refund that the charger contradicted off the list of Stuck, once somebody
// has found out what happened. It books nothing; what is missing or too much on a balance
// is booked with account.Service.Adjust. An id that is not contradicted is
// resource_missing.
func (s *Service) Resolve(ctx context.Context, id string) error {
	return orders.Resolve(ctx, s.engine, id, "contradicted refund")
}
