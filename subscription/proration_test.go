package subscription_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

// openClubInApril opens a club at the start of April, whose 30 days make plain fractions.
func openClubInApril(t *testing.T) *club {
	t.Helper()
	c := openClub(t, payments.Config{})
	c.Pass(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Sub(c.Now()))
	return c
}

// A change on the second day costs the same, whether the invoice is paid before it or after.
func TestUnusedTimeIsCreditBeforeItIsPaid(t *testing.T) {
	for _, paid := range []int{0, 1, 2, 9} { // the day on which it is paid; 9 for never
		c := openClubInApril(t)
		made := c.subscribe(c.plan(300_00, catalog.CreatePlanParams{}), subscription.CreateParams{DaysUntilDue: new(int64(60))})
		for d := range 3 {
			if d == 1 {
				c.quantity(made.ID, 2)
			}
			if d == paid {
				c.charge(*made.LatestInvoice)
			}
			c.pass(day)
		}
		c.passTo(made.CurrentPeriodEnd)
		expect.Same(t, linesOf(&c.invoices(made.ID)[1]), []line{{"Unused time on Gold", -290_00}, {"Remaining time on Gold", 580_00}, {"Gold", 600_00}}, "paid on day %d: the lines", paid)
	}
}

// The credit for an invoice that ends void or uncollectible goes from the credit balance, too.
func TestCreditBalanceGoesWithItsInvoice(t *testing.T) {
	for _, name := range []string{"void", "uncollectible"} {
		c := openClubInApril(t)
		end := c.Invoices.Void
		if name == "uncollectible" {
			end = c.Invoices.MarkUncollectible
		}
		made := c.subscribe(c.plan(300_00, catalog.CreatePlanParams{}), subscription.CreateParams{DaysUntilDue: new(int64(60))})
		c.pass(15 * day)
		c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(20_00, catalog.CreatePlanParams{Name: "Basic"}).ID)})
		c.passTo(made.CurrentPeriodEnd)
		expect.Equal(t, c.get(made.ID).CreditBalance, 120_00, "%s: the credit balance", name)
		must.Get(end(t.Context(), c.Caller, *made.LatestInvoice))(t)
		expect.Equal(t, c.get(made.ID).CreditBalance, 0, "%s: the credit balance afterwards", name)
		c.passTo(c.get(made.ID).CurrentPeriodEnd)
		all := c.invoices(made.ID)
		expect.Equal(t, all[2].Total, 20_00, "%s: the invoice after it", name)
		expect.Equal(t, all[1].Total, 0, "%s: the invoice that has used it", name)
	}
}

// table is an invoice as the guide shows it.
func table(v *invoice.Invoice) string {
	ghs := func(pesewas int64) string {
		sign := ""
		if pesewas < 0 {
			sign, pesewas = "-", -pesewas
		}
		return fmt.Sprintf("%s%d.%02d", sign, pesewas/100, pesewas%100)
	}
	text := "| Line | GHS |\n| --- | ---: |\n"
	for _, l := range v.Lines.Data {
		text += fmt.Sprintf("| %s | %s |\n", l.Description, ghs(l.Amount))
	}
	if v.Discount > 0 {
		text += fmt.Sprintf("| Discount | %s |\n", ghs(-v.Discount))
	}
	return text + fmt.Sprintf("| **Total** | **%s** |\n", ghs(v.Total))
}

// The guide's two examples have the figures of the service.
func TestGuideShowsProrations(t *testing.T) {
	guide := string(must.Get(os.ReadFile("../docs/guide/subscriptions.md"))(t))
	c := openClubInApril(t)
	half := c.coupon(catalog.CreateCouponParams{PercentOff: new(decimalOf(50)), Duration: catalog.Forever})
	gold := c.plan(300_00, catalog.CreatePlanParams{})
	discounted := c.subscribe(gold, subscription.CreateParams{Coupon: half})
	refunded := c.subscribe(gold, subscription.CreateParams{})
	c.charge(*discounted.LatestInvoice)
	c.charge(*refunded.LatestInvoice)
	c.pass(10 * day)
	c.quantity(discounted.ID, 2)
	c.pass(5 * day)
	c.update(refunded.ID, subscription.UpdateParams{Plan: new(c.plan(100_00, catalog.CreatePlanParams{Name: "Basic"}).ID)})
	c.refund(*refunded.LatestInvoice, 150_00)
	c.passTo(refunded.CurrentPeriodEnd)
	for _, id := range []string{discounted.ID, refunded.ID} {
		want := table(&c.invoices(id)[1])
		expect.True(t, strings.Contains(guide, want), "the guide does not show\n%s", want)
	}
}
