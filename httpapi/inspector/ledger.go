package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
)

var ledgerNoun = &noun[account.Entry]{
	path: "ledger", one: "Entry", many: "Ledger", heads: [5]string{"Movement", "Amount", "", "Balance", "Time"},
	forms: func(*visit) []*form { return []*form{addMoney()} },
	dated: true, empty: "Every change of the available balance stands here.",
	list: func(v *visit) (*api.List[account.Entry], error) { return choose(v, v.svc.Accounts.ListEntries) },
	row: func(v *visit, e *account.Entry) row {
		return row{Href: v.source(e.Type, e.Source), Title: words(e.Type), Below: e.Source, Amount: e.Amount, For: plainMoney(e.Balance), At: e.CreatedAt}
	},
}

// ledgerPage is the list of entries below the balance.
func (v *visit) ledgerPage() (*page, error) {
	p, err := ledgerNoun.listPage(v)
	if err != nil {
		return nil, err
	}
	p.Live = append([]section{{Figures: v.stocks()}}, p.Live...)
	return p, v.err
}

// sources are the pages of objects, by the prefix of their ids.
var sources = map[string]string{
	"pay": "payments", "re": "refunds", "bat": "batches", "cus": "customers", "inv": "invoices", "qr": "qr-codes", "we": "webhooks",
	"evt": "events", "msg": "messages", "prod": "products", "cpn": "coupons", "plan": "plans", "cs": "checkouts", "sub": "subscriptions", "acc": "consumers",
}

// source is the page of an object; empty where there is none. kind is the type of an entry or an
// event: payouts and disbursements share a prefix.
func (v *visit) source(kind, id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	path := sources[prefix]
	if prefix == "po" {
		path = "payouts"
		if strings.HasPrefix(kind, "disbursement") {
			path = "disbursements"
		}
	}
	if path == "" {
		return ""
	}
	return v.url(path, id)
}
