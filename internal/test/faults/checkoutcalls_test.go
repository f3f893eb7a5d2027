package faults_test

import (
	"context"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
)

// sold are the calls of checkout sessions, as one service, or one process, makes them.
func (s *subject) sold(svc *payments.Service, on agents) (all calls) {
	ctx, five, never := context.Background(), int64(5), payment.MobileMoney{PhoneNumber: "0241230903"} // stays processing
	order := func(pesewas int64) checkout.CreateParams {
		return checkout.CreateParams{
			SuccessURL: "https://shop.example/{CHECKOUT_SESSION_ID}", Customer: on.customer,
			Lines: []invoice.LineParams{{Description: "Shirt", UnitAmount: &pesewas}},
		}
	}
	// What is made beforehand is made by the first service, which nothing fails.
	open := func() string {
		c, err := s.svc.Coupons.Create(ctx, s.caller, catalog.CreateCouponParams{AmountOff: &five, MaxRedemptions: new(int64(1))})
		check(err)
		p := order(500)
		p.Coupon = c.ID
		v, err := s.svc.Checkout.Create(ctx, s.caller, p)
		check(err)
		return v.ID
	}
	// held is a session that a payment holds, with the redemption of its coupon.
	held := func() (session, paymentID string) {
		session = open()
		_, err := s.svc.Checkout.Pay(ctx, s.caller, session, checkout.PayParams{MobileMoney: never})
		check(err)
		list, err := s.svc.Payments.List(ctx, s.caller, payment.ListParams{CheckoutSession: session})
		check(err)
		return session, list.Data[0].ID
	}
	underWay := func() string {
		_, id := held()
		check(s.svc.Providers.Notify(ctx, id, provider.Result{Outcome: provider.InProgress}))
		return id
	}
	// late has left a session, which is still open.
	late := func() string {
		id := underWay()
		check(s.svc.Payments.Leave(ctx, s.caller, id))
		return id
	}

	// member is a session of a plan.
	member := func(trialDays int64) func() string {
		return func() string {
			plan, err := s.svc.Plans.Create(ctx, s.caller, catalog.CreatePlanParams{Name: "Juice", Amount: 500, Interval: catalog.Week, TrialPeriodDays: &trialDays})
			check(err)
			v, err := s.svc.Checkout.Create(ctx, s.caller, checkout.CreateParams{Mode: checkout.ModeSubscription, Plan: plan.ID, SuccessURL: "https://shop.example/"})
			check(err)
			return v.ID
		}
	}
	// joining pays the first period of a subscription.
	joining := func() string {
		session := member(0)()
		_, err := s.svc.Checkout.Pay(ctx, s.caller, session, checkout.PayParams{MobileMoney: never})
		check(err)
		list, err := s.svc.Payments.List(ctx, s.caller, payment.ListParams{CheckoutSession: session})
		check(err)
		return list.Data[0].ID
	}
	all.once("checkout: begin a trial", member(7), byIDWith(svc.Checkout.Pay, checkout.PayParams{MobileMoney: never}))
	all.plain("checkout: confirm a phone", func() string {
		id := member(7)()
		check(s.svc.Checkout.PayHosted(ctx, s.caller, id, checkout.PayParams{MobileMoney: never}))
		return id
	}, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Checkout.ConfirmPhone(ctx, c, id, "123456")
	})
	all.plain("checkout: begin a subscription", joining, func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
		return nil, svc.Providers.Notify(ctx, id, provider.Result{Outcome: provider.Paid, Reference: "r"})
	})

	all = append(all, call{name: "checkout: create", once: true, do: with(svc.Checkout.Create, order(500))})
	all.once("checkout: expire", open, byID(svc.Checkout.Expire))
	all.once("pay session from a wallet", open, byIDWith(svc.Checkout.Pay, checkout.PayParams{Wallet: account.WalletRef{AccountID: on.consumer}, PIN: "1234"}))
	all.once("checkout: from a phone", open, byIDWith(svc.Checkout.Pay, checkout.PayParams{MobileMoney: never}))
	all.once("checkout: from a phone on the page", open, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return nil, svc.Checkout.PayHosted(ctx, c, id, checkout.PayParams{MobileMoney: never, Email: new("ama@example.com")})
	})
	all.once("checkout: nothing", func() string {
		v, err := s.svc.Checkout.Create(ctx, s.caller, order(0))
		check(err)
		return v.ID
	}, byIDWith(svc.Checkout.Pay, checkout.PayParams{}))
	for _, outcome := range []provider.Outcome{provider.Paid, provider.Refused} {
		for _, of := range []struct {
			what    string
			prepare func() string
		}{{"a payment", underWay}, {"a late payment", late}} {
			all.plain("checkout: callback of "+of.what+": "+string(outcome), of.prepare, func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
				return nil, svc.Providers.Notify(ctx, id, provider.Result{Outcome: outcome, Reference: "r"})
			})
		}
	}
	all.plain("checkout: leave", underWay, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return nil, svc.Payments.Leave(ctx, c, id)
	})
	all.plain("checkout: session", open, byID(svc.Checkout.Get))
	all.plain("checkout: sessions", open, with(svc.Checkout.List, checkout.ListParams{Status: checkout.Complete}))
	all.plain("checkout: lines", open, byIDWith(svc.Checkout.ListLines, api.Page{}))
	all.plain("checkout: page", func() string {
		id, _ := held()
		return id
	}, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		h, err := svc.Checkout.HostedByID(ctx, c, id)
		if err != nil {
			return nil, err
		}
		if h, err = svc.Checkout.Hosted(ctx, h.Token); err != nil {
			return nil, err
		}
		return h.Session, nil
	})
	return all
}
