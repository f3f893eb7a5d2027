package subscription_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the host's own use of the database

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/invoice"
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
	expect.True(t, is.Status == subscription.Cancelled && all[0].Status == invoice.Uncollectible && all[1].InvoiceDate.Unix() == made.CurrentPeriodEnd, "%+v of %s", is, all[1].InvoiceDate)
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
		_, err := own.Accounts.DeleteCustomer(t.Context(), c.Caller, who)
		return err
	})
	must.Do(t, tx.Commit())
	own.Wake()
	expect.Equal(t, c.get(id).Status, subscription.Active, "before the work")
	c.work()
	expect.Equal(t, c.get(id).Status, subscription.Cancelled, "after the work")
}
