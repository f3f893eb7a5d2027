package invoicing

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
)

//go:embed mail.html
var mailText string

var mailTemplate = template.Must(template.New("mail").Parse(mailText))

// emailData is what the template of an e-mail about an invoice shows.
type emailData struct {
	Merchant, Title, Amount, State, Description, Due, Payment, URL, Action string
	// Sums are the totals; nil if there is none but the amount.
	Sums []mailSum
}

// mailSum is a row of the totals, with its amount as people read it.
type mailSum struct{ Name, Amount string }

// mailSums returns the rows of totals that an e-mail shows, up to the total. It returns nil without a tax or a
// discount.
func mailSums(sums []invoice.Sum) (rows []mailSum) {
	for _, s := range sums {
		rows = append(rows, mailSum{s.Name, money.Figures(s.Amount)})
		if s.Bold {
			break
		}
	}
	if len(rows) < 3 {
		return nil
	}
	return rows
}

// queueInvoiceMessages queues an e-mail and an SMS about an invoice to the customer, as far as the invoice has
// an e-mail address and a number. It reports whether the invoice has either.
func (s *Service) queueInvoiceMessages(tx *engine.Tx, r *record) (queued bool, err error) {
	return s.queueMessages(tx, r, false)
}

// queueMessages is queueInvoiceMessages, or, with reminder set, queues a reminder of the invoice.
func (s *Service) queueMessages(tx *engine.Tx, r *record, reminder bool) (queued bool, err error) {
	if r.textPhone() == nil && r.Email == nil {
		return false, nil
	}
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return false, fmt.Errorf("invoice: merchant: %w", err)
	}
	word, state, due := "Invoice", "", ""
	switch {
	case reminder:
		word, due = "Reminder of invoice", ", due "+day(r.DueDate.Time)
	case r.Status == invoice.Paid: // the customer must not pay again
		state, due = "It is paid. Thank you.", ", paid"
	case r.Status == invoice.Open && r.AmountDue == 0:
		state, due = nothingDue, ", nothing to pay"
	}
	if number := r.textPhone(); number != nil {
		text := fmt.Sprintf("%s %s from %s: GHS %s%s. %s", word, r.Number, s.config.Messages.Name(m.Name), money.Text(r.Total), due, r.HostedURL)
		if err := s.config.Payments.Text(tx, r.person(), *number, text); err != nil {
			return false, err
		}
	}
	e := emailData{
		Merchant: m.Name, Title: word + " " + r.Number, Amount: money.Text(r.Total), State: state,
		URL: r.HostedURL, Action: "See the invoice", Sums: mailSums(r.Sums()),
	}
	if r.Status == invoice.Open && r.AmountDue > 0 {
		e.Action = "See and pay the invoice"
		if r.DueDate != nil {
			e.Due = day(r.DueDate.Time)
		}
	}
	engine.SetGiven(&e.Description, r.Description)
	return true, s.email(tx, r, m, e, r.ID)
}

// textPhone returns the customer's number if it can get an SMS; nil for none, and for one of another country.
func (r *record) textPhone() *string {
	if r.Phone == nil || phone.IsForeign(*r.Phone) {
		return nil
	}
	return r.Phone
}

// receiptTarget returns the number that gets a text about a payment: the customer's on the invoice or, without
// one, the payer's. person is the id whose erasure erases the text.
func (r *record) receiptTarget(payer, number string) (person, to string) {
	person, to = r.person(), number
	engine.SetGiven(&to, r.textPhone())
	if payer != "" && to == number && (r.textPhone() == nil || person == "") {
		person = payer
	}
	return person, to
}

// nothingDue is what an e-mail says of an invoice of 0.
const nothingDue = "There is nothing to pay."

// receipts queues the messages about a payment to the customer and the merchant. For an invoice of 0 there
// was no payment, so it queues only an e-mail with the invoice to the customer.
func (s *Service) receipts(tx *engine.Tx, r *record, p payer) error {
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("invoice: merchant: %w", err)
	}
	if r.AmountPaid == 0 {
		return s.emailReceipt(tx, r, m)
	}
	person, to := r.receiptTarget(p.source.Payer, p.phone)
	amount, by := money.Text(r.AmountPaid), ""
	if r.Payment != nil {
		by = " Payment " + *r.Payment + "."
	}
	text := fmt.Sprintf("You paid GHS %s to %s for invoice %s.%s", amount, s.config.Messages.Name(m.Name), r.Number, by)
	if err := s.config.Payments.Text(tx, person, to, text); err != nil {
		return err
	}
	if p.person != "" && p.phone != to {
		if err := s.config.Payments.Text(tx, p.person, p.phone, text); err != nil {
			return err
		}
	}
	if r.OutOfBandMethod == nil { // else the merchant has reported the payment
		if err := s.config.Messages.Text(tx, "", m.Phone, fmt.Sprintf("Invoice %s was paid: GHS %s.%s", r.Number, amount, by)); err != nil {
			return err
		}
	}
	return s.emailReceipt(tx, r, m)
}

// emailReceipt queues the receipt of a paid invoice.
func (s *Service) emailReceipt(tx *engine.Tx, r *record, m *account.Merchant) error {
	e := emailData{
		Merchant: m.Name, Title: "Receipt for invoice " + r.Number, Amount: money.Text(r.AmountPaid),
		URL: r.HostedURL, Action: "See the invoice", Sums: mailSums(r.Sums()),
	}
	if r.AmountPaid == 0 {
		e.Title, e.State = "Invoice "+r.Number, nothingDue
	}
	engine.SetGiven(&e.Payment, r.Payment)
	return s.email(tx, r, m, e, r.ID)
}

// email queues an e-mail to the customer, if the invoice has an e-mail address. attach is the id of the
// invoice or refund whose PDF is attached; empty for none.
func (s *Service) email(tx *engine.Tx, r *record, m *account.Merchant, e emailData, attach string) error {
	if r.Email == nil {
		return nil
	}
	var html bytes.Buffer
	if err := mailTemplate.Execute(&html, e); err != nil {
		return fmt.Errorf("invoice: write e-mail: %w", err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s from %s\n\nGHS %s\n", e.Title, e.Merchant, e.Amount)
	if e.State != "" {
		fmt.Fprintf(&text, "\n%s\n", e.State)
	}
	if e.Description != "" {
		fmt.Fprintf(&text, "\n%s\n", e.Description)
	}
	if len(e.Sums) > 0 {
		text.WriteString("\n")
	}
	for _, s := range e.Sums {
		fmt.Fprintf(&text, "%s: GHS %s\n", s.Name, s.Amount)
	}
	if e.Due != "" {
		fmt.Fprintf(&text, "\nPlease pay by %s.\n", e.Due)
	}
	if e.Payment != "" {
		fmt.Fprintf(&text, "\nPayment %s. Thank you.\n", e.Payment)
	}
	fmt.Fprintf(&text, "\n%s: %s\n", e.Action, e.URL)
	return s.config.Messages.Email(tx, r.person(), message.Email{
		To: *r.Email, FromName: oneLine(m.Name), Subject: oneLine(e.Title + " from " + m.Name), Text: text.String(), HTML: html.String(),
	}, attach)
}

// oneLine joins the lines of a name, which becomes part of a header.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Attachment makes the PDF of the invoice with that id, or, for the id of a refund, the PDF of its
// credit note.
func (s *Service) Attachment(ctx context.Context, caller api.Caller, id string) (*message.Attachment, error) {
	render := s.PDFFile
	if strings.HasPrefix(id, "re_") {
		render = s.CreditNotePDF
	}
	data, name, err := render(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return &message.Attachment{Name: name, Type: "application/pdf", Data: data}, nil
}
