package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/subscription"
)

// The customer's page never says that nothing is charged while an invoice is still to come, or to be paid.
func TestSubscriptionPageTellsOfFinalInvoice(t *testing.T) {
	s := paymentstest.New(t)
	plan := func(amount int64) string {
		return must.Get(s.Plans.Create(t.Context(), s.Caller, catalog.CreatePlanParams{Name: "Gold", Amount: amount, Interval: catalog.Year}))(t).ID
	}
	who := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Ama"}))(t)
	made := must.Get(s.Subscriptions.Create(t.Context(), s.Caller, subscription.CreateParams{Customer: who.ID, Plan: plan(10_00), DaysUntilDue: new(int64(365))}))(t)
	must.Get(s.Subscriptions.Update(t.Context(), s.Caller, made.ID, subscription.UpdateParams{Plan: new(plan(510_00))}))(t)
	page := func(path string) string {
		t.Helper()
		_, body := s.Do("GET", strings.TrimPrefix(*made.ManageURL, s.Server.URL)+path, nil)
		return strings.NewReplacer("\u00a0", " ", "&nbsp;", " ").Replace(string(body))
	}
	const final = "What was used since a change, GH₵ 500.00, is invoiced then. After that nothing more is charged."
	expect.True(t, strings.Contains(page("/cancel"), final), "before the cancellation")
	must.Get(s.Subscriptions.Cancel(t.Context(), s.Caller, made.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
	expect.True(t, strings.Contains(page(""), final), "before the end")
	s.Advance(366 * 24 * time.Hour)
	expect.True(t, strings.Contains(page(""), "An invoice is still to pay. After it nothing more is charged."), "after the end")
}
