package invoicing

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

func (s *Service) StartPayment(ctx context.Context, caller api.Caller, id string, from payment.MobileMoney) (*payment.Payment, error) {
	return s.StartHostedPayment(ctx, caller, id, invoice.HostedPayment{MobileMoney: from})
}

func (s *Service) StartHostedPayment(ctx context.Context, caller api.Caller, id string, from invoice.HostedPayment) (*payment.Payment, error) {
	op := engine.Operation{Name: "invoice.start_payment", Params: struct {
		ID string `json:"id"`
		payment.MobileMoney
	}{id, from.MobileMoney}}
	if err := from.Check(); err != nil {
		return nil, err
	}
	started, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.Payment, error) {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		p, err := s.startPayment(tx, o, from)
		if err == nil && p == nil {
			p = &payment.Payment{} // so that the stored answer is an object, in which an erasure finds the number
		}
		return p, err
	})
	if err != nil || started.ID == "" {
		return nil, err
	}
	return started, nil
}

// startPayment starts a payment of an open invoice from a phone, and writes the invoice.
func (s *Service) startPayment(tx *engine.Tx, o *storage.Object[record], from invoice.HostedPayment) (*payment.Payment, error) {
	if err := s.payable(tx, tx.Now, o, ""); err != nil {
		return nil, err
	}
	if o.Value.AmountDue == 0 {
		return nil, s.markPaid(tx, o, nil, payer{phone: from.PhoneNumber})
	}
	p, err := s.askPhone(tx, o, from, false)
	if err != nil {
		return nil, err
	}
	return p, s.save(tx, o)
}

// askPhone starts a payment. The caller writes the invoice.
func (s *Service) askPhone(tx *engine.Tx, o *storage.Object[record], from invoice.HostedPayment, offSession bool) (*payment.Payment, error) {
	r := &o.Value
	start := collect.StartParams{
		MobileMoney: from.MobileMoney, From: from.From, Amount: r.AmountDue, Invoice: &r.ID, Reference: r.Number, Customer: r.Customer, Metadata: r.Metadata,
		Subscription: r.Subscription, HeldObject: r.ID, OffSession: offSession,
	}
	engine.SetGiven(&start.Description, r.Description)
	engine.SetGiven(&start.Email, r.Email)
	p, err := s.config.Payments.Start(tx, start)
	if err == nil {
		r.AttemptCount++
	}
	return p, err
}

// chargedPhone returns the phone that an automatic charge asks: that of the subscription, or the
// customer's; false if there is none with mobile money.
func (r *record) chargedPhone() (payment.MobileMoney, bool) {
	from := payment.MobileMoney{PhoneNumber: r.ChargedPhone}
	if from.PhoneNumber == "" && r.Phone != nil {
		from.PhoneNumber = *r.Phone
	}
	return from, from.PhoneNumber != "" && from.Check() == nil
}

// startAutomaticPayment makes the scheduled charge of an invoice from the customer's phone. Outside of the hours in
// which phones may be asked, it delays the charge.
func (s *Service) startAutomaticPayment(ctx context.Context, tx *engine.Tx, o *storage.Object[record], from payment.MobileMoney) error {
	r := &o.Value
	if at := s.nextChargeTime(tx.Caller.Live, tx.Now); at.After(tx.Now) { // as after a wait for another payment
		if r.Postponed { // until now, after the hours have ended
			return s.postpone(ctx, tx, o, at)
		}
		r.NextWorkAt = api.AtOrNil(at)
		return s.save(tx, o)
	}
	r.FinalizedBy.overrideRequest(tx)
	p, err := s.askPhone(tx, o, invoice.HostedPayment{MobileMoney: from}, true)
	if err != nil {
		return err
	}
	r.OpenPayment, r.NextWorkAt = p.ID, p.HoldExpiresAt
	return s.save(tx, o)
}

// awaitPayment checks an automatic payment whose outcome the invoice does not have yet. The payment may also
// have failed while another payment held the invoice.
//
// While the payment has no outcome, it may still be completed, so the phone is not asked again. If it is completed,
// the invoice did not take its money: the money was given back, or a person must look after it. The schedule then
// goes on. Any other payment took nothing, and this attempt has failed.
func (s *Service) awaitPayment(tx *engine.Tx, o *storage.Object[record]) error {
	r := &o.Value
	p, err := s.config.Payments.Read(tx, r.OpenPayment)
	if err != nil {
		return err
	}
	switch p.Status {
	case payment.Pending, payment.Processing:
		r.NextWorkAt = api.AtOrNil(tx.Now.Add(awaitAgain))
		return s.save(tx, o)
	case payment.Completed:
		r.OpenPayment, r.NextWorkAt = "", r.NextPaymentAttempt
		return s.save(tx, o)
	}
	r.FinalizedBy.overrideRequest(tx)
	return s.automaticFailed(tx, o, p)
}

// automaticFailed records on an invoice that an automatic payment has failed. The last failure closes the
// invoice. So while another payment holds the invoice, a worker records the failure later: at most a day after
// the scheduled time of the charge, or after one hold if the outcome was late.
func (s *Service) automaticFailed(tx *engine.Tx, o *storage.Object[record], p *payment.Payment) error {
	r := &o.Value
	until, err := s.config.Payments.HeldUntil(tx, o.Scope, tx.Now, o.ID)
	if err != nil {
		return err
	}
	if !until.IsZero() && r.NextPaymentAttempt != nil {
		last := r.NextPaymentAttempt.Add(postponeAtMost)
		inTime := tx.Now.Before(last)
		if inTime && last.Before(until) {
			until = last
		}
		if inTime || !r.Postponed {
			r.Postponed, r.OpenPayment, r.NextWorkAt = true, p.ID, api.AtOrNil(until)
			return s.save(tx, o)
		}
	}
	r.OpenPayment = ""
	engine.SetGiven(&r.failedFor, p.FailureCode)
	return s.recordFailedCharge(tx, o, p.CreatedAt.Time, promptGap)
}

const (
	// awaitAgain is how long an invoice waits until it looks again at its automatic payment.
	awaitAgain = time.Hour
	// promptGap is the least time between two automatic payments of one invoice in live mode: after a late
	// outcome the scheduled times may have passed, and people are not to be asked again and again. In test
	// mode, where a clock may jump, the charges come one after another.
	promptGap = 12 * time.Hour
)

// TakesPayment returns why an invoice does not take a payment from a phone that its payer has approved; "" if it
// does.
func (s *Service) TakesPayment(tx *engine.Tx, p *collect.Incoming) (why string, err error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), *p.Invoice)
	if err != nil {
		return "", err
	}
	switch r := &o.Value; {
	case r.Status == invoice.Void:
		return collect.InvoiceVoided, nil
	case r.Status == invoice.Uncollectible:
		return collect.InvoiceUncollectible, nil
	case r.Status != invoice.Open || r.OpenCharge != nil:
		return collect.PaidTwice, nil
	}
	return "", nil
}

// PaymentEnded applies the end of a payment from a phone to its invoice: the invoice is paid, or the charge has
// failed.
func (s *Service) PaymentEnded(tx *engine.Tx, p *collect.Ended) error {
	o, err := s.get(tx, engine.Scope(tx.Caller), *p.Invoice)
	if err != nil {
		return err
	}
	r := &o.Value
	automatic := r.OpenPayment == p.ID
	if automatic {
		r.OpenPayment = ""
	}
	switch {
	case p.Status == payment.Completed:
		return s.markPaid(tx, o, &p.ID, payer{phone: p.Number, person: p.ID})
	case r.Status != invoice.Open:
		return s.save(tx, o)
	case !automatic, // a payer's own attempt does not move the schedule
		r.OpenCharge != nil: // the outcome of that charge moves the schedule
		return s.save(tx, o, event.InvoicePaymentFailed)
	}
	return s.automaticFailed(tx, o, &p.Payment)
}
