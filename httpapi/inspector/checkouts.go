package inspector

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/invoice"
)

var checkoutNoun = &noun[checkout.Session]{
	path: "checkouts", one: "Checkout", many: "Checkouts", heads: [5]string{"Customer", "Amount", "Status", "For", "Time"},
	tab: "status", tabs: states(checkout.Open, checkout.Complete, checkout.Expired), dated: true,
	search: "ID of a customer (cus_…) or a payment (pay_…)", empty: "A checkout sells over a page, and then leads the payer back to your website.",
	forms: func(v *visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make a checkout", Button: "Make the checkout", Main: true,
			Fields: append(line(), field{Name: "customer_email", Label: "Customer's e-mail", Kind: "email"},
				field{Name: "success_url", Label: "Where the payer goes afterwards", Kind: "url", Value: v.svc.BaseURL() + "/?session={CHECKOUT_SESSION_ID}"},
				field{Name: "reference", Label: "Reference"}),
			do: func(v *visit, in *input) (any, error) {
				return create(v, in, v.svc.Checkout.Create, checkout.CreateParams{
					Lines: []invoice.LineParams{in.line()}, Email: in.text("customer_email"), SuccessURL: in.text("success_url"), Reference: in.text("reference"),
				})
			},
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[checkout.Session], error) {
		return v.svc.Checkout.List(v.Context(), v.caller, checkout.ListParams{
			Page: page, Status: checkout.Status(v.param("status")), Customer: v.entered("customer", "cus_"), Payment: v.entered("payment", "pay_"), Created: v.created(),
		})
	},
	row: func(v *visit, s *checkout.Session) row {
		r := row{Href: v.url("checkouts", s.ID), Title: buyer(s), Amount: cedis(s.Total), Badge: state(s.Status), ForBelow: orEmpty(s.Reference), At: unix(s.Created)}
		if len(s.Lines.Data) > 0 {
			r.For = s.Lines.Data[0].Description
		}
		return r
	},
	get:  func(v *visit) (*checkout.Session, error) { return v.svc.Checkout.Get(v.Context(), v.caller, v.id) },
	page: (*visit).checkoutPage,
}

// buyer names who is to pay a session.
func buyer(s *checkout.Session) string {
	return orDefault(orEmpty(s.Name), orDefault(orEmpty(s.Email), "A payer"))
}

func (v *visit) checkoutPage(s *checkout.Session, p *page) (err error) {
	p.Title, p.Amount, p.Badge = "Checkout of "+plainMoney(s.Total), cedis(s.Total), state(s.Status)
	p.Sentence = sentence("%s at %s, %s", buyer(s), v.merchant.Name, v.when(unix(s.Created)))
	turns := []turn{{At: turnTime{Time: time.Unix(s.Created, 0)}, Title: "Made", Source: "API"}}
	happened := section{Title: "What happened", Timeline: turns}
	switch {
	case s.CompletedAt != nil:
		happened, err = v.timeline("checkout.session", s.ID, time.Unix(*s.CompletedAt, 0), []step{{"completed", "Paid", "Payer", "good"}}, turns...)
	case s.Status == checkout.Expired:
		happened.Timeline = append(turns, turn{At: turnTime{Time: time.Unix(s.ExpiresAt, 0)}, Title: "Expired", Source: "Payments", Tone: "wait"})
	}
	lines := &table{Caption: "Lines", Numbers: true, Head: []string{"Description", "Quantity", "Amount in GH₵"}}
	for _, l := range s.Lines.Data {
		lines.Rows = append(lines.Rows, []any{l.Description, l.Quantity.String() + " × " + look.Figures(l.UnitAmount), look.Figures(l.Amount)})
	}
	p.Live = []section{{Title: "Lines", Table: lines}, happened}
	var at *link
	if s.URL != nil {
		at = &link{*s.URL, *s.URL}
	}
	p.Side = []section{
		{Title: "Money", Money: facts("Subtotal", cedis(s.Subtotal), "Discount", cedis(-s.Discount), "Tax", cedis(s.Tax), "Total", cedis(s.Total))},
		{Title: "Payer", Facts: facts("Name", s.Name, "E-mail", s.Email, "Phone", maskedNumber(orEmpty(s.Phone)), "Customer", v.linked("customers", s.Customer))},
		{Title: "Details", Facts: facts("Page", at, "Afterwards", s.SuccessURL, "Reference", s.Reference, "Payment", v.linked("payments", s.Payment), "Coupon", v.linked("coupons", s.Coupon),
			"Subscription", v.linked("subscriptions", s.Subscription), "Checkout", id(s.ID), "Expires", unix(s.ExpiresAt))},
	}
	if s.Status == checkout.Open {
		wallets, err := v.wallets()
		if err != nil {
			return err
		}
		will := facts("From", buyer(s), "To", v.merchant.Name, "Amount", cedis(s.Total))
		p.Forms = []*form{
			{
				Name: "pay", Title: "Pay as a consumer", Label: "Pay from a wallet", Button: "Pay " + plainMoney(s.Total), Main: true, Fields: payer(wallets), Will: will,
				do: func(v *visit, in *input) (any, error) {
					return update(v, in, v.svc.Checkout.Pay, checkout.PayParams{Wallet: in.wallet("wallet"), PIN: in.text("pin")})
				},
			},
			{
				Name: "pay-phone", Title: "Pay from a phone", Button: "Ask the phone for " + plainMoney(s.Total), Fields: phonePayer(), Will: will,
				do: func(v *visit, in *input) (any, error) {
					return update(v, in, v.svc.Checkout.Pay, checkout.PayParams{MobileMoney: in.phonePayer()})
				},
			},
			{Name: "expire", Title: "Let the checkout expire", Label: "Expire", Button: "Let it expire", Danger: true, Note: "Nobody can pay it any more.", do: act(v.svc.Checkout.Expire)},
		}
	}
	return err
}
