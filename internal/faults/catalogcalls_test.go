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
func (s *subject) catalog(svc *payments.Service) (all []call) {
	type do = func(ctx context.Context, c api.Caller, n int, id string) (any, error)
	once := func(name string, prepare func() string, do do) {
		all = append(all, call{name: name, prepare: prepare, do: do, once: true})
	}
	plain := func(name string, do do) { all = append(all, call{name: name, do: do}) }
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

	once("create product", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		return svc.Products.Create(ctx, c, catalog.CreateProductParams{Name: fmt.Sprint("Sobolo ", n)})
	})
	once("update product", product, func(ctx context.Context, c api.Caller, n int, id string) (any, error) {
		return svc.Products.Update(ctx, c, id, catalog.UpdateProductParams{Name: new(fmt.Sprint("Sobolo ", n)), UnitAmount: new((*int64)(nil))})
	})
	once("delete product", product, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Products.Delete(ctx, c, id)
	})
	plain("products", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
		return svc.Products.List(ctx, c, catalog.ListProductsParams{Active: new(true)})
	})
	once("create coupon", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		return svc.Coupons.Create(ctx, c, catalog.CreateCouponParams{Name: fmt.Sprint("Welcome ", n), AmountOff: &five})
	})
	once("update coupon", coupon, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Coupons.Update(ctx, c, id, catalog.UpdateCouponParams{Active: new(false)})
	})
	once("delete coupon", coupon, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Coupons.Delete(ctx, c, id)
	})
	plain("coupons", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
		return svc.Coupons.List(ctx, c, catalog.ListCouponsParams{})
	})
	once("create plan", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
		return svc.Plans.Create(ctx, c, catalog.CreatePlanParams{Name: fmt.Sprint("Juice ", n), Amount: five, Interval: catalog.Month})
	})
	once("update plan", plan, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Plans.Update(ctx, c, id, catalog.UpdatePlanParams{TrialPeriodDays: new(&five)})
	})
	once("delete plan", plan, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Plans.Delete(ctx, c, id)
	})
	plain("plans", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
		return svc.Plans.List(ctx, c, catalog.ListPlansParams{})
	})
	once("redeem coupon", draft, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Invoices.Finalize(ctx, c, id)
	})
	once("give redemption back", open, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
		return svc.Invoices.Void(ctx, c, id)
	})
	return all
}
