package inspector

import (
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
)

// activeFilter reads the filter of what is active; nil for all.
func (v *visit) activeFilter() *bool {
	switch v.query.Get("active") {
	case "active":
		return new(true)
	case "inactive":
		return new(false)
	}
	return nil
}

// taxText describes the tax of a product or a plan.
func taxText(taxable *bool, percent *api.Number) string {
	switch {
	case taxable == nil || !*taxable:
		return ""
	case percent == nil:
		return "The default rate"
	}
	return percent.String() + "%"
}

// taxField is a tax rate in a form.
func taxField() field {
	return field{Name: "tax_percent", Label: "Tax in percent", Hint: "Empty for none."}
}

// switchButtons turn an object on or off, and delete it.
func switchButtons(active bool, turn func(on bool) func(*visit, *input) (*result, error), remove func(*visit, *input) (*result, error)) []*form {
	b := &form{Name: "deactivate", Button: "Switch off", do: turn(false)}
	if !active {
		b = &form{Name: "activate", Button: "Switch on", do: turn(true)}
	}
	return []*form{b, {Name: "delete", Button: "Delete", Danger: true, do: remove}}
}

func (v *visit) products() (*page, error) {
	list, err := v.svc.Products.List(v.Context(), v.caller, catalog.ListProductsParams{Page: v.page(), Active: v.activeFilter(), Created: v.day()})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Products", NavPath: "products",
		Filter: []field{v.filter("active", "State", "active", "inactive"), v.dayFilter()},
		Forms: []*form{{
			Name: "create", Title: "New product", Button: "Make the product",
			Fields: []field{
				{Name: "name", Label: "Name", Required: true},
				{Name: "description", Label: "Description"},
				{Name: "unit_amount", Label: "Price of one in GHS"},
				taxField(),
			},
			do: (*visit).createProduct,
		}},
		Live:     []section{{Rows: rowsOf(list, v.productRow), Empty: "There is no such product."}},
		NextPage: nextPage(v, list, func(p *catalog.Product) string { return p.ID }),
	}, nil
}

func (v *visit) productRow(p *catalog.Product) row {
	return row{
		Href: v.url("products", p.ID), Title: p.Name, Detail: orEmpty(p.Description), Amount: formatOptionalPesewas(p.UnitAmount),
		State: activity(p.Active), At: api.At(time.Unix(p.Created, 0)),
	}
}

func (v *visit) createProduct(in *input) (*result, error) {
	p := catalog.CreateProductParams{
		Name: in.text("name"), Description: in.text("description"), UnitAmount: in.pesewas("unit_amount"), TaxPercent: in.number("tax_percent"),
	}
	if p.TaxPercent != nil {
		p.Taxable = new(true)
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	is, err := v.svc.Products.Create(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("products", is.ID)}, nil
}

func (v *visit) product() (*page, error) {
	p, err := v.svc.Products.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	plans, err := v.svc.Plans.List(v.Context(), v.caller, catalog.ListPlansParams{Page: api.Page{Limit: latest}, Product: p.ID})
	if err != nil {
		return nil, err
	}
	turn := func(on bool) func(*visit, *input) (*result, error) {
		return func(v *visit, _ *input) (*result, error) {
			_, err := v.svc.Products.Update(v.Context(), v.caller, v.id, catalog.UpdateProductParams{Active: &on})
			return nil, err
		}
	}
	remove := func(v *visit, _ *input) (*result, error) {
		_, err := v.svc.Products.Delete(v.Context(), v.caller, v.id)
		return &result{redirect: v.url("products")}, err
	}
	return &page{
		Title: "Product " + p.Name, NavPath: "products",
		Live: []section{
			{
				Facts: nonEmpty(
					fact{Name: "ID", Value: p.ID, Code: true},
					fact{Name: "State", Value: activity(p.Active), State: true},
					fact{Name: "Price of one", Value: formatOptionalPesewas(p.UnitAmount)},
					fact{Name: "Tax", Value: taxText(p.Taxable, p.TaxPercent)},
					fact{Name: "Description", Value: orEmpty(p.Description), Wide: true},
					fact{Name: "Created", Value: formatTime(api.At(time.Unix(p.Created, 0)))},
				),
				Buttons: switchButtons(p.Active, turn, remove),
			},
			{Title: "Plans", Rows: rowsOf(plans, v.planRow), Empty: "There is no plan for this product."},
			{JSON: indentJSON(p)},
		},
	}, nil
}

func (v *visit) coupons() (*page, error) {
	list, err := v.svc.Coupons.List(v.Context(), v.caller, catalog.ListCouponsParams{Page: v.page(), Active: v.activeFilter(), Created: v.day()})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Coupons", NavPath: "coupons",
		Filter: []field{v.filter("active", "State", "active", "inactive"), v.dayFilter()},
		Forms: []*form{{
			Name: "create", Title: "New coupon", Button: "Make the coupon",
			Fields: []field{
				{Name: "name", Label: "Name"},
				{Name: "percent_off", Label: "Percent off", Hint: "Give either this or an amount."},
				{Name: "amount_off", Label: "Amount off in GHS"},
				{Name: "max_redemptions", Label: "How often it may be redeemed", Kind: "number", Hint: "Empty for no limit."},
				{Name: "redeem_by", Label: "Redeem before", Kind: "date", Hint: "Empty for no end."},
			},
			do: (*visit).createCoupon,
		}},
		Live:     []section{{Rows: rowsOf(list, v.couponRow), Empty: "There is no such coupon."}},
		NextPage: nextPage(v, list, func(c *catalog.Coupon) string { return c.ID }),
	}, nil
}

// termsText says what a coupon takes off.
func termsText(t catalog.Terms) string {
	if t.PercentOff != nil {
		return t.PercentOff.String() + "% off"
	}
	return formatOptionalPesewas(t.AmountOff) + " off"
}

func (v *visit) couponRow(c *catalog.Coupon) row {
	r := row{
		Href: v.url("coupons", c.ID), Title: orEmpty(c.Name), Detail: "redeemed " + formatCount(c.TimesRedeemed), Amount: termsText(c.Terms),
		State: activity(c.Active), At: api.At(time.Unix(c.Created, 0)),
	}
	if r.Title == "" {
		r.Title = c.ID
	}
	return r
}

func (v *visit) createCoupon(in *input) (*result, error) {
	p := catalog.CreateCouponParams{
		Name: in.text("name"), PercentOff: in.number("percent_off"), AmountOff: in.pesewas("amount_off"), MaxRedemptions: in.integer("max_redemptions"),
	}
	if day := in.text("redeem_by"); day != "" {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			in.refuse(api.Invalid("redeem_by", "Enter a day, such as 2026-12-31."))
		}
		p.RedeemBy = at
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	c, err := v.svc.Coupons.Create(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("coupons", c.ID)}, nil
}

func (v *visit) coupon() (*page, error) {
	c, err := v.svc.Coupons.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	limit := "none"
	if c.MaxRedemptions != nil {
		limit = formatCount(*c.MaxRedemptions)
	}
	var by string
	if c.RedeemBy != nil {
		by = formatTime(api.At(time.Unix(*c.RedeemBy, 0)))
	}
	turn := func(on bool) func(*visit, *input) (*result, error) {
		return func(v *visit, _ *input) (*result, error) {
			_, err := v.svc.Coupons.Update(v.Context(), v.caller, v.id, catalog.UpdateCouponParams{Active: &on})
			return nil, err
		}
	}
	remove := func(v *visit, _ *input) (*result, error) {
		_, err := v.svc.Coupons.Delete(v.Context(), v.caller, v.id)
		return &result{redirect: v.url("coupons")}, err
	}
	return &page{
		Title: strings.TrimSpace("Coupon " + orEmpty(c.Name)), NavPath: "coupons",
		Live: []section{
			{
				Facts: nonEmpty(
					fact{Name: "ID", Value: c.ID, Code: true},
					fact{Name: "State", Value: activity(c.Active), State: true},
					fact{Name: "Takes", Value: termsText(c.Terms)},
					fact{Name: "Duration", Value: string(c.Duration)},
					fact{Name: "Redeemed", Value: formatCount(c.TimesRedeemed)},
					fact{Name: "Limit", Value: limit},
					fact{Name: "Redeem by", Value: by},
					fact{Name: "Created", Value: formatTime(api.At(time.Unix(c.Created, 0)))},
				),
				Buttons: switchButtons(c.Active, turn, remove),
			},
			{JSON: indentJSON(c)},
		},
	}, nil
}

func (v *visit) plans() (*page, error) {
	list, err := v.svc.Plans.List(v.Context(), v.caller, catalog.ListPlansParams{
		Page: v.page(), Active: v.activeFilter(), Product: strings.TrimSpace(v.query.Get("product")), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Plans", NavPath: "plans",
		Filter: []field{
			v.filter("active", "State", "active", "inactive"),
			{Name: "product", Label: "Product (prod_…)", Value: v.query.Get("product")},
			v.dayFilter(),
		},
		Forms: []*form{{
			Name: "create", Title: "New plan", Button: "Make the plan",
			Fields: []field{
				{Name: "name", Label: "Name", Required: true},
				{Name: "amount", Label: "Price of a period in GHS", Required: true},
				{Name: "interval", Label: "Interval", Kind: "select", Value: "month", Options: options("day", "week", "month", "year")},
				{Name: "interval_count", Label: "Intervals in a period", Kind: "number", Value: "1"},
				{Name: "trial_period_days", Label: "Days of trial", Kind: "number", Hint: "Empty for none."},
				{Name: "product", Label: "Product (prod_…)"},
				taxField(),
			},
			do: (*visit).createPlan,
		}},
		Live:     []section{{Rows: rowsOf(list, v.planRow), Empty: "There is no such plan."}},
		NextPage: nextPage(v, list, func(p *catalog.Plan) string { return p.ID }),
	}, nil
}

// period says how long a period of a plan is.
func period(p *catalog.Plan) string {
	if p.IntervalCount == 1 {
		return "every " + string(p.Interval)
	}
	return "every " + formatCount(p.IntervalCount) + " " + string(p.Interval) + "s"
}

func (v *visit) planRow(p *catalog.Plan) row {
	return row{
		Href: v.url("plans", p.ID), Title: p.Name, Detail: period(p), Amount: formatPesewas(p.Amount),
		State: activity(p.Active), At: api.At(time.Unix(p.Created, 0)),
	}
}

func (v *visit) createPlan(in *input) (*result, error) {
	amount := in.pesewas("amount")
	p := catalog.CreatePlanParams{
		Name: in.text("name"), Interval: catalog.Interval(in.text("interval")), IntervalCount: in.integer("interval_count"),
		TrialPeriodDays: in.integer("trial_period_days"), Product: in.text("product"), TaxPercent: in.number("tax_percent"),
	}
	if p.TaxPercent != nil {
		p.Taxable = new(true)
	}
	if amount == nil {
		in.refuse(api.Missing("amount"))
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	p.Amount = *amount
	is, err := v.svc.Plans.Create(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("plans", is.ID)}, nil
}

func (v *visit) plan() (*page, error) {
	p, err := v.svc.Plans.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	history, err := v.history("plan", p.ID, time.Unix(p.Created, 0), "updated")
	if err != nil {
		return nil, err
	}
	facts := nonEmpty(
		fact{Name: "ID", Value: p.ID, Code: true},
		fact{Name: "State", Value: activity(p.Active), State: true},
		fact{Name: "Price", Value: formatPesewas(p.Amount) + " " + period(p)},
		fact{Name: "Tax", Value: taxText(p.Taxable, p.TaxPercent)},
		fact{Name: "Created", Value: formatTime(api.At(time.Unix(p.Created, 0)))},
	)
	if p.TrialPeriodDays != nil {
		facts = append(facts, fact{Name: "Days of trial", Value: formatCount(*p.TrialPeriodDays)})
	}
	if p.Product != nil {
		facts = append(facts, fact{Name: "Product", Value: *p.Product, Href: v.url("products", *p.Product)})
	}
	turn := func(on bool) func(*visit, *input) (*result, error) {
		return func(v *visit, _ *input) (*result, error) {
			_, err := v.svc.Plans.Update(v.Context(), v.caller, v.id, catalog.UpdatePlanParams{Active: &on})
			return nil, err
		}
	}
	remove := func(v *visit, _ *input) (*result, error) {
		_, err := v.svc.Plans.Delete(v.Context(), v.caller, v.id)
		return &result{redirect: v.url("plans")}, err
	}
	return &page{
		Title: "Plan " + p.Name, NavPath: "plans",
		Live: []section{{Facts: facts, Buttons: switchButtons(p.Active, turn, remove)}, history, {JSON: indentJSON(p)}},
	}, nil
}
