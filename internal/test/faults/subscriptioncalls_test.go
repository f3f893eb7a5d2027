package faults_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/subscription"
)

// club is what the calls of subscriptions are about.
type club struct{ monthly, yearly, customer, coupon string }

func (s *subject) newClub() *club {
	ctx := context.Background()
	plan := func(interval catalog.Interval) string {
		p, err := s.svc.Plans.Create(ctx, s.caller, catalog.CreatePlanParams{Name: "Juice", Amount: 500, Interval: interval})
		check(err)
		return p.ID
	}
	customer, err := s.svc.Accounts.CreateCustomer(ctx, s.caller, account.CreateCustomerParams{Name: "Abena", Phone: "0241000008"})
	check(err)
	coupon, err := s.svc.Coupons.Create(ctx, s.caller, catalog.CreateCouponParams{AmountOff: new(int64(5)), Duration: catalog.Forever})
	check(err)
	return &club{plan(catalog.Month), plan(catalog.Year), customer.ID, coupon.ID}
}

// subscriptions are the calls of subscriptions. What is due of one is the work of
// TestPeriodsAreBilledOnceWhileTheStoreFails.
func (s *subject) subscriptions(svc *payments.Service) (all calls) {
	ctx := context.Background()
	if s.club == nil { // the twins are about the same
		s.club = s.newClub()
	}
	on := s.club
	create := func(svc *payments.Service, c api.Caller) (*subscription.Subscription, error) {
		return svc.Subscriptions.Create(ctx, c, subscription.CreateParams{Customer: on.customer, Plan: on.monthly, CollectionMethod: invoice.ChargeAutomatically})
	}
	running := func() string {
		v, err := create(s.svc, s.caller)
		check(err)
		_, err = s.svc.Invoices.Pay(ctx, s.caller, *v.LatestInvoice, invoice.PayParams{PaidOutOfBand: true})
		check(err)
		return v.ID
	}
	paused := func() string {
		id := running()
		_, err := s.svc.Subscriptions.Pause(ctx, s.caller, id)
		check(err)
		return id
	}
	all.once("subscribe", nil, func(_ context.Context, c api.Caller, _ int, _ string) (any, error) { return create(svc, c) })
	all.once("change quantity", running, func(ctx context.Context, c api.Caller, n int, id string) (any, error) {
		return svc.Subscriptions.Update(ctx, c, id, subscription.UpdateParams{Quantity: new(int64(2 + n)), Coupon: &on.coupon, PhoneNumber: new("0241000007")})
	})
	all.once("change interval", running, byIDWith(svc.Subscriptions.Update, subscription.UpdateParams{Plan: &on.yearly}))
	all.once("pause", running, byID(svc.Subscriptions.Pause))
	all.once("resume", paused, byID(svc.Subscriptions.Resume))
	all.once("cancel subscription", running, byIDWith(svc.Subscriptions.Cancel, subscription.CancelParams{}))
	all.once("cancel subscription later", running, byIDWith(svc.Subscriptions.Cancel, subscription.CancelParams{AtPeriodEnd: true}))
	all.plain("subscriptions", nil, with(svc.Subscriptions.List, subscription.ListParams{Status: subscription.Active}))
	all = append(all, call{name: "subscription's page", prepare: running, do: func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		v, err := svc.Subscriptions.Get(ctx, c, id)
		if err != nil {
			return nil, err
		}
		h, err := svc.Subscriptions.Hosted(ctx, (*v.ManageURL)[strings.LastIndex(*v.ManageURL, "/")+1:])
		if err != nil {
			return nil, err
		}
		return h.Subscription, nil
	}})
	all.plain("short link", func() string {
		running()
		list, err := s.svc.Messages.List(ctx, s.caller, message.ListParams{To: "0241000008"})
		check(err)
		for _, m := range list.Data {
			if _, code, found := strings.Cut(m.Text, "/s/"); found {
				return code
			}
		}
		panic("no SMS has a link")
	}, func(ctx context.Context, _ api.Caller, _ int, code string) (any, error) {
		return svc.Messages.FindLink(ctx, message.SubscriptionPage, code)
	})
	all = append(all, call{name: "start phone change", prepare: running, do: func(ctx context.Context, c api.Caller, n int, id string) (any, error) {
		return svc.Subscriptions.StartPhoneChange(ctx, c, id, subscription.StartPhoneChangeParams{PhoneNumber: fmt.Sprintf("05500%05d", n)})
	}})
	started := func() string {
		id := running()
		s.now = s.now.Add(time.Second)
		_, err := s.svc.Subscriptions.StartPhoneChange(ctx, s.caller, id, subscription.StartPhoneChangeParams{PhoneNumber: "0550000001"})
		check(err)
		list, err := s.svc.Messages.List(ctx, s.caller, message.ListParams{To: "0550000001"})
		check(err)
		return id + " " + list.Data[0].Text[:6]
	}
	all = append(all, call{name: "confirm phone", prepare: started, do: func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		id, code, _ := strings.Cut(id, " ")
		return svc.Subscriptions.ConfirmPhone(ctx, c, id, code)
	}})
	return all
}

// catalog are the calls of products, coupons and plans, and those of invoices that count a coupon.
func (s *subject) catalog(svc *payments.Service) (all calls) {
	ctx, five := context.Background(), int64(5)
	// What is made beforehand is made by the first service, which nothing fails.
	product := func() string {
		p, err := s.svc.Products.Create(ctx, s.caller, catalog.CreateProductParams{Name: "Sobolo", UnitAmount: &five})
		check(err)
		return p.ID
	}
	coupon := func() string {
		c, err := s.svc.Coupons.Create(ctx, s.caller, catalog.CreateCouponParams{AmountOff: &five, MaxRedemptions: new(int64(1))})
		check(err)
		return c.ID
	}
	plan := func() string {
		p, err := s.svc.Plans.Create(ctx, s.caller, catalog.CreatePlanParams{Name: "Juice", Amount: five, Interval: catalog.Week})
		check(err)
		return p.ID
	}
	draft := func() string {
		v, err := s.svc.Invoices.Create(ctx, s.caller, invoice.CreateParams{Fields: invoice.Fields{
			Coupon: new(coupon()), Lines: []invoice.LineParams{{Product: product()}},
		}})
		check(err)
		return v.ID
	}
	open := func() string {
		v, err := s.svc.Invoices.Finalize(ctx, s.caller, draft())
		check(err)
		return v.ID
	}

	all.once("create product", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		return svc.Products.Create(ctx, c, catalog.CreateProductParams{Name: fmt.Sprint("Sobolo ", n)})
	})
	all.once("update product", product, func(ctx context.Context, c api.Caller, n int, id string) (any, error) {
		return svc.Products.Update(ctx, c, id, catalog.UpdateProductParams{Name: new(fmt.Sprint("Sobolo ", n)), UnitAmount: new((*int64)(nil))})
	})
	all.once("delete product", product, byID(svc.Products.Delete))
	all.plain("products", nil, with(svc.Products.List, catalog.ListProductsParams{Active: new(true)}))
	all.once("create coupon", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		return svc.Coupons.Create(ctx, c, catalog.CreateCouponParams{Name: fmt.Sprint("Welcome ", n), AmountOff: &five})
	})
	all.once("update coupon", coupon, byIDWith(svc.Coupons.Update, catalog.UpdateCouponParams{Active: new(false)}))
	all.once("delete coupon", coupon, byID(svc.Coupons.Delete))
	all.plain("coupons", nil, with(svc.Coupons.List, catalog.ListCouponsParams{}))
	all.once("create plan", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		return svc.Plans.Create(ctx, c, catalog.CreatePlanParams{Name: fmt.Sprint("Juice ", n), Amount: five, Interval: catalog.Month})
	})
	all.once("update plan", plan, byIDWith(svc.Plans.Update, catalog.UpdatePlanParams{TrialPeriodDays: new(&five)}))
	all.once("delete plan", plan, byID(svc.Plans.Delete))
	all.plain("plans", nil, with(svc.Plans.List, catalog.ListPlansParams{}))
	all.once("redeem coupon", draft, byID(svc.Invoices.Finalize))
	all.once("give redemption back", open, byID(svc.Invoices.Void))
	return all
}
