package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/subscription"
)

// gym is a merchant whose members pay for each day. Its only client moves its clock.
type gym struct {
	*crashLoop
	caller         api.Caller
	secret         string
	plan, customer string
	members        map[string]string // the charged phones, by the ids of the subscriptions
	periods        int               // with an invoice, in the end
}

// declines is a phone whose payer declines. A subscription that is charged there is cancelled.
const declines = "0241230901"

// dues is the price of a day.
const dues = 700

// openGym makes the gym while no server runs.
func (l *crashLoop) openGym() {
	t, ctx, store := l.t, l.t.Context(), l.open()
	defer func() { must.Do(t, store.Close()) }()
	svc := testkit.New(t, store, payments.Config{Sandbox: true})
	g := &gym{crashLoop: l, members: map[string]string{}}
	g.caller.Merchant = must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Gym"}))(t).ID
	g.secret = must.Get(svc.Accounts.CreateKey(ctx, g.caller, account.CreateKeyParams{Name: "crash"}))(t).Secret
	l.gym = g
}

// request subscribes a member, or moves the clock.
func (g *gym) request(i int) {
	post := func(path, body string) (id string) {
		var object struct{ ID string }
		data := g.mustAs(g.secret, "POST", path, fmt.Sprint("gym-", path, i), body)
		if err := json.Unmarshal(data, &object); err != nil {
			g.t.Errorf("%s: %v", path, err)
		}
		g.made.Add(1)
		return object.ID
	}
	if i == 0 {
		g.plan = post("/v1/plans", fmt.Sprintf(`{"name":"Day","amount":%d,"interval":"day"}`, dues))
		g.customer = post("/v1/customers", `{"name":"Esi"}`)
	}
	if n := len(g.members); n < 4 || i%16 == 0 && n < 20 {
		phone := []string{approves, declines}[n%2]
		g.members[post("/v1/subscriptions", fmt.Sprintf(
			`{"customer":%q,"plan":%q,"collection_method":"charge_automatically","phone_number":%q}`, g.customer, g.plan, phone))] = phone
		return
	}
	// The answer waits for the work that became due, so the client does not wait for it.
	ctx, cancel := context.WithTimeout(g.t.Context(), 200*time.Millisecond)
	defer cancel()
	status, data, err := g.send(ctx, i%2, g.secret, "POST", "/v1/test_helpers/clock", "", fmt.Sprintf(`{"advance":%d}`, 3600+86_400*(i%3)))
	expect.True(g.t, err != nil || status == http.StatusOK || status == http.StatusServiceUnavailable, "clock: %d %s", status, data)
	time.Sleep(20 * time.Millisecond)
}

// inspect checks, when all work is done, that each period has one invoice, that the money is there,
// and that each event was written once.
func (g *gym) inspect(svc *payments.Service) {
	t, ctx := g.t, g.t.Context()
	now := must.Get(svc.MoveClock(ctx, g.caller, payments.ClockParams{}))(t)
	told := map[string][]string{} // by the object's id
	for e, err := range api.All(ctx, g.caller, event.ListParams{}, svc.Events.List) {
		must.Do(t, err)
		var object struct{ ID string }
		must.Do(t, json.Unmarshal(e.Data.Object, &object))
		told[object.ID] = append([]string{string(e.Type)}, told[object.ID]...)
	}
	paid := map[string]int64{} // by invoice
	total := int64(0)
	for p, err := range api.All(ctx, g.caller, payment.ListParams{Status: payment.Completed}, svc.Payments.List) {
		must.Do(t, err)
		paid[*p.Invoice] += p.Amount
		total += p.Amount
	}
	balance := must.Get(svc.Accounts.Balance(ctx, g.caller))(t)
	expect.Equal(t, balance.Available.Shift(2).IntPart(), total, "the gym has")
	testkit.CheckTotals(t, svc, g.caller)

	found := 0
	for v, err := range api.All(ctx, g.caller, subscription.ListParams{}, svc.Subscriptions.List) {
		must.Do(t, err)
		found++
		var all []*invoice.Invoice // the oldest first
		for i, err := range api.All(ctx, g.caller, invoice.ListParams{Subscription: v.ID}, svc.Invoices.List) {
			must.Do(t, err)
			all = append([]*invoice.Invoice{i}, all...)
		}
		g.periods += len(all)
		for k, i := range all {
			start := time.Unix(v.BillingAnchor, 0).UTC().AddDate(0, 0, k).Unix()
			period := i.Lines.Data[0].Period
			expect.Equal(t, period.Start, start, "start of the period of invoice %d of %s", k, v.ID)
			expect.Equal(t, period.End, start+86_400, "end of the period of invoice %d of %s", k, v.ID)
		}
		facts := map[string]int{}
		for _, fact := range told[v.ID] {
			facts[fact]++
		}
		wasTold := func(fact string, want int) {
			expect.Equal(t, facts["subscription."+fact], want, "how often %s, which is %s, was told %s", v.ID, v.Status, fact)
		}
		wasTold("created", 1)
		if g.members[v.ID] == declines {
			expect.True(t, v.Status == subscription.PastDue || v.Status == subscription.Cancelled, "%s is %s, and was never paid", v.ID, v.Status)
			wasTold("payment_succeeded", 0)
			continue
		}
		expect.Equal(t, v.Status, subscription.Active, "the status of %s", v.ID)
		expect.True(t, v.CurrentPeriodEnd > now.Unix(), "%s is active until %d, and it is %s", v.ID, v.CurrentPeriodEnd, now)
		wasTold("updated", len(all)-1)
		wasTold("payment_succeeded", len(all))
		for _, i := range all {
			expect.Equal(t, i.Status, invoice.Paid, "the status of %s of %s", i.ID, v.ID)
			expect.Equal(t, paid[i.ID], dues, "paid of %s of %s", i.ID, v.ID)
			expect.Equal(t, strings.Join(told[i.ID], " "), "invoice.created invoice.finalized invoice.paid", "events of %s", i.ID)
		}
	}
	expect.Equal(t, found, len(g.members), "subscriptions")
}
