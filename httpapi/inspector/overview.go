package inspector

import (
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/webhook"
)

// latest is how many of each the overview shows.
const latest = 5

// overview is the merchant's first page: what needs a person, the money, and the newest.
func (v *visit) overview() (*page, error) {
	ctx, some := v.Context(), api.Page{Limit: latest}
	balance, err := v.svc.Accounts.Balance(ctx, v.caller)
	if err != nil {
		return nil, err
	}
	paid, err := v.svc.Payments.List(ctx, v.caller, payment.ListParams{Page: some})
	if err != nil {
		return nil, err
	}
	told, err := v.svc.Events.List(ctx, v.caller, event.ListParams{Page: some})
	if err != nil {
		return nil, err
	}
	sent, err := v.svc.Payouts.List(ctx, v.caller, payout.ListParams{Page: some})
	if err != nil {
		return nil, err
	}
	needs, waiting, silent, err := v.needs()
	if err != nil {
		return nil, err
	}
	today := v.today()
	days, err := v.svc.Payments.DailyTotals(ctx, v.caller, api.Times{From: today.AddDate(0, 0, 1-chartDays), Until: today.AddDate(0, 0, 1)})
	if err != nil {
		return nil, err
	}
	p := &page{
		Title: "Overview", NavPath: ".", Forms: []*form{addMoney(), askPhone()},
		Sentence: sentence("Test clock: %s in Accra. ", v.now.UTC().Format("Monday 2 January 2006, 15:04")) + `<a href="clock?form=move-clock">Move it</a>`,
	}
	waits := fact{Name: "Events waiting", Value: waiting, Below: "every endpoint answers"}
	if silent > 0 {
		p.Counts = map[string]string{"webhooks": strconv.Itoa(silent)}
		waits.Below = sentence("%s not answer", map[bool]string{true: "1 endpoint does", false: plural(silent, "endpoint") + " do"}[silent == 1])
	}
	reserved := fact{Name: "Reserved", Value: balance.Reserved, Below: "for transfers under way"}
	if !balance.Owed.IsZero() {
		reserved = fact{Name: "Owed", Value: balance.Owed, Below: "the provider took it back"}
	}
	p.Live = []section{{Figures: []fact{{Name: "Available", Value: balance.Available, Below: `<a href="ledger">Ledger</a>`}, reserved, paymentsToday(days), waits}}}
	if len(needs) > 0 {
		p.Live = append(p.Live, section{Title: "Needs you", Needs: needs})
	}
	newest := related(v, paymentNoun, paid, "Latest payments", "", v.url("payments"))
	newest.Half, newest.Empty = true, empty{"No payments yet", paymentNoun.empty, &link{"Make a payment", "?form=create"}}
	happened := related(v, eventNoun, told, "Latest events", "Whatever changes is told here.", v.url("events"))
	happened.Half = true
	p.Live = append(p.Live, newest, happened)
	charts, err := v.charts(days)
	if err != nil {
		return nil, err
	}
	p.Live = append(p.Live, charts...)
	outgoing := related(v, payoutNoun, sent, "Payouts", "", v.url("payouts"))
	outgoing.Empty = empty{"No payouts yet", payoutNoun.empty, &link{"Make a payout", v.url("payouts") + "?form=create"}}
	p.Live = append(p.Live, outgoing)
	return p, v.err
}

// needs are what a person must look after: endpoints that do not answer, and orders at providers that
// are stuck or contradicted. waiting counts the newest deliveries that are under way, and silent the
// endpoints that do not answer.
func (v *visit) needs() (needs []need, waiting string, silent int, err error) {
	deliveries, err := v.svc.Webhooks.ListDeliveries(v.Context(), v.caller, webhook.ListDeliveriesParams{Page: api.Page{Limit: perPage}})
	if err != nil {
		return nil, "", 0, err
	}
	pending := 0
	unanswered := map[string][]*webhook.Delivery{} // by endpoint
	var endpoints []string
	for i := range deliveries.Data {
		d := &deliveries.Data[i]
		if d.Status == webhook.Pending {
			pending++
		}
		if n := len(d.Attempts); n > 0 && !answered(&d.Attempts[n-1]) {
			if unanswered[d.Endpoint] == nil {
				endpoints = append(endpoints, d.Endpoint)
			}
			unanswered[d.Endpoint] = append(unanswered[d.Endpoint], d)
		}
	}
	waiting = strconv.Itoa(pending)
	if pending == perPage && deliveries.HasMore {
		waiting += "+"
	}
	for _, id := range endpoints {
		needs = append(needs, v.endpointNeed(id, unanswered[id]))
	}
	orders, err := v.svc.Providers.List(v.Context(), v.caller, provider.ListParams{Page: api.Page{Limit: perPage}})
	if err != nil {
		return nil, "", 0, err
	}
	for i := range orders.Data {
		needs = append(needs, v.orderNeed(&orders.Data[i]))
	}
	return needs, waiting, len(endpoints), nil
}

// endpointNeed says that an endpoint does not take its deliveries.
func (v *visit) endpointNeed(id string, waiting []*webhook.Delivery) need {
	host, last := v.endpointHost(id), waiting[0].Attempts[len(waiting[0].Attempts)-1]
	n := need{Badge: badge{"bad", "Webhook"}, Title: host + " " + answerText(&last), Act: "Look", Href: v.url("webhooks", id)}
	n.Text = sentence("%s not delivered. They are not tried again.", map[bool]string{true: "1 event was", false: plural(len(waiting), "event") + " were"}[len(waiting) == 1])
	for _, d := range waiting {
		if d.NextAttemptAt != nil {
			n.Text = sentence("%s to be delivered. Next attempt in %s.", map[bool]string{true: "1 event waits", false: plural(len(waiting), "event") + " wait"}[len(waiting) == 1], ago(max(0, d.NextAttemptAt.Sub(v.now))))
		}
	}
	return n
}

func (v *visit) orderNeed(o *provider.OrderInfo) need {
	n := need{
		Badge: badge{"wait", "Stuck"}, Title: "A " + strings.ReplaceAll(o.Object, "_", " ") + " stays in processing", Act: "Settle", Href: v.source(o.Object, o.Record),
		Text: sentence("%s, without an outcome for %s. It waits for you.", cedis(o.Amount), ago(v.now.Sub(o.CreatedAt))),
	}
	if o.Contradiction != "" {
		n.Badge, n.Title, n.Act = badge{"bad", "Contradiction"}, "The provider contradicts itself", "Decide"
		n.Text = sentence("%s: %s, %s ago. Nothing moves until you decide.", cedis(o.Amount), o.Contradiction, ago(v.now.Sub(o.CreatedAt)))
	}
	return n
}

func addMoney() *form {
	return &form{
		Name: "add-money", Title: "Add money", Button: "Add money",
		Fields: []field{{Name: "amount", Label: "Amount in cedis", Value: "1000.00"}},
		Will:   facts("To", "The available balance", "From", "Nowhere: this is test mode"),
		do:     (*visit).addMoney,
	}
}

func (v *visit) addMoney(in *input) (any, error) {
	amount := in.amount("amount")
	if err := in.err(); err != nil {
		return nil, err
	}
	return nil, v.svc.Accounts.Deposit(v.Context(), api.Caller{IdempotencyKey: v.caller.IdempotencyKey}, account.DepositParams{
		To: v.caller.Merchant, Amount: amount, Source: "test",
	})
}
