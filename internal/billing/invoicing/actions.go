package invoicing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

func (s *Service) Finalize(ctx context.Context, caller api.Caller, id string) (*invoice.Invoice, error) {
	op := engine.Operation{Name: "invoice.finalize", Params: id}
	return s.change(ctx, caller, op, id, s.finalize)
}

func (s *Service) finalize(tx *engine.Tx, o *storage.Object[record]) error {
	r := &o.Value
	if r.Status != invoice.Draft {
		return notDraft(r.Status)
	}
	if len(r.Lines.Data) == 0 {
		return api.Errorf(api.InvoiceNoLines, "", "This invoice has no lines. Add one before it is finalized.")
	}
	if err := r.total(); err != nil { // the draft may have stated figures
		return err
	}
	if err := s.redeem(tx, r); err != nil {
		return err
	}
	r.InvoiceDate = api.At(tx.Now)
	if err := r.open(tx.Now); err != nil {
		return err
	}
	if err := s.collect(tx, r); err != nil {
		return err
	}
	return s.save(tx, o, event.InvoiceFinalized)
}

func (r *record) open(at time.Time) error {
	if err := r.enter(invoice.Open); err != nil {
		return err
	}
	r.FinalizedAt, r.PDF = api.AtOrNil(at), new(r.HostedURL+"/pdf")
	return nil
}

// collect plans how a newly opened invoice is collected: by automatic charges, or with reminders. It queues an
// e-mail and an SMS to the customer. If nothing is due, it only queues the invoice for a worker, which marks it
// paid.
func (s *Service) collect(tx *engine.Tx, r *record) error {
	if r.AmountDue == 0 {
		r.FinalizedBy, r.NextWorkAt = eventRequestOf(tx.Caller), api.AtOrNil(tx.Now)
		tx.WakeAfterCommit(invoices.Kind())
		return nil
	}
	if r.CollectionMethod == invoice.ChargeAutomatically {
		r.FinalizedBy = eventRequestOf(tx.Caller)
		if _, asksPhone := r.chargedPhone(); asksPhone {
			if first := s.nextChargeTime(tx.Caller.Live, tx.Now); first.After(tx.Now) {
				r.FirstAttempt = api.AtOrNil(first)
			}
		}
		r.scheduleNext()
		tx.WakeAfterCommit(invoices.Kind())
	}
	if _, err := s.queueInvoiceMessages(tx, r); err != nil {
		return err
	}
	return s.scheduleReminders(tx, r)
}

func (s *Service) Void(ctx context.Context, caller api.Caller, id string) (*invoice.Invoice, error) {
	op := engine.Operation{Name: "invoice.void", Params: id}
	return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
		r := &o.Value
		if r.OpenCharge != nil {
			return chargeUnderWay()
		}
		if err := cmp.Or(s.notHeld(tx, tx.Now, o), r.refuseNothingDue()); err != nil {
			return err
		}
		if is := r.Status; r.enter(invoice.Void) != nil {
			return api.Errorf(api.InvoiceNotVoidable, "", "This invoice is %s. Only an open or uncollectible one can be voided; a draft is deleted, a paid one refunded.", is)
		}
		if err := s.returnRedemption(tx, r); err != nil {
			return err
		}
		r.VoidedAt = api.AtOrNil(tx.Now)
		r.NextPaymentAttempt, r.NextWorkAt = nil, nil
		return s.save(tx, o, event.InvoiceVoided)
	})
}

func (s *Service) MarkUncollectible(ctx context.Context, caller api.Caller, id string) (*invoice.Invoice, error) {
	op := engine.Operation{Name: "invoice.mark_uncollectible", Params: id}
	return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
		if err := s.writeOff(tx, o); err != nil {
			return err
		}
		return s.save(tx, o, event.InvoiceMarkedUncollectible)
	})
}

// refuseNothingDue refuses a subscription's open invoice on which nothing is due. A worker is about to mark it paid,
// and the subscription may already have used the credit that the invoice left.
func (r *record) refuseNothingDue() error {
	if r.Subscription == nil || r.Status != invoice.Open || r.AmountDue != 0 {
		return nil
	}
	return api.Errorf(api.InvoiceAlreadyPaid, "", "Nothing is due of this invoice of a subscription. It is marked as paid in a moment.")
}

// writeOff makes an invoice uncollectible. The caller writes the invoice.
func (s *Service) writeOff(tx *engine.Tx, o *storage.Object[record]) error {
	if err := cmp.Or(s.payable(tx, tx.Now, o, ""), o.Value.refuseNothingDue()); err != nil {
		return err
	}
	if err := o.Value.enter(invoice.Uncollectible); err != nil {
		return err
	}
	o.Value.NextPaymentAttempt, o.Value.NextWorkAt = nil, nil
	return nil
}

// sends bounds how often Send sends one invoice to its customer.
var sends = pace.Limit{Hour: 5, Day: 20}

func (s *Service) Send(ctx context.Context, caller api.Caller, id string) (*invoice.Invoice, error) {
	op := engine.Operation{Name: "invoice.send", Params: id}
	return s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
		r := &o.Value
		if r.Status == invoice.Draft {
			return api.Errorf(api.InvoiceNotOpen, "", "This invoice is a draft. Finalize it before it is sent.")
		}
		if r.Status == invoice.Void {
			return api.Errorf(api.InvoiceNotOpen, "", "This invoice is void. There is nothing to pay, so it is not sent again.")
		}
		queued, err := s.queueInvoiceMessages(tx, r)
		if err != nil {
			return err
		}
		if !queued {
			return api.Errorf(api.InvoiceNoRecipient, "", "This invoice has no customer_email, and no customer_phone in Ghana.")
		}
		messages := s.config.Messages
		if !(r.textPhone() != nil && messages.CanText(caller.Live)) && !(r.Email != nil && messages.CanEmail(caller.Live)) {
			return api.Errorf(api.Unavailable, "", "The customer cannot be told in live mode at the moment. Pass on hosted_invoice_url yourself, or ask the operator.")
		}
		if r.Sent, err = sends.Take(r.Sent, tx.Now, "This invoice was sent"); err != nil {
			return err
		}
		return s.save(tx, o, event.InvoiceSent)
	})
}

func (s *Service) Duplicate(ctx context.Context, caller api.Caller, id string) (*invoice.Invoice, error) {
	op := engine.Operation{Name: "invoice.duplicate", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*invoice.Invoice, error) {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		old, r := &o.Value, blank(tx, tx.NewID("inv_"))
		r.Customer, r.Email, r.Name, r.Phone, r.Address, r.UnlinkedCustomer = old.Customer, old.Email, old.Name, old.Phone, old.Address, old.UnlinkedCustomer
		if person := r.person(); person != "" {
			deleted, err := pii.Deleted(tx, engine.Scope(caller), person)
			if err != nil {
				return nil, fmt.Errorf("invoice: customer: %w", err)
			}
			if deleted {
				r.Customer, r.UnlinkedCustomer = nil, ""
				r.dropPerson()
			}
		}
		r.Description, r.Footer, r.Memo, r.Coupon = old.Description, old.Footer, old.Memo, old.Coupon
		if old.Redemption != nil {
			r.Redemption = &redemption{Terms: old.Redemption.Terms}
		}
		r.CollectionMethod, r.Metadata, r.InvoiceDiscount = old.CollectionMethod, old.Metadata, old.InvoiceDiscount
		lines := old.Lines.Data
		if old.Subscription != nil {
			lines = slices.DeleteFunc(lines, func(l invoice.Line) bool { return l.Amount < 0 || l.ID == old.CreditLine })
		}
		for i := range lines {
			lines[i].ID, lines[i].Period = uuid.NewString(), nil
		}
		if err := checkLines(lines); err != nil {
			return nil, err
		}
		if err := r.setLines(lines); err != nil {
			return nil, err
		}
		if o, err = s.insert(tx, r); err != nil {
			return nil, err
		}
		return &o.Value.Invoice, nil
	})
}
