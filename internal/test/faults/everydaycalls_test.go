package faults_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
)

// agents are who and what the calls of every day are about.
type agents struct {
	consumer, customer, code string
	open                     func() string // makes an open invoice
}

// everyday are the calls of refunds, customers, batches and statements, as one
// service, or one process, makes them.
func (s *subject) everyday(svc *payments.Service, on agents) (all calls) {
	ctx, amount := context.Background(), int64(5)
	// What is made beforehand is made by the first service, which nothing fails.
	charged := func(method string) func() string {
		return func() string {
			v, err := s.svc.Invoices.Pay(ctx, s.caller, on.open(), invoice.PayParams{PaymentMethod: method})
			check(err)
			return v.ID
		}
	}
	paid := func() string {
		p, err := s.svc.QRCodes.Pay(ctx, s.caller, on.code, qrcode.PayParams{Wallet: account.WalletRef{AccountID: on.consumer}, PIN: "1234", Amount: &amount})
		check(err)
		return p.ID
	}
	pending := func() string {
		r, err := s.svc.Refunds.Create(ctx, s.caller, refund.CreateParams{Invoice: charged("pm_refund_slow_1")(), Amount: &amount})
		check(err)
		return r.ID
	}
	returned := func() string {
		id := pending()
		check(s.svc.Providers.Notify(ctx, id, provider.Result{Outcome: provider.Paid}))
		return id
	}

	all.once("refund to a wallet", paid, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Refunds.Create(ctx, c, refund.CreateParams{Payment: id})
	})
	all.once("refund through the charger", charged("pm_1"), func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Refunds.Create(ctx, c, refund.CreateParams{Invoice: id, Amount: &amount})
	})
	for _, outcome := range []provider.Outcome{provider.Paid, provider.Refused} {
		all = append(all, call{name: "callback of a refund: " + string(outcome), prepare: pending, do: func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Notify(ctx, id, provider.Result{Outcome: outcome})
		}})
	}
	all.once("settle refund", pending, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return nil, svc.Providers.Settle(ctx, c, id, provider.Result{Outcome: provider.Paid})
	})
	all.plain("refunds", nil, with(svc.Refunds.List, refund.ListParams{}))
	page := func(ctx context.Context, id string) (token string, err error) {
		r, err := svc.Refunds.Get(ctx, s.caller, id)
		if err != nil {
			return "", err
		}
		v, err := svc.Invoices.Get(ctx, s.caller, *r.Invoice)
		if err != nil {
			return "", err
		}
		return v.HostedURL[strings.LastIndex(v.HostedURL, "/")+1:], nil
	}
	all = append(all, call{name: "hosted invoice with a credit note", prepare: returned, do: func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
		token, err := page(ctx, id)
		if err != nil {
			return nil, err
		}
		return svc.Invoices.Hosted(ctx, token)
	}}, call{name: "hosted credit note", prepare: returned, do: func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
		token, err := page(ctx, id)
		if err != nil {
			return nil, err
		}
		_, name, err := svc.Invoices.HostedCreditNote(ctx, token, id)
		return name, err
	}}, call{name: "credit note", prepare: returned, do: func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		if _, err := svc.Refunds.CreditNoteURL(ctx, c, id); err != nil {
			return nil, err
		}
		_, name, err := svc.Invoices.CreditNotePDF(ctx, c, id)
		return name, err
	}})
	all.once("duplicate invoice", charged("pm_1"), byID(svc.Invoices.Duplicate))
	all.once("paid outside", on.open, byIDWith(svc.Invoices.Pay, invoice.PayParams{PaidOutOfBand: true, PaymentMethod: "cash"}))

	all.once("update customer", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		name := fmt.Sprint("Akua ", n)
		return svc.Accounts.UpdateCustomer(ctx, c, on.customer, account.UpdateCustomerParams{Name: &name})
	})
	all.plain("customers", nil, with(svc.Accounts.ListCustomers, account.ListCustomersParams{Email: "akua@example.com"}))
	// The subscriptions of the customer are cancelled after the deletion; a worker repeats what fails.
	all = append(all, call{name: "delete customer", once: true, quiet: true, prepare: func() string {
		made, err := s.svc.Accounts.CreateCustomer(ctx, s.caller, account.CreateCustomerParams{Email: "kwesi@example.com"})
		check(err)
		return made.ID
	}, do: byID(svc.Accounts.DeleteCustomer)})
	all.once("adjust", nil, with(svc.Accounts.Adjust, account.AdjustParams{Amount: decimal.NewFromInt(1), Reason: "r", Actor: "a"}))
	all.plain("adjustments", nil, with(svc.Accounts.ListAdjustments, api.Page{}))
	all.plain("statement", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
		st, err := svc.Accounts.Statement(ctx, c, api.Times{From: s.now.Add(-time.Hour), Until: s.now.Add(time.Hour)})
		if err == nil {
			_, err = svc.Accounts.StatementPDF(ctx, c, st)
		}
		if err == nil {
			err = svc.Accounts.StatementCSV(ctx, c, st, io.Discard)
		}
		return nil, err
	})
	today := api.Times{From: s.now.Add(-time.Hour), Until: s.now.Add(time.Hour)}
	all.plain("daily totals of payments", nil, with(svc.Payments.DailyTotals, today))
	all.plain("daily totals of payouts", nil, with(svc.Payouts.DailyTotals, today))
	all.plain("daily latencies", nil, with(svc.Webhooks.DailyLatencies, today))
	all.plain("money flow", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
		return svc.Accounts.MoneyFlow(ctx, api.Caller{})
	})

	rows := []disbursement.RowParams{
		{CreateParams: disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"}}},
		{CreateParams: disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.ServiceWallet, AccountID: on.consumer}}},
	}
	all.once("create batch", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		return svc.Disbursements.CreateBatch(ctx, c, disbursement.CreateBatchParams{Reference: fmt.Sprint(n), Rows: rows})
	})
	all = append(all, call{name: "rows of a batch", prepare: func() string {
		b, err := s.svc.Disbursements.CreateBatch(ctx, s.caller, disbursement.CreateBatchParams{Rows: rows})
		check(err)
		check(s.svc.Drain(ctx)) // rows that are made have disbursements
		return b.ID
	}, do: byIDWith(svc.Disbursements.ListRows, disbursement.ListRowsParams{})})
	all.plain("batches", nil, with(svc.Disbursements.ListBatches, disbursement.ListBatchesParams{}))
	return all
}
