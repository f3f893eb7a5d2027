package collect

import (
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
)

// decision is what staff have booked by hand on the merchant's balance for a payment from a phone whose provider
// contradicted itself. The payment's status stays.
type decision struct {
	// Booked is the sum of the adjustments that name the payment, in pesewas, and At the time of the last one.
	Booked int64    `json:"booked"`
	At     api.Time `json:"at"`
	// Told says that payer and merchant were told that the payment was booked as paid.
	Told bool `json:"told,omitempty"`
}

// bookedAsPaid reports whether the merchant has the money of a payment that has failed, or was cancelled.
func (r *record) bookedAsPaid() bool {
	return (r.Status == payment.Failed || r.Status == payment.Cancelled) && r.Decision != nil && r.Decision.Booked > 0
}

// bookedAsUnpaid reports whether staff have taken the money of a completed payment from the merchant again.
func (r *record) bookedAsUnpaid() bool {
	return r.Status == payment.Completed && r.Decision != nil && r.Decision.Booked < 0 && -r.Decision.Booked >= *r.Net
}

// adjusted notes an adjustment that names a payment from a phone, and tells payer and merchant of one that was
// booked as paid.
func (s *Service) adjusted(tx *engine.Tx, a *account.Adjustment, pesewas int64) error {
	if !strings.HasPrefix(a.Reference, "pay_") {
		return nil
	}
	o, err := engine.OrNil(payments.Get(tx, engine.Scope(tx.Caller), a.Reference))
	if o == nil || err != nil { // the reference may be anything
		return err
	}
	r := &o.Value
	if r.fillDerived(); r.Phoned == nil || !ended(r.Status) {
		return nil
	}
	if r.Decision == nil {
		r.Decision = &decision{}
	}
	r.Decision.Booked += pesewas
	r.Decision.At = api.At(tx.Now)
	if r.bookedAsPaid() && !r.Decision.Told {
		r.Decision.Told = true
		if err := s.textBooked(tx, r); err != nil {
			return err
		}
	}
	return s.write(tx, o)
}

// textBooked tells payer and merchant that a payment is paid after all. The texts name no member of staff.
func (s *Service) textBooked(tx *engine.Tx, r *record) error {
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("payment: merchant: %w", err)
	}
	link, err := s.config.Messages.Link(tx, message.ReceiptPage, r.ID)
	if err != nil {
		return err
	}
	paid := "GHS " + money.Text(r.Amount) + " of " + smsTime(r.CreatedAt)
	text := s.config.Messages.Short(m.Name, "", func(name, _ string) string {
		return fmt.Sprintf("%s confirms: your %s is paid. Do not pay again. Receipt: %s", name, paid, link)
	})
	if err := s.config.Messages.Text(tx, r.ID, r.Phoned.Number, text); err != nil {
		return err
	}
	text = s.config.Messages.Short(m.Name, "", func(name, _ string) string {
		return fmt.Sprintf("%s from %s was unclear. It is now booked as paid to %s. See: %s", paid, r.masked(), name, link)
	})
	return s.config.Messages.Text(tx, r.ID, m.Phone, text)
}

// GivenBackText is the SMS to the payer of a payment that staff had booked as paid, once its money is back. It is
// empty for any other payment.
func (s *Service) GivenBackText(tx *engine.Tx, id string, pesewas int64) (string, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil || !o.Value.bookedAsPaid() {
		return "", err
	}
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return "", fmt.Errorf("payment: merchant: %w", err)
	}
	link, err := s.config.Messages.Link(tx, message.ReceiptPage, id)
	if err != nil {
		return "", err
	}
	return s.config.Messages.Short(m.Name, "", func(name, _ string) string {
		return fmt.Sprintf("%s gives back your GHS %s of %s to %s. See: %s",
			name, money.Text(pesewas), smsTime(o.Value.CreatedAt), o.Value.masked(), link)
	}), nil
}

// smsTime is a time in an SMS. Accra's clock is UTC.
func smsTime(t api.Time) string { return t.UTC().Format("2 Jan, 15:04") }
