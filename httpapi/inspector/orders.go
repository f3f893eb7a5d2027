package inspector

import (
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/provider"
)

// orderNeed says that an order needs a person.
func (v *visit) orderNeed(o *provider.OrderInfo) need {
	money := value(cedis(o.Amount))
	if party := v.party(o.Object, o.Record); party != "" {
		money += " " + value(party)
	}
	n := need{
		Badge: badge{"wait", "Stuck"}, Title: "A " + strings.ReplaceAll(o.Object, "_", " ") + " stays in processing", Act: "Settle", Href: v.source(o.Object, o.Record),
		Text: sentence("%s, without an outcome for %s. It waits for you.", money, look.Lasting(v.now.Sub(o.CreatedAt))),
	}
	if o.Contradiction != "" {
		n.Badge, n.Title, n.Act = badge{"bad", "Contradiction"}, capital(strings.ReplaceAll(o.Contradiction, "GHS ", "GH₵"+look.NoBreak)), "Decide"
		n.Text = sentence("%s, %s ago. Nothing moves until you decide.", money, look.Lasting(v.now.Sub(o.CreatedAt)))
		if booked, says, _ := contradiction(o); says != "" {
			n.Title = v.providerOf(o) + " says " + says + ", the ledger says " + booked
		}
	}
	return n
}

// providerOf is the network of an order, if its list names it.
func (v *visit) providerOf(o *provider.OrderInfo) string {
	for _, n := range look.Networks() {
		if strings.HasSuffix(v.rowOf(o.Object, o.Record).Below, n.Name) {
			return n.Name
		}
	}
	return "The provider"
}

// contradiction returns what is booked, what the provider says now, and what the merchant's balance has
// too little by if the provider is right; 0 for an order that needs a person for another reason.
func contradiction(o *provider.OrderInfo) (booked, says string, missing int64) {
	booked, says, _ = strings.Cut(o.Contradiction, ", and now ")
	switch paid := says == string(provider.Paid); {
	case !provider.Outcome(says).Final():
		return booked, says, 0
	case paid == (o.Flow == provider.Charges): // what other flows pay leaves the balance
		return booked, says, o.Amount
	}
	return booked, says, -o.Amount
}

// decide shows on the page of an object that its order needs a person, and what can be done.
func (v *visit) decide(flow provider.Flow, p *page) {
	listed := listOf(v, v.svc.Providers.List, provider.ListParams{Flow: flow, Contradicted: true, Page: api.Page{Limit: api.MaxLimit}})
	at := slices.IndexFunc(listed, func(o provider.OrderInfo) bool { return o.Record == v.id })
	if at < 0 {
		return
	}
	o, n := &listed[at], v.orderNeed(&listed[at])
	p.Badge, p.Problem = n.Badge, "<b>"+value(n.Title)+"</b>"+n.Text
	booked, says, missing := contradiction(o)
	keep := &form{
		Name: "keep", Title: "Keep it as booked", Button: "Keep it as booked", Hint: n.Title + ".", Note: "Nothing is booked. The report leaves the list, and is not listed again.",
		do: func(v *visit, _ *input) (any, error) { return nil, v.svc.Providers.Resolve(v.Context(), o.ID) },
	}
	p.Forms = append([]*form{keep}, p.Forms...)
	if missing == 0 {
		return
	}
	keep.Label = "Keep it as " + booked
	p.Forms = slices.Insert(p.Forms, 0, &form{
		Name: "book", Title: "Book it as " + says, Button: "Book " + plainMoney(cedis(missing)), Hint: n.Title + ".",
		Will: facts("Balance of "+v.merchant.Name, cedis(missing), "Fee", "None"),
		Note: "It becomes an adjustment of the balance. The " + strings.ReplaceAll(o.Object, "_", " ") + " stays " + booked + ", and leaves the list.",
		do: func(v *visit, in *input) (any, error) {
			v.caller.IdempotencyKey = "inspector-book-" + o.ID + "-" + o.Contradiction // the same for two who decide at once
			if _, err := v.svc.Accounts.Adjust(v.Context(), v.caller, account.AdjustParams{
				Amount: api.FromPesewas(missing).Decimal, Reason: "The provider contradicted itself: " + o.Contradiction, Actor: "inspector", Reference: o.ID,
			}); err != nil {
				return nil, err
			}
			return keep.do(v, in)
		},
	})
}

// outcomes play the provider of an order under way, in which who does well or badly.
func outcomes(who, well, badly string, will []fact) []*form {
	return []*form{
		{Name: "succeed", Button: "Let " + who + " " + well, Main: true, do: settle(provider.Paid)},
		{Name: "fail", Title: "Let " + who + " " + badly, Button: capital(badly), Danger: true, Fields: ask("failure_reason"), Will: will, do: settle(provider.Refused)},
	}
}

// settle plays a provider that reports an outcome of the page's order.
func settle(o provider.Outcome) action {
	return func(v *visit, in *input) (any, error) {
		reason := in.text("failure_reason")
		if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
			return nil, err
		}
		return nil, v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{Outcome: o, Reason: provider.Refusal{Message: reason, Verbatim: reason != ""}})
	}
}
