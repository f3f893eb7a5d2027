package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// latest is how many of each the overview shows.
const latest = 5

// overview is the merchant's first page: the money, and the newest of everything.
func (v *visit) overview() (*page, error) {
	ctx := v.Context()
	money, err := v.money()
	if err != nil {
		return nil, err
	}
	some := api.Page{Limit: latest}
	payments, err := v.svc.Payments.List(ctx, v.caller, payment.ListParams{Page: some})
	if err != nil {
		return nil, err
	}
	payouts, err := v.svc.Payouts.List(ctx, v.caller, payout.ListParams{Page: some})
	if err != nil {
		return nil, err
	}
	messages, err := v.svc.Messages.List(ctx, v.caller, message.ListParams{Page: some})
	if err != nil {
		return nil, err
	}
	events, err := v.svc.Events.List(ctx, v.caller, event.ListParams{Page: some})
	if err != nil {
		return nil, err
	}
	stuck, err := v.needsPerson()
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Overview", NavPath: ".",
		Forms: []*form{{
			Name: "add-money", Title: "Add money", Button: "Add money",
			Hint:   "In test mode it comes from nowhere.",
			Fields: []field{{Name: "amount", Label: "Amount in GHS", Required: true, Value: "1000.00"}},
			do:     (*visit).addMoney,
		}},
		Static: []section{{Facts: nonEmpty(
			fact{Name: "Merchant", Value: v.merchant.ID, Code: true},
			fact{Name: "Service ID", Value: v.merchant.ServiceID, Code: true},
			fact{Name: "Phone", Value: v.merchant.Phone},
		)}},
		Live: append(stuck, []section{
			money,
			{Title: "Payments", Rows: rowsOf(payments, v.paymentRow), Empty: "Nobody has paid yet. Make a QR code and pay it.", More: v.url("payments")},
			{Title: "Payouts", Rows: rowsOf(payouts, v.transferRow), Empty: "Nothing was paid out yet.", More: v.url("payouts")},
			{Title: "Messages", Rows: rowsOf(messages, v.messageRow), Empty: "Nobody was told anything yet.", More: v.url("messages")},
			{Title: "Events", Rows: rowsOf(events, v.eventRow), Empty: "Nothing has happened yet.", More: v.url("events")},
		}...),
	}, nil
}

// needsPerson shows the orders at providers that a person must look after: transfers, refunds and
// charges. Without any it returns no section.
func (v *visit) needsPerson() ([]section, error) {
	list, err := v.svc.Providers.List(v.Context(), v.caller, provider.ListParams{Page: api.Page{Limit: perPage}})
	if err != nil || len(list.Data) == 0 {
		return nil, err
	}
	return []section{{Title: "Needs a person", Rows: rowsOf(list, v.orderRow)}}, nil
}

func (v *visit) orderRow(o *provider.OrderInfo) row {
	why := o.Contradiction
	if why == "" {
		why = "without an outcome for long"
	}
	return row{
		Href: v.source(o.Object, o.Record), Title: o.ID, Detail: joinNonEmpty(string(o.Flow), why),
		Amount: formatPesewas(o.Amount), At: api.At(o.CreatedAt),
	}
}

// money shows the balance.
func (v *visit) money() (section, error) {
	b, err := v.svc.Accounts.Balance(v.Context(), v.caller)
	if err != nil {
		return section{}, err
	}
	return section{Title: "Balance", Facts: []fact{
		{Name: "Available", Value: formatGHS(b.Available)},
		{Name: "Reserved for transfers under way", Value: formatGHS(b.Reserved)},
	}, More: v.url("ledger")}, nil
}

func (v *visit) addMoney(in *input) (*result, error) {
	amount := in.amount("amount")
	if err := in.err(); err != nil {
		return nil, err
	}
	return nil, v.svc.Accounts.Deposit(v.Context(), api.Caller{IdempotencyKey: v.caller.IdempotencyKey}, account.DepositParams{
		To: v.caller.Merchant, Amount: amount, Source: "test",
	})
}

// ledger lists the changes of the available balance.
func (v *visit) ledger() (*page, error) {
	money, err := v.money()
	if err != nil {
		return nil, err
	}
	money.More = ""
	list, err := v.svc.Accounts.ListEntries(v.Context(), v.caller, account.ListEntriesParams{Page: v.page()})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Ledger", NavPath: "ledger",
		Live:     []section{money, {Title: "Entries", Rows: rowsOf(list, v.entryRow), Empty: "No money has moved yet."}},
		NextPage: nextPage(v, list, func(e *account.Entry) string { return e.ID }),
	}, nil
}

func (v *visit) entryRow(e *account.Entry) row {
	amount := "+" + formatGHS(e.Amount)
	if e.Amount.IsNegative() {
		amount = "−" + formatGHS(api.GHS{Decimal: e.Amount.Neg()})
	}
	return row{
		Href: v.source(e.Type, e.Source), Title: strings.ReplaceAll(e.Type, "_", " "),
		Detail: joinNonEmpty(e.Source, "balance "+formatGHS(e.Balance)), Amount: amount, At: e.CreatedAt,
	}
}

// source is the page of what caused an entry; empty where there is none. kind is
// the entry's type: payouts and disbursements share a prefix.
func (v *visit) source(kind, id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "po":
		if strings.HasPrefix(kind, "disbursement") {
			return v.url("disbursements", id)
		}
		return v.url("payouts", id)
	case "pay":
		return v.url("payments", id)
	case "re":
		return v.url("refunds", id)
	case "bat":
		return v.url("batches", id)
	case "cus":
		return v.url("customers", id)
	case "inv":
		return v.url("invoices", id)
	case "qr":
		return v.url("qr-codes", id)
	case "we":
		return v.url("webhooks", id)
	}
	return ""
}
