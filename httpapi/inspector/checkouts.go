package inspector

import (
	"cmp"
	"time"

	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/look"
)

var checkoutNoun = &noun[checkout.Session]{
	path: "checkouts", prefix: "cs", way: "from ", one: "Checkout", many: "Checkouts", heads: [5]string{"Customer", "Amount", "Status", "For", "Time"},
	tab: "status", tabs: options(checkout.Open, checkout.Complete, checkout.Expired), dated: true, loud: true,
	search: "Name, e-mail or phone", empty: "A checkout sells over a page, and then leads the payer back to your website.",
	forms: func(v *visit) []*form {
		return []*form{making("checkout", makes(v.svc.Checkout.Create), ask(line, "customer_email", field{Name: "success_url", Label: "Where the payer goes afterwards", Kind: "url", Value: v.svc.BaseURL() + "/?session={CHECKOUT_SESSION_ID}"}, "reference"))}
	},
	reads: func(v *visit) reader[checkout.Session] { return reading(v.svc.Checkout.List, v.svc.Checkout.Get) },
	row: func(v *visit, s *checkout.Session) row {
		r := row{Href: v.url("checkouts", s.ID), Title: cmp.Or(look.Text(s.Name), look.Text(s.Email), "A payer"), Amount: cedis(s.Total), Badge: state(s.Status), ForBelow: look.Text(s.Reference), At: unix(s.Created)}
		if len(s.Lines.Data) > 0 {
			r.For = s.Lines.Data[0].Description
		}
		return r
	},
	page: (*visit).checkoutPage,
}

func (v *visit) checkoutPage(s *checkout.Session, p *page) {
	p.Sentence = sentence("%s at %s, %s", p.row.Title, v.merchant.Name, v.when(unix(s.Created)))
	turns := []turn{{At: unix(s.Created), Title: "Made", Source: "API"}}
	if s.Status == checkout.Expired {
		turns = append(turns, turn{At: unix(s.ExpiresAt), Title: "Expired", Tone: "wait"})
	}
	happened := inOrder(whatHappened, turns)
	if s.CompletedAt != nil {
		happened = v.timeline("checkout.session", s.ID, time.Unix(*s.CompletedAt, 0), "", nil, turns...)
	}
	p.Live = []section{{Title: "Lines", Table: linesTable(s.Lines.Data)}, happened}
	p.Side = []section{
		{Title: "Money", Money: facts("Subtotal", cedis(s.Subtotal), "Discount", unlessNone(cedis(-s.Discount)), "Tax", unlessNone(cedis(s.Tax)), "Total", p.Amount)},
		{Title: "Payer", Facts: facts("Name", cmp.Or(v.linked("customers", s.Customer), link{Text: look.Text(s.Name)}), "E-mail", s.Email, "Phone", look.Phone(look.Text(s.Phone)))},
		{Title: "Details", Facts: facts("Page", address(look.Text(s.URL)), "Afterwards", address(s.SuccessURL), "Reference", s.Reference, "Payment", v.linked("payments", s.Payment), "Coupon", v.linked("coupons", s.Coupon),
			"Subscription", v.linked("subscriptions", s.Subscription), "Checkout", id(s.ID), "Expires", unix(s.ExpiresAt))},
	}
	if s.Status == checkout.Open {
		pay := changes(v.svc.Checkout.Pay)
		p.Forms = append(v.payForms(p.row.Title, p.Amount, pay, pay), &form{
			Name: "expire", Title: "Let the checkout expire", Label: "Expire", Button: "Let it expire", Danger: true, Note: "It can no longer be paid.", do: act(v.svc.Checkout.Expire),
		})
	}
}
