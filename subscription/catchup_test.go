package subscription_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

// No worker ran for two years, or months, and the phone declines. It has the invoices that it would have had if the
// workers had been in time, and then it is cancelled.
func TestDecliningPhoneAfterTwoYears(t *testing.T) {
	daily := catalog.CreatePlanParams{Interval: catalog.Day}
	for name, c := range map[string]struct {
		plan catalog.CreatePlanParams
		// first is the phone of the first charge, before the two years.
		first              string
		days               int
		invoices, attempts int
	}{
		"declined before":       {catalog.CreatePlanParams{}, "0241230901", 730, 1, 4},
		"declined since":        {catalog.CreatePlanParams{}, "0241234567", 730, 2, 4},
		"daily, declined since": {daily, "0241234567", 60, 7, 4},
	} {
		t.Run(name, func(t *testing.T) {
			club := openClub(t, payments.Config{})
			made := club.automatic(club.plan(5000, c.plan), c.first)
			club.update(made.ID, subscription.UpdateParams{PhoneNumber: new("0241230901")})
			for step := range 5*29 + 2 { // a jump and, in small steps, the days of the charges
				club.pass(max(50*time.Minute, time.Duration((1-step)*c.days)*day))
			}
			is, all := club.get(made.ID), club.invoices(made.ID)
			must.True(t, len(all) == c.invoices, "%d invoices", len(all))
			expect.Equal(t, is.Status, subscription.Cancelled, "the subscription")
			// In test mode the charges of several invoices are made at once, and the first to have had all is given up.
			var gaveUp []int64
			for _, v := range all {
				if v.Status == invoice.Uncollectible {
					gaveUp = append(gaveUp, int64(v.AttemptCount))
				}
			}
			expect.Same(t, gaveUp, []int64{int64(c.attempts)}, "the attempts of what is given up")
		})
	}
}

// No worker ran for two years, and the phone pays. Each period has its invoice.
func TestPayingPhoneAfterTwoYears(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241234567")
	c.pass(730 * day)
	all := c.invoices(made.ID)
	must.True(t, len(all) == 24, "%d invoices", len(all))
	for _, v := range all {
		expect.Equal(t, v.Status, invoice.Paid, "status")
		expect.Equal(t, v.AttemptCount, 1, "number of attempts")
	}
}

// The workers stop again and again while the phone is asked.
func TestDecliningPhoneAfterMoreStops(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241234567")
	c.update(made.ID, subscription.UpdateParams{PhoneNumber: new("0241230901")})
	for range 5 {
		c.pass(300 * day)
	}
	expect.Equal(t, len(c.invoices(made.ID)), 2, "invoices")
	expect.Equal(t, c.get(made.ID).Status, subscription.Cancelled, "the subscription")
}

// The workers come back at night, when no phone is asked. The renewals wait for the morning, when the phone
// declines the invoice that is open.
func TestRenewalsWaitForTheMorning(t *testing.T) {
	phone := &phones{}
	c := liveClub(t, phone, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241234567")
	c.update(made.ID, subscription.UpdateParams{PhoneNumber: new("0241230901")})
	c.pass(90*day + 9*time.Hour) // 21 o'clock
	expect.Equal(t, len(c.invoices(made.ID)), 2, "invoices at night")
	for range 11 {
		c.pass(12 * time.Hour)
	}
	expect.Equal(t, len(c.invoices(made.ID)), 2, "invoices in the end")
	expect.Equal(t, c.get(made.ID).Status, subscription.Cancelled, "the subscription")
}

// Many invoices of a deleted customer are charged. The departure ends the charges in more than one
// transaction.
func TestDepartureWithManyCharges(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan, who := c.plan(100, catalog.CreatePlanParams{Interval: catalog.Day}), c.customer("0241230901").ID
	var ids []string
	for range 22 {
		made := c.subscribe(plan, subscription.CreateParams{Customer: who, CollectionMethod: invoice.ChargeAutomatically})
		ids = append(ids, made.ID)
	}
	c.work()
	c.pass(5*day + time.Hour) // six invoices of each
	must.Get(c.Accounts.DeleteCustomer(t.Context(), c.Caller, who))(t)
	charged := 0
	for _, id := range ids {
		expect.Equal(t, c.get(id).Status, subscription.Cancelled, "a subscription")
		for _, v := range c.invoices(id) {
			expect.True(t, v.NextPaymentAttempt == nil, "an invoice is charged at %v", v.NextPaymentAttempt)
			if v.Status == invoice.Open {
				charged++
			}
		}
	}
	expect.True(t, charged > 100, "%d open invoices", charged)
}
