package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
)

// payPage is the public page that a merchant's QR code points to.
type payPage struct{ *hostedPages }

func (p *payPage) routes() []route {
	return pageRoutes(
		problemPages("There is nothing to pay here. The QR code may have been withdrawn. If you have just paid, do not pay again; otherwise ask for a new code."),
		route{method: http.MethodGet, pattern: "/pay/{id}", handle: p.show},
		route{method: http.MethodPost, pattern: "/pay/{id}", handle: p.pay},
		route{method: http.MethodGet, pattern: "/pay/{id}/logo", handle: logoOf(p.Accounts, p.find, func(h *qrcode.Hosted) string { return h.Merchant.ID })},
		route{method: http.MethodGet, pattern: "/pay/{id}/receipt/{payment}", handle: p.receipt},
	)
}

func (p *payPage) find(r *request) (*qrcode.Hosted, error) {
	return p.QRCodes.Hosted(r.Context(), r.id())
}

// qrView is what the template of the page sees.
type qrView struct {
	pageView
	// Action is the address to which the form is posted.
	Action string
	Form   waysView
}

// show is the page, and, with .png at the end of the path, the picture of the
// code.
func (p *payPage) show(r *request) (any, error) {
	id, picture := strings.CutSuffix(r.id(), ".png")
	offer, err := p.QRCodes.Hosted(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if picture {
		data, err := offer.Code.Image(qrcode.PNG, qrcode.DefaultSize)
		if err != nil {
			return nil, err
		}
		answer := newResponse("image/png", data)
		// What the picture shows never changes while the code exists.
		answer.setHeader("Cache-Control", "public, max-age=300")
		return answer, nil
	}
	code := &offer.Code
	open, err := p.opened(r, offer.Caller, offer.Code.ID)
	if err != nil {
		return nil, err
	}
	if open != nil && !open.Left && r.URL.Query().Get("again") != "1" {
		return p.showOpen(http.StatusOK, offer, open)
	}
	if offer.Refusal == nil && code.UsageLimit != nil && code.UsageCount == *code.UsageLimit-1 { // its last use may be paid
		m := newMerchantView(&offer.Merchant, code.ID+"/logo", code.Name, code.Description)
		page, err := undecidedPage(r, p.Payments, offer.Caller, payment.ListParams{QRCode: code.ID}, m)
		if err != nil || page != nil {
			return page, err
		}
	}
	// The page of a payment that failed leads here with the amount and the other way to pay.
	form := r.emptyForm()
	form.Amount = r.URL.Query().Get("amount")
	if open.waits() {
		form.First = open.view()
	}
	return p.form(http.StatusOK, offer, form)
}

// showOpen leads the payer to the payment that this browser has begun. A status other than 200 says that it
// answers a form.
func (p *payPage) showOpen(status int, offer *qrcode.Hosted, open *openRequest) (*response, error) {
	code := &offer.Code
	m := newMerchantView(&offer.Merchant, code.ID+"/logo", code.Name, code.Description)
	if open.waits() {
		v := openView{
			pageView: pageView{Title: "Pay " + m.Name, Test: !code.Livemode, Merchant: m}, Request: open.view(), Refused: status != http.StatusOK,
		}
		if code.Amount != nil {
			v.Due = *code.Amount
		}
		return renderPage(status, "open", v)
	}
	is := &open.Payment
	v := outcomeView{
		pageView: pageView{Test: !is.Livemode, Merchant: m}, Questions: true, Alert: status != http.StatusOK,
		Facts: []fact{{Name: "Amount", Money: is.Amount}, paidWith("From", is, payerNumber(open.Hosted)), {Name: "Payment", ID: is.ID}},
		Actions: []action{
			{Label: "Check the payment", URL: open.view().Address, Main: true}, {Label: "I did not approve it", URL: code.ID + "?again=1"},
		},
	}
	v.notKnown(is)
	v.Title = v.Heading + " · " + m.Name
	return renderPage(status, "outcome", v)
}

// form renders the page of a code that is open, or says why it cannot be paid.
func (p *payPage) form(status int, offer *qrcode.Hosted, form waysView) (*response, error) {
	code := &offer.Code
	m := newMerchantView(&offer.Merchant, code.ID+"/logo", code.Name, code.Description)
	if offer.Refusal != nil {
		return renderPage(status, "outcome", closedView(offer, m, status != http.StatusOK))
	}
	form.offerNetworks(p.Payments.Networks(code.Livemode))
	if form.AskAmount = code.Amount == nil; !form.AskAmount {
		form.Due = *code.Amount
	}
	return renderPage(status, "qr", qrView{
		pageView: pageView{Title: "Pay " + m.Name, Test: !code.Livemode, Merchant: m}, Action: code.ID, Form: form,
	})
}

// closedView says why a code cannot be paid, and what to ask the merchant for. refused says that it answers
// a form. Who only looks may have paid before, and a payment that waits on the phone is still taken.
func closedView(offer *qrcode.Hosted, m *merchantView, refused bool) outcomeView {
	before, ask := "", "If you have just paid, or approved a payment on your phone, do not pay again. Otherwise ask "
	if refused {
		before, ask = "Nothing was taken.", "To pay, ask "
	}
	v := outcomeView{
		pageView: pageView{Title: m.Name, Test: !offer.Code.Livemode, Merchant: m}, Questions: true, Icon: stopIcon,
		Heading: "This code cannot be paid", Text: offer.Refusal.Message,
	}
	switch offer.Refusal.Code {
	case api.QRLimitReached:
		v.Icon, v.Heading = checkIcon, "This code has been used"
		v.Text = "It was paid as often as it may be. If you still have something to pay, ask " + m.Name + " for a new code."
	case api.QRExpired:
		v.Icon, v.Heading, v.Before = clockIcon, "This code has expired", before
		v.Text = ask + m.Name + " for a new code."
	case api.QRInactive:
		v.Heading, v.Before = "This code was withdrawn", before
		v.Text = ask + m.Name + " for the code that is in use now."
	}
	return v
}

// pay takes the form.
func (p *payPage) pay(r *request) (any, error) {
	offer, err := p.find(r)
	if err := p.checkRate(r, err); err != nil {
		return nil, err
	}
	form, err := r.payForm(offer.Caller)
	if err != nil {
		return nil, err
	}
	var amount *int64
	if offer.Code.Amount == nil {
		amount, err = look.Amount("amount", form.Amount)
	}
	location, token := "", ""
	if err == nil {
		err = p.payWith(r, form, func(m means) error {
			paid, err := p.QRCodes.Pay(r.Context(), form.caller, offer.Code.ID, qrcode.PayParams{
				MobileMoney: m.MobileMoney, Wallet: m.Wallet, PIN: m.PIN, From: m.From, Amount: amount,
			})
			switch {
			case err != nil:
				return err
			case form.Wallets:
				location = offer.Code.ID + "/receipt/" + paid.ID
				return nil
			}
			token, err = p.Payments.PageToken(r.Context(), offer.Caller, paid.ID)
			location = "../payment/" + token
			return err
		})
	}
	if err == nil {
		answer := seeOther(location)
		if token != "" {
			p.remember(r, answer, offer.Code.ID, token)
		}
		return answer, nil
	}
	open, failed := p.opened(r, offer.Caller, offer.Code.ID)
	if failed != nil {
		return nil, failed
	}
	return form.refused(err, func(e *api.Error) (*response, error) {
		switch e.Code {
		case api.QRInactive, api.QRExpired, api.QRLimitReached:
			offer.Refusal = e
		case api.PaymentInProgress:
			if open.waits() {
				return p.showOpen(statusOf(e), offer, open)
			}
		case api.TooManyPrompts:
			number, _ := phone.Parse(form.Phone)
			switch {
			case !open.waits():
			case errors.Is(e, payment.ErrPhoneAsked) && number == open.Number:
				return p.showOpen(statusOf(e), offer, open)
			case !errors.Is(e, payment.ErrPhoneAsked): // nothing that leads to paying twice
				form.Problem = "This phone was asked to approve payments too often. Try again later."
			}
		}
		if open.waits() {
			form.First = open.view()
		}
		return p.form(statusOf(e), offer, form.waysView)
	})
}

// receipt is the page after a payment from a wallet. One from a phone has a page of its own, behind a
// secret.
func (p *payPage) receipt(r *request) (any, error) {
	offer, err := p.find(r)
	if err != nil {
		return nil, err
	}
	paid, err := p.Payments.Get(r.Context(), offer.Caller, r.PathValue("payment"))
	if err != nil {
		return nil, err
	}
	if paid.QRCode == nil || *paid.QRCode != offer.Code.ID || paid.PaymentMethod != payment.ServiceWallet {
		return nil, api.NoSuch("payment")
	}
	m := newMerchantView(&offer.Merchant, "../logo", offer.Merchant.Address)
	return renderPage(http.StatusOK, "outcome", receiptView(m, paid, maskedPhone(paid.Phone), offer.Code.Name, p.Messages.CanText(paid.Livemode)))
}
