package invoicing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Kind is what invoices are stored as. An invoice is queued when it is to be charged, and while
// its charge has no outcome.
func (s *Service) Kind() *storage.Kind { return invoices.Kind() }

// order returns the open charge of an invoice as package orders drives it. SubmittedAt is
// set, by nextCall in the transaction that opens the charge.
func (s *Service) order(r *record) *orders.Order {
	c := r.OpenCharge
	return &orders.Order{
		Submission: &c.Submission, Ref: orders.Ref{Object: "invoice", ID: c.ID, Record: r.ID},
		Flow: orders.Charges, Kind: invoices.Kind(), Since: c.SubmittedAt.Time,
	}
}

// startCharge opens a charge of an open invoice, and returns the call of the charger. Without a
// charger it fails with errNotChargeable, and nothing is changed.
func (s *Service) startCharge(tx *engine.Tx, o *storage.Object[record], c *charge) (*orders.Call, error) {
	c.ID, c.Submission = tx.NewID("att_"), orders.NewSubmission(tx)
	order := provider.Order{ID: c.ID, Live: tx.Caller.Live, Amount: o.Value.AmountDue, CreatedAt: tx.Now, Now: tx.Now}
	charger, err := c.RouteCharge(s.config.Payments.Charger(tx.Caller.Live), request(&o.Value, c, order))
	if err != nil {
		return nil, err
	}
	if charger == nil {
		return nil, errNotChargeable
	}
	o.Value.OpenCharge = c
	o.Value.AttemptCount++
	ref := orders.Ref{Object: "invoice", ID: c.ID, Record: o.ID}
	if err := orders.Charges.IndexOpen(tx, ref, tx.Now); err != nil {
		return nil, err
	}
	return s.nextCall(tx, o, charger)
}

// request returns a charge of an invoice as the charger gets it.
func request(r *record, c *charge, order provider.Order) provider.Charge {
	request := provider.Charge{
		Order: order, PaymentMethod: c.PaymentMethod, OffSession: c.OffSession, Invoice: r.ID, Number: r.Number,
	}
	engine.SetGiven(&request.Customer, r.Customer)
	return request
}

// nextCall counts an attempt at the open charge, writes and leases the invoice, and returns the
// call of the charger for the caller to run after the commit. The charge stays due until the result
// is applied; see callMayRun.
func (s *Service) nextCall(tx *engine.Tx, o *storage.Object[record], charger provider.Charger) (*orders.Call, error) {
	r, c := &o.Value, o.Value.OpenCharge
	first := c.CountAttempt(tx.Now)
	if err := s.write(tx, o); err != nil {
		return nil, err
	}
	request := request(r, c, s.order(r).ProviderOrder(tx, r.AmountDue))
	return s.order(r).NewCall(tx, o.Version, first, request.Order,
		func(ctx context.Context) (provider.Result, error) { return charger.Charge(ctx, request) },
		func(ctx context.Context) (provider.Result, error) { return charger.ChargeStatus(ctx, request) })
}

// Begin does the queued work of an invoice: it polls for the outcome of the open charge, or starts
// a scheduled one. It returns nil if no call is needed, for example because nothing is due or there is no
// charger. It has then done the work itself.
func (s *Service) Begin(ctx context.Context, tx *engine.Tx, id string) (*orders.Call, error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	switch {
	case r.OpenCharge != nil:
		return s.pollCharge(ctx, tx, o)
	case r.Status == invoice.Open && r.AmountDue == 0:
		r.FinalizedBy.overrideRequest(tx)
		return nil, s.markPaid(tx, o, nil, payer{})
	case r.Status != invoice.Open || r.NextPaymentAttempt == nil:
		r.NextWorkAt = nil
		return nil, s.save(tx, o)
	case r.OpenPayment != "":
		return nil, s.awaitPayment(tx, o)
	}
	call, err := s.startAutomaticCharge(ctx, tx, o)
	var refusal *api.Error
	switch {
	case errors.As(err, &refusal) && refusal.RetryAfter > 0: // another payment holds the invoice, or the phone must not be asked
		return nil, s.postpone(ctx, tx, o, tx.Now.Add(refusal.RetryAfter))
	case errors.Is(err, errNotChargeable) || api.CodeOf(err) == api.Unavailable || api.CodeOf(err) == api.InvalidPhoneNumber:
		// There is no charger, or it does not take the phone's network. No charge was opened, so nothing was
		// taken, and this attempt has failed. The outcome of an open charge would be unknown: for it, pollCharge
		// waits until there is a charger again.
		work.SetReport(ctx, work.Report{Name: "no_charger", Level: slog.LevelWarn})
		r.FinalizedBy.overrideRequest(tx)
		r.AttemptCount++
		return nil, s.recordFailedCharge(tx, o, tx.Now, 0)
	}
	return call, err
}

// postponeAtMost is how long limits on prompts, or holds, keep a scheduled charge waiting.
const postponeAtMost = 24 * time.Hour

// NotAsked is the failure of a scheduled charge that was postponed for too long. There is no failed payment, so
// only an [Outcome] has this failure.
const NotAsked provider.Failure = "not_asked"

// postpone delays a scheduled charge while limits on prompts, or a hold, forbid it to ask the phone. A day
// after the scheduled time, it records the attempt as failed. Otherwise other people's attempts could keep a
// subscription active although its invoice is never charged.
func (s *Service) postpone(ctx context.Context, tx *engine.Tx, o *storage.Object[record], until time.Time) error {
	r := &o.Value
	last := r.NextPaymentAttempt.Add(postponeAtMost)
	if !tx.Now.Before(last) {
		work.SetReport(ctx, work.Report{Name: "postponed_too_long", Level: slog.LevelWarn})
		r.FinalizedBy.overrideRequest(tx)
		r.AttemptCount++
		r.failedFor = NotAsked
		return s.recordFailedCharge(tx, o, tx.Now, 0)
	}
	work.SetReport(ctx, work.Report{Name: "postponed", Level: slog.LevelInfo})
	if last.Before(until) {
		until = last
	}
	r.Postponed, r.NextWorkAt = true, api.AtOrNil(until)
	return s.save(tx, o)
}

// startAutomaticCharge makes the scheduled charge of an invoice: from a phone, without a call, if there is
// one to ask. It refuses a charge that has to wait, with RetryAfter.
func (s *Service) startAutomaticCharge(ctx context.Context, tx *engine.Tx, o *storage.Object[record]) (*orders.Call, error) {
	if err := s.notHeld(tx, tx.Now, o); err != nil {
		return nil, err
	}
	if phone, ok := o.Value.chargedPhone(); ok {
		return nil, s.startAutomaticPayment(ctx, tx, o, phone)
	}
	return s.startCharge(tx, o, &charge{PayParams: invoice.PayParams{OffSession: true}, FinalizedBy: o.Value.FinalizedBy})
}

// pollCharge returns the next call for the open charge, or postpones it when there is no charger.
// It polls: the provider has the charge, or may have it.
func (s *Service) pollCharge(ctx context.Context, tx *engine.Tx, o *storage.Object[record]) (*orders.Call, error) {
	r, c := &o.Value, o.Value.OpenCharge
	charger, err := c.RouteCharge(s.config.Payments.Charger(tx.Caller.Live), request(r, c, s.order(r).ProviderOrder(tx, r.AmountDue)))
	if err != nil {
		return nil, err
	}
	if charger != nil {
		return s.nextCall(tx, o, charger)
	}
	s.order(&o.Value).PostponeWithoutProvider(ctx, tx)
	return nil, s.save(tx, o)
}

// ApplyResult applies the charger's result to a charge, from an answer or from a callback. The zero
// result stands for an answer that was lost. ApplyResult books back a charge that the provider took back.
func (s *Service) ApplyResult(ctx context.Context, tx *engine.Tx, ref orders.Ref, result provider.Result) (orders.Decision, error) {
	decision, err := s.applyResult(ctx, tx, ref, result, true)
	if err != nil || decision != orders.Reversed {
		return decision, err
	}
	paid, err := s.PaidBy(tx, engine.Scope(tx.Caller), ref.Record)
	if err != nil {
		return decision, err
	}
	return decision, s.config.Payments.BookReversed(ctx, tx, ref, paid)
}

// applyResult is [Service.ApplyResult]. reversible says that the caller books a charge that was taken back.
func (s *Service) applyResult(ctx context.Context, tx *engine.Tx, ref orders.Ref, result provider.Result, reversible bool) (orders.Decision, error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), ref.Record)
	if err != nil {
		return 0, err
	}
	r := &o.Value
	if r.OpenCharge == nil || r.OpenCharge.ID != ref.ID {
		outcome, err := s.outcomeOf(tx, engine.Scope(tx.Caller), r, ref.ID)
		if err != nil {
			return 0, err
		}
		// An ended order needs no Submission: Decide schedules nothing for it.
		ended := &orders.Order{Ref: ref, Flow: orders.Charges, Kind: invoices.Kind()}
		return ended.Decide(ctx, tx, orders.Recorded{Outcome: outcome, Status: string(outcome), Reversible: reversible, Amount: r.Total}, result)
	}
	c := r.OpenCharge
	defer c.AttributeEvents(tx)()
	c.FinalizedBy.overrideRequest(tx) // the events of an automatic charge name another request
	if result, err = s.order(r).CheckAmount(ctx, tx, r.AmountDue, result); err != nil {
		return 0, err
	}
	decision, err := s.order(r).Decide(ctx, tx, orders.Recorded{}, result)
	switch {
	case err != nil:
	case decision == orders.Succeeded:
		c.providerFee = orders.ProviderFee(result)
		err = s.bookPaid(tx, o, payer{
			moves:  orders.Charges.ClearingMoves(c.Route, tx.Caller.Live, -r.AmountDue, c.providerFee),
			source: collect.Source{Charge: c.ID, ChargeRoute: c.Route}, phone: c.ReceiptPhone,
			payment: payment.Payment{PaymentMethod: methodOrDefault(c.PaymentMethod), Provider: api.TextOrNil(result.Network)},
		})
		if err == nil {
			err = engine.StoreAnswer(tx, c.IdempotencyKey, payOperation(r.ID, c.PayParams), &r.Invoice)
		}
	case decision == orders.Failed:
		if err = r.endCharge(tx); err == nil {
			err = s.recordFailedCharge(tx, o, c.SubmittedAt.Time, 0)
		}
	default:
		err = s.save(tx, o)
	}
	return decision, err
}

// recordFailedCharge writes an invoice after a charge that took nothing. A charge that started at or after the
// scheduled time counts as the scheduled one, even if a call of Pay made it. recordFailedCharge then schedules the
// next one, or makes the invoice uncollectible after the last. While an automatic payment from a phone has no
// outcome, the schedule stands still. In live mode, recordFailedCharge moves a next charge that would come sooner
// than gap to a day from now.
func (s *Service) recordFailedCharge(tx *engine.Tx, o *storage.Object[record], started time.Time, gap time.Duration) error {
	r := &o.Value
	if r.OpenPayment != "" {
		r.NextWorkAt = api.AtOrNil(tx.Now.Add(awaitAgain))
		return s.save(tx, o, event.InvoicePaymentFailed)
	}
	types := []event.Type{event.InvoicePaymentFailed}
	next := r.NextPaymentAttempt
	r.NextWorkAt = next
	if next != nil && !started.Before(next.Time) {
		from, _ := r.chargedPhone()
		r.failedCharge, r.failedPhone = next, from.PhoneNumber
		if scheduled := r.scheduleNext(); !scheduled {
			if err := r.enter(invoice.Uncollectible); err != nil {
				return err
			}
			types = append(types, event.InvoiceMarkedUncollectible)
		}
	}
	if next := r.NextPaymentAttempt; tx.Caller.Live && gap > 0 && next != nil && next.Before(tx.Now.Add(gap)) {
		r.NextPaymentAttempt = api.AtOrNil(tx.Now.Add(24 * time.Hour))
		r.NextWorkAt = r.NextPaymentAttempt
	}
	return s.save(tx, o, types...)
}

func (r *record) endCharge(tx *engine.Tx) error {
	c := r.OpenCharge
	r.OpenCharge, r.NextWorkAt = nil, nil
	if c == nil {
		return nil
	}
	return orders.Charges.IndexEnded(tx, c.ID, &c.Submission, c.providerFee)
}

// outcomeOf returns the recorded outcome of a charge that is no longer open: one charge pays an invoice,
// and all others were refused.
func (s *Service) outcomeOf(tx storage.ReadTx, scope storage.Scope, r *record, charge string) (provider.Outcome, error) {
	if r.Payment == nil {
		return provider.Refused, nil
	}
	from, err := s.config.Payments.Source(tx, scope, *r.Payment)
	if err != nil || from.Charge != charge {
		return provider.Refused, err
	}
	if from.Reversed {
		return provider.Reversed, nil
	}
	return provider.Paid, nil
}

// Load returns the invoice of a charge as hosts see it, and the word for the charge's
// status.
func (s *Service) Load(tx *engine.Tx, ref orders.Ref) (object any, status string, err error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), ref.Record)
	if err != nil {
		return nil, "", err
	}
	outcome, err := s.outcomeOf(tx, engine.Scope(tx.Caller), &o.Value, ref.ID)
	return &o.Value.Invoice, string(outcome), err
}

// FindOwnOrder returns the caller's charge with that id.
func (*Service) FindOwnOrder(ctx context.Context, e *engine.Engine, caller api.Caller, id string) (orders.Ref, error) {
	entry, owner, err := orders.Charges.FindInIndex(ctx, e, id, "charge")
	if err != nil {
		return orders.Ref{}, err
	}
	if owner.Merchant != caller.Merchant || owner.Live != caller.Live {
		return orders.Ref{}, api.NoSuch("charge")
	}
	return entry.Ref(id), nil
}

// Info describes a charge. SubmittedAt is the time of the index entry, which is written in the transaction before
// the first call of the charger.
func (s *Service) Info(tx *engine.ReadTx, ref orders.Ref, e *orders.Entry) (*provider.OrderInfo, error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), ref.Record)
	if err != nil {
		return nil, fmt.Errorf("invoice: read order: %w", err)
	}
	r := &o.Value
	info := &provider.OrderInfo{Amount: r.Total, SubmittedAt: e.CreatedAt.Time}
	if c := r.OpenCharge; c != nil && (c.ID == ref.ID || ref.ID == r.ID) {
		info.ID, info.Outcome, info.Route, info.Attempts = c.ID, provider.InProgress, c.Route, c.Attempts
		return info, nil
	}
	info.Outcome, err = s.outcomeOf(tx, engine.Scope(tx.Caller), r, ref.ID)
	if info.Outcome == provider.Paid || info.Outcome == provider.Reversed {
		info.Payment = *r.Payment
	}
	return info, err
}
