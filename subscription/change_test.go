package subscription_test

import (
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// line is what a test compares of an invoice's line.
type line struct {
	Description string
	Amount      int64
}

func linesOf(v *invoice.Invoice) []line {
	var all []line
	for _, l := range v.Lines.Data {
		all = append(all, line{l.Description, l.Amount})
	}
	return all
}

// weekly is a plan of 7 days, so that prorations are sevenths.
func weekly(name string) catalog.CreatePlanParams {
	return catalog.CreatePlanParams{Name: name, Interval: catalog.Week}
}

func TestChangeOfQuantityIsProrated(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(1000, weekly("Gold")), subscription.CreateParams{})
	c.pay(*made.LatestInvoice)
	c.told()
	c.pass(2 * day)
	is := c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(3))})
	expect.Equal(t, is.Quantity, 3, "changed: quantity")
	expect.Equal(t, is.CurrentPeriodEnd, made.CurrentPeriodEnd, "changed: current period end")
	expect.Equal(t, len(c.invoices(made.ID)), 1, "number of invoices")
	c.wantTold("updated active")
	c.pass(4 * day)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(3))}) // changes nothing
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(1)), Plan: new(c.plan(2000, weekly("Silver")).ID)})
	c.pass(day)
	all := c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Same(t, linesOf(&all[1]), []line{
		{"Unused time on Gold", -714}, {"Remaining time on Gold", 2143}, // 5/7 of 1000 and 3000
		{"Unused time on Gold", -429}, {"Remaining time on Silver", 286}, // 1/7 of 3000 and 2000
		{"Silver", 2000},
	}, "the lines")
	expect.Equal(t, all[1].Total, 3286, "the total")
	expect.True(t, all[1].Lines.Data[0].Period == nil, "the periods: [1].Lines.Data[0].Period is set")
	expect.True(t, all[1].Lines.Data[4].Period != nil, "the periods: [1].Lines.Data[4].Period is nil")
	c.Verified()
}

// What the period charges is credited before it is paid, too. A change without prorations makes no lines.
func TestUnpaidPeriodGivesCredit(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(700, weekly("Gold")), subscription.CreateParams{})
	c.pass(day)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2)), Proration: subscription.NoProration})
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(3))})
	c.pay(*made.LatestInvoice)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(1))})
	c.pass(6 * day)
	all := c.invoices(made.ID)
	expect.Same(t, linesOf(&all[1]), []line{
		{"Unused time on Gold", -600},
		{"Remaining time on Gold", 1800},
		{"Unused time on Gold", -1800},
		{"Remaining time on Gold", 600},
		{"Gold", 700},
	}, "the lines")
}

// The credit is for what the period cost after its discount, and what a total below zero leaves is credit
// for later invoices.
func TestCreditIsCarriedOver(t *testing.T) {
	c := openClub(t, payments.Config{})
	half := must.Get(c.Coupons.Create(t.Context(), c.Caller, catalog.CreateCouponParams{PercentOff: new(decimalOf(50))}))(t)
	made := c.subscribe(c.plan(7000, weekly("Gold")), subscription.CreateParams{Coupon: half.ID})
	expect.True(t, made.Discount == nil, "once is over after the first invoice: %+v", made.Discount)
	v := c.invoice(*made.LatestInvoice)
	expect.Equal(t, v.Total, 3500, "the first costs")
	expect.Same(t, v.Coupon, new(half.ID), "coupon")
	c.pay(v.ID)
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(100, weekly("Basic")).ID)})
	c.pass(7 * day)
	is, all := c.get(made.ID), c.invoices(made.ID)
	expect.Same(t, linesOf(&all[1]), []line{
		{"Unused time on Gold", -3500}, {"Remaining time on Basic", 50}, {"Basic", 100}, {"Credit for later invoices", 3350},
	}, "the lines")
	expect.Equal(t, all[1].Status, invoice.Paid, "status of the second")
	expect.True(t, all[1].Payment == nil, "[1].Payment is set")
	expect.Equal(t, is.CreditBalance, 3350, "credit")
	c.told()
	c.pass(7 * day)
	is, all = c.get(made.ID), c.invoices(made.ID)
	expect.Same(t, linesOf(&all[2]), []line{{"Basic", 100}, {"Credit from earlier invoices", -100}}, "the lines")
	expect.Equal(t, is.CreditBalance, 3250, "the credit")
	c.wantTold("updated active", "payment_succeeded active")
	is = must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
	expect.Equal(t, is.CreditBalance, 0, "the credit of a cancelled one")
}

func TestTaxesFollowEachLinesRate(t *testing.T) {
	c := openClub(t, payments.Config{DefaultTax: new(decimalOf(20))})
	made := c.subscribe(c.plan(1005, catalog.CreatePlanParams{Name: "Gold", Interval: catalog.Week, Taxable: new(true)}), subscription.CreateParams{})
	expect.Equal(t, c.invoice(*made.LatestInvoice).Total, 1206, "the first total")
	c.pay(*made.LatestInvoice)
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(700, weekly("Untaxed")).ID)})
	c.pass(7 * day)
	v := c.invoices(made.ID)[1]
	expect.Equal(t, v.Subtotal, 700-1005+700, "subtotal")
	expect.Equal(t, v.Tax, -201, "tax")
	expect.Equal(t, v.Total, 395-201, "total")
}

func TestAnotherIntervalStartsNewPeriod(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(700, weekly("Gold")), subscription.CreateParams{})
	c.pay(*made.LatestInvoice)
	c.pass(2 * day)
	c.told()
	is := c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(9000, catalog.CreatePlanParams{Name: "Yearly", Interval: catalog.Year}).ID)})
	expect.Equal(t, is.BillingAnchor, c.Now().Unix(), "changed: billing anchor")
	expect.Equal(t, is.CurrentPeriodStart, c.Now().Unix(), "changed: current period start")
	expect.Equal(t, is.CurrentPeriodEnd, c.Now().AddDate(1, 0, 0).Unix(), "changed: current period end")
	v := c.invoice(*is.LatestInvoice)
	expect.Same(t, linesOf(v), []line{{"Unused time on Gold", -500}, {"Yearly", 9000}}, "the lines")
	c.wantTold("updated active")

	// It is credited before it is paid, until it is voided. What was used stays used.
	yearly := *is.LatestInvoice
	is = c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(800, weekly("Back")).ID)})
	expect.Same(t, linesOf(c.invoice(*is.LatestInvoice)), []line{{"Unused time on Yearly", -9000}, {"Back", 800}, {"Credit for later invoices", 8200}}, "the lines")
	expect.Equal(t, is.CreditBalance, 8200, "the credit")
	must.Get(c.Invoices.Void(t.Context(), c.Caller, yearly))(t)
	expect.Equal(t, c.get(made.ID).CreditBalance, 0, "the credit of a voided invoice")
	is = c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(800, catalog.CreatePlanParams{Name: "Two", Interval: catalog.Week, IntervalCount: new(int64(2))}).ID), Proration: subscription.NoProration})
	expect.Equal(t, is.CurrentPeriodEnd, c.Now().Add(14*day).Unix(), "the end of two weeks")
	expect.Same(t, linesOf(c.invoice(*is.LatestInvoice)), []line{{"Unused time on Gold", -500}, {"Two", 800}}, "the lines")
}

func TestNothingIsProratedInTrialAndPause(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(700, catalog.CreatePlanParams{Name: "Gold", Interval: catalog.Week, TrialPeriodDays: new(int64(7))})
	made := c.subscribe(plan, subscription.CreateParams{})
	monthly := c.plan(2000, catalog.CreatePlanParams{Name: "Monthly"})
	is := c.update(made.ID, subscription.UpdateParams{Plan: &monthly.ID, Quantity: new(int64(2))})
	expect.Equal(t, is.Status, subscription.Trialing, "changed: status")
	expect.Equal(t, is.CurrentPeriodEnd, made.CurrentPeriodEnd, "changed: current period end")
	expect.Equal(t, is.Amount, 2000, "changed: amount")
	c.pass(7 * day)
	is = c.get(made.ID)
	expect.Same(t, linesOf(c.invoice(*is.LatestInvoice)), []line{{"Monthly", 4000}}, "the lines")
	expect.Equal(t, is.CurrentPeriodEnd, c.Now().AddDate(0, 1, 0).Unix(), "the end of the first month")
	c.pay(*is.LatestInvoice)
	must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, made.ID))(t)
	c.update(made.ID, subscription.UpdateParams{Plan: &plan.ID, Quantity: new(int64(1))})
	is = must.Get(c.Subscriptions.Resume(t.Context(), c.Caller, made.ID))(t)
	expect.Same(t, linesOf(c.invoice(*is.LatestInvoice)), []line{{"Gold", 700}}, "the lines")
	expect.Equal(t, len(c.invoices(made.ID)), 2, "invoices")
}

func TestCouponsOfSubscriptions(t *testing.T) {
	c := openClub(t, payments.Config{})
	coupon := func(p catalog.CreateCouponParams) *catalog.Coupon {
		p.AmountOff, p.MaxRedemptions = new(int64(300)), new(int64(1))
		return must.Get(c.Coupons.Create(t.Context(), c.Caller, p))(t)
	}
	discounts := func(id string) []int64 {
		var all []int64
		for _, v := range c.invoices(id) {
			all = append(all, v.Discount)
		}
		return all
	}
	plan := c.plan(1000, catalog.CreatePlanParams{})
	once, forever := coupon(catalog.CreateCouponParams{}), coupon(catalog.CreateCouponParams{Duration: catalog.Forever})
	repeating := coupon(catalog.CreateCouponParams{Duration: catalog.Repeating, DurationInMonths: new(int64(2))})
	for_ := map[string]*subscription.Subscription{
		"once":      c.subscribe(plan, subscription.CreateParams{Coupon: once.ID, DaysUntilDue: new(int64(365))}),
		"forever":   c.subscribe(plan, subscription.CreateParams{Coupon: forever.ID, DaysUntilDue: new(int64(365))}),
		"repeating": c.subscribe(plan, subscription.CreateParams{Coupon: repeating.ID, DaysUntilDue: new(int64(365))}),
		"late":      c.subscribe(plan, subscription.CreateParams{DaysUntilDue: new(int64(365))}),
	}
	testkit.WantParam(t, "a coupon that is used up", testkit.Err(c.Subscriptions.Create(t.Context(), c.Caller, subscription.CreateParams{Customer: for_["once"].Customer, Plan: plan.ID, Coupon: once.ID})), api.CouponNotRedeemable, "coupon")
	expect.True(t, for_["once"].Discount == nil, "once: %+v", for_["once"].Discount)
	expect.Same(t, for_["forever"].Discount, &subscription.Discount{Coupon: forever.ID, Start: c.Now().Unix()}, "forever")
	expect.Same(t, for_["repeating"].Discount, &subscription.Discount{Coupon: repeating.ID, Start: c.Now().Unix(), End: new(c.Now().AddDate(0, 2, 0).Unix())}, "repeating")
	same := c.update(for_["forever"].ID, subscription.UpdateParams{Coupon: &forever.ID}) // it is on already, and counts once
	expect.Same(t, same.Discount, for_["forever"].Discount, "the same coupon again")
	must.Get(c.Coupons.Delete(t.Context(), c.Caller, forever.ID))(t) // the discount survives that
	late := coupon(catalog.CreateCouponParams{})
	is := c.update(for_["late"].ID, subscription.UpdateParams{Coupon: &late.ID})
	expect.Same(t, is.Discount, &subscription.Discount{Coupon: late.ID, Start: c.Now().Unix()}, "put on later")
	expect.Equal(t, must.Get(c.Coupons.Get(t.Context(), c.Caller, late.ID))(t).TimesRedeemed, 1, "redemptions")
	for range 3 {
		c.pass(31 * day)
	}
	for name, want := range map[string][]int64{"once": {300, 0, 0, 0}, "forever": {300, 300, 300, 300}, "repeating": {300, 300, 0, 0}, "late": {0, 300, 0, 0}} {
		expect.Same(t, discounts(for_[name].ID), want, "the discounts of %s", name)
	}
	for name, sub := range for_ {
		expect.Equal(t, c.get(sub.ID).Discount != nil, name == "forever", "the discount of %s is left", name)
	}
	is = c.update(for_["forever"].ID, subscription.UpdateParams{Coupon: new("")})
	expect.True(t, is.Discount == nil, "taken off: %+v", is.Discount)
}

// A coupon for one invoice waits for one that is above 0 before it.
func TestCouponForOneInvoiceWaits(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(7000, weekly("Gold")), subscription.CreateParams{})
	c.pay(*made.LatestInvoice)
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(1000, weekly("Basic")).ID), Coupon: new(c.coupon(catalog.CreateCouponParams{AmountOff: new(int64(300))}))})
	c.pass(7 * day) // -7000 + 1000 + 1000
	expect.True(t, c.get(made.ID).Discount != nil, "the coupon was used by an invoice below 0")
	c.pass(7 * day)
	all := c.invoices(made.ID)
	expect.Equal(t, all[1].Discount, 0, "the discount of an invoice below 0")
	expect.Equal(t, all[2].Discount, 300, "the discount of the next one")
	expect.True(t, c.get(made.ID).Discount == nil, "the coupon is used twice")
}

// A subscription whose period is too much for one invoice is refused though a coupon or a credit makes it less: they
// may end before.
func TestTooMuchIsRefusedDespiteCoupon(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(90_000_000, catalog.CreatePlanParams{Interval: catalog.Week, Taxable: new(true), TaxPercent: new(decimalOf(20))})
	p := subscription.CreateParams{Customer: c.customer("").ID, Plan: plan.ID, Coupon: c.coupon(catalog.CreateCouponParams{PercentOff: new(decimalOf(50)), Duration: catalog.Forever})}
	testkit.WantParam(t, "a period with its tax", testkit.Err(c.Subscriptions.Create(t.Context(), c.Caller, p)), api.ParameterInvalid, "quantity")
}

// A discount that repeats ends at its time, also between two periods.
func TestDiscountEndsBetweenPeriods(t *testing.T) {
	c := openClub(t, payments.Config{})
	coupon := must.Get(c.Coupons.Create(t.Context(), c.Caller, catalog.CreateCouponParams{PercentOff: new(decimalOf(10)), Duration: catalog.Repeating, DurationInMonths: new(int64(1))}))(t)
	made := c.subscribe(c.plan(1000, catalog.CreatePlanParams{Interval: catalog.Year}), subscription.CreateParams{Coupon: coupon.ID, DaysUntilDue: new(int64(365))})
	c.told()
	c.passTo(*made.Discount.End - 1)
	expect.True(t, c.get(made.ID).Discount != nil, "the discount is over too soon")
	c.passTo(*made.Discount.End)
	expect.True(t, c.get(made.ID).Discount == nil, "the discount is not over")
	c.wantTold("updated active")
}

func TestInvalidChangesAreRefused(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(40_000_000, catalog.CreatePlanParams{})
	made := c.subscribe(plan, subscription.CreateParams{Customer: c.customer("").ID, Quantity: new(int64(2))})
	made = c.get(made.ID)
	c.told()
	for name, test := range map[string]struct {
		p     subscription.UpdateParams
		code  api.Code
		param string
	}{
		"no plan":                {subscription.UpdateParams{Plan: new("")}, api.ParameterInvalid, "plan"},
		"an unknown plan":        {subscription.UpdateParams{Plan: new("plan_1")}, api.ResourceMissing, "plan"},
		"none of it":             {subscription.UpdateParams{Quantity: new(int64(0))}, api.ParameterInvalid, "quantity"},
		"too much":               {subscription.UpdateParams{Quantity: new(int64(3))}, api.ParameterInvalid, "quantity"},
		"a plan that is too big": {subscription.UpdateParams{Plan: new(c.plan(90_000_000, catalog.CreatePlanParams{}).ID)}, api.ParameterInvalid, "quantity"},
		"an unknown coupon":      {subscription.UpdateParams{Coupon: new("cpn_1")}, api.ResourceMissing, "coupon"},
		"no way to collect":      {subscription.UpdateParams{CollectionMethod: new(invoice.CollectionMethod("cash"))}, api.ParameterInvalid, "collection_method"},
		"no phone to charge":     {subscription.UpdateParams{CollectionMethod: new(invoice.ChargeAutomatically)}, api.ParameterMissing, "phone_number"},
		"no phone number":        {subscription.UpdateParams{PhoneNumber: new("12")}, api.InvalidPhoneNumber, "phone_number"},
		"due too late":           {subscription.UpdateParams{DaysUntilDue: new(int64(366))}, api.ParameterInvalid, "days_until_due"},
		"another proration":      {subscription.UpdateParams{Proration: "always"}, api.ParameterInvalid, "proration"},
		"nested metadata":        {subscription.UpdateParams{Metadata: api.Metadata{"m": []any{}}}, api.ParameterInvalid, "metadata.m"},
		// The next invoice would be -80 + 98 + 98 million.
		"prorations that are too much": {subscription.UpdateParams{Plan: new(c.plan(49_000_000, catalog.CreatePlanParams{}).ID)}, api.ParameterInvalid, "quantity"},
	} {
		testkit.WantParam(t, name, testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, made.ID, test.p)), test.code, test.param)
	}
	testkit.WantCode(t, "an unknown subscription", testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, "sub_1", subscription.UpdateParams{})), api.ResourceMissing)
	expect.Same(t, c.get(made.ID), made, "after refused changes")
	c.wantTold()
	is := c.update(made.ID, subscription.UpdateParams{
		CollectionMethod: new(invoice.ChargeAutomatically), PhoneNumber: new("0551234987"), DaysUntilDue: new(int64(14)), Metadata: api.Metadata{"a": "b"},
	})
	expect.Equal(t, is.CollectionMethod, invoice.ChargeAutomatically, "changed: collection method")
	expect.Same(t, is.PhoneNumber, new("055****987"), "changed: phone number")
	expect.Equal(t, is.DaysUntilDue, 14, "changed: days until due")
	expect.True(t, is.Metadata["a"] == "b", "changed %+v", is)
	expect.Equal(t, must.Get(c.Subscriptions.Phone(t.Context(), c.Caller, made.ID))(t), "+233551234987", "the whole number")
}

// A voided invoice gives back what it has taken: credit, lines that were credit, and a coupon for one
// invoice.
func TestVoidGivesBackWhatInvoiceHasTaken(t *testing.T) {
	c := openClub(t, payments.Config{})
	void := func(id string) {
		t.Helper()
		must.Get(c.Invoices.Void(t.Context(), c.Caller, id))(t)
		c.work()
	}
	once := must.Get(c.Coupons.Create(t.Context(), c.Caller, catalog.CreateCouponParams{PercentOff: new(decimalOf(10))}))(t)
	made := c.subscribe(c.plan(7000, weekly("Gold")), subscription.CreateParams{})
	c.pay(*made.LatestInvoice)
	basic := c.plan(1000, weekly("Basic"))
	c.update(made.ID, subscription.UpdateParams{Plan: &basic.ID})
	c.pass(7 * day) // -7000 + 1000 + 1000
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(9)), Proration: subscription.NoProration})
	c.pass(7 * day)
	is := c.get(made.ID)
	v := c.invoice(*is.LatestInvoice)
	must.True(t, is.CreditBalance == 0 && v.Total == 4000, "credit %d, total %d", is.CreditBalance, v.Total)
	c.told()
	void(v.ID)
	expect.Equal(t, c.get(made.ID).CreditBalance, 5000, "the credit")
	c.wantTold("updated active")
	void2 := testkit.Err(c.Invoices.Void(t.Context(), c.Caller, v.ID))
	testkit.WantCode(t, "void it twice", void2, api.InvoiceNotVoidable)

	// A write-off keeps the credit, until a void.
	made = c.subscribe(c.plan(7000, weekly("Gold")), subscription.CreateParams{Quantity: new(int64(2))})
	c.pay(*made.LatestInvoice)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(1))})
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(8000, weekly("Silver")).ID), Coupon: &once.ID})
	c.pass(7 * day) // -14000 + 7000 - 7000 + 8000 + 8000, and a tenth of the last line off
	is = c.get(made.ID)
	v = c.invoice(*is.LatestInvoice)
	must.True(t, v.Total == 1200 && is.Discount == nil, "total %d, discount %+v", v.Total, is.Discount)
	must.Get(c.Invoices.MarkUncollectible(t.Context(), c.Caller, v.ID))(t)
	c.work()
	expect.True(t, c.get(made.ID).Discount == nil, "the coupon comes back with a write-off")
	c.told()
	void(v.ID)
	is = c.get(made.ID)
	must.True(t, is.Discount != nil, "the discount does not come back with the void")
	expect.Equal(t, is.Discount.Coupon, once.ID, "coupon of the discount")
	c.wantTold("updated active")
	c.pass(7 * day)
	next := c.invoices(made.ID)[2]
	expect.Same(t, linesOf(&next), []line{
		{"Unused time on Gold", -14000}, {"Remaining time on Gold", 7000}, {"Unused time on Gold", -7000}, {"Remaining time on Silver", 8000}, {"Silver", 8000},
	}, "the lines")
	expect.Equal(t, next.Total, 1200, "the total")

	// A coupon that was put on since stays.
	made = c.subscribe(c.plan(7000, weekly("Gold")), subscription.CreateParams{Coupon: once.ID})
	forever := c.coupon(catalog.CreateCouponParams{PercentOff: new(decimalOf(50)), Duration: catalog.Forever})
	c.update(made.ID, subscription.UpdateParams{Coupon: &forever})
	void(*made.LatestInvoice)
	is = c.get(made.ID)
	must.True(t, is.Discount != nil, "the later discount is gone")
	expect.Equal(t, is.Discount.Coupon, forever, "coupon of the discount")

	// What was charged for an earlier change is waived.
	made = c.subscribe(c.plan(7000, weekly("Gold")), subscription.CreateParams{})
	c.pay(*made.LatestInvoice)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))})
	c.pass(7 * day)
	void(c.invoices(made.ID)[1].ID)
	c.pass(7 * day)
	expect.Equal(t, c.invoices(made.ID)[2].Total, 14000, "the total")
}

// A plan without a rate is not taxed by a default that the host sets later.
func TestLaterDefaultTaxIsForLaterSubscriptions(t *testing.T) {
	store := memory.New()
	c := openClubOn(t, store, payments.Config{})
	made := c.subscribe(c.plan(10_000, catalog.CreatePlanParams{Interval: catalog.Week, Taxable: new(true)}), subscription.CreateParams{})
	c.Pass(7 * day)
	after := testkit.New(t, store, payments.Config{Sandbox: true, Clock: c.Now, DefaultTax: new(decimalOf(15))})
	must.Do(t, after.Drain(t.Context()))
	all := c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Equal(t, all[1].Total, 10_000, "total")
	expect.True(t, all[1].Lines.Data[0].TaxPercent == nil, "the line is taxed at %v", all[1].Lines.Data[0].TaxPercent)
}

// A switch to automatic charges takes the phone that the customer has by now.
func TestAutomaticChargesTakeCustomersPhone(t *testing.T) {
	c := openClub(t, payments.Config{})
	who := c.customer("")
	made := c.subscribe(c.plan(1000, weekly("Gold")), subscription.CreateParams{Customer: who.ID})
	must.Get(c.Accounts.UpdateCustomer(t.Context(), c.Caller, who.ID, account.UpdateCustomerParams{Phone: new("0241234567")}))(t)
	automatic := subscription.UpdateParams{CollectionMethod: new(invoice.ChargeAutomatically), PhoneNumber: new("")}
	testkit.WantParam(t, "no phone on purpose", testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, made.ID, automatic)), api.ParameterMissing, "phone_number")
	automatic.PhoneNumber = nil
	expect.Equal(t, *c.update(made.ID, automatic).PhoneNumber, "024****567", "the phone")
}
