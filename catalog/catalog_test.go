package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func number(text string) *decimal.Decimal { return new(decimal.RequireFromString(text)) }

func pesewas(n int64) *int64 { return &n }

var (
	long  = strings.Repeat("x", 501)
	huge  = new(decimal.New(1, 1_000_000_000))
	above = pesewas(100_000_000)
)

// A rate has six decimals; more are rounded half up.
func TestRatesAreRounded(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{})
	is := must.Get(s.Products.Create(t.Context(), s.Caller, catalog.CreateProductParams{Name: "x", TaxPercent: number("12.3456785")}))(t)
	expect.Equal(t, is.TaxPercent.String(), "12.345679", "of a new product")
	is = must.Get(s.Products.Update(t.Context(), s.Caller, is.ID, catalog.UpdateProductParams{TaxPercent: new(number("0.33333333333"))}))(t)
	expect.Equal(t, is.TaxPercent.String(), "0.333333", "of a changed product")
	plan := must.Get(s.Plans.Create(t.Context(), s.Caller, catalog.CreatePlanParams{Name: "x", Amount: 1, Interval: catalog.Day, TaxPercent: number("99.9999999")}))(t)
	expect.Equal(t, plan.TaxPercent.String(), "100", "of a plan")
}

func TestInvalidProductsAreRefused(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{})
	ctx := t.Context()
	made := must.Get(s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{Name: "Sobolo"}))(t)
	is := must.Get(s.Products.Get(ctx, s.Caller, made.ID))(t)
	for name, test := range map[string]struct {
		create catalog.CreateProductParams
		update catalog.UpdateProductParams
		code   api.Code
		param  string
	}{
		"a long name":        {catalog.CreateProductParams{Name: long[:256]}, catalog.UpdateProductParams{Name: new(long[:256])}, api.ParameterInvalid, "name"},
		"a long description": {catalog.CreateProductParams{Name: "x", Description: long}, catalog.UpdateProductParams{Description: &long}, api.ParameterInvalid, "description"},
		"a price of nothing": {catalog.CreateProductParams{Name: "x", UnitAmount: pesewas(0)}, catalog.UpdateProductParams{UnitAmount: new(pesewas(0))}, api.ParameterInvalid, "unit_amount"},
		"a price above all":  {catalog.CreateProductParams{Name: "x", UnitAmount: above}, catalog.UpdateProductParams{UnitAmount: &above}, api.ParameterInvalid, "unit_amount"},
		"another currency":   {catalog.CreateProductParams{Name: "x", Currency: "USD"}, catalog.UpdateProductParams{Currency: "USD"}, api.CurrencyNotSupported, "currency"},
		"a tax below none":   {catalog.CreateProductParams{Name: "x", TaxPercent: number("-1")}, catalog.UpdateProductParams{TaxPercent: new(number("-1"))}, api.ParameterInvalid, "tax_percent"},
		"a tax above all":    {catalog.CreateProductParams{Name: "x", TaxPercent: number("100.1")}, catalog.UpdateProductParams{TaxPercent: new(number("100.1"))}, api.ParameterInvalid, "tax_percent"},
		"a tax a bit above":  {catalog.CreateProductParams{Name: "x", TaxPercent: number("100.0000005")}, catalog.UpdateProductParams{TaxPercent: new(number("100.0000005"))}, api.ParameterInvalid, "tax_percent"},
		"a tax of 1e9 zeros": {catalog.CreateProductParams{Name: "x", TaxPercent: huge}, catalog.UpdateProductParams{TaxPercent: &huge}, api.ParameterInvalid, "tax_percent"},
		"nested metadata":    {catalog.CreateProductParams{Name: "x", Metadata: api.Metadata{"m": []any{}}}, catalog.UpdateProductParams{Metadata: api.Metadata{"m": []any{}}}, api.ParameterInvalid, "metadata.m"},
	} {
		testkit.WantParam(t, "create with "+name, testkit.Err(s.Products.Create(ctx, s.Caller, test.create)), test.code, test.param)
		testkit.WantParam(t, "update with "+name, testkit.Err(s.Products.Update(ctx, s.Caller, is.ID, test.update)), test.code, test.param)
	}
	testkit.WantParam(t, "create without a name", testkit.Err(s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{})), api.ParameterMissing, "name")
	testkit.WantParam(t, "update to no name", testkit.Err(s.Products.Update(ctx, s.Caller, is.ID, catalog.UpdateProductParams{Name: new("")})), api.ParameterInvalid, "name")
	expect.Same(t, must.Get(s.Products.Get(ctx, s.Caller, is.ID))(t), is, "refusals changed the product")
}

// A rate alone means taxable, in a product and in a plan, at creation and by an update. What is said wins.
func TestRateMeansTaxable(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{})
	ctx := t.Context()
	text := func(taxable *bool) string {
		if taxable == nil {
			return "null"
		}
		return fmt.Sprint(*taxable)
	}
	for name, c := range map[string]struct {
		taxable *bool
		rate    *decimal.Decimal
		want    string
	}{
		"a rate": {nil, number("20"), "true"}, "a rate of 0": {nil, number("0"), "true"}, "neither": {nil, nil, "null"},
		"both": {new(true), number("20"), "true"}, "not taxable": {new(false), number("20"), "false"}, "taxable": {new(true), nil, "true"},
	} {
		product := must.Get(s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{Name: "x", Taxable: c.taxable, TaxPercent: c.rate}))(t)
		expect.Equal(t, text(product.Taxable), c.want, "a product with %s", name)
		plan := must.Get(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "x", Amount: 1, Interval: catalog.Day, Taxable: c.taxable, TaxPercent: c.rate}))(t)
		expect.Equal(t, text(plan.Taxable), c.want, "a plan with %s", name)
		plan = must.Get(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "x", Amount: 1, Interval: catalog.Day, Product: product.ID}))(t)
		expect.Equal(t, text(plan.Taxable), c.want, "a plan of a product with %s", name)
	}
	none := must.Get(s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{Name: "x", Taxable: new(false)}))(t)
	plan := must.Get(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "x", Amount: 1, Interval: catalog.Day, Product: none.ID, TaxPercent: number("5")}))(t)
	expect.Equal(t, text(plan.Taxable), "true", "a plan with a rate, of a product without tax")

	is := must.Get(s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{Name: "x"}))(t)
	for _, step := range []struct {
		p    catalog.UpdateProductParams
		want string
	}{
		{catalog.UpdateProductParams{Name: new("y")}, "null"},
		{catalog.UpdateProductParams{TaxPercent: new(number("20"))}, "true"},
		{catalog.UpdateProductParams{Taxable: new(new(false))}, "false"},
		{catalog.UpdateProductParams{TaxPercent: new(number("5"))}, "false"},
		{catalog.UpdateProductParams{Taxable: new((*bool)(nil))}, "true"},
		{catalog.UpdateProductParams{Taxable: new((*bool)(nil)), TaxPercent: new((*decimal.Decimal)(nil))}, "null"},
	} {
		is = must.Get(s.Products.Update(ctx, s.Caller, is.ID, step.p))(t)
		expect.Equal(t, text(is.Taxable), step.want, "after the update %+v", step.p)
	}
}

func TestInvalidCouponsAreRefused(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{})
	with := func(change func(*catalog.CreateCouponParams)) catalog.CreateCouponParams {
		p := catalog.CreateCouponParams{PercentOff: number("10")}
		change(&p)
		return p
	}
	for name, test := range map[string]struct {
		p     catalog.CreateCouponParams
		code  api.Code
		param string
	}{
		"nothing off":          {catalog.CreateCouponParams{}, api.ParameterMissing, "percent_off"},
		"two ways off":         {with(func(p *catalog.CreateCouponParams) { p.AmountOff = pesewas(1) }), api.ParameterInvalid, "amount_off"},
		"zero percent":         {with(func(p *catalog.CreateCouponParams) { p.PercentOff = number("0") }), api.ParameterInvalid, "percent_off"},
		"more than all":        {with(func(p *catalog.CreateCouponParams) { p.PercentOff = number("100.01") }), api.ParameterInvalid, "percent_off"},
		"three decimals":       {with(func(p *catalog.CreateCouponParams) { p.PercentOff = number("33.333") }), api.ParameterInvalid, "percent_off"},
		"1e9 percent":          {with(func(p *catalog.CreateCouponParams) { p.PercentOff = huge }), api.ParameterInvalid, "percent_off"},
		"zero pesewas":         {catalog.CreateCouponParams{AmountOff: pesewas(0)}, api.ParameterInvalid, "amount_off"},
		"too many pesewas":     {catalog.CreateCouponParams{AmountOff: above}, api.ParameterInvalid, "amount_off"},
		"another currency":     {with(func(p *catalog.CreateCouponParams) { p.Currency = "USD" }), api.CurrencyNotSupported, "currency"},
		"a long name":          {with(func(p *catalog.CreateCouponParams) { p.Name = long }), api.ParameterInvalid, "name"},
		"no duration":          {with(func(p *catalog.CreateCouponParams) { p.Duration = "twice" }), api.ParameterInvalid, "duration"},
		"repeating for ever":   {with(func(p *catalog.CreateCouponParams) { p.Duration = catalog.Repeating }), api.ParameterMissing, "duration_in_months"},
		"repeating never":      {with(func(p *catalog.CreateCouponParams) { p.Duration, p.DurationInMonths = catalog.Repeating, pesewas(0) }), api.ParameterInvalid, "duration_in_months"},
		"repeating for 37":     {with(func(p *catalog.CreateCouponParams) { p.Duration, p.DurationInMonths = catalog.Repeating, pesewas(37) }), api.ParameterInvalid, "duration_in_months"},
		"once for three":       {with(func(p *catalog.CreateCouponParams) { p.DurationInMonths = pesewas(3) }), api.ParameterInvalid, "duration_in_months"},
		"no redemptions":       {with(func(p *catalog.CreateCouponParams) { p.MaxRedemptions = pesewas(0) }), api.ParameterInvalid, "max_redemptions"},
		"redeemed by now":      {with(func(p *catalog.CreateCouponParams) { p.RedeemBy = s.Now() }), api.ParameterInvalid, "redeem_by"},
		"redeemed this second": {with(func(p *catalog.CreateCouponParams) { p.RedeemBy = s.Now().Add(time.Millisecond) }), api.ParameterInvalid, "redeem_by"},
		"nested metadata":      {with(func(p *catalog.CreateCouponParams) { p.Metadata = api.Metadata{"m": []any{}} }), api.ParameterInvalid, "metadata.m"},
	} {
		testkit.WantParam(t, name, testkit.Err(s.Coupons.Create(t.Context(), s.Caller, test.p)), test.code, test.param)
	}
	is := must.Get(s.Coupons.Create(t.Context(), s.Caller, with(func(p *catalog.CreateCouponParams) {
		p.Duration, p.DurationInMonths, p.RedeemBy = catalog.Repeating, pesewas(36), s.Now().Add(1500*time.Millisecond)
	})))(t)
	expect.Equal(t, *is.RedeemBy, s.Now().Unix()+1, "the second until which it may be redeemed")
	testkit.WantParam(t, "a long name", testkit.Err(s.Coupons.Update(t.Context(), s.Caller, is.ID, catalog.UpdateCouponParams{Name: &long})), api.ParameterInvalid, "name")
}

func TestInvalidPlansAreRefused(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{})
	ctx := t.Context()
	with := func(change func(*catalog.CreatePlanParams)) catalog.CreatePlanParams {
		p := catalog.CreatePlanParams{Name: "Juice", Amount: 100, Interval: catalog.Week}
		change(&p)
		return p
	}
	every := func(n int64, of catalog.Interval) catalog.CreatePlanParams {
		return with(func(p *catalog.CreatePlanParams) { p.Interval, p.IntervalCount = of, &n })
	}
	for name, test := range map[string]struct {
		p     catalog.CreatePlanParams
		code  api.Code
		param string
	}{
		"no name":           {with(func(p *catalog.CreatePlanParams) { p.Name = "" }), api.ParameterMissing, "name"},
		"a price of none":   {with(func(p *catalog.CreatePlanParams) { p.Amount = 0 }), api.ParameterInvalid, "amount"},
		"a price above all": {with(func(p *catalog.CreatePlanParams) { p.Amount = *above }), api.ParameterInvalid, "amount"},
		"another currency":  {with(func(p *catalog.CreatePlanParams) { p.Currency = "USD" }), api.CurrencyNotSupported, "currency"},
		"no interval":       {with(func(p *catalog.CreatePlanParams) { p.Interval = "" }), api.ParameterMissing, "interval"},
		"every fortnight":   {with(func(p *catalog.CreatePlanParams) { p.Interval = "fortnight" }), api.ParameterInvalid, "interval"},
		"every 0 weeks":     {every(0, catalog.Week), api.ParameterInvalid, "interval_count"},
		"every 1096 days":   {every(1096, catalog.Day), api.ParameterInvalid, "interval_count"},
		"every 157 weeks":   {every(157, catalog.Week), api.ParameterInvalid, "interval_count"},
		"every 37 months":   {every(37, catalog.Month), api.ParameterInvalid, "interval_count"},
		"every 4 years":     {every(4, catalog.Year), api.ParameterInvalid, "interval_count"},
		"a trial before":    {with(func(p *catalog.CreatePlanParams) { p.TrialPeriodDays = pesewas(-1) }), api.ParameterInvalid, "trial_period_days"},
		"a trial too long":  {with(func(p *catalog.CreatePlanParams) { p.TrialPeriodDays = pesewas(731) }), api.ParameterInvalid, "trial_period_days"},
		"a tax above all":   {with(func(p *catalog.CreatePlanParams) { p.TaxPercent = number("101") }), api.ParameterInvalid, "tax_percent"},
		"no such product":   {with(func(p *catalog.CreatePlanParams) { p.Product = "prod_1" }), api.ResourceMissing, "product"},
		"nested metadata":   {with(func(p *catalog.CreatePlanParams) { p.Metadata = api.Metadata{"m": []any{}} }), api.ParameterInvalid, "metadata.m"},
	} {
		testkit.WantParam(t, name, testkit.Err(s.Plans.Create(ctx, s.Caller, test.p)), test.code, test.param)
	}
	for _, longest := range []catalog.CreatePlanParams{every(1095, catalog.Day), every(156, catalog.Week), every(36, catalog.Month), every(3, catalog.Year)} {
		must.Get(s.Plans.Create(ctx, s.Caller, longest))(t)
	}
	is := must.Get(s.Plans.Create(ctx, s.Caller, every(1, catalog.Day)))(t)
	events := len(must.Get(s.Events.List(ctx, s.Caller, event.ListParams{}))(t).Data)
	testkit.WantParam(t, "no name", testkit.Err(s.Plans.Update(ctx, s.Caller, is.ID, catalog.UpdatePlanParams{Name: new("")})), api.ParameterInvalid, "name")
	testkit.WantParam(t, "a trial too long", testkit.Err(s.Plans.Update(ctx, s.Caller, is.ID, catalog.UpdatePlanParams{TrialPeriodDays: new(pesewas(731))})), api.ParameterInvalid, "trial_period_days")
	expect.Equal(t, len(must.Get(s.Events.List(ctx, s.Caller, event.ListParams{}))(t).Data), events, "refusals recorded events")
}

// Every store filters by what is active, and none shows what was deleted.
func TestListsFilter(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s := testkit.OpenShop(t, store, payments.Config{})
		ctx := t.Context()
		product := func(active bool) string {
			p := must.Get(s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{Name: "Sobolo", Active: &active}))(t)
			s.Pass(time.Minute)
			return p.ID
		}
		on, off, gone := product(true), product(false), product(true)
		must.Get(s.Products.Delete(ctx, s.Caller, gone))(t)
		listed := func(p catalog.ListProductsParams) (ids []string) {
			for _, is := range must.Get(s.Products.List(ctx, s.Caller, p))(t).Data {
				ids = append(ids, is.ID)
			}
			return ids
		}
		expect.Same(t, listed(catalog.ListProductsParams{}), []string{off, on}, "all")
		expect.Same(t, listed(catalog.ListProductsParams{Active: new(true)}), []string{on}, "active ones")
		expect.Same(t, listed(catalog.ListProductsParams{Active: new(false)}), []string{off}, "others")
		expect.Same(t, listed(catalog.ListProductsParams{Created: api.Times{Until: s.Now().Add(-150 * time.Second)}}), []string{on}, "the older")
		expect.Same(t, listed(catalog.ListProductsParams{Page: api.Page{StartingAfter: gone}}), []string{off, on}, "after what is deleted")
		testkit.WantParam(t, "after what never was", testkit.Err(s.Products.List(ctx, s.Caller, catalog.ListProductsParams{Page: api.Page{StartingAfter: "prod_1"}})), api.ResourceMissing, "starting_after")

		plan := func(product string) string {
			return must.Get(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "Juice", Amount: 1, Interval: catalog.Day, Product: product}))(t).ID
		}
		of, _ := plan(on), plan("")
		plans := must.Get(s.Plans.List(ctx, s.Caller, catalog.ListPlansParams{Product: on}))(t).Data
		must.True(t, len(plans) == 1, "plans of a product: %+v", plans)
		expect.Equal(t, plans[0].ID, of, "plans of a product: ID of the first")
		testkit.WantParam(t, "a plan of an inactive product", testkit.Err(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "x", Amount: 1, Interval: catalog.Day, Product: off})), api.ParameterInvalid, "product")
		testkit.WantParam(t, "a plan of a deleted product", testkit.Err(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "x", Amount: 1, Interval: catalog.Day, Product: gone})), api.ResourceMissing, "product")

		coupon := must.Get(s.Coupons.Create(ctx, s.Caller, catalog.CreateCouponParams{AmountOff: pesewas(5)}))(t)
		must.Get(s.Coupons.Update(ctx, s.Caller, coupon.ID, catalog.UpdateCouponParams{Active: new(false)}))(t)
		expect.Equal(t, len(must.Get(s.Coupons.List(ctx, s.Caller, catalog.ListCouponsParams{Active: new(true)}))(t).Data), 0, "active coupons")
		must.Get(s.Coupons.Delete(ctx, s.Caller, coupon.ID))(t)
		testkit.WantCode(t, "a deleted coupon", testkit.Err(s.Coupons.Get(ctx, s.Caller, coupon.ID)), api.ResourceMissing)
		testkit.WantCode(t, "deleted twice", testkit.Err(s.Coupons.Delete(ctx, s.Caller, coupon.ID)), api.ResourceMissing)
	})
}

// An event of a plan shows the plan as the call returned it.
func TestPlanEventsShowThePlan(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{})
	ctx := t.Context()
	same := func(typ event.Type, want *catalog.Plan) {
		t.Helper()
		newest := must.Get(s.Events.List(ctx, s.Caller, event.ListParams{}))(t).Data[0]
		var got catalog.Plan
		must.Do(t, json.Unmarshal(newest.Data.Object, &got))
		expect.Equal(t, newest.Type, typ, "the newest event")
		expect.Same(t, &got, want, "%s", typ)
	}
	is := must.Get(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "Juice", Amount: 100, Interval: catalog.Month, Metadata: api.Metadata{"a": "b"}}))(t)
	same(event.PlanCreated, is)
	is = must.Get(s.Plans.Update(ctx, s.Caller, is.ID, catalog.UpdatePlanParams{TrialPeriodDays: new(pesewas(7))}))(t)
	same(event.PlanUpdated, is)
	must.Get(s.Plans.Delete(ctx, s.Caller, is.ID))(t)
	same(event.PlanDeleted, is)
}

// Terms take the percentage off, rounded half up, or the amount, and never more than there is.
func TestTermsNeverExceedTheSubtotal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		subtotal := rapid.Int64Range(-1000, 99_999_999).Draw(rt, "subtotal")
		off := rapid.Int64Range(1, 99_999_999).Draw(rt, "amount")
		expect.Equal(rt, catalog.Terms{AmountOff: &off}.Discount(subtotal), max(0, min(off, subtotal)), "an amount off")
		basis := rapid.Int64Range(1, 100_00).Draw(rt, "hundredths of a percent")
		got := catalog.Terms{PercentOff: &api.Number{Decimal: decimal.New(basis, -2)}}.Discount(subtotal)
		expect.Equal(rt, got, (max(0, subtotal)*basis*2+10_000)/20_000, "%d hundredths of a percent off %d", basis, subtotal)
	})
}
