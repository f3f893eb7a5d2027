package inspector

// finders look for a whole value among the objects of a noun. The others have no index for more than
// ids: one costs each payout and each refund time.
var finders = []func(*visit, string) section{finder(paymentNoun), finder(customerNoun), finder(invoiceNoun), finder(subscriptionNoun), finder(checkoutNoun), finder(messageNoun)}

func finder[T any](n *noun[T]) func(*visit, string) section {
	return func(v *visit, q string) section { return n.related(v, n.many, "", "q", q) }
}

const wholeValues = "a whole value: an id, a reference, an amount, a phone number or its last four digits, a name or its first word."

// searchPage looks for a whole value. An id leads to the page of its object.
func (v *visit) searchPage() (*page, error) {
	q := v.param("q")
	p := &page{Title: "Search", Fixed: true, Filter: []field{{Name: "q", Label: "Search everything", Kind: "search", Value: q, Placeholder: "Name, phone, amount, reference or id"}}}
	if p.Redirect = v.source("", q); p.Redirect != "" {
		return p, nil
	}
	if q == "" {
		p.Live = []section{{Text: "Enter " + wholeValues}}
		return p, nil
	}
	for _, find := range finders {
		p.found(find(v, q))
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
