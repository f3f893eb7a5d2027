package inspector

import (
	"cmp"
	"strconv"

	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

var subscriptionNoun = &noun[subscription.Subscription]{
	path: "subscriptions", prefix: "sub", one: "Subscription", many: "Subscriptions", heads: [5]string{"Customer", "Amount", "Status", "Plan", "Since"},
	tab: "status", tabs: options(subscription.Active, subscription.Trialing, subscription.PastDue, subscription.Paused, subscription.Cancelled), dated: true, loud: true,
	search: "Name, e-mail or phone", empty: "A customer who subscribes to a plan is invoiced for each period.",
	forms: func(v *visit) []*form {
		return []*form{{
			Name: "create", Title: "Make a subscription", Button: "Subscribe the customer", Main: true, Note: "The first invoice is made at once, or at the end of the trial.",
			Fields: ask(
				field{Name: "customer", Label: "Customer", Hint: "The ID of a customer, cus_…"},
				field{Name: "plan", Label: "Plan", Hint: "The ID of a plan, plan_…"},
				field{Name: "quantity", Label: "Quantity", Kind: "number", Value: "1"}, "coupon",
				field{Name: "collection_method", Label: "Collection", Kind: "select", Options: options(invoice.SendInvoice, invoice.ChargeAutomatically)},
				field{Name: "phone_number", Label: "Phone that is charged", Hint: "Empty for the customer's."},
			),
			do: makes(v.svc.Subscriptions.Create),
		}}
	},
	reads: func(v *visit) reader[subscription.Subscription] {
		return reading(v.svc.Subscriptions.List, v.svc.Subscriptions.Get)
	},
	row: func(v *visit, s *subscription.Subscription) row {
		r := row{Href: v.url("subscriptions", s.ID), Title: cmp.Or(v.rowOf("", s.Customer).Title, "A customer"), Below: v.phone(look.Text(s.PhoneNumber), v.svc.Subscriptions.Phone, s.ID), Amount: cedis(s.Amount * s.Quantity), Badge: state(s.Status), For: v.rowOf("", s.Plan).Title, At: unix(s.Created)}
		if s.CancelAtPeriodEnd {
			r.ForBelow = "Ends " + unix(s.CurrentPeriodEnd).UTC().Format("2 January")
		}
		return r
	},
	page: (*visit).subscriptionPage,
}

func (v *visit) subscriptionPage(s *subscription.Subscription, p *page) {
	plan, since, end := cmp.Or(p.row.For, "a plan"), unix(s.Created), unix(s.CurrentPeriodEnd).UTC().Format(look.LongDay)
	invoices, next := invoiceNoun.related(v, "subscription", s.ID), "next charge on "+end
	invoices.Empty.Text = "The first is made on " + end + "."
	switch {
	case s.Status == subscription.Cancelled, s.Status == subscription.Paused:
		next, invoices.Empty.Text = "no charge is to come", "None was made."
	case s.CancelAtPeriodEnd:
		next, invoices.Empty.Text = "ends on "+end, "None is to come."
	}
	p.Title, p.Amount = "Subscription to "+plan, "<span>"+sentence("%s "+v.rowOf("", s.Plan).For, p.row.Amount)+"</span>"
	p.Sentence = sentence("%s subscribes to %s, ", p.row.Title, plan) + "<b>" + value(next) + "</b>"
	p.Live = []section{invoices, v.timeline("subscription", s.ID, since.Time, "", nil)}
	p.Side = []section{
		{Title: "Money", Money: facts("Credit", unlessNone(cedis(s.CreditBalance)), "Each period", p.row.Amount)},
		{Title: "Customer", Facts: facts("Name", v.linked("customers", &s.Customer), "Phone", p.row.Below, "Page", address(look.Text(s.ManageURL)))},
		{Title: "Details", Facts: facts("Plan", v.linked("plans", &s.Plan), "Quantity", strconv.FormatInt(s.Quantity, 10), "Collection", words(s.CollectionMethod), "Period from", unix(s.CurrentPeriodStart),
			"Period until", unix(s.CurrentPeriodEnd), "Latest invoice", v.linked("invoices", s.LatestInvoice), "Subscription", id(s.ID))},
	}
	svc := v.svc.Subscriptions
	switch s.Status {
	case subscription.Cancelled:
		return
	case subscription.Paused:
		p.Forms = []*form{{Name: "resume", Button: "Resume", do: act(svc.Resume)}}
	default:
		p.Forms = []*form{{Name: "pause", Title: "Pause", Button: "Pause it", Note: "No period is invoiced until it is resumed.", do: act(svc.Pause)}}
	}
	p.Forms = append(p.Forms, &form{
		Name: "cancel", Title: "Cancel the subscription", Label: "Cancel", Button: "Cancel it", Danger: true, do: changes(svc.Cancel),
		Fields: ask(field{Name: "at_period_end", Label: "At the end of the period", Kind: "checkbox", Value: "yes"}),
		Will:   facts("Paid until", unix(s.CurrentPeriodEnd)),
	})
}
