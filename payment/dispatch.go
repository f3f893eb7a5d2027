package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// transitions is the state machine of a payment from a phone: from which statuses each one is
// entered. Any other payment is made in Completed.
var transitions = map[Status][]Status{
	Processing: {Pending},
	Completed:  {Processing},
	Failed:     {Pending, Processing},
	Cancelled:  {Pending},
}

// statusEvent maps statuses to their events.
var statusEvent = map[Status]event.Type{
	Processing: event.PaymentProcessing,
	Completed:  event.PaymentSucceeded,
	Failed:     event.PaymentFailed,
	Cancelled:  event.PaymentCanceled,
}

// enter moves the payment to another status. It fails, and changes nothing, if the state machine
// has no such transition.
func (r *record) enter(to Status) error {
	if !slices.Contains(transitions[to], r.Status) {
		return fmt.Errorf("payment: a payment that is %s cannot become %s", r.Status, to)
	}
	r.Status = to
	return nil
}

// ended reports whether a payment, a top-up or its refund has its outcome.
func (s Status) ended() bool { return s != Pending && s != Processing }

// The texts for what the charger says nothing about.
const (
	approveMessage = "Approve the payment on your phone."
	codeMessage    = "Enter the code that you got on your phone."
	failedMessage  = "The payment failed."
)

// ref names the charge of a payment.
func ref(id string) dispatch.Ref { return dispatch.Ref{Object: "payment", ID: id, Record: id} }

// Kind is what payments are stored as. A payment from a phone is queued until it has an outcome.
func (*Internal) Kind() *storage.Kind { return payments.Kind() }

// Jobs returns the job that deletes old prompt records.
func (in *Internal) Jobs() []work.Job { return []work.Job{in.svc.engine.DeleteDue(prompts.Kind())} }

// RefundRail returns what gives back money that was charged in that mode by the provider of that
// route, or nil.
func (in *Internal) RefundRail(live bool, route string) provider.RefundRail {
	charger := in.svc.charger(live)
	if _, ok := dispatch.ChargerOf(charger, route).(provider.RefundRail); !ok {
		return nil
	}
	return charger.(provider.RefundRail)
}

func (s *Service) order(r *record) *dispatch.Order {
	return &dispatch.Order{
		Submission: &r.Submission, Ref: ref(r.ID), Flow: dispatch.Charges, Kind: payments.Kind(),
		Since: r.CreatedAt.Time,
	}
}

func (s *Service) write(tx *engine.Tx, o *storage.Object[record]) error {
	if err := payments.Replace(tx, o); err != nil {
		return fmt.Errorf("payment: write: %w", err)
	}
	return nil
}

// Begin counts an attempt of a payment from a phone and returns the call of the charger, or nil if
// there is nothing to call. It writes the attempt before the charger is called: so no caller cancels
// what may have been submitted, and the worker that finds the payment after a crash polls first.
//
// ended is the payment if Begin has ended it: one that could not be submitted before its deadline.
func (in *Internal) Begin(ctx context.Context, tx *engine.Tx, _, id string) (call *dispatch.Call, ended *Ended, err error) {
	s := in.svc
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, nil, err
	}
	r := &o.Value
	order := s.order(r)
	charger, err := s.routed(tx, r)
	if err != nil {
		return nil, nil, err
	}
	defer r.AttributeEvents(tx)()
	switch {
	case r.Status.ended() && r.Due == nil: // a callback arrived first
		order.ReportAlreadyEnded(ctx)
		return nil, nil, nil
	case r.Status == Pending && !tx.Now.Before(r.Deadline.Time):
		r.FailureReason = new(dispatch.NotSent)
		if err := r.enter(Failed); err != nil {
			return nil, nil, err
		}
		err := s.finish(tx, o, nil, 0)
		return nil, &Ended{r.Payment, r.Phoned.Number, r.Submission}, err
	case charger == nil:
		order.PostponeWithoutProvider(ctx, tx)
		if !r.holdsAt(tx.Now) {
			err = r.endHold(tx)
		}
		return nil, nil, errors.Join(err, s.write(tx, o))
	}
	first := r.CountAttempt(tx.Now)
	if first {
		if err := s.enterProcessing(tx, r); err != nil {
			return nil, nil, err
		}
	}
	if err := s.write(tx, o); err != nil {
		return nil, nil, err
	}
	call, err = s.newCall(tx, o, charger, first, "")
	return call, nil, err
}

// newCall leases a payment, which the transaction has written with the counted attempt, and returns
// the call of the charger; see newChargeCall.
func (s *Service) newCall(tx *engine.Tx, o *storage.Object[record], charger provider.Charger, first bool, code string) (*dispatch.Call, error) {
	r := &o.Value
	return newChargeCall(tx, s.order(r), o.Version, charger, s.request(tx, r), r.Status.ended(), first, code)
}

// routed returns the charger of a payment, or nil; see [dispatch.Submission.RouteCharge].
func (s *Service) routed(tx *engine.Tx, r *record) (provider.Charger, error) {
	return r.RouteCharge(s.charger(tx.Caller.Live), s.request(tx, r))
}

// request returns a payment as the charger gets it.
func (s *Service) request(tx *engine.Tx, r *record) provider.Charge {
	c := provider.Charge{
		Order: s.order(r).ProviderOrder(tx, r.Amount),
		Phone: r.Phoned.Number, Network: *r.Provider, Email: r.Phoned.Email, Description: r.Description,
		OffSession: r.Phoned.OffSession, Deadline: r.Deadline.Time,
	}
	if r.Invoice != nil {
		c.Invoice, c.Number = *r.Invoice, r.Reference
	}
	if r.Customer != nil {
		c.Customer = *r.Customer
	}
	return c
}

// newChargeCall returns the call of the charger for a payment or a top-up: its confirmation if the
// payer has given a code.
func newChargeCall(tx *engine.Tx, order *dispatch.Order, version int64, charger provider.Charger, c provider.Charge, ended, first bool, code string) (*dispatch.Call, error) {
	submit := func(ctx context.Context) (provider.Result, error) { return charger.Charge(ctx, c) }
	status := func(ctx context.Context) (provider.Result, error) { return charger.ChargeStatus(ctx, c) }
	if ended { // the provider may contradict itself, and gets no other charge
		submit = dispatch.DoNotSubmit
	}
	if confirmer, ok := charger.(provider.ChargeConfirmer); ok && code != "" {
		submit, first = func(ctx context.Context) (provider.Result, error) { return confirmer.ConfirmCharge(ctx, c, code) }, true
	}
	return order.NewCall(tx, version, first, submit, status)
}

// enterProcessing notes that the charger may have the payment.
func (s *Service) enterProcessing(tx *engine.Tx, r *record) error {
	if err := r.enter(Processing); err != nil {
		return err
	}
	r.NextAction = &NextAction{Approve, approveMessage}
	return s.config.Events.Record(tx, &r.Payment, event.PaymentProcessing)
}

// Ended is a payment from a phone that has just ended.
type Ended struct {
	Payment
	// Number is the payer's, +233…; empty after an erasure.
	Number string

	submission dispatch.Submission
}

// Route is that of the provider that was asked for the money.
func (e *Ended) Route() string { return e.submission.Route }

// AttributeEvents makes the events of the transaction name the call that made the payment.
func (*Internal) AttributeEvents(tx *engine.Tx, e *Ended) (restore func()) {
	return e.submission.AttributeEvents(tx)
}

// Incoming is a payment from a phone whose outcome is about to be booked.
type Incoming struct {
	Payment
	// Ended says that an outcome is booked already.
	Ended bool
	// HadHold says that the payment was started with a hold, and HoldActive that the hold has not
	// ended.
	HadHold, HoldActive bool
}

// Incoming reads a payment before Book, so that what is paid can decide whether to accept it.
func (in *Internal) Incoming(tx *engine.Tx, id string) (*Incoming, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	if r.Phoned == nil {
		return nil, api.NoSuch("charge")
	}
	return &Incoming{r.Payment, r.Status.ended(), r.Phoned.Held != "", r.holdsAt(tx.Now)}, nil
}

// Book books a charger's result for a payment, from a call or from a callback. The zero result stands
// for a call that failed. taken says that the invoice, checkout session or QR code accepts the money.
// If it does not, the caller gives the money back, and the operator takes no fee.
//
// If the decision is [dispatch.Reversed], the caller books the payment back.
//
// ended is the payment if Book has ended it, else nil.
func (in *Internal) Book(ctx context.Context, tx *engine.Tx, id string, result provider.Result, taken bool) (_ dispatch.Decision, ended *Ended, err error) {
	s := in.svc
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return 0, nil, err
	}
	r := &o.Value
	order := s.order(r)
	if r.Status.ended() {
		decision, err := order.Decide(ctx, tx, r.booked(), result)
		if err != nil || !order.EndRecheck(tx, result) {
			return decision, nil, err
		}
		if r.Due == nil && s.outlived(r.CreatedAt, tx.Now) {
			r.forgetNumber()
		}
		return decision, nil, s.write(tx, o)
	}
	defer r.AttributeEvents(tx)()
	first, err := r.MarkReported(tx.Now, func() error { _, err := s.routed(tx, r); return err })
	if first {
		err = s.enterProcessing(tx, r)
	}
	if err != nil {
		return 0, nil, err
	}
	r.ProviderReference = dispatch.Reference(r.ProviderReference, result)
	if result, err = order.CheckAmount(ctx, tx, r.Amount, result); err != nil {
		return 0, nil, err
	}
	decision, err := order.Decide(ctx, tx, dispatch.Booked{}, result)
	if err == nil && (decision == dispatch.Succeeded || decision == dispatch.Failed) {
		err = s.forgetDeleted(tx, r)
	}
	providerFee := int64(0)
	switch {
	case err != nil:
		return decision, nil, err
	case decision == dispatch.Succeeded:
		providerFee = dispatch.ProviderFee(result)
		err = s.bookPaid(tx, r, taken, providerFee)
	case decision == dispatch.Failed:
		r.FailureReason = dispatch.FailureReason(result, failedMessage)
		err = r.enter(Failed)
	default:
		r.NextAction = nextAction(r.NextAction, result)
		if !r.holdsAt(tx.Now) {
			err = r.endHold(tx)
		}
		return decision, nil, errors.Join(err, s.write(tx, o))
	}
	if err != nil {
		return decision, nil, err
	}
	err = s.finish(tx, o, order.DueAfterEnd(tx.Now), providerFee)
	return decision, &Ended{r.Payment, r.Phoned.Number, r.Submission}, err
}

// nextAction returns what the payer is to do, as far as the charger has answered; before is what the
// payer was to do until now.
func nextAction(before *NextAction, result provider.Result) *NextAction {
	if result.Outcome != provider.InProgress {
		return before
	}
	next := NextAction{Approve, approveMessage}
	if result.NeedsCode {
		next = NextAction{EnterCode, codeMessage}
	}
	if result.Prompt != "" {
		next.Message = dispatch.Truncate(result.Prompt, dispatch.MaxReason)
	}
	return &next
}

// bookPaid books a payment that the charger has taken: the amount comes from the provider's
// account, the fee goes to the operator, who pays the provider's own fee, and the rest to the merchant.
func (s *Service) bookPaid(tx *engine.Tx, r *record, taken bool, providerFee int64) error {
	if err := r.enter(Completed); err != nil {
		return err
	}
	fee := int64(0)
	if taken {
		fee = s.config.Fees.of(*r.Provider, r.Amount)
	}
	r.complete(fee, api.At(tx.Now))
	live := tx.Caller.Live
	r.ChargeRoute = r.Route
	moves := dispatch.Charges.ClearingMoves(r.Route, live, -r.Amount, providerFee)
	if net := *r.Net; net > 0 {
		moves = append(moves, ledger.Available(tx.Caller.Merchant, live).Move(net))
	}
	if fee > 0 {
		moves = append(moves, ledger.Fees(live).Move(fee))
	}
	p := storage.Posting{ID: tx.NewID("txn_"), Type: "payment", Ref: r.ID, At: tx.Now, Moves: moves}
	givenBack := !taken && (&Internal{s}).RefundRail(live, r.Route) != nil
	var err error
	if givenBack { // the refund reserves all of it in this transaction, so nothing may be netted from it
		err = tx.Post(p)
	} else {
		err = s.config.Accounts.Credit(tx, tx.Caller.Merchant, p)
	}
	if err != nil {
		return fmt.Errorf("payment: book: %w", err)
	}
	if r.Invoice != nil && taken {
		return nil // the invoice sends the receipts
	}
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("payment: merchant: %w", err)
	}
	payer := "A customer" // one who was deleted in the meantime
	if r.Phone != nil {
		payer = *r.Phone
	}
	// The messages are erased with the payment's other copies of the number, so its id finds them.
	if !taken { // the merchant must not take this for money to keep
		back := "The money comes back to you."
		if !givenBack {
			back = "Ask them for the money back."
		}
		return s.config.Messages.Text(tx, r.ID, r.Phoned.Number, fmt.Sprintf("You paid GHS %s to %s, for which it was too late. %s Payment %s.", money.Text(r.Amount), m.Name, back, r.ID))
	}
	return s.textPaid(tx, &r.Payment, m, r.ID, r.Phoned.Number, payer)
}

// finish writes a payment that has entered its final status. due is the time of a last poll; nil
// for none.
func (s *Service) finish(tx *engine.Tx, o *storage.Object[record], due *api.Time, providerFee int64) error {
	r := &o.Value
	r.Due, r.NextAction = due, nil
	if err := r.endHold(tx); err != nil {
		return err
	}
	if err := s.endPrompt(tx, r.Phoned.Number, r.ID, unsent(&r.Submission, r.CreatedAt)); err != nil {
		return err
	}
	if err := s.forgetDeleted(tx, r); err != nil {
		return err
	}
	if due == nil && s.outlived(r.CreatedAt, tx.Now) {
		r.forgetNumber()
	}
	if err := s.write(tx, o); err != nil {
		return err
	}
	if err := s.totals.Count(tx, r.ID, r); err != nil {
		return err
	}
	if err := dispatch.Charges.IndexEnded(tx, r.ID, &r.Submission, providerFee); err != nil {
		return err
	}
	return s.config.Events.Record(tx, &r.Payment, statusEvent[r.Status])
}

// NeedsPerson lists a completed payment among the stuck orders, because its money could not be given
// back.
func (in *Internal) NeedsPerson(ctx context.Context, tx *engine.Tx, id, why string) error {
	order := dispatch.Order{Ref: ref(id), Flow: dispatch.Charges, Kind: payments.Kind()}
	return order.NeedsPerson(ctx, tx, why)
}

// outcome returns the outcome of the order of a payment, a top-up or its refund, as the status implies
// it. A cancelled payment is Refused, so that a charger that reports it paid contradicts the booking,
// and one that refuses it does not.
func (s Status) outcome() provider.Outcome {
	switch s {
	case Completed, Returned:
		return provider.Paid
	case Failed, Cancelled:
		return provider.Refused
	case Processing:
		return provider.InProgress
	}
	return provider.NotFound
}

// booked returns what is booked of the charge of a payment from a phone.
func (r *record) booked() dispatch.Booked {
	if r.Reversed {
		return dispatch.Booked{Outcome: provider.Reversed, Status: string(provider.Reversed)}
	}
	return dispatch.Booked{Outcome: r.Status.outcome(), Status: string(r.Status), Reversible: true, Amount: r.Amount}
}

// CheckFromPhone refuses a payment that is not from a phone with payment_not_settleable.
func (in *Internal) CheckFromPhone(ctx context.Context, caller api.Caller, id string) error {
	return in.svc.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := get(tx, engine.Scope(caller), id)
		if err == nil && o.Value.Phoned == nil {
			err = api.Errorf(api.PaymentNotSettleable, "", "This payment is not from a phone. It was completed as it was made.")
		}
		return err
	})
}

// Load returns a payment as hosts see it, and its status as a word.
func (in *Internal) Load(tx *engine.Tx, id string) (*Payment, string, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, "", err
	}
	return &o.Value.Payment, string(o.Value.Status), nil
}

// Info describes the charge of a payment.
func (in *Internal) Info(tx *engine.ReadTx, id string) (*provider.OrderInfo, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, fmt.Errorf("payment: read order: %w", err)
	}
	r := &o.Value
	info := orderInfo(r.Amount, r.Status, *r.Provider, &r.Submission)
	if r.Reversed {
		info.Outcome = provider.Reversed
	}
	return info, nil
}

// orderInfo describes the order of a payment, a top-up or its refund. For a person, the provider never
// got one that was not submitted; see outcome.
func orderInfo(amount int64, status Status, network string, submission *dispatch.Submission) *provider.OrderInfo {
	info := &provider.OrderInfo{Amount: amount, Outcome: provider.NotFound, Route: submission.Route, Network: network, Attempts: submission.Attempts}
	if submission.SubmittedAt != nil {
		info.Outcome, info.SubmittedAt = status.outcome(), submission.SubmittedAt.Time
	}
	return info
}
