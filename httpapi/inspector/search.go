package inspector

import (
	"github.com/seed-7082ffec/payments/api"
)

// searchPage looks for an object by a whole value, everywhere. An id leads to its page.
func (v *visit) searchPage() (*page, error) {
	q := v.param("q")
	p := &page{Title: "Search", Fixed: true, Filter: []field{{Name: "q", Label: "Search", Kind: "search", Value: q, Placeholder: "Name, phone, amount, reference or id"}}}
	if at := v.source("", q); at != "" {
		p.Redirect = at
		return p, nil
	}
	if q == "" {
		p.Live = []section{{Text: "Enter a whole value: an id, a reference, an amount, a phone number or its last four digits, a name or its first word."}}
		return p, nil
	}
	p.Live = []section{{Empty: empty{Title: "Nothing matches", Text: "Search by whole values."}}}
	return p, nil
}

var _ = api.MaxLimit
