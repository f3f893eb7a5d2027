package invoicing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// maxOutOfBandMethod bounds the method of a payment out of band, in characters: it stands in
// one line of the document.
const maxOutOfBandMethod = 50

func checkPay(p *invoice.PayParams) error {
	longest := api.MaxName
	if p.PaidOutOfBand {
		longest = maxOutOfBandMethod
	}
	if err := check.Text("payment_method", p.PaymentMethod, longest); err != nil {
		return err
	}
	if p.MobileMoney != (payment.MobileMoney{}) {
		if p.PaymentMethod != "" || p.PaidOutOfBand {
			return api.Invalid("phone_number", "Give either phone_number or payment_method.")
		}
		if err := p.MobileMoney.Check(); err != nil {
			return err
		}
	}
	var err error
	if p.ReceiptPhone, err = check.Phone("source", p.ReceiptPhone); err != nil {
		p.ReceiptPhone = "" // what is no number gets no receipt
	}
	return nil
}

// charge is one charge of an invoice. It is written before the charger is called. So no call
// voids or pays an invoice that may be paid already, and the worker that finds the charge
// after a crash asks the charger by its id.
//
// The API calls a whole charge an attempt: Invoice.AttemptCount counts charges. The Attempts of
// the Submission are those at this charge; see [orders.Call].
type charge struct {
	ID string `json:"id"` // att_…
	invoice.PayParams
	// The answer is stored under the IdempotencyKey of the Submission, whether the call of Pay
	// or a worker learns the outcome.
	orders.Submission
	// FinalizedBy is the request that the events of an automatic charge name; nil for a
	// charge by Pay.
	FinalizedBy *eventRequest `json:"finalized_by,omitempty"`

	providerFee int64 // of the charge that has just been paid, until endCharge
}

// retryAfter is what a caller is told to wait while a charge is under way, and retryHeld while a
// payer is asked on the phone.
var retryAfter = orders.ChargeBackoff[0]

const retryHeld = 30 * time.Second

func payOperation(id string, p invoice.PayParams) engine.Operation {
	return engine.Operation{Name: "invoice.pay", Params: struct {
		ID string `json:"id"`
		invoice.PayParams
	}{id, p}}
}

func (s *Service) Pay(ctx context.Context, caller api.Caller, id string, p invoice.PayParams) (*invoice.Invoice, error) {
	if err := checkPay(&p); err != nil {
		return nil, err
	}
	op := payOperation(id, p)
	if p.PhoneNumber != "" {
		return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
			_, err := s.startPayment(tx, o, invoice.HostedPayment{MobileMoney: p.MobileMoney})
			if api.CodeOf(err) == api.Unavailable {
				err = errNotChargeable
			}
			return err
		})
	}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*invoice.Invoice, error) {
		if p.PaidOutOfBand {
			return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
				if err := s.payable(tx, tx.Now, o, caller.IdempotencyKey); err != nil {
					return err
				}
				o.Value.OutOfBandMethod = &p.PaymentMethod
				return s.markPaid(tx, o, nil, payer{phone: p.ReceiptPhone})
			})
		}
		call, err := s.commitCharge(ctx, caller, id, p)
		switch {
		case err != nil:
			return nil, err
		case call == nil:
			return s.payWithoutCharge(ctx, caller, op, id, p.ReceiptPhone)
		}
		return s.runCharge(ctx, caller, op, call)
	})
}

// commitCharge writes a charge in its own transaction and returns the call of the charger; nil
// for an invoice whose amount due is zero. The invoice is queued and leased, so a worker polls
// for the outcome if this process dies.
func (s *Service) commitCharge(ctx context.Context, caller api.Caller, id string, p invoice.PayParams) (call *orders.Call, err error) {
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		call = nil
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		r := &o.Value
		if err := s.payable(tx, tx.Now, o, caller.IdempotencyKey); err != nil || r.AmountDue == 0 {
			return err
		}
		if s.engine.Host != nil {
			return fmt.Errorf("invoice: charge: %w", api.ErrNetworkInTx)
		}
		call, err = s.startCharge(tx, o, &charge{PayParams: p})
		return err
	})
	return call, err
}

// payWithoutCharge marks an open invoice paid, without a payment, because its amount due is zero. That amount does
// not change while the invoice is open, so the caller may have read it in an earlier transaction.
func (s *Service) payWithoutCharge(ctx context.Context, caller api.Caller, op engine.Operation, id, phone string) (*invoice.Invoice, error) {
	return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
		if err := s.payable(tx, tx.Now, o, caller.IdempotencyKey); err != nil {
			return err
		}
		return s.markPaid(tx, o, nil, payer{phone: phone})
	})
}

// errNotChargeable is the refusal of live mode without a charger.
var errNotChargeable = api.Errorf(api.PaymentFailed, "", "Invoices cannot be charged in live mode at the moment. Send the customer hosted_invoice_url, or ask the operator.")

// payable refuses an invoice that cannot be paid now. idempotencyKey is that of a call of Pay; empty for
// other calls.
func (s *Service) payable(tx storage.ReadTx, now time.Time, o *storage.Object[record], idempotencyKey string) error {
	r := &o.Value
	switch {
	case r.Status == invoice.Paid:
		return api.Errorf(api.InvoiceAlreadyPaid, "", "This invoice is paid.")
	case r.Status != invoice.Open:
		return notOpen(r.Status)
	case r.OpenCharge != nil && idempotencyKey != "" && r.OpenCharge.IdempotencyKey == idempotencyKey:
		return api.Errorf(api.IdempotencyKeyInUse, "", "The first request with this idempotency key has not ended yet. Repeat it in a moment.").After(retryAfter)
	case r.OpenCharge != nil:
		return chargeUnderWay()
	}
	return s.notHeld(tx, now, o)
}

func chargeUnderWay() error {
	return api.Errorf(api.InvoicePaymentInProgress, "", "A payment of this invoice is under way. Look at the invoice again in a moment.").After(retryAfter)
}

// notHeld refuses an invoice that a payment from a phone holds.
func (s *Service) notHeld(tx storage.ReadTx, now time.Time, o *storage.Object[record]) error {
	held, err := s.config.Payments.CountHolds(tx, o.Scope, now, o.ID)
	if err != nil || held == 0 {
		return err
	}
	return api.Errorf(api.PaymentInProgress, "", "A payment of this invoice from a phone is under way. Look at the invoice again in a few minutes.").After(retryHeld)
}

// runCharge calls the charger, applies the result, and returns the invoice or the refusal.
func (s *Service) runCharge(ctx context.Context, caller api.Caller, op engine.Operation, call *orders.Call) (*invoice.Invoice, error) {
	ctx = context.WithoutCancel(ctx) // the charge continues if the client disconnects
	var paid *invoice.Invoice
	apply := func(ctx context.Context, tx *engine.Tx, ref orders.Ref, r provider.Result) (orders.Decision, error) {
		decision, err := s.applyResult(ctx, tx, ref, r, false)
		if err != nil {
			return decision, err
		}
		o, err := s.get(tx, engine.Scope(caller), ref.Record)
		if err == nil {
			paid = &o.Value.Invoice
		}
		return decision, err
	}
	result, decision, err := call.Do(ctx, s.engine, caller, apply)
	switch {
	case errors.Is(err, provider.ErrContradicted):
		return nil, fmt.Errorf("invoice: %w", err)
	case err != nil:
		return nil, err
	case decision == orders.StillPending: // also if another amount is paid
	case result.Outcome == provider.Paid:
		if decision == orders.AlreadyEnded { // a worker has stored the answer
			if stored, err := engine.Replay[invoice.Invoice](ctx, s.engine, caller, op); stored != nil && err == nil {
				return stored, nil
			}
		}
		return paid, nil
	case result.Outcome.Final():
		reason := result.Reason.Message
		if reason == "" || check.Text("", reason, api.MaxText) != nil {
			reason = "The payment was declined."
		}
		return nil, api.Errorf(api.PaymentFailed, "", "%s Try another payment method.", reason)
	}
	return nil, api.Errorf(api.Unavailable, "", "The outcome of the payment is not known yet. Repeat the request with the same idempotency key, or look at the invoice, in a moment.").After(retryAfter)
}

func methodOrDefault(given string) string {
	if given == "" {
		return "default"
	}
	return given
}

// payer is where the money of an invoice comes from.
type payer struct {
	// moves are the legs that the money comes from.
	moves  []storage.Move
	source collect.Source
	phone  string // where the receipt goes when the invoice has none
	// person is set if the money comes from phone, or from the wallet of its holder: phone then gets the receipt
	// in any case. It is the id, of a consumer or a payment, whose erasure erases that message.
	person  string
	payment payment.Payment
}

// bookPaid books the money that pays an invoice. It also records the payment, marks the invoice paid and queues the
// receipts.
func (s *Service) bookPaid(tx *engine.Tx, o *storage.Object[record], p payer) error {
	r := &o.Value
	amount := r.AmountDue
	id := s.config.Payments.NewID(tx)
	err := s.config.Accounts.Credit(tx, tx.Caller.Merchant, storage.Posting{
		ID: tx.NewID("txn_"), Type: "payment", Ref: id, At: tx.Now,
		Moves: append(p.moves, ledger.Available(tx.Caller.Merchant, tx.Caller.Live).Move(amount)),
	})
	if err != nil {
		return fmt.Errorf("invoice: pay: %w", err)
	}
	p.payment.ID, p.payment.Amount, p.payment.Invoice, p.payment.Metadata = id, amount, &r.ID, r.Metadata
	p.payment.Reference, p.payment.Customer, p.payment.Subscription = r.Number, r.Customer, r.Subscription
	engine.SetGiven(&p.payment.Description, r.Description)
	if _, err := s.config.Payments.RecordCompleted(tx, p.payment, p.source); err != nil {
		return err
	}
	return s.markPaid(tx, o, &id, p)
}

// markPaid marks an invoice paid. paymentID is nil for one that was paid out of band or whose
// amount due was zero. The receipt goes to the payer when the invoice has no phone number.
func (s *Service) markPaid(tx *engine.Tx, o *storage.Object[record], paymentID *string, p payer) error {
	r := &o.Value
	if err := r.setPaid(tx.Now, paymentID); err != nil {
		return err
	}
	if err := r.endCharge(tx); err != nil {
		return err
	}
	if err := s.receipts(tx, r, p); err != nil {
		return err
	}
	return s.save(tx, o, event.InvoicePaid)
}

// setPaid makes the invoice paid, and ends the charges that were planned for it.
func (r *record) setPaid(at time.Time, paymentID *string) error {
	r.AmountPaid += r.AmountDue // before enter, after which nothing is due
	if err := r.enter(invoice.Paid); err != nil {
		return err
	}
	r.PaidAt, r.Payment = api.AtOrNil(at), paymentID
	r.NextPaymentAttempt, r.OpenPayment = nil, ""
	return nil
}
