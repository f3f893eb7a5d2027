package subscription_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

const day = 24 * time.Hour

// club is a shop whose customers subscribe.
type club struct {
	*testkit.Shop
	t *testing.T
	// seen is how many events of subscriptions the test has read.
	seen int
}

func openClub(t *testing.T, c payments.Config) *club {
	t.Helper()
	return openClubOn(t, memory.New(), c)
}

func openClubOn(t *testing.T, store storage.Store, c payments.Config) *club {
	t.Helper()
	return &club{Shop: testkit.OpenShop(t, store, c), t: t}
}

func (c *club) customer(phone string) *account.Customer {
	c.t.Helper()
	return must.Get(c.Accounts.CreateCustomer(c.t.Context(), c.Caller, account.CreateCustomerParams{Name: "Esi", Phone: phone}))(c.t)
}

func (c *club) plan(amount int64, p catalog.CreatePlanParams) *catalog.Plan {
	c.t.Helper()
	p.Amount = amount
	if p.Name == "" {
		p.Name = "Gold"
	}
	if p.Interval == "" {
		p.Interval = catalog.Month
	}
	return must.Get(c.Plans.Create(c.t.Context(), c.Caller, p))(c.t)
}

// subscribe subscribes a new customer to a plan.
func (c *club) subscribe(plan *catalog.Plan, p subscription.CreateParams) *subscription.Subscription {
	c.t.Helper()
	if p.Customer == "" {
		p.Customer = c.customer("0241234567").ID
	}
	p.Plan = plan.ID
	made := must.Get(c.Subscriptions.Create(c.t.Context(), c.Caller, p))(c.t)
	return made
}

// automatic makes a subscription that is charged automatically.
func (c *club) automatic(plan *catalog.Plan, phone string) *subscription.Subscription {
	c.t.Helper()
	made := c.subscribe(plan, subscription.CreateParams{CollectionMethod: invoice.ChargeAutomatically, PhoneNumber: phone})
	c.work()
	return made
}

func (c *club) work() {
	c.t.Helper()
	must.Do(c.t, c.Drain(c.t.Context()))
}

// pass moves the clock, and does what became due.
func (c *club) pass(d time.Duration) {
	c.t.Helper()
	c.Pass(d)
	c.work()
}

// passTo is pass until a time.
func (c *club) passTo(unix int64) {
	c.t.Helper()
	c.pass(time.Unix(unix, 0).Sub(c.Now()))
}

func (c *club) get(id string) *subscription.Subscription {
	c.t.Helper()
	return must.Get(c.Subscriptions.Get(c.t.Context(), c.Caller, id))(c.t)
}

func (c *club) update(id string, p subscription.UpdateParams) *subscription.Subscription {
	c.t.Helper()
	return must.Get(c.Subscriptions.Update(c.t.Context(), c.Caller, id, p))(c.t)
}

// invoices are those of a subscription, the oldest first.
func (c *club) invoices(id string) []invoice.Invoice {
	c.t.Helper()
	all := testkit.All(api.All(c.t.Context(), c.Caller, invoice.ListParams{Subscription: id}, c.Invoices.List))
	slices.Reverse(all)
	return all
}

func (c *club) invoice(id string) *invoice.Invoice {
	c.t.Helper()
	return must.Get(c.Invoices.Get(c.t.Context(), c.Caller, id))(c.t)
}

// pay pays an invoice outside of this service.
func (c *club) pay(id string) {
	c.t.Helper()
	must.Get(c.Invoices.Pay(c.t.Context(), c.Caller, id, invoice.PayParams{PaidOutOfBand: true}))(c.t)
	c.work()
}

// told returns the events of subscriptions since the last call, as "created active".
func (c *club) told() []string {
	c.t.Helper()
	all := testkit.All(api.All(c.t.Context(), c.Caller, event.ListParams{}, c.Events.List))
	slices.Reverse(all)
	told := []string{}
	for _, e := range all {
		if verb, ok := strings.CutPrefix(string(e.Type), "subscription."); ok {
			var is subscription.Subscription
			must.Do(c.t, json.Unmarshal(e.Data.Object, &is))
			told = append(told, verb+" "+string(is.Status))
		}
	}
	fresh := told[c.seen:]
	c.seen = len(told)
	return fresh
}

func (c *club) wantTold(want ...string) {
	c.t.Helper()
	expect.Same(c.t, c.told(), append([]string{}, want...), "the events")
}

// unix is a time of the tests' calendar, "2026-03-06 12:00:00".
func unix(t *testing.T, text string) int64 {
	t.Helper()
	return must.Get(time.Parse(time.DateTime, text))(t).Unix()
}

func decimalOf(n int64) decimal.Decimal { return decimal.NewFromInt(n) }
