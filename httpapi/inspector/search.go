package inspector

// searched are the nouns with an index for more than ids: one costs each payout and each refund time.
var searched = []func(v *visit, param, value string) section{
	paymentNoun.related, customerNoun.related, invoiceNoun.related, subscriptionNoun.related, checkoutNoun.related, messageNoun.related,
}

const wholeValues = "a whole value: an id, a reference, an amount, a phone number or its last four digits, a name or its first word."

// searchPage looks for a whole value. An id leads to the page of its object. A reference may look like an id.
func (v *visit) searchPage() (*page, error) {
	q := v.param("q")
	p := &page{Title: "Search", Fixed: true, Filter: []field{{Name: "q", Label: "Search everything", Kind: "search", Value: q, Placeholder: "Name, phone, amount, reference or id"}}}
	for _, kind := range []string{"", "disbursement"} { // payouts and disbursements share a prefix
		if find := finders[pathOf(kind, q)]; find != nil {
			r, err := find(v, q)
			if v.note(err); err == nil {
				p.Redirect = r.Href
				return p, v.err
			}
		}
	}
	if q == "" {
		p.Live = []section{{Text: "Enter " + wholeValues}}
		return p, nil
	}
	for _, related := range searched {
		p.found(related(v, "q", q))
	}
	if len(p.Live) == 0 {
		p.Live = []section{{Empty: empty{Title: "Nothing matches", Text: "Found is " + wholeValues}}}
	}
	return p, v.err
}

// found adds a section that has rows.
func (p *page) found(s section) {
	if len(s.Rows) > 0 {
		p.Live = append(p.Live, s)
	}
}
