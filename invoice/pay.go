package invoice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// PayParams say how an invoice is charged.
type PayParams struct {
	// PaymentMethod is passed on to the [Charger]. With PaidOutside it says how the
	// money came, as "cash" or "bank", in at most 50 characters, and may be empty.
	PaymentMethod string `json:"payment_method,omitempty"`
	// Source is a phone number to which the receipt goes when the invoice has none.
	Source     string `json:"source,omitempty"`
	OffSession bool   `json:"off_session,omitempty"`
	// PaidOutside says that the merchant has the money already, from outside of this
	// service. Nothing is charged and no money moves here: the invoice is paid, without
	// a payment, and its document says so.
	PaidOutside bool `json:"paid_outside,omitempty"`
}

// maxOutside bounds what is said of a payment outside, in characters: it stands in
// one line of the document.
const maxOutside = 50

func (p *PayParams) check() error {
	longest := api.MaxName
	if p.PaidOutside {
		longest = maxOutside
	}
	if err := api.CheckText("payment_method", p.PaymentMethod, longest); err != nil {
		return err
	}
	if p.Source == "" {
		return nil
	}
	number, err := phone.Parse(p.Source)
	if err != nil {
		return api.Errorf(api.InvalidPhoneNumber, "source", "source is not a valid Ghana phone number. Write it as 0241234567 or +233241234567.").WithCause(err)
	}
	p.Source = number
	return nil
}

// attempt is a charge that was begun. It is written before the charger is
// called, so that nobody voids or pays what may be paid already, and whoever
// finds it after a crash asks the charger by its id.
type attempt struct {
	ID string `json:"id"` // att_…
	PayParams
	// Request and Key are of the call; the answer is kept under the key whoever
	// finishes it.
	Request string `json:"request,omitempty"`
	Key     string `json:"key,omitempty"`
	// Origin is the request that an automatic charge continues; nil of any other.
	Origin *origin `json:"origin,omitempty"`
	Asked  int     `json:"asked"`
	// Undecided is when the charger first did not decide; nil if it always has. Stuck
	// says that the log was told.
	Undecided *api.Time `json:"undecided,omitempty"`
	Stuck     bool      `json:"stuck,omitempty"`
}

// askAgain is how long to wait after each time that a charger was asked without
// a conclusive answer; the last entry stands for all later ones.
var askAgain = outside.Schedule{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}

func payCall(id string, p PayParams) engine.Call {
	return engine.Call{Name: "invoice.pay", Params: struct {
		ID string `json:"id"`
		PayParams
	}{id, p}}
}

// Pay charges an open invoice through the [Charger], unless it was paid outside: the
// merchant is credited, the payment written, the receipts queued. An invoice of which
// nothing is due is paid without a charge and without a payment. With an idempotency key it may be
// repeated safely. A charger that does not answer leaves the outcome open: the
// call fails with service_unavailable, the invoice can be neither paid nor voided
// meanwhile, and a worker finds out.
//
// Refusals: invoice_not_open, invoice_already_paid, invoice_payment_in_progress,
// idempotency_key_in_use, payment_failed.
func (s *Service) Pay(ctx context.Context, caller api.Caller, id string, p PayParams) (*Invoice, error) {
	return s.pay(ctx, caller, id, p, nil)
}

// pay is Pay of what continues a request, or nil.
func (s *Service) pay(ctx context.Context, caller api.Caller, id string, p PayParams, of *origin) (*Invoice, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	call := payCall(id, p)
	return engine.Once(ctx, s.engine, caller, call, func() (*Invoice, error) {
		if p.PaidOutside {
			return s.change(ctx, caller, call, id, func(tx *engine.Tx, o *storage.Object[record]) error {
				if err := o.Value.payable(caller.IdempotencyKey); err != nil {
					return err
				}
				o.Value.Outside = &p.PaymentMethod
				s.address(&o.Value)
				return s.settled(tx, o, nil, payer{phone: p.Source})
			})
		}
		charge, release, err := s.begin(ctx, caller, id, p, of)
		switch {
		case err != nil:
			return nil, err
		case charge == nil:
			return s.settleFree(ctx, caller, call, id, p.Source, of)
		}
		return s.carry(ctx, caller, call, charge, release, true)
	})
}

func (s *Service) charger(live bool) Charger {
	if live {
		return s.config.Charger
	}
	return s.config.TestCharger
}

// begin writes down an attempt, and returns the charge that is to be made; nil where
// nothing is due, so that nothing is to be charged. The invoice is due, and held until
// release is called: a worker asks for the outcome if this process dies.
func (s *Service) begin(ctx context.Context, caller api.Caller, id string, p PayParams, of *origin) (charge *Charge, release func(), err error) {
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.get(tx, caller.Scope(), id)
		if err != nil {
			return err
		}
		r := &o.Value
		if err := r.payable(caller.IdempotencyKey); err != nil {
			return err
		}
		if charge = nil; r.AmountDue == 0 {
			return nil
		}
		if s.engine.Host != nil {
			return fmt.Errorf("invoice: charge: %w", engine.ErrOutside)
		}
		if s.charger(caller.Live) == nil {
			return api.Errorf(api.PaymentFailed, "", "Invoices cannot be charged in live mode at the moment. Send the customer hosted_invoice_url, or ask the operator.")
		}
		r.Attempt = &attempt{
			ID: tx.NewID("att_"), PayParams: p, Request: caller.RequestID, Key: caller.IdempotencyKey, Origin: of, Asked: 1,
		}
		r.AttemptCount++
		charge = r.charge(caller.Live)
		release, err = s.hold(tx, o)
		return err
	})
	return charge, release, err
}

// hold writes an invoice that is charged now.
func (s *Service) hold(tx *engine.Tx, o *storage.Object[record]) (release func(), err error) {
	o.Value.Due = api.AtOrNil(tx.Now)
	if err := s.replace(tx, o); err != nil {
		return nil, err
	}
	return tx.Hold(invoices.Kind(), o.ID, o.Version)
}

// settleFree books an open invoice of which nothing is due as paid: without a payment,
// since no money moves. The amount of an open invoice does not change, so that the
// caller may have read it before.
func (s *Service) settleFree(ctx context.Context, caller api.Caller, call engine.Call, id, phone string, of *origin) (*Invoice, error) {
	return s.change(ctx, caller, call, id, func(tx *engine.Tx, o *storage.Object[record]) error {
		if err := o.Value.payable(caller.IdempotencyKey); err != nil {
			return err
		}
		of.continues(tx)
		return s.settled(tx, o, nil, payer{phone: phone})
	})
}

// payable refuses what cannot be paid now.
func (r *record) payable(key string) error {
	switch {
	case r.Status == Paid:
		return api.Errorf(api.InvoiceAlreadyPaid, "", "This invoice is paid.")
	case r.Status != Open:
		return notOpen(r.Status)
	case r.Attempt != nil && key != "" && r.Attempt.Key == key:
		e := api.Errorf(api.IdempotencyKeyInUse, "", "The first request with this idempotency key has not ended yet. Repeat it in a moment.")
		e.RetryAfter = askAgain[0]
		return e
	case r.Attempt != nil:
		e := api.Errorf(api.InvoicePaymentInProgress, "", "A payment of this invoice is under way. Look at the invoice again in a moment.")
		e.RetryAfter = askAgain[0]
		return e
	}
	return nil
}

func (r *record) charge(live bool) *Charge {
	c := &Charge{
		ID: r.Attempt.ID, Live: live, Amount: r.AmountDue, Currency: r.Currency,
		PaymentMethod: r.Attempt.PaymentMethod, OffSession: r.Attempt.OffSession, Invoice: r.ID, Number: r.Number,
	}
	if r.Customer != nil {
		c.Customer = *r.Customer
	}
	return c
}

// carry makes a charge, or asks what became of it, and books the outcome. release is of
// the invoice.
func (s *Service) carry(ctx context.Context, caller api.Caller, call engine.Call, c *Charge, release func(), first bool) (*Invoice, error) {
	id := c.Invoice
	// The outcome is booked though the caller goes away.
	ctx = context.WithoutCancel(ctx)
	result, failed := outside.Ask(ctx, port{s.charger(caller.Live)}, *c, first, readCharge)
	release()
	said := due.Outcome{Name: string(result.Outcome), RequestID: caller.RequestID}
	if failed != nil {
		// The error may quote a payment method; the log must not.
		said.Name, said.Level, said.Err = "no_answer", slog.LevelWarn, failed
	}
	if !due.Report(ctx, said) && failed != nil {
		s.engine.Log.WarnContext(ctx, "the charger did not answer; it will be asked again", "invoice", id, "charge", c.ID)
	}
	switch {
	case failed != nil || result.Outcome == Undecided:
		if err := s.postpone(ctx, caller, id, c.ID); err != nil {
			return nil, err
		}
		e := api.Errorf(api.Unavailable, "", "The outcome of the payment is not known yet. Repeat the request with the same idempotency key, or look at the invoice, in a moment.")
		e.RetryAfter = askAgain[0]
		return nil, e
	case result.Outcome == Declined:
		return nil, s.declined(ctx, caller, id, c.ID, result)
	}
	return s.charged(ctx, caller, call, c, result)
}

// postpone leaves an attempt to the worker.
func (s *Service) postpone(ctx context.Context, caller api.Caller, id, charge string) error {
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.attempted(tx, id, charge)
		if err != nil || o == nil {
			return err
		}
		wait := askAgain.After(o.Value.Attempt.Asked)
		o.Value.Attempt.Asked++
		o.Value.Due = api.AtOrNil(tx.Now.Add(wait))
		if err := s.waits(ctx, tx, &o.Value); err != nil {
			return err
		}
		return s.replace(tx, o)
	})
}

// attempted reads an invoice that still waits for a charge; nil when somebody
// else has booked its outcome.
func (s *Service) attempted(tx *engine.Tx, id, charge string) (*storage.Object[record], error) {
	o, err := s.get(tx, tx.Caller.Scope(), id)
	if err != nil {
		return nil, err
	}
	if o.Value.Attempt == nil || o.Value.Attempt.ID != charge {
		return nil, nil
	}
	return o, nil
}

// charged books a charge that succeeded. The answer is kept under the key of the
// call that began it, so that a repetition finds it, whoever got here. If another
// request has taken the key meanwhile, it keeps it: the money is booked all the
// same.
func (s *Service) charged(ctx context.Context, caller api.Caller, call engine.Call, c *Charge, result ChargeResult) (*Invoice, error) {
	book := func(tx *engine.Tx, o *storage.Object[record]) error {
		r := &o.Value
		if r.Attempt == nil || r.Attempt.ID != c.ID {
			booked, err := paidBy(tx, r, c.ID)
			if err == nil && !booked {
				err = errContradicted
			}
			return err
		}
		r.Attempt.Origin.continues(tx)
		return s.paid(tx, o, payer{
			from: chart.Clearing(Clearing, caller.Live), source: payment.Source{Charge: c.ID}, phone: r.Attempt.Source,
			payment: payment.Payment{PaymentMethod: methodOf(r.Attempt.PaymentMethod), Provider: textOrNil(result.Provider)},
		})
	}
	paid, err := s.change(ctx, caller, call, c.Invoice, book)
	if api.CodeOf(err) == api.IdempotencyKeyReused {
		caller.IdempotencyKey = ""
		paid, err = s.change(ctx, caller, call, c.Invoice, book)
	}
	if errors.Is(err, errContradicted) {
		return nil, s.contradicted(ctx, caller, c.Invoice, c.ID, "declined, and now charged")
	}
	return paid, err
}

// paidBy reports whether an invoice was paid by that charge.
func paidBy(tx *engine.Tx, r *record, charge string) (bool, error) {
	if r.Payment == nil {
		return false, nil
	}
	from, err := payment.SourceTx(tx, tx.Caller.Scope(), *r.Payment)
	return from.Charge == charge, err
}

// Clearing names the account that stands for the provider of the [Charger]: what
// was charged came in through it, and what is refunded leaves through it.
const Clearing = "charges"

func methodOf(given string) string {
	if given == "" {
		return "default"
	}
	return given
}

// payer is where the money of an invoice comes from.
type payer struct {
	from    chart.Account
	source  payment.Source
	phone   string // where the receipt goes when the invoice has none
	payment payment.Payment
}

// paid books a payment: the money, the payment, the status and the receipts.
func (s *Service) paid(tx *engine.Tx, o *storage.Object[record], p payer) error {
	r := &o.Value
	amount := r.AmountDue
	if amount == 0 { // as a charge may be that an earlier release began
		return s.settled(tx, o, nil, p)
	}
	id := payment.NewIDTx(tx)
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "payment", Ref: id, At: tx.Now,
		Moves: []storage.Move{p.from.Move(-amount), chart.Available(tx.Caller.Merchant, tx.Caller.Live).Move(amount)},
	})
	if err != nil {
		return fmt.Errorf("invoice: pay: %w", err)
	}
	p.payment.ID, p.payment.Amount, p.payment.Invoice, p.payment.Metadata = id, amount, &r.ID, r.Metadata
	p.payment.Reference = r.Number
	if _, err := s.config.Payments.CompletedTx(tx, p.payment, p.source); err != nil {
		return err
	}
	return s.settled(tx, o, &id, p)
}

// settled books that nothing is due any more: by a payment, or, when that is nil,
// outside of the service or because nothing was. The receipt goes to the payer when the invoice has no number.
func (s *Service) settled(tx *engine.Tx, o *storage.Object[record], by *string, p payer) error {
	r := &o.Value
	r.AmountPaid += r.AmountDue
	r.enter(Paid)
	r.PaidAt, r.Payment = api.AtOrNil(tx.Now), by
	r.NextPaymentAttempt = nil
	if err := r.decided(tx); err != nil {
		return err
	}
	if err := s.receipts(tx, r, p); err != nil {
		return err
	}
	return s.replace(tx, o, event.InvoicePaid)
}

// declined books a charge that was refused, and returns the refusal.
func (s *Service) declined(ctx context.Context, caller api.Caller, id, charge string, result ChargeResult) error {
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.get(tx, caller.Scope(), id)
		if err != nil {
			return err
		}
		r := &o.Value
		if r.Attempt == nil || r.Attempt.ID != charge {
			booked, err := paidBy(tx, r, charge)
			if err == nil && booked {
				err = errContradicted
			}
			return err
		}
		r.Attempt.Origin.continues(tx)
		if err := r.decided(tx); err != nil {
			return err
		}
		types := []event.Type{event.InvoicePaymentFailed}
		if r.NextPaymentAttempt != nil && !r.scheduleNext() {
			r.enter(Uncollectible)
			types = append(types, event.InvoiceMarkedUncollectible)
		}
		return s.replace(tx, o, types...)
	})
	if errors.Is(err, errContradicted) {
		return s.contradicted(ctx, caller, id, charge, "charged, and now declined")
	}
	if err != nil {
		return err
	}
	reason := result.Reason
	if reason == "" || api.CheckText("", reason, api.MaxText) != nil {
		reason = "The payment was declined."
	}
	return api.Errorf(api.PaymentFailed, "", "%s Try another payment method.", reason)
}
