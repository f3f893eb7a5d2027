package invoice

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/storage"
)

// CreditNote is the document of a successful refund of an invoice. The invoice itself does not
// change.
type CreditNote struct {
	Refund  string `json:"refund"` // the refund's id, re_…, and the note's own
	Number  string `json:"number"` // CN-<year>-<6 digits>
	Invoice string `json:"invoice"`
	// Amount is in pesewas. Before is the sum of the invoice's earlier credit notes, in pesewas.
	Amount    int64    `json:"amount"`
	Before    int64    `json:"before"`
	Reason    string   `json:"reason,omitempty"`
	CreatedAt api.Time `json:"created_at"`
}

// Address returns the URL of the note's PDF. The URL needs no key.
func (n *CreditNote) Address(v *Invoice) string { return v.HostedURL + "/credit_notes/" + n.Refund }

// taxes are the parts of an invoice's taxes that a note takes back, and their sum. The notes of an invoice
// that is refunded in full add up to its taxes, whatever their parts are. But the taxes on what credit has
// paid stay, since a refund does not give the credit back.
func (n *CreditNote) taxes(v *Invoice) (rows []TaxRow, sum int64) {
	whole := v.Total + v.CreditUsed
	until := func(tax, refunded int64) int64 {
		if tax < 0 { // of credit for a plan with another rate
			return -((-2*tax*refunded + whole) / (2 * whole))
		}
		return (2*tax*refunded + whole) / (2 * whole)
	}
	for _, t := range v.TaxRows() {
		t.Amount = until(t.Amount, n.Before+n.Amount) - until(t.Amount, n.Before)
		rows = append(rows, t)
		sum += t.Amount
	}
	return rows, sum
}

var creditNotes = storage.NewCollection("credit_notes", []storage.Field[CreditNote]{
	storage.TextColumn("invoice", func(n *CreditNote) string { return n.Invoice }).Indexed(),
})

// Payment returns the payment of an invoice, for a refund.
//
// Refusals: resource_missing, payment_not_refundable.
func (in *Internal) Payment(tx storage.ReadTx, scope storage.Scope, id string) (payment string, err error) {
	o, err := in.svc.get(tx, scope, id)
	switch {
	case err != nil:
		return "", err
	case o.Value.PaidOutOfBand != nil:
		return "", api.Errorf(api.PaymentNotRefundable, "", "This invoice was paid outside of this service. Give the money back the way it came.")
	case o.Value.Status == Paid && o.Value.Payment == nil:
		return "", api.Errorf(api.PaymentNotRefundable, "", "Nothing was due of this invoice, so that there is nothing to refund.")
	case o.Value.Payment == nil:
		return "", api.Errorf(api.PaymentNotRefundable, "", "This invoice is %s; there is nothing to refund before it is paid.", o.Value.Status)
	}
	return *o.Value.Payment, nil
}

// PaidBy returns the id of the payment that paid an invoice; empty if none did.
func (in *Internal) PaidBy(tx storage.ReadTx, scope storage.Scope, id string) (payment string, err error) {
	o, err := in.svc.get(tx, scope, id)
	if err != nil || o.Value.Payment == nil {
		return "", err
	}
	return *o.Value.Payment, nil
}

// RefundedParams describes a successful refund of an invoice.
type RefundedParams struct {
	Refund  string // its id
	Invoice string
	Amount  int64 // pesewas
	Reason  string
	// Payer is the account that paid, and Phone its number, or that of the phone that paid. Phone gets an
	// SMS beside the invoice's own number. Both may be empty.
	Payer, Phone string
	// Silent says that the customer is told nothing.
	Silent bool
}

// Refunded notes on an invoice that a part of it was given back, writes the credit
// note and, unless p is silent, queues what the customer is told.
func (in *Internal) Refunded(tx *engine.Tx, p RefundedParams) (*CreditNote, error) {
	s := in.svc
	o, err := s.get(tx, engine.Scope(tx.Caller), p.Invoice)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	n := CreditNote{
		Refund: p.Refund, Invoice: r.ID, Amount: p.Amount, Before: r.Refunded,
		Reason: p.Reason, CreatedAt: api.At(tx.Now),
	}
	if n.Before+n.Amount > r.AmountPaid {
		return nil, fmt.Errorf("invoice: %s is refunded beyond what was paid", r.ID)
	}
	if n.Number, err = nextNumber(tx, "credit_note", "CN"); err != nil {
		return nil, err
	}
	if _, err := creditNotes.Insert(tx, engine.Scope(tx.Caller), n.Refund, n); err != nil {
		return nil, fmt.Errorf("invoice: keep credit note: %w", err)
	}
	r.Refunded += n.Amount
	s.fillDerived(r)
	if err := s.save(tx, o); err != nil {
		return nil, err
	}
	if p.Silent {
		return &n, nil
	}
	return &n, s.queueRefundMessages(tx, r, &n, p.Payer, p.Phone)
}

// queueRefundMessages queues the messages about a refund to the customer.
func (s *Service) queueRefundMessages(tx *engine.Tx, r *record, n *CreditNote, payer, phone string) error {
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("invoice: merchant: %w", err)
	}
	person, to := r.receiptTarget(payer, phone)
	amount := money.Text(n.Amount)
	text := fmt.Sprintf("%s refunded you GHS %s of invoice %s. Refund %s.", s.config.Messages.Name(m.Name), amount, r.Number, n.Refund)
	if err := s.config.Messages.Text(tx, person, to, text); err != nil {
		return err
	}
	if phone != to { // the money went to its holder
		if err := s.config.Messages.Text(tx, cmp.Or(payer, *r.Payment), phone, text); err != nil {
			return err
		}
	}
	return s.email(tx, r, m, emailData{
		Merchant: m.Name, Title: "Refund of invoice " + r.Number, Amount: amount,
		Description: "Credit note " + n.Number + " is attached.", URL: r.HostedURL, Action: "See the invoice",
	}, n.Refund)
}

// maxShownCreditNotes is how many credit notes a page shows, the newest.
const maxShownCreditNotes = 100

// creditNoteContents finds the credit note of a refund, with its invoice and merchant.
func (s *Service) creditNoteContents(ctx context.Context, caller api.Caller, refund string) (*contents, error) {
	var c *contents
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		n, err := engine.GetTx(tx, creditNotes, engine.Scope(caller), refund, "credit note")
		if err != nil {
			return err
		}
		o, err := s.get(tx, engine.Scope(caller), n.Value.Invoice)
		if err != nil {
			return err
		}
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return fmt.Errorf("invoice: merchant: %w", err)
		}
		c = &contents{invoice: &o.Value.Invoice, merchant: m, creditNote: &n.Value}
		return nil
	})
	return c, err
}

// CreditNotePDF returns the PDF of a refund's credit note, and the name of the file.
// A refund that has none, because it is of no invoice or did not succeed, is
// resource_missing.
func (s *Service) CreditNotePDF(ctx context.Context, caller api.Caller, refund string) (data []byte, name string, err error) {
	c, err := s.creditNoteContents(ctx, caller, refund)
	if err != nil {
		return nil, "", err
	}
	data, err = s.document(ctx, caller, refund, *c)
	return data, c.creditNote.Number + ".pdf", err
}

// CreditNoteAddress returns where the PDF of a refund's credit note is found without
// a key. Refusals: resource_missing.
func (in *Internal) CreditNoteAddress(ctx context.Context, caller api.Caller, refund string) (string, error) {
	s := in.svc
	c, err := s.creditNoteContents(ctx, caller, refund)
	if err != nil {
		return "", err
	}
	return c.creditNote.Address(c.invoice), nil
}

// HostedCreditNote is CreditNotePDF for the hosted page: token is the secret in the invoice's URL. An
// unknown secret or credit note is resource_missing.
func (s *Service) HostedCreditNote(ctx context.Context, token, refund string) (data []byte, name string, err error) {
	h, err := s.Hosted(ctx, token)
	if err != nil {
		return nil, "", err
	}
	c, err := s.creditNoteContents(ctx, h.Caller, refund)
	if err == nil && c.invoice.ID != h.Invoice.ID {
		err = api.NoSuch("credit note")
	}
	if err != nil {
		return nil, "", err
	}
	data, err = s.document(ctx, h.Caller, refund, *c)
	return data, c.creditNote.Number + ".pdf", err
}
