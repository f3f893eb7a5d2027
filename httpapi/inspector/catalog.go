package inspector

import (
	"cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/look"
)

// onOff are the tabs of what can be switched on and off.
var onOff = options("active", "inactive")

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

var productNoun = &noun[catalog.Product]{
	path: "products", prefix: "prod", one: "Product", many: "Products", heads: [5]string{"Product", "Price", "State", "", "Created"},
	tab: "active", tabs: onOff, dated: true, empty: "What the merchant sells stands here. Lines of invoices take name, price and tax from it.",
	forms: func(v *visit) []*form {
		return []*form{making("product", makes(v.svc.Products.Create), ask("name", field{Name: "description", Label: "Description"}, "unit_amount", "tax_percent"))}
	},
	reads: func(v *visit) reader[catalog.Product] { return reading(v.svc.Products.List, v.svc.Products.Get) },
	row: func(v *visit, p *catalog.Product) row {
		return row{Href: v.url("products", p.ID), Title: p.Name, Below: look.Text(p.Description), Amount: p.UnitAmount, Badge: activity[p.Active], At: unix(p.Created)}
	},
	page: func(v *visit, o *catalog.Product, p *page) {
		p.Live = []section{planNoun.related(v, "product", o.ID)}
		p.Side = []section{{Title: "Details", Facts: facts("Price of one", o.UnitAmount, "Tax", taxText(o.Taxable, o.TaxPercent), "Description", o.Description, "Product", id(o.ID), "Created", unix(o.Created))}}
		p.Forms = switchForms(o.Active, v.svc.Products.Update, "Invoices that have it keep their lines.", v.svc.Products.Delete)
	},
}

var couponNoun = &noun[catalog.Coupon]{
	path: "coupons", prefix: "cpn", one: "Coupon", many: "Coupons", heads: [5]string{"Coupon", "Takes off", "State", "", "Created"},
	tab: "active", tabs: onOff, dated: true, empty: "A coupon takes a percentage or an amount off an invoice.",
	forms: func(v *visit) []*form {
		return []*form{making("coupon", makes(v.svc.Coupons.Create), ask(
			"name",
			field{Name: "percent_off", Label: "Percent off", Hint: "Give either this or an amount."},
			field{Name: "amount_off", Label: "Amount off in cedis"},
			field{Name: "max_redemptions", Label: "How often it may be redeemed", Kind: "number", Hint: "Empty for no limit."},
			field{Name: "redeem_by", Label: "Redeem before", Kind: "date", Hint: "Empty for no end."},
		))}
	},
	reads: func(v *visit) reader[catalog.Coupon] { return reading(v.svc.Coupons.List, v.svc.Coupons.Get) },
	row: func(v *visit, c *catalog.Coupon) row {
		return row{Href: v.url("coupons", c.ID), Title: cmp.Or(look.Text(c.Name), "Coupon"), Below: capital(used(c.TimesRedeemed, c.MaxRedemptions)), Amount: termsText(c.Terms), Badge: activity[c.Active], At: unix(c.Created)}
	},
	page: func(v *visit, c *catalog.Coupon, p *page) {
		var by *api.Time
		if c.RedeemBy != nil {
			by = new(unix(*c.RedeemBy))
		}
		p.Sentence = value(p.row.Amount)
		p.Live = []section{{Title: "Terms", Facts: facts("Takes", p.row.Amount, "Duration", words(c.Duration), "Redemptions", p.row.Below, "Redeem by", by)}}
		p.Side = []section{{Title: "Details", Facts: facts("Coupon", id(c.ID), "Created", unix(c.Created))}}
		p.Forms = switchForms(c.Active, v.svc.Coupons.Update, "Invoices that have it keep it.", v.svc.Coupons.Delete)
	},
}

// termsText says what a coupon takes off.
func termsText(t catalog.Terms) any {
	if t.PercentOff != nil {
		return t.PercentOff.String() + "% off"
	}
	return sentence("%s off", t.AmountOff)
}

var planNoun = &noun[catalog.Plan]{
	path: "plans", prefix: "plan", one: "Plan", many: "Plans", heads: [5]string{"Plan", "Price", "State", "Every", "Created"},
	tab: "active", tabs: onOff, search: "ID of a product", dated: true, empty: "A plan is a price for each period, to which customers subscribe.",
	forms: func(v *visit) []*form {
		return []*form{making("plan", makes(v.svc.Plans.Create), ask(
			"name",
			field{Name: "amount", Label: "Price of a period in cedis"},
			field{Name: "interval", Label: "Interval", Kind: "select", Value: "month", Options: options("day", "week", "month", "year")},
			field{Name: "interval_count", Label: "Intervals in a period", Kind: "number", Value: "1"},
			field{Name: "trial_period_days", Label: "Days of trial", Kind: "number", Hint: "Empty for none."},
			"product", "tax_percent",
		))}
	},
	reads: func(v *visit) reader[catalog.Plan] { return reading(v.svc.Plans.List, v.svc.Plans.Get) },
	row: func(v *visit, p *catalog.Plan) row {
		return row{Href: v.url("plans", p.ID), Title: p.Name, Amount: cedis(p.Amount), Badge: activity[p.Active], For: period(p), At: unix(p.Created)}
	},
	page: func(v *visit, o *catalog.Plan, p *page) {
		trial := ""
		if o.TrialPeriodDays != nil {
			trial = look.Plural(int(*o.TrialPeriodDays), "day")
		}
		p.Sentence = sentence("%s "+p.row.For, p.row.Amount)
		p.Live = []section{v.timeline("plan", o.ID, unix(o.Created).Time, "", nil)}
		p.Side = []section{{Title: "Details", Facts: facts("Price", p.row.Amount, "Period", capital(p.row.For), "Tax", taxText(o.Taxable, o.TaxPercent), "Trial", trial,
			"Product", v.linked("products", o.Product), "Plan", id(o.ID), "Created", unix(o.Created))}}
		p.Forms = switchForms(o.Active, v.svc.Plans.Update, "It takes no new customers.", v.svc.Plans.Delete)
	},
}

// period says how long a period of a plan is.
func period(p *catalog.Plan) string {
	if p.IntervalCount == 1 {
		return "every " + string(p.Interval)
	}
	return "every " + look.Plural(int(p.IntervalCount), string(p.Interval))
}
