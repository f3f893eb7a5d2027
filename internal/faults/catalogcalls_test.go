package faults_test

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/invoice"
)

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
