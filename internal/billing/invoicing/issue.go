package invoicing

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// IssueParams describe the invoice of a subscription.
type IssueParams struct {
	PriceParams
	Subscription string // its id
	// After is the id of the subscription's previous invoice; empty for none. The new id sorts after it, even
	// if the clocks of two processes differ.
	After string
	// Customer is the customer's id, and Person the customer's record, of which the invoice keeps a
	// copy; nil for none.
	Customer string
	Person   *account.Customer
	// Date is the start of the period.
	Date time.Time
	// DueDate is the end of the time to pay; zero for none.
	DueDate          time.Time
	CollectionMethod invoice.CollectionMethod
	// ChargedPhone is the number that automatic charges ask, +233…; empty for the customer's.
	ChargedPhone string
	Description  string
	// Payment is the id of a payment that has paid the invoice in the same transaction; empty for none.
	// The caller queues the messages about the payment. Issue queues only the receipt by e-mail.
	Payment string
}

// Issued is an invoice that Issue has made.
type Issued struct {
	invoice.Invoice
	// CreditBalance is the subscription's credit that is left, in pesewas.
	CreditBalance int64
}

// Issue makes a finalized invoice of a subscription, sends it or plans its charges, and records its
// events. The number takes the year in which the invoice is made. An invoice with a Payment is paid at
// once. One with nothing due is paid by a worker, or by [Service.MarkNothingDuePaid].
func (s *Service) Issue(tx *engine.Tx, p IssueParams) (*Issued, error) {
	r := blank(tx, ids.Following(tx.NewID("inv_"), p.After))
	r.Subscription, r.Customer, r.Description = &p.Subscription, &p.Customer, api.TextOrNil(p.Description)
	r.CollectionMethod, r.InvoiceDate, r.DueDate = p.CollectionMethod, api.At(p.Date), api.AtOrNil(p.DueDate)
	if p.Person != nil {
		r.copyPerson(p.Person)
	}
	left, err := s.price(r, &p.PriceParams)
	if err != nil {
		return nil, err
	}
	if r.Number, err = nextNumber(tx, "invoice", "INV"); err != nil {
		return nil, err
	}
	s.fillDerived(r)
	if err := s.recordEvents(tx, r, event.InvoiceCreated); err != nil {
		return nil, err
	}
	if err := r.open(tx.Now); err != nil {
		return nil, err
	}
	paid := p.Payment != ""
	if !paid {
		if r.AmountDue > 0 {
			r.ChargedPhone = p.ChargedPhone
		}
		if err := s.collect(tx, r); err != nil {
			return nil, err
		}
	}
	if err := s.recordEvents(tx, r, event.InvoiceFinalized); err != nil {
		return nil, err
	}
	if paid {
		if err := s.markIssuedPaid(tx, r, p.Payment); err != nil {
			return nil, err
		}
	}
	if _, err := invoices.Insert(tx, engine.Scope(tx.Caller), r.ID, *r); err != nil {
		return nil, fmt.Errorf("invoice: issue: %w", err)
	}
	return &Issued{Invoice: r.Invoice, CreditBalance: left}, nil
}

// markIssuedPaid marks a new invoice paid, and queues the receipt.
func (s *Service) markIssuedPaid(tx *engine.Tx, r *record, payment string) error {
	if err := r.setPaid(tx.Now, &payment); err != nil {
		return err
	}
	if r.Email != nil {
		m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
		if err != nil {
			return fmt.Errorf("invoice: merchant: %w", err)
		}
		if err := s.emailReceipt(tx, r, m); err != nil {
			return err
		}
	}
	return s.recordEvents(tx, r, event.InvoicePaid)
}

// MarkNothingDuePaid marks an open invoice paid, without a payment, if nothing is due on it. It leaves any other
// invoice as it is.
func (s *Service) MarkNothingDuePaid(tx *engine.Tx, id string) error {
	o, err := s.get(tx, engine.Scope(tx.Caller), id)
	if err != nil || o.Value.Status != invoice.Open || o.Value.AmountDue > 0 {
		return err
	}
	return s.markPaid(tx, o, nil, payer{})
}

// Find returns an invoice as callers see it.
func (s *Service) Find(tx storage.ReadTx, scope storage.Scope, id string) (*invoice.Invoice, error) {
	o, err := s.get(tx, scope, id)
	if err != nil {
		return nil, err
	}
	return &o.Value.Invoice, nil
}

// GiveUp is [Service.MarkUncollectible] for the invoice's subscription, with the same refusals. It makes no
// outcome.
func (s *Service) GiveUp(tx *engine.Tx, id string) (*invoice.Invoice, error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if err := s.writeOff(tx, o); err != nil {
		return nil, err
	}
	if err := s.write(tx, o); err != nil {
		return nil, err
	}
	return &o.Value.Invoice, s.recordEvents(tx, &o.Value, event.InvoiceMarkedUncollectible)
}

// StopCharges ends the automatic charges of the given invoices that are open. They stay payable. A
// charge that is under way goes on, and is not repeated.
func (s *Service) StopCharges(tx *engine.Tx, ids []string) error {
	return s.eachOpen(tx, ids, func(r *record) (changed bool, err error) {
		changed = r.NextPaymentAttempt != nil || r.ChargedPhone != ""
		return changed, s.stopCharges(tx, r)
	})
}

// stopCharges ends the automatic charges of an invoice. It cancels a payment whose prompt was not sent yet. An
// invoice with nothing due has no charges, and stays queued to be marked paid.
func (s *Service) stopCharges(tx *engine.Tx, r *record) error {
	if r.AmountDue == 0 {
		return nil
	}
	r.NextPaymentAttempt, r.NextWorkAt, r.ChargedPhone = nil, nil, ""
	if r.OpenPayment == "" {
		return nil
	}
	cancelled, err := s.config.Payments.CancelPending(tx, r.OpenPayment)
	if cancelled {
		r.OpenPayment = ""
	}
	return err
}

// SendInstead ends the automatic charges of the given invoices that are open. It sets them to
// SendInvoice, due at the given time.
func (s *Service) SendInstead(tx *engine.Tx, ids []string, due time.Time) error {
	return s.eachOpen(tx, ids, func(r *record) (changed bool, err error) {
		if r.CollectionMethod != invoice.ChargeAutomatically {
			return false, nil
		}
		if err := s.stopCharges(tx, r); err != nil {
			return false, err
		}
		r.CollectionMethod, r.DueDate = invoice.SendInvoice, api.AtOrNil(due)
		if err := s.scheduleReminders(tx, r); err != nil {
			return false, err
		}
		return true, s.recordEvents(tx, r, event.InvoiceUpdated)
	})
}

// ChangeChargedPhone sets the phone, +233…, that later automatic charges ask for the given invoices
// that are open.
func (s *Service) ChangeChargedPhone(tx *engine.Tx, ids []string, number string) error {
	return s.eachOpen(tx, ids, func(r *record) (changed bool, err error) {
		if r.NextPaymentAttempt == nil || r.ChargedPhone == number {
			return false, nil
		}
		r.ChargedPhone = number
		return true, nil
	})
}

// eachOpen changes those of the invoices that are open. change reports whether it has changed one.
func (s *Service) eachOpen(tx *engine.Tx, ids []string, change func(*record) (changed bool, err error)) error {
	for _, id := range ids {
		o, err := s.get(tx, engine.Scope(tx.Caller), id)
		if err != nil {
			return err
		}
		if o.Value.Status != invoice.Open {
			continue
		}
		changed, err := change(&o.Value)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if err := s.save(tx, o); err != nil {
			return err
		}
	}
	return nil
}
