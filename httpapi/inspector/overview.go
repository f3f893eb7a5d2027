package inspector

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/webhook"
)

// latest is how many of each the overview shows.
const latest = 4

// overview is the merchant's first page: what needs a person, the money, and the newest.
func (v *visit) overview() (*page, error) {
	needs := v.needs()
	shown, choices := v.period()
	twice := v.lastDays(2 * shown) // the days before are what the figures are compared with
	days, err := v.svc.Payments.DailyTotals(v.Context(), v.caller, twice)
	if err != nil {
		return nil, err
	}
	p := &page{
		Title: "Overview", NavPath: ".", Counts: map[string]int{}, Forms: []*form{addMoney(), askPhone(v)},
		Sentence: sentence("Test clock: %s. ", v.now.UTC().Format("Mon 2 Jan 2006, 15:04")) + `<a href="clock?form=move-clock">Move it</a>. <a href="clock#payers">Numbers to test with</a>`,
	}
	for _, n := range needs {
		path, _, _ := strings.Cut(strings.TrimPrefix(n.Href, v.base), "/")
		path, _, _ = strings.Cut(path, "?")
		p.Counts[path]++
	}
	stocks := v.stocks()
	available, held := stocks[0], stocks[len(stocks)-1]
	available.Below = sentence("%s %s", held.Value, lower(fmt.Sprint(held.Name)))
	if len(needs) > 0 {
		p.Live = []section{{Title: "Needs you", Needs: needs}}
	}
	newest, happened := paymentNoun.related(v, "", ""), eventNoun.related(v, "", "")
	newest.Title, newest.Empty.Action, happened.Title = "Latest payments", &link{"Make a payment", "?form=create"}, "Latest events"
	p.Live = append(p.Live, section{Title: "Money", Tabs: choices, Figures: append([]fact{available}, v.compared(days, twice)...)}, newest)
	p.Live = append(p.Live, v.charts(days[shown:], happened)...)
	return p, v.err
}

// stocks are the merchant's money: what is available, what is reserved, and what is owed if anything is.
func (v *visit) stocks() []fact {
	b, err := v.svc.Accounts.Balance(v.Context(), v.caller)
	if err != nil {
		v.err = err
		b = &account.Balance{}
	}
	stocks := []fact{{Name: "Available", Value: b.Available}, {Name: "Reserved", Value: b.Reserved, Below: "for transfers under way"}}
	if !b.Owed.IsZero() {
		stocks = append(stocks, fact{Name: "Owed", Value: b.Owed, Below: "the provider took it back"})
	}
	return stocks
}

// count writes a count with its noun and verb. There may be more than a full page.
func count(n int, noun, one, many string) string {
	switch n {
	case 1:
		many = one
	case perPage:
		return fmt.Sprintf("At least %d %ss %s", n, noun, many)
	}
	return look.Plural(n, noun) + " " + many
}

// needs are what a person must look after: orders at providers that are contradicted, stuck or held, and
// endpoints that do not answer.
func (v *visit) needs() (needs []need) {
	deliveries := listOf(v, v.svc.Webhooks.ListDeliveries, webhook.ListDeliveriesParams{Page: api.Page{Limit: perPage}})
	unanswered := map[string][]*webhook.Delivery{} // by endpoint
	var endpoints []string
	for i := range deliveries {
		d := &deliveries[i]
		if n := len(d.Attempts); n > 0 && !answered(&d.Attempts[n-1]) {
			if unanswered[d.Endpoint] == nil {
				endpoints = append(endpoints, d.Endpoint)
			}
			unanswered[d.Endpoint] = append(unanswered[d.Endpoint], d)
		}
	}
	endpoints = slices.DeleteFunc(endpoints, func(id string) bool { return !v.expects(id) })
	known := map[string]bool{} // by the address of the page
	for _, o := range listOf(v, v.svc.Providers.List, provider.ListParams{Page: api.Page{Limit: perPage}}) {
		needs = append(needs, v.orderNeed(&o))
		known[v.source(o.Object, o.Record)] = true
	}
	needs = append(needs, heldNeed(v, paymentNoun, known), heldNeed(v, disbursementNoun, known), heldNeed(v, payoutNoun, known))
	needs = slices.DeleteFunc(needs, func(n need) bool { return n.Title == "" })
	for _, id := range endpoints {
		needs = append(needs, v.endpointNeed(id, unanswered[id]))
	}
	return needs
}

// expects reports whether a person wants events at an endpoint: not if it was deleted, or switched off by
// hand.
func (v *visit) expects(endpoint string) bool {
	return get(v, v.svc.Webhooks.Get, endpoint).Active || v.switchedOff()[endpoint] != nil
}

// endpointNeed says that an endpoint does not take its deliveries.
func (v *visit) endpointNeed(id string, waiting []*webhook.Delivery) need {
	host, last := v.endpointHost(id), waiting[0].Attempts[len(waiting[0].Attempts)-1]
	n := need{Badge: badge{"bad", "Failed"}, Title: host + " " + answerText(&last), Act: "Look", Href: v.url("webhooks", id)}
	n.Text = sentence("%s not delivered. They are not tried again.", count(len(waiting), "event", "was", "were"))
	if v.switchedOff()[id] != nil {
		n.Title += ", and was switched off"
		n.Text = "What happens now is not sent to it. Switch it on once it answers again."
	}
	for _, d := range waiting {
		if d.NextAttemptAt != nil {
			n.Badge = badge{"wait", "Retrying"}
			n.Text = sentence("%s to be delivered. Next attempt in %s.", count(len(waiting), "event", "waits", "wait"), look.Lasting(d.NextAttemptAt.Sub(v.now)))
		}
	}
	return n
}

func addMoney() *form {
	return &form{
		Name: "add-money", Title: "Add money", Button: "Add money",
		Fields: ask(field{Name: "amount", Label: "Amount in cedis", Value: "1000.00"}),
		Will:   facts("To", "The available balance", "From", "Nowhere: this is test mode"),
		do: func(v *visit, in *input) (any, error) {
			return create(v, in, func(ctx context.Context, caller api.Caller, p account.DepositParams) (*account.Balance, error) {
				return nil, v.svc.Accounts.Deposit(ctx, api.Caller{IdempotencyKey: caller.IdempotencyKey}, p)
			}, account.DepositParams{To: v.caller.Merchant, Source: "test"})
		},
	}
}
