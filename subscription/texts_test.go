package subscription_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/subscription"
)

// shortLink matches a short link; texts shows it as /s/x.
var shortLink = regexp.MustCompile(`http://\S+(/[ris])/[0-9A-Za-z]{11}$`)

// texts are the SMS to a number about automatic charges since the last call, the oldest first.
type texts struct {
	c    *club
	to   string
	seen string // the newest message
}

func (x *texts) take() []string {
	x.c.t.Helper()
	list := must.Get(x.c.Messages.List(x.c.t.Context(), x.c.Caller, message.ListParams{To: x.to, Kind: message.KindSMS, Page: api.Page{Limit: 100}}))(x.c.t).Data
	told := []string{}
	for _, m := range slices.Backward(list) {
		if m.ID <= x.seen {
			continue
		}
		x.seen = m.ID
		expect.True(x.c.t, len([]rune(m.Text)) <= 160, "%d characters: %s", len(m.Text), m.Text)
		if shortLink.MatchString(m.Text) {
			told = append(told, shortLink.ReplaceAllString(m.Text, "$1/x"))
		}
	}
	return told
}

// Each turn of an automatic charge is told to the phone that is charged, in one SMS with a link.
func TestTextsOfAutomaticCharges(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(18000, catalog.CreatePlanParams{Name: "Monthly plan", TrialPeriodDays: new(int64(10))})
	begin := c.Now()
	day := func(n int) string { return begin.AddDate(0, 0, n).Format("2 Jan") }
	low, other := &texts{c: c, to: "0241230902"}, &texts{c: c, to: "0201230901"}
	made := c.automatic(plan, low.to)
	expect.Same(t, low.take(), []string{
		"Adom Juice Bar: Monthly plan started. We ask this phone for GHS 180.00 each month from " + day(10) + ". See or cancel: /s/x",
	}, "at the start")
	c.pass(7*24*time.Hour - time.Second)
	expect.Same(t, low.take(), []string{}, "before the trial ends")
	c.pass(time.Second)
	expect.Same(t, low.take(), []string{
		"Adom Juice Bar: your trial of Monthly plan ends. On " + day(10) + " we ask this phone for GHS 180.00. See or cancel: /s/x",
	}, "3 days before the trial ends")
	c.pass(3 * 24 * time.Hour)
	failed := func(why string, next int) string {
		return "Adom Juice Bar: GHS 180.00 for Monthly plan not paid, " + why + ". Next try " + day(next) + begin.Format(", 15:04") + ". Pay now: /i/x"
	}
	expect.Same(t, low.take(), []string{failed("the balance is too low", 11)}, "after the first charge")

	// The new phone declines, and the old one is told of it.
	c.update(made.ID, subscription.UpdateParams{PhoneNumber: &other.to})
	expect.Same(t, low.take(), []string{
		"Adom Juice Bar: Monthly plan is now charged to 020****901, not to this phone. Not you? Call 0301000000 or see /s/x",
	}, "to the old phone")
	c.pass(24 * time.Hour)
	expect.Same(t, other.take(), []string{failed("it was declined", 13)}, "after the second charge")
	c.pass(4 * 24 * time.Hour)
	expect.Same(t, other.take(), []string{
		failed("it was declined", 15),
		"Adom Juice Bar: Monthly plan has ended, as GHS 180.00 was not paid. Nothing more is charged. See: /s/x",
	}, "after the last charge")
	expect.Equal(t, c.get(made.ID).Status, subscription.Cancelled, "status")
	c.pass(40 * 24 * time.Hour)
	expect.Same(t, append(low.take(), other.take()...), []string{}, "after the end")
}

// A subscription that is cancelled, goes on after all, or is charged in place of sent tells so.
func TestTextsOfChanges(t *testing.T) {
	c := openClub(t, payments.Config{})
	must.Get(c.Accounts.UpdateMerchant(t.Context(), api.Caller{}, c.Caller.Merchant, account.UpdateMerchantParams{Phone: new("0303000000")}))(t)
	plan := c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Week, IntervalCount: new(int64(2))})
	x := &texts{c: c, to: "0241234567"}
	now := c.Now()
	made := c.subscribe(plan, subscription.CreateParams{})
	c.work()
	expect.Same(t, x.take(), []string{}, "of one whose invoices are sent")
	c.pay(*made.LatestInvoice)
	end := time.Unix(made.CurrentPeriodEnd, 0).UTC().Format("2 Jan")
	started := "Adom Juice Bar: Gold started. We ask this phone for GHS 50.00 every 2 weeks from " + end + ". See or cancel: /s/x"
	c.update(made.ID, subscription.UpdateParams{CollectionMethod: new(invoice.ChargeAutomatically)})
	expect.Same(t, x.take(), []string{started}, "now charged")
	sent := c.update(made.ID, subscription.UpdateParams{CollectionMethod: new(invoice.SendInvoice)})
	expect.True(t, sent.PhoneNumber != nil, "the phone is kept")
	for _, ends := range []bool{true, false} {
		c.update(made.ID, subscription.UpdateParams{CancelAtPeriodEnd: &ends})
	}
	expect.Same(t, x.take(), []string{}, "cancelled while invoices are sent")
	c.update(made.ID, subscription.UpdateParams{CollectionMethod: new(invoice.ChargeAutomatically)})
	expect.Same(t, x.take(), []string{started}, "charged again")
	c.update(made.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true)})
	ends := "Adom Juice Bar: Gold is cancelled and runs until " + end + ". Nothing more is charged. See: /s/x"
	expect.Same(t, x.take(), []string{ends}, "cancelled")
	c.update(made.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true), Metadata: api.Metadata{"a": "b"}})
	expect.Same(t, x.take(), []string{}, "cancelled again")
	c.update(made.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(false)})
	expect.Same(t, x.take(), []string{started}, "goes on after all")

	must.Get(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"}))(t)
	must.Get(c.Subscriptions.ConfirmPhone(t.Context(), c.Caller, made.ID, c.code("0551234987")))(t)
	expect.Same(t, x.take(), []string{
		"Adom Juice Bar: Gold is now charged to 055****987, not to this phone. Not you? Call 0303000000 or see /s/x",
	}, "changed on the page")
	must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
	expect.Same(t, (&texts{c: c, to: "0551234987"}).take(), []string{
		"Adom Juice Bar: Gold is cancelled. Nothing more is charged. See: /s/x",
	}, "cancelled at once")
	expect.Same(t, x.take(), []string{}, "to the old phone")

	// One whose invoices are sent, with a phone, ends at once without a text.
	sent = c.update(c.automatic(plan, x.to).ID, subscription.UpdateParams{CollectionMethod: new(invoice.SendInvoice)})
	x.take()
	must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, sent.ID, subscription.CancelParams{}))(t)
	expect.Same(t, x.take(), []string{}, "cancelled at once while invoices are sent")

	// An unpaid invoice stays due when the subscription ends with its period.
	unpaid := c.automatic(plan, "0241230902")
	c.update(unpaid.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true)})
	told := (&texts{c: c, to: "0241230902"}).take()
	expect.Equal(t, told[len(told)-1], "Adom Juice Bar: Gold is cancelled and runs until "+now.AddDate(0, 0, 14).Format("2 Jan")+". What is unpaid stays due. See: /s/x", "with an unpaid invoice")
}

// The last invoices of a cancelled subscription are charged after its end: their failures are told, too.
func TestTextsAfterTheEnd(t *testing.T) {
	c := openClub(t, payments.Config{})
	x := &texts{c: c, to: "0241234567"}
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), x.to)
	c.work()
	c.update(made.ID, subscription.UpdateParams{PhoneNumber: new("0241230902")})
	c.quantity(made.ID, 3)
	must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
	x.to = "0241230902"
	x.take()
	begin := c.Now()
	c.work()
	day := func(n int) string { return begin.AddDate(0, 0, n).Format("2 Jan, 15:04") }
	failed := func(next int) string {
		return "Adom Juice Bar: GHS 100.00 for Gold not paid, the balance is too low. Next try " + day(next) + ". Pay now: /i/x"
	}
	expect.Same(t, x.take(), []string{failed(1)}, "after the first charge")
	c.pass(6 * 24 * time.Hour)
	expect.Same(t, x.take(), []string{
		failed(3), failed(5), "Adom Juice Bar: GHS 100.00 for Gold not paid, the balance is too low. See: /s/x",
	}, "after the others")
}

// A charge that limits on prompts have kept from its phone for a day says so.
func TestTextOfPostponedCharge(t *testing.T) {
	c := openClub(t, payments.Config{})
	x := &texts{c: c, to: "0241230908"} // is never asked
	c.automatic(c.plan(5000, catalog.CreatePlanParams{}), x.to)
	begin := c.Now()
	c.work()
	x.take()
	c.pass(24 * time.Hour)
	expect.Same(t, x.take(), []string{
		"Adom Juice Bar: GHS 50.00 for Gold not paid, this phone was not asked. Next try " + begin.AddDate(0, 0, 1).Format("2 Jan, 15:04") + ". Pay now: /i/x",
	}, "a day after its time")
}

// The text of a cancellation counts the taxes of what is invoiced at the end, as the final invoice does.
func TestTextsOfFinalInvoice(t *testing.T) {
	c := openClub(t, payments.Config{})
	year := func(amount int64) *catalog.Plan {
		return c.plan(amount, catalog.CreatePlanParams{Interval: catalog.Year})
	}
	month := c.plan(100_00, catalog.CreatePlanParams{Name: "Silver", TaxPercent: new(decimal.NewFromInt(20))})
	for _, atPeriodEnd := range []bool{false, true} {
		for credit, want := range map[int64]string{110_00: "What is unpaid stays due.", 120_00: "Nothing more is charged."} {
			x := &texts{c: c, to: "0241234567"}
			made := c.automatic(year(120_00+credit), x.to) // the month costs 120.00 of it
			c.update(made.ID, subscription.UpdateParams{Plan: &month.ID})
			c.work()                                                              // the invoice of the month, of which nothing is due, is paid
			c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2))}) // 100.00, with its tax 120.00
			expect.Equal(t, c.get(made.ID).CreditBalance, credit, "credit")
			must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{AtPeriodEnd: atPeriodEnd}))(t)
			told := x.take()
			expect.True(t, strings.HasSuffix(told[len(told)-1], want+" See: /s/x"), "with a credit of %d, at the end %t: %s", credit, atPeriodEnd, told[len(told)-1])
		}
	}
}

// The text of a start names the amount that a coupon leaves at first, and the one that is charged later.
func TestTextOfStartWithCoupon(t *testing.T) {
	for what, c := range map[string]struct {
		coupon catalog.CreateCouponParams
		says   string
	}{
		"forever":    {catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(50)), Duration: catalog.Forever}, "We ask this phone for GHS 25.00 each month from DAY. See or cancel: /s/x"},
		"once":       {catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(50)), Duration: catalog.Once}, "We ask this phone for GHS 25.00 from DAY, later GHS 50.00 each month. See: /s/x"},
		"repeating":  {catalog.CreateCouponParams{AmountOff: new(int64(1000)), Duration: catalog.Repeating, DurationInMonths: new(int64(3))}, "We ask this phone for GHS 40.00 from DAY, later GHS 50.00 each month. See: /s/x"},
		"first free": {catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(100)), Duration: catalog.Once}, "Later we ask this phone for GHS 50.00 each month. See or cancel: /s/x"},
	} {
		t.Run(what, func(t *testing.T) {
			club := openClub(t, payments.Config{})
			off := must.Get(club.Coupons.Create(t.Context(), club.Caller, c.coupon))(t)
			x := &texts{c: club, to: "0241234567"}
			club.subscribe(club.plan(5000, catalog.CreatePlanParams{TrialPeriodDays: new(int64(10))}), subscription.CreateParams{
				CollectionMethod: invoice.ChargeAutomatically, Coupon: off.ID,
			})
			day := club.Now().AddDate(0, 0, 10).Format("2 Jan")
			expect.Same(t, x.take(), []string{"Adom Juice Bar: Gold started. " + strings.ReplaceAll(c.says, "DAY", day)}, "at the start")
		})
	}
}

// A free subscription asks no phone, and one without a phone tells none.
func TestNoTextsWithoutCharges(t *testing.T) {
	c := openClub(t, payments.Config{})
	x := &texts{c: c, to: "0241234567"}
	off := must.Get(c.Coupons.Create(t.Context(), c.Caller, catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(100)), Duration: catalog.Forever}))(t)
	c.subscribe(c.plan(5000, catalog.CreatePlanParams{TrialPeriodDays: new(int64(1))}), subscription.CreateParams{CollectionMethod: invoice.ChargeAutomatically, Coupon: off.ID})
	c.pass(40 * 24 * time.Hour)
	expect.Same(t, x.take(), []string{}, "of what is free for good")
}

// Long names leave each text one SMS, and letters that plain SMS does not have are replaced.
func TestTextsAreOneSMS(t *testing.T) {
	c := openClub(t, payments.Config{})
	name := "Nɛɛ Ɔkɔ’s 🎉 Gym & Wellness Centre of Greater Accra"
	must.Get(c.Accounts.UpdateMerchant(t.Context(), api.Caller{}, c.Caller.Merchant, account.UpdateMerchantParams{Name: &name, Phone: new("0303000000")}))(t)
	x := &texts{c: c, to: "0241230902"}
	made := c.automatic(c.plan(99_999_999, catalog.CreatePlanParams{Name: "Premium Membership for Families", TrialPeriodDays: new(int64(4))}), x.to)
	c.pass(5 * 24 * time.Hour)
	c.update(made.ID, subscription.UpdateParams{PhoneNumber: new("0551234987")})
	c.update(made.ID, subscription.UpdateParams{PhoneNumber: &x.to, CancelAtPeriodEnd: new(true)})
	told := x.take() // which checks their lengths
	must.True(t, len(told) >= 5, "texts: %q", told)
	expect.True(t, strings.HasPrefix(told[0], "Nee Oko's Gym & Wel"), "the names: %s", told[0])
	expect.True(t, strings.Contains(told[0], "...: Premium Mem"), "the names: %s", told[0])
	expect.True(t, strings.HasPrefix(told[len(told)-1], "Nee Oko's Gym & Welln...: Premium Mem... is cancelled"), "the names where there is room: %s", told[len(told)-1])
}
