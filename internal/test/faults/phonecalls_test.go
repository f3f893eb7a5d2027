package faults_test

import (
	"context"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// fromPhones are the calls of payments from phones, as one service, or one process, makes them.
func (s *subject) fromPhones(svc *payments.Service, on agents) (all calls) {
	ctx, never := context.Background(), payment.MobileMoney{PhoneNumber: "0241230903"} // stays processing
	pending := func() string {
		p, err := s.svc.Payments.Create(ctx, s.caller, payment.CreateParams{Amount: 500, MobileMoney: never})
		check(err)
		return p.ID
	}
	report := func(id string, r provider.Result) { check(s.svc.Providers.Notify(ctx, id, r)) }
	newCode := func() string {
		amount := int64(500)
		q, err := s.svc.QRCodes.Create(ctx, s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount})
		check(err)
		return q.ID
	}
	payCode := func(code string) string {
		p, err := s.svc.QRCodes.Pay(ctx, s.caller, code, qrcode.PayParams{MobileMoney: never})
		check(err)
		return p.ID
	}
	// underWay holds the only use of a code.
	underWay := func() string {
		id := payCode(newCode())
		report(id, provider.Result{Outcome: provider.InProgress})
		return id
	}
	// late has left a code or an invoice that another has paid since.
	late := func(pay func() string) func() string {
		return func() string {
			first := pay()
			report(first, provider.Result{Outcome: provider.InProgress})
			check(s.svc.Payments.Leave(ctx, s.caller, first))
			report(pay(), provider.Result{Outcome: provider.Paid})
			return first
		}
	}
	lateOfCode := func() string {
		code := newCode()
		return late(func() string { return payCode(code) })()
	}
	lateOfInvoice := func() string {
		open := on.open()
		return late(func() string {
			p, err := s.svc.Invoices.StartPayment(ctx, s.caller, open, never)
			check(err)
			return p.ID
		})()
	}

	all = append(all, call{name: "mobile money: create", once: true, do: with(svc.Payments.Create, payment.CreateParams{Amount: 500, MobileMoney: never, Customer: on.customer})})
	all.once("mobile money: pay a code", newCode, byIDWith(svc.QRCodes.Pay, qrcode.PayParams{MobileMoney: never}))
	all.once("mobile money: pay an invoice", on.open, byIDWith(svc.Invoices.Pay, invoice.PayParams{MobileMoney: never}))
	all.once("mobile money: start a payment", on.open, byIDWith(svc.Invoices.StartPayment, never))
	all.once("mobile money: cancel", pending, byID(svc.Payments.Cancel))
	all.once("mobile money: start a payment on a page", on.open, byIDWith(svc.Invoices.StartHostedPayment, invoice.HostedPayment{MobileMoney: never, From: "page 192.0.2.1"}))
	all.once("mobile money: release", underWay, byID(svc.Payments.Release))
	all.plain("mobile money: leave a pending payment", pending, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return nil, svc.Payments.Leave(ctx, c, id)
	})
	all.plain("mobile money: leave", underWay, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return nil, svc.Payments.Leave(ctx, c, id)
	})
	all = append(all, call{name: "mobile money: confirm", once: true, outside: true, prepare: func() string {
		p, err := s.svc.Payments.Create(ctx, s.caller, payment.CreateParams{Amount: 500, MobileMoney: payment.MobileMoney{PhoneNumber: "0201230907"}})
		check(err)
		report(p.ID, provider.Result{Outcome: provider.InProgress, NeedsCode: true})
		return p.ID
	}, do: byIDWith(svc.Payments.Confirm, payment.ConfirmParams{Code: "123456"})})
	all = append(all, call{
		name: "mobile money: top up", once: true, outside: true,
		do: with(svc.Payments.TopUp, payment.TopUpParams{Account: on.consumer, Amount: 500}),
	})
	for _, outcome := range []provider.Outcome{provider.Paid, provider.Refused} {
		all.once("mobile money: settle "+string(outcome), pending, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Settle(ctx, c, id, provider.Result{Outcome: outcome})
		})
	}
	for _, outcome := range []provider.Outcome{provider.InProgress, provider.Paid, provider.Refused} {
		for _, late := range []struct {
			what    string
			prepare func() string
		}{{"a payment", underWay}, {"a late payment of a code", lateOfCode}, {"a late payment of an invoice", lateOfInvoice}} {
			all.plain("mobile money: callback of "+late.what+": "+string(outcome), late.prepare, func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
				return nil, svc.Providers.Notify(ctx, id, provider.Result{Outcome: outcome, Reference: "r"})
			})
		}
	}
	all.plain("mobile money: payment", pending, byID(svc.Payments.Get))
	all.plain("mobile money: page", pending, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		token, err := svc.Payments.PageToken(ctx, c, id)
		if err != nil {
			return nil, err
		}
		h, err := svc.Payments.Hosted(ctx, token)
		if err != nil {
			return nil, err
		}
		return h.Payment, nil
	})
	return all
}
