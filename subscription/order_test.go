package subscription_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the host's own use of the database

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/subscription"
)

// A call finds a subscription as if the workers had been in time, though they have not run.
func TestCallDoesFirstWhatIsDue(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(700, weekly("Gold")), subscription.CreateParams{DaysUntilDue: new(int64(60))})
	c.pay(*made.LatestInvoice)
	c.told()
	c.Pass(22 * day) // and no work
	is := c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	expect.Equal(t, is.CurrentPeriodStart, made.BillingAnchor+21*86_400, "the period")
	expect.Equal(t, len(c.invoices(made.ID)), 4, "invoices")
	c.wantTold("updated active", "updated active", "updated active", "updated active")
	c.Pass(60 * day)
	is = must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
	expect.Equal(t, is.Status, subscription.PastDue, "after 60 days without work")
}

// A charge that ends a subscription has failed while an earlier renewal could not be made, since the host's
// directory was down. The renewal comes first all the same.
func TestEarlierRenewalComesBeforeLastCharge(t *testing.T) {
	d := &directory{known: map[string]account.Customer{"host_1": {ID: "host_1", Name: "Yaw"}}}
	c := openClub(t, payments.Config{Customers: d})
	plan := c.plan(700, catalog.CreatePlanParams{Interval: catalog.Day, IntervalCount: new(int64(4))})
	made := c.subscribe(plan, subscription.CreateParams{Customer: "host_1", CollectionMethod: invoice.ChargeAutomatically, PhoneNumber: "0241230901"})
	c.work()
	for range 3 {
		c.pass(day)
	}
	d.err = context.DeadlineExceeded
	c.pass(2*day + time.Hour)
	d.err = nil
	c.pass(time.Minute)
	is, all := c.get(made.ID), c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Equal(t, is.Status, subscription.Cancelled, "status")
	expect.Equal(t, all[0].Status, invoice.Uncollectible, "status of the first")
	expect.Equal(t, all[1].InvoiceDate.Unix(), made.CurrentPeriodEnd, "invoice date of the second")
}

// In a host's transaction a subscription stands or falls with it, and the deletion of a customer cancels
// it after the commit.
func TestHostsTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payments.db")
	store := must.Get(sqlite.Open(t.Context(), path, sqlite.Config{}))(t)
	c := openClubOn(t, store, payments.Config{})
	plan, who := c.plan(5000, catalog.CreatePlanParams{}), c.customer("0241234567").ID
	db := must.Get(sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(2000)&_txlock=immediate"))(t)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	in := func(do func(*payments.Tx) error) (*payments.Tx, *sql.Tx) {
		tx := must.Get(db.Begin())(t)
		own := must.Get(c.InTx(t.Context(), store.In(tx)))(t)
		must.Do(t, do(own))
		return own, tx
	}
	var id string
	create := func(own *payments.Tx) error {
		made, err := own.Subscriptions.Create(t.Context(), c.Caller, subscription.CreateParams{Customer: who, Plan: plan.ID})
		if err == nil {
			id = made.ID
			_, err = own.Subscriptions.Update(t.Context(), c.Caller, id, subscription.UpdateParams{Quantity: new(int64(2))})
		}
		return err
	}
	_, tx := in(create)
	must.Do(t, tx.Rollback())
	c.wantTold()
	own, tx := in(create)
	must.Do(t, tx.Commit())
	own.Wake()
	c.wantTold("created active", "updated active")
	own, tx = in(func(own *payments.Tx) error {
		return testkit.Err(own.Accounts.DeleteCustomer(t.Context(), c.Caller, who))
	})
	must.Do(t, tx.Commit())
	own.Wake()
	expect.Equal(t, c.get(id).Status, subscription.Active, "before the work")
	c.work()
	expect.Equal(t, c.get(id).Status, subscription.Cancelled, "after the work")
}

// The end of a period waits for the outcome of an earlier charge. A call ends the wait, so that the period
// that has begun has its invoice.
func TestCallEndsWaitForCharge(t *testing.T) {
	store := faultstore.New(memory.New())
	c := openClubOn(t, store, payments.Config{})
	plan := c.plan(300, catalog.CreatePlanParams{Interval: catalog.Day, IntervalCount: new(int64(6))})
	monthly := c.plan(9000, catalog.CreatePlanParams{Name: "Monthly"})
	for name, call := range map[string]func(context.Context, string) error{
		"update": func(ctx context.Context, id string) error {
			return testkit.Err(c.Subscriptions.Update(ctx, c.Caller, id, subscription.UpdateParams{Plan: &monthly.ID}))
		},
		"pause": func(ctx context.Context, id string) error {
			return testkit.Err(c.Subscriptions.Pause(ctx, c.Caller, id))
		},
		"cancel": func(ctx context.Context, id string) error {
			return testkit.Err(c.Subscriptions.Cancel(ctx, c.Caller, id, subscription.CancelParams{AtPeriodEnd: true}))
		},
	} {
		made := c.automatic(plan, "0241230901")
		c.update(made.ID, subscription.UpdateParams{PhoneNumber: new("0241230903")}) // without an outcome
		c.pass(6*day + 10*time.Minute)
		expect.Equal(t, len(c.invoices(made.ID)), 1, "invoices while the end of the period waits")
		ctx, cancel := context.WithCancel(t.Context())
		store.CallAt(1000, cancel) // a call that finds no end ends here
		must.Do(t, call(ctx, made.ID))
		cancel()
		store.Heal()
		all := c.invoices(made.ID)
		must.True(t, len(all) >= 2, "%d invoices after %s", len(all), name)
		expect.Equal(t, all[1].InvoiceDate.Unix(), made.CurrentPeriodEnd, "the second period after %s", name)
		expect.Equal(t, len(all) == 3, name == "update", "an invoice of the new plan after %s", name)
	}
}

// A payment that is declined while the end of a period waits does not begin the wait anew, or a payer could
// put off renewals for ever.
func TestDeclinedPaymentDoesNotProlongWait(t *testing.T) {
	store := memory.New()
	c := openClubOn(t, store, payments.Config{})
	waits := func() any {
		t.Helper()
		for id, data := range testkit.Contents(t, store, c.Caller.Merchant) {
			if _, document, found := strings.Cut(data, "{"); found && strings.HasPrefix(id, "subscriptions ") {
				var is map[string]any
				must.Do(t, json.Unmarshal([]byte("{"+document), &is))
				return is["awaits_since"]
			}
		}
		t.Fatal("no subscription")
		return nil
	}
	made := c.automatic(c.plan(300, catalog.CreatePlanParams{Interval: catalog.Day, IntervalCount: new(int64(6))}), "0241230901")
	c.update(made.ID, subscription.UpdateParams{PhoneNumber: new("0241230903")}) // without an outcome
	c.pass(6*day + 10*time.Minute)
	since := waits()
	must.True(t, since != nil, "the end of the period does not wait")
	c.pass(55 * time.Minute)
	testkit.WantCode(t, "a declined payment", testkit.Err(c.Invoices.Pay(t.Context(), c.Caller, *made.LatestInvoice, invoice.PayParams{PaymentMethod: "pm_fail_card"})), api.PaymentFailed)
	c.work()
	expect.Equal(t, waits(), since, "when the wait began, after a payment declined later than an hour after the end")
}

// A call does a bounded part of what is due, and a worker the rest.
func TestLongCatchUpIsLeftToWorker(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(700, catalog.CreatePlanParams{Interval: catalog.Day}), subscription.CreateParams{DaysUntilDue: new(int64(365))})
	c.Pass(120*day + time.Hour)
	_, err := c.Subscriptions.Update(t.Context(), c.Caller, made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	var refusal *api.Error
	must.True(t, errors.As(err, &refusal), "the call answers %v", err)
	expect.Equal(t, refusal.Code, api.Unavailable, "the refusal: code")
	expect.True(t, refusal.RetryAfter > 0, "the refusal %+v", refusal)
	c.work()
	is := c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	expect.Equal(t, len(c.invoices(made.ID)), 121, "number of invoices")
	expect.Equal(t, is.CurrentPeriodStart, made.CurrentPeriodStart+120*86_400, "current period start")
}

// While the host's directory is down no renewal can be made. The subscription can be ended and paused all the
// same, and the directory is not asked for a cancelled one.
func TestCallsWhileRenewalFails(t *testing.T) {
	d := &directory{known: map[string]account.Customer{"host_1": {ID: "host_1", Name: "Yaw", Phone: "0241234567"}}}
	c := openClub(t, payments.Config{Customers: d})
	plan := c.plan(700, weekly("Gold"))
	subscribe := func() *subscription.Subscription {
		d.err = nil
		made := c.subscribe(plan, subscription.CreateParams{Customer: "host_1"})
		d.err = context.DeadlineExceeded
		c.Pass(7 * day)
		return made
	}
	made := subscribe()
	is := must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
	expect.Equal(t, is.Status, subscription.Cancelled, "cancelled")
	expect.Equal(t, len(c.invoices(made.ID)), 1, "invoices")
	asked := d.asked
	testkit.WantCode(t, "resume it", testkit.Err(c.Subscriptions.Resume(t.Context(), c.Caller, made.ID)), api.SubscriptionCancelled)
	testkit.WantCode(t, "change it", testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, made.ID, subscription.UpdateParams{Plan: new("plan_1")})),
		api.SubscriptionCancelled)
	expect.Equal(t, d.asked, asked, "questions about a cancelled one")

	made = subscribe()
	must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
	c.work()
	is = c.get(made.ID)
	expect.Equal(t, is.Status, subscription.Cancelled, "cancelled at the end that has passed: status")
	expect.Same(t, is.CancelledAt, new(made.CurrentPeriodEnd), "cancelled at the end that has passed: cancelled at")

	made = subscribe()
	is = must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, made.ID))(t)
	expect.Equal(t, is.Status, subscription.Paused, "paused")
	c.update(made.ID, subscription.UpdateParams{Metadata: api.Metadata{"a": "b"}})

	made = subscribe()
	must.Get(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"}))(t)
	err := testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, made.ID, subscription.UpdateParams{Quantity: new(int64(2))}))
	must.True(t, errors.Is(err, context.DeadlineExceeded), "a change before the renewal that is due: %v", err)
	d.err = nil
	is = c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	expect.Equal(t, is.CurrentPeriodStart, made.CurrentPeriodEnd, "the period")
}

// A call that makes no invoice passes for a customer whom the host has deleted, and so does a replay.
func TestOnlyCallsWithInvoiceNeedCustomer(t *testing.T) {
	d := &directory{known: map[string]account.Customer{"host_1": {ID: "host_1", Name: "Yaw", Phone: "0241234567"}}}
	c := openClub(t, payments.Config{Customers: d})
	plan, other := c.plan(700, weekly("Gold")), c.plan(900, weekly("Silver"))
	caller := c.Caller
	caller.IdempotencyKey = "create once"
	p := subscription.CreateParams{Customer: "host_1", Plan: plan.ID}
	made := must.Get(c.Subscriptions.Create(t.Context(), caller, p))(t)
	delete(d.known, "host_1")
	again := must.Get(c.Subscriptions.Create(t.Context(), caller, p))(t)
	expect.Equal(t, again.ID, made.ID, "the replay")
	c.update(made.ID, subscription.UpdateParams{Plan: &other.ID})
	testkit.WantCode(t, "resume one that is active", testkit.Err(c.Subscriptions.Resume(t.Context(), c.Caller, made.ID)), api.SubscriptionNotPaused)
	testkit.WantParam(t, "another interval", testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, made.ID, subscription.UpdateParams{Plan: new(c.plan(100, catalog.CreatePlanParams{}).ID)})), api.ResourceMissing, "customer")
	d.known["host_1"] = account.Customer{ID: "host_1", Name: "Yaw", Phone: "0241234567"}
	must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, made.ID))(t)
	expect.Equal(t, must.Get(c.Subscriptions.Resume(t.Context(), c.Caller, made.ID))(t).Status, subscription.Active, "resumed")
}

// While the host's directory is down, only the calls that need the customer fail.
func TestDirectoryFailsOnlyCallsThatNeedCustomer(t *testing.T) {
	d := &directory{known: map[string]account.Customer{"host_1": {ID: "host_1", Name: "Yaw"}}}
	c := openClub(t, payments.Config{Customers: d})
	plan := c.plan(700, weekly("Gold"))
	subscribe := func() string { return c.subscribe(plan, subscription.CreateParams{Customer: "host_1"}).ID }
	paused, cancelled, changed := subscribe(), subscribe(), subscribe()
	c.pass(day)
	c.update(changed, subscription.UpdateParams{Quantity: new(int64(2))})

	d.err = context.DeadlineExceeded
	c.update(paused, subscription.UpdateParams{Metadata: api.Metadata{"a": "b"}, Quantity: new(int64(3))})
	must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, paused))(t)
	cancel := func(id string) error {
		return testkit.Err(c.Subscriptions.Cancel(t.Context(), c.Caller, id, subscription.CancelParams{}))
	}
	must.Do(t, cancel(cancelled))
	asked := d.asked
	expect.ErrorIs(t, cancel(changed), context.DeadlineExceeded, "cancel one with a final invoice")
	expect.Equal(t, d.asked, asked+1, "questions of one call")
	expect.ErrorIs(t, testkit.Err(c.Subscriptions.Resume(t.Context(), c.Caller, paused)), context.DeadlineExceeded, "resume")
	expect.Equal(t, c.get(changed).Status, subscription.Active, "the one with a final invoice")
	expect.Equal(t, c.get(paused).Status, subscription.Paused, "the paused one")

	d.err = nil
	must.Do(t, cancel(changed))
	all := c.invoices(changed)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Same(t, all[1].Name, new("Yaw"), "name of the final invoice")
}

// An outcome asks the host's directory only if it may end the subscription.
func TestPaidOutcomesDoNotAskDirectory(t *testing.T) {
	d := &directory{known: map[string]account.Customer{"host_1": {ID: "host_1", Name: "Yaw"}}}
	c := openClub(t, payments.Config{Customers: d})
	c.subscribe(c.plan(5000, catalog.CreatePlanParams{}), subscription.CreateParams{
		Customer: "host_1", CollectionMethod: invoice.ChargeAutomatically, PhoneNumber: "0241234567",
	})
	asked := d.asked
	c.work()
	expect.Equal(t, d.asked, asked, "questions about a charge that was paid")
	c.wantTold("created active", "payment_succeeded active")

	made := c.subscribe(c.plan(700, weekly("Gold")), subscription.CreateParams{Customer: "host_1", DaysUntilDue: new(int64(60))})
	c.pass(8 * day)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	c.told()
	all := c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	must.Get(c.Invoices.MarkUncollectible(t.Context(), c.Caller, all[0].ID))(t)
	asked = d.asked
	d.during = func(ctx context.Context) error { // while the worker applies the outcome of the first
		err := testkit.Err(c.Invoices.Pay(ctx, c.Caller, all[1].ID, invoice.PayParams{PaidOutOfBand: true}))
		c.wantTold() // its outcome is queued behind that
		return err
	}
	c.work()
	c.wantTold("payment_succeeded active")
	expect.Equal(t, d.asked, asked+1, "questions about an uncollectible and a paid invoice")
}

// The host's directory is asked outside of transactions: it may write to the same store.
func TestDirectoryIsAskedOutsideOfTransactions(t *testing.T) {
	d := &directory{known: map[string]account.Customer{"host_1": {ID: "host_1", Name: "Yaw", Phone: "0241230901"}}}
	c := openClub(t, payments.Config{Customers: d})
	d.during = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return testkit.Err(c.Accounts.CreateCustomer(ctx, c.Caller, account.CreateCustomerParams{Name: "Esi"}))
	}
	made := c.subscribe(c.plan(700, weekly("Gold")), subscription.CreateParams{Customer: "host_1"})
	c.pass(7 * day)
	expect.Equal(t, len(c.invoices(made.ID)), 2, "invoices after a renewal")
	c.Pass(7 * day)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	c.update(made.ID, subscription.UpdateParams{Plan: &c.plan(900, catalog.CreatePlanParams{}).ID})
	expect.Equal(t, len(c.invoices(made.ID)), 4, "invoices after calls")

	made = c.subscribe(c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Year}), subscription.CreateParams{
		Customer: "host_1", CollectionMethod: invoice.ChargeAutomatically,
	})
	c.work()
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	asked := d.asked
	c.pass(6 * day)
	expect.Equal(t, c.get(made.ID).Status, subscription.Cancelled, "after the last charge")
	expect.True(t, d.asked > asked, "the last charge asked nothing")
}

// A call of the change of the phone finds the subscription as the worker would have left it.
func TestPhoneChangeDoesFirstWhatIsDue(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(700, weekly("Gold")), subscription.CreateParams{})
	must.Get(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"}))(t)
	c.update(made.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true)})
	c.Pass(7 * day)
	testkit.WantCode(t, "start", testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234986"})), api.SubscriptionCancelled)
	expect.Equal(t, len(must.Get(c.Messages.List(t.Context(), c.Caller, message.ListParams{To: "0551234986"}))(t).Data), 0, "codes")
}
