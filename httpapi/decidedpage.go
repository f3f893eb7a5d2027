package httpapi

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

// dayClock is a time with its day, as a sentence has it. Accra's clock is UTC.
func dayClock(t time.Time) string { return t.UTC().Format("2 Jan, 15:04") }

// keptPayment returns the newest of the selected payments that has failed or was cancelled although somebody has its
// money, or may have it: staff booked it as paid, or the provider has contradicted itself. It looks at the 10 newest
// of each status, and returns nil for none.
func keptPayment(r *request, payments payment.Service, caller api.Caller, of payment.ListParams) (*openRequest, error) {
	of.Page, of.PaymentMethod = api.Page{Limit: 10}, payment.FromPhone
	for _, of.Status = range []payment.Status{payment.Failed, payment.Cancelled} {
		list, err := payments.List(r.Context(), caller, of)
		if err != nil {
			return nil, err
		}
		for _, p := range list.Data {
			if p.AmountRefunded == p.Amount {
				continue
			}
			is, err := requestOf(r, payments, caller, p.ID)
			if err != nil {
				return nil, err
			}
			if is != nil && (is.BookedAsPaid || is.Contradicted) {
				return is, nil
			}
		}
	}
	return nil, nil
}

// confirmed is the receipt of a payment that staff have booked as paid. It names the merchant alone, and leads
// to nothing that pays.
func (v *outcomeView) confirmed(h *payment.Hosted, about *subject) {
	is, m := &h.Payment, v.Merchant
	v.Icon, v.Heading, v.Amount = checkIcon, "Paid, confirmed by "+m.Name+" on "+dayClock(h.DecidedAt), is.Amount
	first := upperFirst(networkName(is.Provider)) + " first said that this was not paid. It was, and "
	if is.Status == payment.Cancelled {
		first = "This was cancelled, but it was paid, and "
	}
	v.Text = look.Join(" ", first+m.Name+" has it.", givenBack(is))
	v.After = "Do not pay again."
	v.Facts = nil
	if about.Name != "" {
		v.Facts = append(v.Facts, fact{Name: "For", Text: about.Name})
	}
	v.Facts = append(v.Facts, paidWith("Paid with", is, payerNumber(h)), timeFact(is.CreatedAt.Time), fact{Name: "Payment", ID: is.ID})
	if about.Texts && h.Number != "" {
		v.Note = "An SMS with this was sent to " + payerNumber(h) + "."
	}
}

// givenBack says of a payment that staff had booked as paid that its money went back. Once it is there, the payer
// may pay again.
func (v *outcomeView) givenBack(h *payment.Hosted, about *subject) {
	is, m := &h.Payment, v.Merchant
	at := h.DecidedAt
	r := about.Refund
	if r != nil {
		at = r.CreatedAt.Time
		if r.CompletedAt != nil {
			at = r.CompletedAt.Time
		}
	}
	v.Icon, v.Heading, v.Amount = backIcon, "Given back by "+m.Name+" on "+dayClock(at), is.Amount
	after := "it had said “not paid”. "
	if is.Status == payment.Cancelled {
		after = "this was cancelled. "
	}
	v.Text = upperFirst(networkName(is.Provider)) + " took this after " + after + about.back(payerNumber(h))
	v.Facts = nil
	if !h.ReportedAt.IsZero() {
		taken := timeFact(h.ReportedAt)
		taken.Name = "Taken"
		v.Facts = append(v.Facts, taken)
	}
	back := timeFact(at)
	back.Name = "Given back"
	v.Facts = append(v.Facts, back, paidWith("To", is, payerNumber(h)), fact{Name: "Payment", ID: is.ID})
	if r != nil {
		v.Facts = append(v.Facts, fact{Name: "Refund", ID: r.ID})
	}
	if about.isBack() && about.Address != "" {
		v.Again = &action{Label: "Pay " + look.Money(is.Amount) + " now", URL: about.form(methodMobile)}
	}
}

// isBack reports whether the payer has the money of the newest refund.
func (s *subject) isBack() bool { return s.Refund != nil && s.Refund.Status == refund.Succeeded }

// back says where the money of a refund is.
func (s *subject) back(number string) string {
	if s.isBack() {
		return "The money is back on " + number + "."
	}
	return "The money is on its way back to " + number + "."
}

// unclear says that the provider has contradicted itself, and that nobody has decided yet.
func (v *outcomeView) unclear(h *payment.Hosted, about *subject) {
	is, m := &h.Payment, v.Merchant
	network := upperFirst(networkName(is.Provider))
	v.Icon, v.Heading, v.Before = clockIcon, "It is not clear whether this was paid", "Do not pay again."
	switch {
	case h.Reported == provider.Paid && is.Status == payment.Failed:
		v.Text = network + " first said that this was not paid, then that it was. "
	case h.Reported == provider.Paid:
		v.Text = "This was cancelled, and then " + networkName(is.Provider) + " said that it was paid. "
	default:
		v.Text = network + " has reported something else than this payment. "
	}
	v.Text += m.Name + " is finding out"
	if about.Texts {
		v.Text += ", and an SMS tells you"
	}
	v.Text += ". Ask " + m.Name + " if you cannot wait."
	v.Facts[1].Name = "From"
	v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time), fact{Name: "Payment", ID: is.ID})
}
