package inspector

import (
	"strconv"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

var subscriptionNoun = &noun[subscription.Subscription]{
	path: "subscriptions", one: "Subscription", many: "Subscriptions", heads: [5]string{"Customer", "Amount", "Status", "Plan", "Since"},
	tab: "status", tabs: states(subscription.Active, subscription.Trialing, subscription.PastDue, subscription.Paused, subscription.Cancelled), dated: true,
	search: "ID of a customer (cus_…) or a plan (plan_…)", empty: "A customer who subscribes to a plan is invoiced for each period.",
	forms: func(*visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make a subscription", Button: "Subscribe the customer", Main: true, Note: "The first invoice is made at once, or at the end of the trial.",
			Fields: []field{
				{Name: "customer", Label: "Customer", Hint: "The ID of a customer, cus_…"},
				{Name: "plan", Label: "Plan", Hint: "The ID of a plan, plan_…"},
				{Name: "quantity", Label: "Quantity", Kind: "number", Value: "1"},
				{Name: "coupon", Label: "Coupon", Hint: "The ID of a coupon, cpn_…; empty for none."},
				{Name: "collection_method", Label: "Collection", Kind: "select", Options: options(invoice.SendInvoice, invoice.ChargeAutomatically)},
				{Name: "phone_number", Label: "Phone that is charged", Hint: "Empty for the customer's."},
			},
			do: func(v *visit, in *input) (any, error) {
				return create(v, in, v.svc.Subscriptions.Create, subscription.CreateParams{
					Customer: in.text("customer"), Plan: in.text("plan"), Quantity: in.integer("quantity"), Coupon: in.text("coupon"),
					CollectionMethod: invoice.CollectionMethod(in.text("collection_method")), PhoneNumber: in.text("phone_number"),
				})
			},
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[subscription.Subscription], error) {
		return v.svc.Subscriptions.List(v.Context(), v.caller, subscription.ListParams{
			Page: page, Status: subscription.Status(v.param("status")), Customer: v.entered("customer", "cus_"), Plan: v.entered("plan", "plan_"), Created: v.created(),
		})
	},
	row: func(v *visit, s *subscription.Subscription) row {
		r := row{Href: v.url("subscriptions", s.ID), Title: orDefault(v.customerName(s.Customer), "A customer"), Below: maskedNumber(orEmpty(s.PhoneNumber)), Amount: cedis(s.Amount * s.Quantity), Badge: state(s.Status), For: v.planName(s.Plan), At: unix(s.Created)}
		if s.CancelAtPeriodEnd {
			r.ForBelow = "Ends " + unix(s.CurrentPeriodEnd).UTC().Format("2 January")
		}
		return r
	},
	get: func(v *visit) (*subscription.Subscription, error) {
		return v.svc.Subscriptions.Get(v.Context(), v.caller, v.id)
	},
	page: (*visit).subscriptionPage,
}

// planName is the name of a plan; "" if there is none.
func (v *visit) planName(id string) string {
	return v.named(&v.customers, id, func() (string, error) {
		p, err := v.svc.Plans.Get(v.Context(), v.caller, id)
		if err != nil {
			return "", err
		}
		return p.Name, nil
	})
}

func (v *visit) subscriptionPage(s *subscription.Subscription, p *page) error {
	bills, err := v.svc.Invoices.List(v.Context(), v.caller, invoice.ListParams{Page: api.Page{Limit: latest}, Subscription: s.ID})
	if err != nil {
		return err
	}
	happened, err := v.timeline("subscription", s.ID, unix(s.Created).Time, []step{
		{"created", "Made", "API", ""},
		{"updated", "Changed", "API", ""},
		{"trial_will_end", "The trial ends soon", "Payments", ""},
		{"payment_succeeded", "A period is paid", "Payer", "good"},
		{"payment_failed", "A payment failed", "Payer", "bad"},
		{"paused", "Paused", "API", "wait"},
		{"resumed", "Resumed", "API", ""},
		{"canceled", "Cancelled", "API", "wait"},
	})
	who, plan, at := v.customerName(s.Customer), orDefault(v.planName(s.Plan), "a plan"), id(s.ID)
	p.Title, p.Amount, p.Badge = "Subscription to "+plan, cedis(s.Amount*s.Quantity), state(s.Status)
	p.Sentence = sentence("%s to %s, since %s", orDefault(who, "A customer"), plan, unix(s.Created).UTC().Format("2 January 2006"))
	p.Live = []section{related(v, invoiceNoun, bills, "Invoices", "No period was invoiced yet.", v.url("invoices")+"?subscription="+s.ID), happened}
	var credit any
	if s.CreditBalance != 0 {
		credit = cedis(s.CreditBalance)
	}
	p.Side = []section{
		{Title: "Money", Money: facts("Each period", cedis(s.Amount*s.Quantity), "Credit", credit)},
		{Title: "Customer", Facts: facts("Name", who, "Phone", maskedNumber(orEmpty(s.PhoneNumber)), "Customer", v.linked("customers", &s.Customer), "Page", &link{s.ManageURL, s.ManageURL})},
		{Title: "Details", Facts: facts("Plan", v.linked("plans", &s.Plan), "Quantity", strconv.FormatInt(s.Quantity, 10), "Collection", words(s.CollectionMethod), "Period from", unix(s.CurrentPeriodStart),
			"Period until", unix(s.CurrentPeriodEnd), "Latest invoice", v.linked("invoices", s.LatestInvoice), "Subscription", at)},
	}
	svc := v.svc.Subscriptions
	switch s.Status {
	case subscription.Cancelled:
		return err
	case subscription.Paused:
		p.Forms = []*form{{Name: "resume", Button: "Resume", do: act(svc.Resume)}}
	default:
		p.Forms = []*form{{Name: "pause", Title: "Pause", Button: "Pause it", Note: "No period is invoiced until it is resumed.", do: act(svc.Pause)}}
	}
	p.Forms = append(p.Forms, &form{
		Name: "cancel", Title: "Cancel the subscription", Label: "Cancel", Button: "Cancel it", Danger: true,
		Fields: []field{{Name: "at_period_end", Label: "At the end of the period", Kind: "checkbox", Value: "yes"}},
		Will:   facts("Paid until", unix(s.CurrentPeriodEnd)),
		do: func(v *visit, in *input) (any, error) {
			return update(v, in, svc.Cancel, subscription.CancelParams{AtPeriodEnd: in.checked("at_period_end")})
		},
	})
	return err
}
