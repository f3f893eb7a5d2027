package httpapi

import (
	"cmp"
	"net/http"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
)

// failureTexts are what the payer reads in place of the reasons of library and provider, which speak to the
// merchant. Other failures have their reason alone.
var failureTexts = map[provider.Failure]string{
	provider.FailureDeclined:          "The request was declined on the phone.",
	provider.FailureInsufficientFunds: "There is not enough money in this mobile money account.",
	provider.FailureTimeout:           "The request was not approved in time.",
	provider.FailureWrongCode:         "The code was wrong too often.",
	provider.FailureCancelled:         "The request was cancelled.",
	provider.FailureLimit:             "The amount is above a limit of the network or of this mobile money account.",
}

// failureText says why a payment has failed.
func failureText(is *payment.Payment) string {
	if is.FailureCode != nil {
		if own, found := failureTexts[*is.FailureCode]; found {
			return own
		}
	}
	return cmp.Or(look.Text(is.FailureReason), "The network did not carry out the payment.")
}

// newOutcomeView shows a payment that has ended, or whose time is over.
func newOutcomeView(h *payment.Hosted, m *merchantView, about *subject, address string) outcomeView {
	is := &h.Payment
	v := outcomeView{
		pageView: pageView{Test: !is.Livemode, Merchant: m}, Questions: true,
		Facts: []fact{{Name: "Amount", Money: is.Amount}, paidWith("Tried with", is, payerNumber(h))},
	}
	again := func() {
		if about.Address == "" {
			return
		}
		v.Actions = []action{{Label: "Try again", URL: about.form(methodMobile), Main: true}}
		if !about.PhonesOnly {
			v.Actions = append(v.Actions, action{Label: "Pay from a wallet", URL: about.form(methodWallet)})
		}
	}
	ended := is.Status == payment.Failed || is.Status == payment.Cancelled
	switch {
	case ended && h.BookedAsPaid && is.AmountRefunded == is.Amount:
		m.About = h.Merchant.Address
		v.givenBack(h, about)
	case ended && h.BookedAsPaid:
		m.About = h.Merchant.Address
		v.confirmed(h, about)
	case h.BookedAsUnpaid:
		v.Icon, v.Heading = stopIcon, "Not paid, as "+m.Name+" found out on "+dayClock(h.DecidedAt)
		v.Text = upperFirst(networkName(is.Provider)) + " first said that this was paid. It was not. Ask " + m.Name + " before you pay again."
		v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time), fact{Name: "Payment", ID: is.ID})
	case h.Contradicted && is.Status != payment.Completed:
		v.unclear(h, about)
	case ended && h.Doubted: // staff have kept the status, whoever has the money
		v.Icon, v.Heading = stopIcon, "Not paid"
		v.Text = m.Name + " found on " + dayClock(h.DecidedAt) + " that this stays unpaid, though " + networkName(is.Provider) +
			" had reported something else. If the money has left your phone, ask " + m.Name + " for it before you pay again."
		v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time), fact{Name: "Payment", ID: is.ID})
	case is.Status == payment.Completed:
		m.About = h.Merchant.Address
		v = receiptView(m, is, payerNumber(h), about.Name, about.Texts)
		if about.Invoice && about.Address != "" {
			v.Actions = []action{{Label: "See the invoice", URL: about.Address}}
		}
		if about.Next != "" {
			v.Actions, v.Note = []action{{Label: "Continue to " + m.Name, URL: about.Next, Main: true}}, ""
			if about.Texts {
				v.Note = textedNote
			}
			if about.leads(h) {
				v.Note = look.Join(" ", v.Note, "This page takes you back to "+m.Name+" by itself.")
			}
		}
		if h.Late { // the SMS was no receipt
			v.Note = ""
		}
		switch {
		case is.AmountRefunded == is.Amount:
			v.Heading, v.Icon, v.Text = "Paid, and given back", stopIcon, about.back("this number")
		case h.Late:
			v.Heading, v.Icon = "Paid too late", stopIcon
			v.Text = look.Join(" ", v.Text, "It was paid another way, or was no longer to be paid. Ask "+m.Name+" for the money back.")
		}
	case is.Status == payment.Failed:
		v.Icon, v.Heading, v.Text, v.After = crossIcon, "Not paid", failureText(is), "Nothing was taken."
		v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time))
		again()
	case is.Status == payment.Cancelled:
		v.Icon, v.Heading, v.Text, v.After = stopIcon, "Cancelled", "The payment was cancelled before the request went out.", "Nothing was taken."
		v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time))
		again()
	default:
		v.notKnown(is)
		v.Facts[1].Name = "From"
		v.Facts = append(v.Facts, fact{Name: "Payment", ID: is.ID})
		v.Actions = []action{{Label: "Check now", URL: address}}
		v.Note = "We keep asking. Look at this page again later."
		if about.Texts {
			v.Note = "We keep asking, and an SMS comes when it is paid. You can close this page."
		}
	}
	v.Title = v.Heading + " · " + m.Name
	return v
}

// notKnown says that it is not known yet whether the payer has paid.
func (v *outcomeView) notKnown(is *payment.Payment) {
	v.Icon, v.Heading = clockIcon, upperFirst(networkName(is.Provider))+" has not answered yet"
	v.Before, v.Text = "Do not pay again.", "If you approved on your phone, the payment arrives. If not, nothing is taken."
}

// undecidedPage stands in place of a form while a payment of those that of selects has no outcome. It is
// nil if there is none. A payer who has not approved it gets the form by a second step. Behind the secret
// in its address, the page leads to the payment. That of a QR code is public, and shows nothing of the payer.
// Of a payment whose money somebody has, or may have, it says what the payment's own page says, and leads to no
// second one.
func undecidedPage(r *request, payments payment.Service, caller api.Caller, of payment.ListParams, m *merchantView) (*response, error) {
	if of.QRCode == "" {
		kept, err := keptPayment(r, payments, caller, of)
		if err != nil {
			return nil, err
		}
		if kept != nil {
			v := newOutcomeView(kept.Hosted, m, &subject{}, "")
			v.Actions = []action{{Label: "See the payment", URL: kept.view().Address, Main: true}}
			return renderPage(http.StatusOK, "outcome", v)
		}
	}
	if r.URL.Query().Get("again") == "1" {
		return nil, nil
	}
	unknown, err := payments.Undecided(r.Context(), caller, of)
	if err != nil || unknown == nil {
		return nil, err
	}
	v := outcomeView{
		pageView: pageView{Test: !unknown.Livemode, Merchant: m}, Questions: true,
		Facts:   []fact{{Name: "Amount", Money: unknown.Amount}},
		Actions: []action{{Label: "I did not approve it", URL: r.id() + "?again=1"}},
	}
	if of.QRCode == "" {
		address, err := paymentAddress(r, payments, caller, unknown)
		if err != nil {
			return nil, err
		}
		v.Facts = append(v.Facts, fact{Name: "Payment", ID: unknown.ID})
		v.Actions = append([]action{{Label: "Check the payment", URL: address, Main: true}}, v.Actions...)
	}
	v.notKnown(unknown)
	v.Title = v.Heading + " · " + m.Name
	return renderPage(http.StatusOK, "outcome", v)
}
