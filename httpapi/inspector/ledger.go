package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/look"
)

var ledgerNoun = &noun[account.Entry]{
	path: "ledger", one: "Entry", many: "Ledger", heads: [5]string{"Movement", "Amount", "", "", "Time"},
	forms: func(*visit) []*form { return []*form{addMoney()} },
	dated: true, empty: "Every change of the available balance stands here.",
	reads: func(v *visit) reader[account.Entry] {
		return reading[account.ListEntriesParams, account.Entry](v.svc.Accounts.ListEntries, nil)
	},
	row: func(v *visit, e *account.Entry) row {
		title, below := words(e.Type), e.Source
		if who := v.rowOf(e.Type, e.Source).Title; who != "" {
			title, below = who, title
		}
		return row{Href: v.source(e.Type, e.Source), Title: title, Below: look.Join(" · ", below, look.Money(pesewas(e.Balance))+" left"), Amount: e.Amount, At: e.CreatedAt}
	},
	also: func(v *visit, p *page) { p.Live = append([]section{{Figures: v.stocks()}}, p.Live...) },
}

// pathOf is the path of the list that an object is in; empty where there is none. kind is the type of an
// entry or an event: payouts and disbursements share a prefix.
func pathOf(kind, id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	switch {
	case prefix == "po" && strings.HasPrefix(kind, "disbursement"):
		return "disbursements"
	case kind == "top_up_refund": // which has the prefix of a payment's
		return ""
	}
	return paths[prefix]
}

// source is the page of an object; empty where there is none.
func (v *visit) source(kind, id string) string {
	if path := pathOf(kind, id); path != "" {
		return v.url(path, id)
	}
	return ""
}
