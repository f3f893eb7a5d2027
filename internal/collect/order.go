package collect

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// transitions is the state machine of a payment from a phone: from which statuses each one is
// entered. Any other payment is made in Completed.
var transitions = status.Transitions[payment.Status]{
	payment.Processing: {payment.Pending},
	payment.Completed:  {payment.Processing},
	payment.Failed:     {payment.Pending, payment.Processing},
	payment.Cancelled:  {payment.Pending},
}

// statusEvent maps statuses to their events.
var statusEvent = map[payment.Status]event.Type{
	payment.Processing: event.PaymentProcessing,
	payment.Completed:  event.PaymentSucceeded,
	payment.Failed:     event.PaymentFailed,
	payment.Cancelled:  event.PaymentCanceled,
}

// enter moves the payment to another status. It fails, and changes nothing, if the state machine
// has no such transition.
func (r *record) enter(to payment.Status) error {
	return transitions.Enter("payment", &r.Status, to)
}

// ended reports whether a payment, a top-up or its refund has its outcome.
func ended(s payment.Status) bool { return s != payment.Pending && s != payment.Processing }

// The texts for a charger that gives none.
const (
	approveMessage = "Approve the payment on your phone."
	codeMessage    = "Enter the code that you got on your phone."
	failedMessage  = "The payment failed."
)

// Kind is what payments are stored as. A payment from a phone is queued until it has an outcome.
func (*Service) Kind() *storage.Kind { return payments.Kind() }

// Jobs returns the job that deletes old prompt records.
func (s *Service) Jobs() []work.Job { return []work.Job{s.engine.DeleteDue(prompts.Kind())} }

// RefundRail returns the rail that refunds what the provider of a route charged in a mode; nil if that provider
// gives no refunds.
func (s *Service) RefundRail(live bool, route string) provider.RefundRail {
	charger := s.Charger(live)
	if _, ok := orders.ChargerOf(charger, route).(provider.RefundRail); !ok {
		return nil
	}
	return charger.(provider.RefundRail)
}

// charging implements [orders.Rules] for payments from phones. One value serves one step of one payment.
type charging struct {
	*Service
	// untaken is why the [Payable] does not take an approved payment; "" if it does. The operator takes no fee of an
	// untaken payment, and the money goes back to the payer if the provider gives refunds.
	untaken string
}

func (c *charging) orders() *orders.Orders[record] {
	return &orders.Orders[record]{
		Flow: orders.Charges, Records: payments, Object: "payment", Noun: "payment", Keep: c.engine.NumberRetention, Rules: c, Apply: c.Service.ApplyResult,
	}
}

// orders returns payments from phones as orders.
func (s *Service) orders() *orders.Orders[record] {
	return (&charging{Service: s}).orders()
}

func (s *Service) write(tx *engine.Tx, o *storage.Object[record]) error {
	return payments.Replace(tx, o)
}

// State implements [orders.Rules].
func (*charging) State(r *record) orders.State {
	r.fillDerived()
	return orders.State{
		Submission: &r.Submission, ID: r.ID, Amount: r.Amount, Network: *r.Provider, CreatedAt: r.CreatedAt,
		Recorded: r.recorded(), Reference: r.ProviderReference, SetReference: func(to *string) { r.ProviderReference = to }, Object: &r.Payment, Forget: r.forgetNumber,
	}
}

// charge returns a payment as the charger gets it, without the order.
func (r *record) charge() provider.Charge {
	c := provider.Charge{
		Phone: r.Phoned.Number, Network: *r.Provider, Email: r.Phoned.Email, Description: r.Description,
		OffSession: r.Phoned.OffSession, Deadline: r.Deadline.Time,
	}
	if r.Invoice != nil {
		c.Invoice, c.Number = *r.Invoice, r.Reference
	}
	engine.SetGiven(&c.Customer, r.Customer)
	return c
}

// Provider implements [orders.Rules].
func (c *charging) Provider(tx *engine.Tx, r *record, order provider.Order) (*orders.Provider, error) {
	return c.chargedBy(tx, &r.Submission, r.charge(), order)
}

// chargedBy returns the charger of a payment or a top-up, or nil; see [orders.Submission.RouteCharge].
func (s *Service) chargedBy(tx *engine.Tx, submission *orders.Submission, c provider.Charge, order provider.Order) (*orders.Provider, error) {
	c.Order = order
	charger, err := submission.RouteCharge(s.Charger(tx.Caller.Live), c)
	return orders.ChargeBy(charger, c), err
}

// Processing implements [orders.Rules].
func (c *charging) Processing(tx *engine.Tx, r *record) error {
	if err := r.enter(payment.Processing); err != nil {
		return err
	}
	return c.config.Events.Append(tx, &r.Payment, event.PaymentProcessing)
}

// Waiting implements [orders.Rules].
func (*charging) Waiting(tx *engine.Tx, r *record, result provider.Result) error {
	r.NextAction = nextAction(r.NextAction, result)
	switch {
	case !r.holdsAt(tx.Now):
		return r.endHold(tx)
	case result.Outcome == provider.InProgress:
		return r.extendHold(tx)
	}
	return nil
}

// Ending implements [orders.Rules].
func (c *charging) Ending(tx *engine.Tx, r *record) error {
	r.NextAction = nil
	if err := r.endHold(tx); err != nil {
		return err
	}
	if err := c.endPrompt(tx, r.Phoned.Number, r.ID, unsent(&r.Submission, r.CreatedAt)); err != nil { // which needs the number
		return err
	}
	return r.forgetDeleted(tx)
}

// Refused implements [orders.Rules].
func (*charging) Refused(_ context.Context, _ *engine.Tx, r *record, result provider.Result) error {
	r.FailureReason, r.FailureCode = orders.FailureReason(result, failedMessage), orders.FailureCode(result)
	return r.enter(payment.Failed)
}

// Ended implements [orders.Rules].
func (c *charging) Ended(tx *engine.Tx, r *record) error {
	if err := c.totals.Count(tx, r); err != nil {
		return err
	}
	if err := c.config.Events.Append(tx, &r.Payment, statusEvent[r.Status]); err != nil {
		return err
	}
	payable := c.payables.of(&r.Payment)
	if payable == nil || c.untaken != "" || r.Status == payment.Cancelled {
		return nil
	}
	return payable.PaymentEnded(tx, &Ended{r.Payment, r.Phoned.Number})
}

// FindOwnOrder names the charge of a payment of the caller's. One that is not from a phone has none:
// payment_not_settleable.
func (*Service) FindOwnOrder(ctx context.Context, e *engine.Engine, caller api.Caller, id string) (orders.Ref, error) {
	return orders.Ref{Object: "payment", ID: id, Record: id}, e.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := get(tx, engine.Scope(caller), id)
		if err == nil && o.Value.Phoned == nil {
			err = api.Errorf(api.PaymentNotSettleable, "", "This payment is not from a phone. It was completed as it was made.")
		}
		return err
	})
}

// Begin counts an attempt of a payment from a phone; see [orders.Orders.Begin].
func (s *Service) Begin(ctx context.Context, tx *engine.Tx, id string) (*orders.Call, error) {
	return s.orders().Begin(ctx, tx, id)
}

// ApplyResult applies a charger's result to a payment; see [orders.Orders.ApplyResult]. It gives back the money of a
// payment that its [Payable] does not take.
func (s *Service) ApplyResult(ctx context.Context, tx *engine.Tx, ref orders.Ref, result provider.Result) (orders.Decision, error) {
	o, err := get(tx, engine.Scope(tx.Caller), ref.ID)
	if err != nil {
		return 0, err
	}
	if o.Value.Phoned == nil {
		return 0, api.NoSuch("charge")
	}
	c := &charging{Service: s}
	if result.Outcome == provider.Paid {
		if c.untaken, err = c.whyUntaken(tx, &o.Value); err != nil {
			return 0, err
		}
	}
	decision, err := c.orders().ApplyResult(ctx, tx, ref, result)
	switch {
	case err != nil:
	case decision == orders.Reversed:
		err = s.BookReversed(ctx, tx, ref, ref.ID)
	case decision == orders.Succeeded && c.untaken != "":
		err = c.giveBack(ctx, tx, ref.ID, c.untaken)
	}
	return decision, err
}

// nextAction returns what the payer is to do, as far as the charger has answered; before is what the
// payer was to do until now.
func nextAction(before *payment.NextAction, result provider.Result) *payment.NextAction {
	if result.Outcome != provider.InProgress {
		return before
	}
	next := payment.NextAction{Type: payment.Approve, Message: approveMessage}
	if result.NeedsCode {
		next = payment.NextAction{Type: payment.EnterCode, Message: codeMessage}
	}
	if result.Prompt != "" {
		next.Message = orders.Truncate(result.Prompt, orders.MaxReason)
	}
	return &next
}

// Paid implements [orders.Rules]: the amount comes from the provider's account, the fee goes to the
// operator, who pays the provider's own fee, and the rest to the merchant.
func (c *charging) Paid(_ context.Context, tx *engine.Tx, r *record, providerFee int64) error {
	if err := r.enter(payment.Completed); err != nil {
		return err
	}
	fee := int64(0)
	taken := c.untaken == ""
	if taken {
		var err error
		if fee, err = feeOf(c.config.Fees, *r.Provider, r.Amount); err != nil {
			return err
		}
	}
	complete(&r.Payment, fee, api.At(tx.Now))
	r.Phoned.Late = !taken
	live := tx.Caller.Live
	r.ChargeRoute = r.Route
	moves := orders.Charges.ClearingMoves(r.Route, live, -r.Amount, providerFee)
	if net := *r.Net; net > 0 {
		moves = append(moves, ledger.Available(tx.Caller.Merchant, live).Move(net))
	}
	if fee > 0 {
		moves = append(moves, ledger.Fees(live).Move(fee))
	}
	p := storage.Posting{ID: tx.NewID("txn_"), Type: "payment", Ref: r.ID, At: tx.Now, Moves: moves}
	givenBack := !taken && c.RefundRail(live, r.Route) != nil
	var err error
	if givenBack { // the refund reserves all of it in this transaction, so nothing may be netted from it
		err = tx.Post(p)
	} else {
		err = c.config.Accounts.Credit(tx, tx.Caller.Merchant, p)
	}
	if err != nil {
		return fmt.Errorf("payment: book: %w", err)
	}
	if r.Invoice != nil && taken {
		return nil // the invoice sends the receipts
	}
	m, err := c.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("payment: merchant: %w", err)
	}
	payer := "A customer" // one who was deleted in the meantime
	engine.SetGiven(&payer, r.Phone)
	// The messages are erased with the payment's other copies of the number, so its id finds them.
	if !taken { // the merchant must not take this for money to keep
		back := "The money comes back to you."
		if !givenBack {
			back = "Ask them for the money back."
		}
		text := fmt.Sprintf("You paid GHS %s to %s, for which it was too late. %s Payment %s.", money.Text(r.Amount), c.config.Messages.Name(m.Name), back, r.ID)
		return c.config.Messages.Text(tx, r.ID, r.Phoned.Number, text)
	}
	return c.textPaid(tx, &r.Payment, m, r.ID, r.Phoned.Number, payer)
}

// NeedsPerson lists a completed payment among the stuck orders, because its money could not be given
// back.
func (s *Service) NeedsPerson(ctx context.Context, tx *engine.Tx, id string, cause orders.Cause, why string) error {
	return s.orders().NeedsPerson(ctx, tx, id, cause, why)
}

// outcomeOf returns the outcome of the order of a payment, a top-up or its refund, as the status implies
// it. A cancelled payment is Refused, so that a charger that reports it paid contradicts the recorded outcome,
// and one that refuses it does not.
func outcomeOf(s payment.Status) provider.Outcome {
	switch s {
	case payment.Completed, payment.Returned:
		return provider.Paid
	case payment.Failed, payment.Cancelled:
		return provider.Refused
	case payment.Processing:
		return provider.InProgress
	}
	return provider.NotFound
}

// recorded returns the recorded outcome of the charge of a payment from a phone.
func (r *record) recorded() orders.Recorded {
	if r.Reversed {
		return orders.Recorded{Outcome: provider.Reversed, Status: string(provider.Reversed)}
	}
	return orders.Recorded{Outcome: outcomeOf(r.Status), Status: string(r.Status), Reversible: true, Left: r.Amount - r.AmountRefunded}
}

// Read returns a payment in the caller's transaction.
func (*Service) Read(tx *engine.Tx, id string) (*payment.Payment, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	return &o.Value.Payment, nil
}

// Load returns a payment as hosts see it, and its status as a word.
func (s *Service) Load(tx *engine.Tx, ref orders.Ref) (object any, status string, err error) {
	p, err := s.Read(tx, ref.ID)
	if err != nil {
		return nil, "", err
	}
	return p, string(p.Status), nil
}

// Info describes the charge of a payment.
func (s *Service) Info(tx *engine.ReadTx, ref orders.Ref, e *orders.Entry) (*provider.OrderInfo, error) {
	return s.orders().Info(tx, ref, e)
}
