package invoicing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// takeTaxes sets n.Taxes to the note's part of the invoice's taxes. It returns the sums of these and of taken,
// which earlier notes have taken back.
//
// It rounds each rate once, and splits it over its parts in proportion to what is left of them. So the notes
// of an invoice that is refunded in full add up to its taxes and to their parts. But the taxes on the amount
// that credit has paid stay, since a refund does not give the credit back.
//
// No note takes back more tax than its amount. Rounding several rates could exceed a note of one pesewa: then
// a later note takes back the rest.
//
// An invoice with stated figures does not say what each of its rates has in the stated taxes. So takeTaxes leaves
// n.Taxes nil, and noteTaxRows computes what the note shows.
func takeTaxes(n *invoice.CreditNote, v *invoice.Invoice, taken []invoice.TaxRow) (sums []invoice.TaxRow) {
	if v.Stated != nil {
		return nil
	}
	rates := v.TaxRates()
	whole := v.Total + v.CreditUsed
	net, untaxed := n.Amount, whole-v.Tax-n.Before // of this note; of the invoice, and not taken back yet
	taxes, bases := make([]int64, len(rates)), make([]int64, len(rates), len(rates)+1)
	left := make([][]int64, len(rates)) // of the parts' taxes
	n.Taxes = nil
	for i := range rates {
		rows := rates[i].Rows()
		before := make([]invoice.TaxRow, len(rows))
		copy(before, taken[min(len(n.Taxes), len(taken)):])
		var had int64
		for j := range rows {
			had += before[j].Amount
			left[i] = append(left[i], rows[j].Amount-before[j].Amount)
		}
		taxes[i] = takenBack(rates[i].Tax(), n.Before+n.Amount, whole) - had
		net -= min(taxes[i], 0)
		bases[i] = rates[i].Base - before[0].Base
		untaxed += had - bases[i]
		n.Taxes = append(n.Taxes, rows...)
	}
	part := 0
	for i := range rates {
		if taxes[i] > 0 {
			taxes[i] = min(taxes[i], net)
			net -= taxes[i]
		}
		for _, share := range shares(taxes[i], left[i]) {
			n.Taxes[part].Amount = share
			part++
		}
	}
	bases = shares(net, append(bases, untaxed))
	row := 0
	for i := range rates {
		for range max(1, len(rates[i].Parts)) {
			n.Taxes[row].Base = bases[i]
			row++
		}
	}
	sums = slices.Clone(n.Taxes)
	for i, t := range taken {
		sums[i].Base += t.Base
		sums[i].Amount += t.Amount
	}
	return sums
}

// takenBack returns what the refund of a part of the whole takes back of a tax, rounded half up by its
// absolute value.
func takenBack(tax, refunded, whole int64) int64 {
	if tax < 0 { // of credit for a plan with another rate
		return -((-2*tax*refunded + whole) / (2 * whole))
	}
	return (2*tax*refunded + whole) / (2 * whole)
}

// noteTaxRows returns what the note takes back of the invoice's taxes, and the sum. For a note without taxes of
// its own it rounds the note's part of each row by itself. Then it leaves out what the tax is on.
func noteTaxRows(n *invoice.CreditNote, v *invoice.Invoice) (rows []invoice.TaxRow, sum int64) {
	rows = n.Taxes
	if rows == nil {
		whole := v.Total + v.CreditUsed
		rows = v.TaxRows()
		for i := range rows {
			t := &rows[i]
			t.Base, t.Amount = 0, takenBack(t.Amount, n.Before+n.Amount, whole)-takenBack(t.Amount, n.Before, whole)
		}
	}
	for _, t := range rows {
		sum += t.Amount
	}
	return rows, sum
}

var creditNotes = storage.NewCollection("credit_notes", []storage.Field[invoice.CreditNote]{
	storage.TextColumn("invoice", func(n *invoice.CreditNote) string { return n.Invoice }).Indexed(),
})

// Payment returns the payment of an invoice, for a refund.
//
// Refusals: resource_missing, payment_not_refundable.
func (s *Service) Payment(tx storage.ReadTx, scope storage.Scope, id string) (payment string, err error) {
	o, err := s.get(tx, scope, id)
	switch {
	case err != nil:
		return "", err
	case o.Value.PaidOutOfBand != nil:
		return "", api.Errorf(api.PaymentNotRefundable, "", "This invoice was paid outside of this service. Give the money back the way it came.")
	case o.Value.Status == invoice.Paid && o.Value.Payment == nil:
		return "", api.Errorf(api.PaymentNotRefundable, "", "Nothing was due of this invoice, so that there is nothing to refund.")
	case o.Value.Payment == nil:
		return "", api.Errorf(api.PaymentNotRefundable, "", "This invoice is %s; there is nothing to refund before it is paid.", o.Value.Status)
	}
	return *o.Value.Payment, nil
}

// PaidBy returns the id of the payment that paid an invoice; empty if none did.
func (s *Service) PaidBy(tx storage.ReadTx, scope storage.Scope, id string) (payment string, err error) {
	o, err := s.get(tx, scope, id)
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
	// Payer is the id of the account that paid. Phone is its number, or that of the phone that paid: it gets an
	// SMS in addition to the invoice's own number. Both may be empty.
	Payer, Phone string
	// Silent queues no messages to the customer.
	Silent bool
}

// Refunded records a refund on its invoice and writes the credit note. Unless p is silent, it queues the
// messages to the customer.
func (s *Service) Refunded(tx *engine.Tx, p RefundedParams) (*invoice.CreditNote, error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), p.Invoice)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	n := invoice.CreditNote{
		Refund: p.Refund, Invoice: r.ID, Amount: p.Amount, Before: r.Refunded,
		Reason: p.Reason, CreatedAt: api.At(tx.Now),
	}
	if n.Before+n.Amount > r.AmountPaid {
		return nil, fmt.Errorf("invoice: %s is refunded beyond what was paid", r.ID)
	}
	if n.Number, err = nextNumber(tx, "credit_note", "CN"); err != nil {
		return nil, err
	}
	r.RefundedTaxes = takeTaxes(&n, &r.Invoice, r.RefundedTaxes)
	if _, err := creditNotes.Insert(tx, engine.Scope(tx.Caller), n.Refund, n); err != nil {
		return nil, fmt.Errorf("invoice: keep credit note: %w", err)
	}
	r.Refunded += n.Amount
	s.fillDerived(r)
	if err := s.save(tx, o); err != nil {
		return nil, err
	}
	if err := s.tellOutcome(tx, r, OutcomeRefunded); err != nil {
		return nil, err
	}
	if p.Silent {
		return &n, nil
	}
	return &n, s.queueRefundMessages(tx, r, &n, p.Payer, p.Phone)
}

// queueRefundMessages queues the messages about a refund to the customer.
func (s *Service) queueRefundMessages(tx *engine.Tx, r *record, n *invoice.CreditNote, payer, phone string) error {
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
		Description: "Credit note " + n.Number + " is attached.", URL: r.HostedURL, Action: "See the invoice", Sums: mailSums(noteSums(n, &r.Invoice)),
	}, n.Refund)
}

// maxShownCreditNotes bounds the credit notes that a page shows. It shows the newest.
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

func (s *Service) CreditNotePDF(ctx context.Context, caller api.Caller, refund string) (data []byte, name string, err error) {
	c, err := s.creditNoteContents(ctx, caller, refund)
	if err != nil {
		return nil, "", err
	}
	data, err = s.document(ctx, caller, refund, *c)
	return data, c.creditNote.Number + ".pdf", err
}

// CreditNoteAddress returns the address at which the PDF of a refund's credit note is read without an API key.
// Refusals: resource_missing.
func (s *Service) CreditNoteAddress(ctx context.Context, e *engine.Engine, caller api.Caller, refund string) (string, error) {
	c, err := s.In(e).creditNoteContents(ctx, caller, refund)
	if err != nil {
		return "", err
	}
	return c.creditNote.Address(c.invoice), nil
}

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
