package subscription_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

func TestCreateBeginsFirstPeriodWithItsInvoice(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{Name: "Gold"})
	made := c.subscribe(plan, subscription.CreateParams{Quantity: new(int64(2)), Metadata: api.Metadata{"seat": "4"}})
	expect.Same(t, made, &subscription.Subscription{
		ID: made.ID, Object: "subscription", Status: subscription.Active, Customer: made.Customer, Plan: plan.ID, Amount: 5000, Currency: "GHS", Quantity: 2,
		CurrentPeriodStart: c.Now().Unix(), CurrentPeriodEnd: unix(t, "2026-04-06 12:00:00"), BillingAnchor: c.Now().Unix(),
		LatestInvoice: made.LatestInvoice, CollectionMethod: invoice.SendInvoice, PhoneNumber: new("024****567"), DaysUntilDue: 7,
		ManageURL: made.ManageURL, Metadata: api.Metadata{"seat": "4"}, Created: c.Now().Unix(),
	}, "created")
	expect.Same(t, c.get(made.ID), made, "as read")
	c.work()
	c.wantTold("created active")
	all := c.invoices(made.ID)
	must.True(t, len(all) == 1 && all[0].ID == *made.LatestInvoice, "invoices %+v", all)
	v := all[0]
	expect.Equal(t, v.Status, invoice.Open, "the invoice: status")
	expect.Equal(t, v.Total, 10_000, "the invoice: total")
	expect.True(t, v.InvoiceDate.Equal(c.Now()), "at %s the invoice is dated %s", c.Now(), v.InvoiceDate)
	must.True(t, v.DueDate != nil, "the invoice has no due date: %+v", v)
	expect.True(t, v.DueDate.Equal(c.Now().Add(7*day)), "at %s the invoice is due %s", c.Now(), v.DueDate)
	expect.Same(t, v.Customer, &made.Customer, "the invoice: customer")
	must.True(t, len(v.Lines.Data) == 1, "lines %+v", v.Lines)
	line := v.Lines.Data[0]
	expect.Equal(t, line.Description, "Gold", "the line: description")
	expect.Equal(t, line.UnitAmount, 5000, "the line: unit amount")
	expect.Equal(t, line.Quantity.String(), "2", "the line: quantity")
	expect.Same(t, line.Period, &invoice.Period{Start: made.CurrentPeriodStart, End: made.CurrentPeriodEnd}, "the line: period")
	list := must.Get(c.Subscriptions.List(t.Context(), c.Caller, subscription.ListParams{Customer: made.Customer, Plan: plan.ID, Status: subscription.Active}))(t)
	must.True(t, len(list.Data) == 1, "listed %+v", list)
	expect.Equal(t, list.Data[0].ID, made.ID, "listed: ID of the first")
	testkit.WantCode(t, "of the other mode", testkit.Err(c.Subscriptions.Get(t.Context(), api.Caller{Merchant: c.Caller.Merchant, Live: true}, made.ID)), api.ResourceMissing)
}

// A subscription goes on from period to period, also after a long time without a worker: each period has one
// invoice, which is dated at its start.
func TestRenewalsCatchUp(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(5000, catalog.CreatePlanParams{}), subscription.CreateParams{DaysUntilDue: new(int64(365))})
	c.passTo(unix(t, "2026-04-06 12:00:00") - 1)
	expect.Equal(t, len(c.invoices(made.ID)), 1, "invoices a second before the end")
	c.pass(time.Second)
	is, all := c.get(made.ID), c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Equal(t, all[1].InvoiceDate.Unix(), unix(t, "2026-04-06 12:00:00"), "renewed: invoice date")
	must.True(t, all[1].DueDate != nil, "renewed: no due date: %+v", all[1])
	expect.Equal(t, all[1].DueDate.Unix(), unix(t, "2027-04-06 12:00:00"), "renewed: due date")
	expect.Same(t, is.LatestInvoice, &all[1].ID, "renewed: latest invoice")
	expect.Equal(t, is.CurrentPeriodStart, unix(t, "2026-04-06 12:00:00"), "renewed: current period start")
	expect.Equal(t, is.CurrentPeriodEnd, unix(t, "2026-05-06 12:00:00"), "renewed: current period end")
	c.wantTold("created active", "updated active")

	c.passTo(unix(t, "2027-01-10 09:00:00")) // eight months at once
	all = c.invoices(made.ID)
	must.True(t, len(all) == 11, "%d invoices", len(all))
	for i, v := range all {
		start := time.Date(2026, time.Month(3+i), 6, 12, 0, 0, 0, time.UTC)
		expect.True(t, v.InvoiceDate.Equal(start), "invoice %d is of %s", i, v.InvoiceDate)
		expect.Same(t, v.Lines.Data[0].Period, &invoice.Period{Start: start.Unix(), End: start.AddDate(0, 1, 0).Unix()}, "invoice %d: period of the line", i)
	}
	expect.Equal(t, all[10].Number[:8], "INV-2027", "the year of the number")
	expect.Equal(t, all[9].Number[:8], "INV-2027", "the year of an invoice that was made late")
	expect.True(t, all[9].DueDate.Equal(c.Now().Add(365*day)), "made late, it is due at %s", all[9].DueDate)
	c.Verified()
}

// Two processes make the invoices of one subscription, and the clock of one is ahead.
func TestInvoicesAreListedInTheirOrder(t *testing.T) {
	store := memory.New()
	c := openClubOn(t, store, payments.Config{})
	ahead := testkit.New(t, store, payments.Config{Sandbox: true, Clock: func() time.Time { return c.Now().Add(time.Second) }})
	month, year := c.plan(5000, catalog.CreatePlanParams{}), c.plan(50_000, catalog.CreatePlanParams{Interval: catalog.Year})
	made := c.subscribe(month, subscription.CreateParams{})
	want := []string{*made.LatestInvoice}
	change := func(service *payments.Service, to *catalog.Plan) { // another interval begins a period
		is := must.Get(service.Subscriptions.Update(t.Context(), c.Caller, made.ID, subscription.UpdateParams{Plan: &to.ID}))(t)
		want = append(want, *is.LatestInvoice)
	}
	for range 5 {
		change(ahead, year)
		change(c.Service, month)
	}
	var listed []string
	for _, v := range c.invoices(made.ID) {
		listed = append(listed, v.ID)
	}
	expect.Same(t, listed, want, "the invoices in the order of their making")
}

func TestTrialHasNoInvoice(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{TrialPeriodDays: new(int64(10))})
	made := c.subscribe(plan, subscription.CreateParams{})
	end := c.Now().Add(10 * day).Unix()
	expect.Equal(t, made.Status, subscription.Trialing, "in its trial: status")
	expect.Same(t, made.TrialEnd, new(end), "in its trial: trial end")
	expect.Equal(t, made.CurrentPeriodStart, made.Created, "in its trial: current period start")
	expect.Equal(t, made.CurrentPeriodEnd, end, "in its trial: current period end")
	expect.Equal(t, made.BillingAnchor, end, "in its trial: billing anchor")
	expect.True(t, made.LatestInvoice == nil, "in its trial: LatestInvoice is set")
	c.passTo(end - 3*86_400 - 1)
	c.wantTold("created trialing")
	c.pass(time.Second)
	c.wantTold("trial_will_end trialing")
	c.passTo(end - 1)
	expect.Equal(t, len(c.invoices(made.ID)), 0, "invoices of the trial")
	c.pass(time.Second)
	c.wantTold("updated active")
	is, all := c.get(made.ID), c.invoices(made.ID)
	expect.Equal(t, is.Status, subscription.Active, "after its trial: status")
	expect.Equal(t, is.CurrentPeriodStart, end, "after its trial: current period start")
	expect.Same(t, is.TrialEnd, new(end), "after its trial: trial end")
	must.True(t, len(all) == 1, "after its trial %+v by %+v", is, all)
	expect.Equal(t, all[0].InvoiceDate.Unix(), end, "invoice date of the first")

	none := c.subscribe(plan, subscription.CreateParams{TrialPeriodDays: new(int64(0))})
	expect.Equal(t, none.Status, subscription.Active, "without a trial: status")
	expect.True(t, none.TrialEnd == nil, "without a trial: TrialEnd is set")
	c.told()
	short := c.subscribe(plan, subscription.CreateParams{TrialEnd: c.Now().Add(2*day + time.Millisecond)})
	expect.Equal(t, *short.TrialEnd, c.Now().Add(2*day).Unix(), "the end of a short trial")
	c.work()
	c.wantTold("created trialing", "trial_will_end trialing")
}

func TestInvalidSubscriptionsAreRefused(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(50_000_000, catalog.CreatePlanParams{})
	taxed := c.plan(90_000_000, catalog.CreatePlanParams{Taxable: new(true), TaxPercent: new(decimalOf(20))})
	retired := c.plan(100, catalog.CreatePlanParams{Active: new(false)})
	known := c.customer("").ID
	valid := subscription.CreateParams{Customer: known, Plan: plan.ID}
	for name, test := range map[string]struct {
		change func(*subscription.CreateParams)
		code   api.Code
		param  string
	}{
		"no customer":          {func(p *subscription.CreateParams) { p.Customer = "" }, api.ParameterMissing, "customer"},
		"no plan":              {func(p *subscription.CreateParams) { p.Plan = "" }, api.ParameterMissing, "plan"},
		"an unknown customer":  {func(p *subscription.CreateParams) { p.Customer = "cus_1" }, api.ResourceMissing, "customer"},
		"an unknown plan":      {func(p *subscription.CreateParams) { p.Plan = "plan_1" }, api.ResourceMissing, "plan"},
		"an inactive plan":     {func(p *subscription.CreateParams) { p.Plan = retired.ID }, api.ParameterInvalid, "plan"},
		"an unknown coupon":    {func(p *subscription.CreateParams) { p.Coupon = "cpn_1" }, api.ResourceMissing, "coupon"},
		"none of it":           {func(p *subscription.CreateParams) { p.Quantity = new(int64(0)) }, api.ParameterInvalid, "quantity"},
		"too many":             {func(p *subscription.CreateParams) { p.Quantity = new(int64(1_000_001)) }, api.ParameterInvalid, "quantity"},
		"too much":             {func(p *subscription.CreateParams) { p.Quantity = new(int64(2)) }, api.ParameterInvalid, "quantity"},
		"too much with taxes":  {func(p *subscription.CreateParams) { p.Plan = taxed.ID }, api.ParameterInvalid, "quantity"},
		"a trial of -1 days":   {func(p *subscription.CreateParams) { p.TrialPeriodDays = new(int64(-1)) }, api.ParameterInvalid, "trial_period_days"},
		"a trial of 731 days":  {func(p *subscription.CreateParams) { p.TrialPeriodDays = new(int64(731)) }, api.ParameterInvalid, "trial_period_days"},
		"two trials":           {func(p *subscription.CreateParams) { p.TrialPeriodDays, p.TrialEnd = new(int64(1)), c.Now().Add(day) }, api.ParameterInvalid, "trial_end"},
		"a trial of the past":  {func(p *subscription.CreateParams) { p.TrialEnd = c.Now() }, api.ParameterInvalid, "trial_end"},
		"a trial too far away": {func(p *subscription.CreateParams) { p.TrialEnd = c.Now().Add(730*day + time.Second) }, api.ParameterInvalid, "trial_end"},
		"no way to collect":    {func(p *subscription.CreateParams) { p.CollectionMethod = "cash" }, api.ParameterInvalid, "collection_method"},
		"no phone to charge":   {func(p *subscription.CreateParams) { p.CollectionMethod = invoice.ChargeAutomatically }, api.ParameterMissing, "phone_number"},
		"no phone number":      {func(p *subscription.CreateParams) { p.PhoneNumber = "12" }, api.InvalidPhoneNumber, "phone_number"},
		"due before":           {func(p *subscription.CreateParams) { p.DaysUntilDue = new(int64(-1)) }, api.ParameterInvalid, "days_until_due"},
		"due too late":         {func(p *subscription.CreateParams) { p.DaysUntilDue = new(int64(366)) }, api.ParameterInvalid, "days_until_due"},
		"nested metadata":      {func(p *subscription.CreateParams) { p.Metadata = api.Metadata{"m": []any{}} }, api.ParameterInvalid, "metadata.m"},
	} {
		p := valid
		test.change(&p)
		testkit.WantParam(t, name, testkit.Err(c.Subscriptions.Create(t.Context(), c.Caller, p)), test.code, test.param)
	}
	expect.Equal(t, len(must.Get(c.Invoices.List(t.Context(), c.Caller, invoice.ListParams{}))(t).Data), 0, "invoices of refused subscriptions")
	must.Get(c.Subscriptions.Create(t.Context(), c.Caller, valid))(t)
}
