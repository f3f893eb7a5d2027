package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
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
	return &page{
		Title: "Overview", Under: ".",
		Forms: []*form{{
			Name: "add-money", Title: "Add money", Button: "Add money",
			Hint:   "In test mode it comes from nowhere.",
			Fields: []field{{Name: "amount", Label: "Amount in GHS", Required: true, Value: "1000.00"}},
			do:     (*visit).addMoney,
		}},
		Still: []section{{Facts: known(
			fact{Name: "Merchant", Value: v.merchant.ID, Code: true},
			fact{Name: "Service ID", Value: v.merchant.ServiceID, Code: true},
			fact{Name: "Phone", Value: v.merchant.Phone},
		)}},
		Live: []section{
			money,
			{Title: "Payments", Rows: each(payments, v.paymentRow), Empty: "Nobody has paid yet. Make a QR code and pay it.", More: v.to("payments")},
			{Title: "Payouts", Rows: each(payouts, v.transferRow), Empty: "Nothing was paid out yet.", More: v.to("payouts")},
			{Title: "Messages", Rows: each(messages, v.messageRow), Empty: "Nobody was told anything yet.", More: v.to("messages")},
			{Title: "Events", Rows: each(events, v.eventRow), Empty: "Nothing has happened yet.", More: v.to("events")},
		},
	}, nil
}

// money shows the balance.
func (v *visit) money() (section, error) {
	b, err := v.svc.Accounts.Balance(v.Context(), v.caller)
	if err != nil {
		return section{}, err
	}
	return section{Title: "Balance", Facts: []fact{
		{Name: "Available", Value: ghs(b.Available)},
		{Name: "Reserved for transfers under way", Value: ghs(b.Reserved)},
	}, More: v.to("ledger")}, nil
}

func (v *visit) addMoney(in *input) (*outcome, error) {
	amount := in.amount("amount")
	if err := in.err(); err != nil {
		return nil, err
	}
	return nil, v.svc.Accounts.Deposit(v.Context(), account.Deposit{
		To: v.caller.Merchant, Amount: amount, Source: "test", IdempotencyKey: v.caller.IdempotencyKey,
	})
}

// ledger lists the changes of the available balance.
func (v *visit) ledger() (*page, error) {
	money, err := v.money()
	if err != nil {
		return nil, err
	}
	money.More = ""
	list, err := v.svc.Accounts.Entries(v.Context(), v.caller, account.EntryListParams{Page: v.page()})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Ledger", Under: "ledger",
		Live:  []section{money, {Title: "Entries", Rows: each(list, v.entryRow), Empty: "No money has moved yet."}},
		Older: older(v, list, func(e *account.Entry) string { return e.ID }),
	}, nil
}

func (v *visit) entryRow(e *account.Entry) row {
	amount := "+" + ghs(e.Amount)
	if e.Amount.IsNegative() {
		amount = "−" + ghs(api.GHS{Decimal: e.Amount.Neg()})
	}
	return row{
		Href: v.source(e.Type, e.Source), Title: strings.ReplaceAll(e.Type, "_", " "),
		Detail: joined(e.Source, "balance "+ghs(e.Balance)), Amount: amount, At: e.CreatedAt,
	}
}

// source is the page of what caused an entry; empty where there is none. kind is
// the entry's type: payouts and disbursements share a prefix.
func (v *visit) source(kind, id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "po":
		if strings.HasPrefix(kind, "disbursement") {
			return v.to("disbursements", id)
		}
		return v.to("payouts", id)
	case "pay":
		return v.to("payments", id)
	case "re":
		return v.to("refunds", id)
	case "bat":
		return v.to("batches", id)
	case "cus":
		return v.to("customers", id)
	case "inv":
		return v.to("invoices", id)
	case "qr":
		return v.to("qr-codes", id)
	case "we":
		return v.to("webhooks", id)
	}
	return ""
}
