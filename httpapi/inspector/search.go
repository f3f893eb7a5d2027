package inspector

import (
	"net/url"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
)

// searchPage looks for a whole value among payments, customers and messages. An id leads to the page
// of its object.
func (v *visit) searchPage() (*page, error) {
	q := v.param("q")
	p := &page{Title: "Search", Fixed: true, Filter: []field{{Name: "q", Label: "Search everything", Kind: "search", Value: q, Placeholder: "Name, phone, amount, reference or id"}}}
	if p.Redirect = v.source("", q); p.Redirect != "" {
		return p, nil
	}
	if q == "" {
		p.Live = []section{{Text: "Enter a whole value: an id, a reference, an amount, a phone number or its last four digits, a name or its first word."}}
		return p, nil
	}
	some := api.Page{Limit: latest}
	paid, err := v.svc.Payments.Search(v.Context(), v.caller, payment.SearchParams{Text: q, ListParams: payment.ListParams{Page: some}})
	if err != nil {
		return nil, err
	}
	query := "?q=" + url.QueryEscape(q)
	v.found(p, related(v, paymentNoun, paid, "Payments", "", v.url("payments")+query))
	known, err := v.svc.Accounts.SearchCustomers(v.Context(), v.caller, q, some)
	if err != nil {
		return nil, err
	}
	v.found(p, related(v, customerNoun, known, "Customers", "", v.url("customers")+query))
	told, err := v.svc.Messages.List(v.Context(), v.caller, message.ListParams{Page: some, To: q})
	if err != nil {
		return nil, err
	}
	v.found(p, related(v, messageNoun, told, "Messages", "", v.url("messages")+query))
	if len(p.Live) == 0 {
		p.Live = []section{{Empty: empty{Title: "Nothing matches", Text: "Only whole values are found: an id, a reference, an amount, a phone number or its last four digits, a name or its first word."}}}
	}
	return p, v.err
}

// found adds a section that has rows.
func (v *visit) found(p *page, s section) {
	if len(s.Rows) > 0 {
		p.Live = append(p.Live, s)
	}
}
