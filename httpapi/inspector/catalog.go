package inspector

import (
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
)

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

// tax reads a tax rate; without one there is no tax.
func (in *input) tax() (taxable *bool, percent *decimal.Decimal) {
	if percent = in.number("tax_percent"); percent != nil {
		taxable = new(true)
	}
	return taxable, percent
}

var productNoun = &noun[catalog.Product]{
	path: "products", one: "Product", many: "Products", heads: [5]string{"Product", "Price", "State", "", "Created"},
	tab: "active", tabs: onOff, dated: true, empty: "What the merchant sells stands here. Lines of invoices take name, price and tax from it.",
	forms: func(*visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make a product", Button: "Make the product", Main: true,
			Fields: []field{{Name: "name", Label: "Name"}, {Name: "description", Label: "Description"}, {Name: "unit_amount", Label: "Price of one in cedis"}, taxField()},
			do: func(v *visit, in *input) (any, error) {
				taxable, percent := in.tax()
				return create(v, in, v.svc.Products.Create, catalog.CreateProductParams{
					Name: in.text("name"), Description: in.text("description"), UnitAmount: in.pesewas("unit_amount"), Taxable: taxable, TaxPercent: percent,
				})
			},
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[catalog.Product], error) {
		return v.svc.Products.List(v.Context(), v.caller, catalog.ListProductsParams{Page: page, Active: v.active(), Created: v.created()})
	},
	row: func(v *visit, p *catalog.Product) row {
		return row{Href: v.url("products", p.ID), Title: p.Name, Below: orEmpty(p.Description), Amount: p.UnitAmount, Badge: activity(p.Active), At: unix(p.Created)}
	},
	get: func(v *visit) (*catalog.Product, error) { return v.svc.Products.Get(v.Context(), v.caller, v.id) },
	page: func(v *visit, o *catalog.Product, p *page) error {
		list, err := v.svc.Plans.List(v.Context(), v.caller, catalog.ListPlansParams{Page: api.Page{Limit: latest}, Product: o.ID})
		if err != nil {
			return err
		}
		p.Title, p.Badge = "Product "+o.Name, activity(o.Active)
		p.Live = []section{related(v, planNoun, list, "Plans", "There is no plan for this product.", v.url("plans")+"?product="+o.ID)}
		p.Side = []section{{Title: "Details", Facts: facts("Price of one", o.UnitAmount, "Tax", taxText(o.Taxable, o.TaxPercent), "Description", o.Description, "Product", id(o.ID), "Created", unix(o.Created))}}
		p.Forms = switchForms(o.Active, func(v *visit, on *bool) (any, error) {
			return v.svc.Products.Update(v.Context(), v.caller, v.id, catalog.UpdateProductParams{Active: on})
		}, "Invoices that have it keep their lines.", v.svc.Products.Delete)
		return nil
	},
}

var couponNoun = &noun[catalog.Coupon]{
	path: "coupons", one: "Coupon", many: "Coupons", heads: [5]string{"Coupon", "Takes off", "State", "", "Created"},
	tab: "active", tabs: onOff, dated: true, empty: "A coupon takes a percentage or an amount off an invoice.",
	forms: func(*visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make a coupon", Button: "Make the coupon", Main: true, do: (*visit).createCoupon,
			Fields: []field{
				{Name: "name", Label: "Name"},
				{Name: "percent_off", Label: "Percent off", Hint: "Give either this or an amount."},
				{Name: "amount_off", Label: "Amount off in cedis"},
				{Name: "max_redemptions", Label: "How often it may be redeemed", Kind: "number", Hint: "Empty for no limit."},
				{Name: "redeem_by", Label: "Redeem before", Kind: "date", Hint: "Empty for no end."},
			},
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[catalog.Coupon], error) {
		return v.svc.Coupons.List(v.Context(), v.caller, catalog.ListCouponsParams{Page: page, Active: v.active(), Created: v.created()})
	},
	row: func(v *visit, c *catalog.Coupon) row {
		return row{Href: v.url("coupons", c.ID), Title: orDefault(orEmpty(c.Name), "Coupon"), Below: "Redeemed " + strconv.FormatInt(c.TimesRedeemed, 10), Amount: termsText(c.Terms), Badge: activity(c.Active), At: unix(c.Created)}
	},
	get: func(v *visit) (*catalog.Coupon, error) { return v.svc.Coupons.Get(v.Context(), v.caller, v.id) },
	page: func(v *visit, c *catalog.Coupon, p *page) error {
		p.Title, p.Badge, p.Sentence = orDefault(orEmpty(c.Name), "Coupon"), activity(c.Active), value(termsText(c.Terms))
		var by *api.Time
		if c.RedeemBy != nil {
			by = new(unix(*c.RedeemBy))
		}
		p.Live = []section{{Title: "Terms", Facts: facts("Takes", termsText(c.Terms), "Duration", words(c.Duration), "Redeemed", c.TimesRedeemed, "Limit", limitText(c.MaxRedemptions), "Redeem by", by)}}
		p.Side = []section{{Title: "Details", Facts: facts("Coupon", id(c.ID), "Created", unix(c.Created))}}
		p.Forms = switchForms(c.Active, func(v *visit, on *bool) (any, error) {
			return v.svc.Coupons.Update(v.Context(), v.caller, v.id, catalog.UpdateCouponParams{Active: on})
		}, "Invoices that have it keep it.", v.svc.Coupons.Delete)
		return nil
	},
}

// termsText says what a coupon takes off.
func termsText(t catalog.Terms) any {
	if t.PercentOff != nil {
		return t.PercentOff.String() + "% off"
	}
	return sentence("%s off", t.AmountOff)
}

func (v *visit) createCoupon(in *input) (any, error) {
	p := catalog.CreateCouponParams{Name: in.text("name"), PercentOff: in.number("percent_off"), AmountOff: in.pesewas("amount_off"), MaxRedemptions: in.integer("max_redemptions")}
	if day := in.text("redeem_by"); day != "" {
		var err error
		if p.RedeemBy, err = time.Parse(time.DateOnly, day); err != nil {
			in.refuse(api.Invalid("redeem_by", "Enter a day, such as 2026-12-31."))
		}
	}
	return create(v, in, v.svc.Coupons.Create, p)
}

var planNoun = &noun[catalog.Plan]{
	path: "plans", one: "Plan", many: "Plans", heads: [5]string{"Plan", "Price", "State", "Every", "Created"},
	tab: "active", tabs: onOff, search: "ID of a product (prod_…)", dated: true, empty: "A plan is a price for each period, to which customers subscribe.",
	forms: func(*visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make a plan", Button: "Make the plan", Main: true, do: (*visit).createPlan,
			Fields: []field{
				{Name: "name", Label: "Name"},
				{Name: "amount", Label: "Price of a period in cedis"},
				{Name: "interval", Label: "Interval", Kind: "select", Value: "month", Options: options("day", "week", "month", "year")},
				{Name: "interval_count", Label: "Intervals in a period", Kind: "number", Value: "1"},
				{Name: "trial_period_days", Label: "Days of trial", Kind: "number", Hint: "Empty for none."},
				{Name: "product", Label: "Product", Hint: "The ID of a product, prod_…; empty for none."},
				taxField(),
			},
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[catalog.Plan], error) {
		return v.svc.Plans.List(v.Context(), v.caller, catalog.ListPlansParams{Page: page, Active: v.active(), Product: v.entered("product", "prod_"), Created: v.created()})
	},
	row: func(v *visit, p *catalog.Plan) row {
		return row{Href: v.url("plans", p.ID), Title: p.Name, Amount: cedis(p.Amount), Badge: activity(p.Active), For: period(p), At: unix(p.Created)}
	},
	get:  func(v *visit) (*catalog.Plan, error) { return v.svc.Plans.Get(v.Context(), v.caller, v.id) },
	page: (*visit).planPage,
}

// period says how long a period of a plan is.
func period(p *catalog.Plan) string {
	if p.IntervalCount == 1 {
		return "every " + string(p.Interval)
	}
	return "every " + plural(int(p.IntervalCount), string(p.Interval))
}

func (v *visit) createPlan(in *input) (any, error) {
	taxable, percent := in.tax()
	return create(v, in, v.svc.Plans.Create, catalog.CreatePlanParams{
		Name: in.text("name"), Amount: in.duePesewas("amount"), Interval: catalog.Interval(in.text("interval")), IntervalCount: in.integer("interval_count"),
		TrialPeriodDays: in.integer("trial_period_days"), Product: in.text("product"), Taxable: taxable, TaxPercent: percent,
	})
}

func (v *visit) planPage(o *catalog.Plan, p *page) (err error) {
	p.Title, p.Badge, p.Sentence = "Plan "+o.Name, activity(o.Active), sentence("%s "+period(o), cedis(o.Amount))
	trial := ""
	if o.TrialPeriodDays != nil {
		trial = plural(int(*o.TrialPeriodDays), "day")
	}
	p.Live = make([]section, 1)
	p.Live[0], err = v.timeline("plan", o.ID, unix(o.Created).Time, []step{{"created", "Made", "API", ""}, {"updated", "Changed", "API", ""}})
	p.Side = []section{{Title: "Details", Facts: facts("Price", cedis(o.Amount), "Period", capital(period(o)), "Tax", taxText(o.Taxable, o.TaxPercent), "Trial", trial,
		"Product", v.linked("products", o.Product), "Plan", id(o.ID), "Created", unix(o.Created))}}
	p.Forms = switchForms(o.Active, func(v *visit, on *bool) (any, error) {
		return v.svc.Plans.Update(v.Context(), v.caller, v.id, catalog.UpdatePlanParams{Active: on})
	}, "Nobody can subscribe to it any more.", v.svc.Plans.Delete)
	return err
}
