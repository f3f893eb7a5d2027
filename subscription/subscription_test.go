package subscription_test

import (
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

func TestCreateStartsFirstPeriod(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{Sandbox: true})
	c := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Ama", Phone: "0241234567"}))(t)
	p := must.Get(s.Plans.Create(t.Context(), s.Caller, catalog.CreatePlanParams{Name: "Gold", Amount: 5000, Interval: catalog.Month}))(t)
	made := must.Get(s.Subscriptions.Create(t.Context(), s.Caller, subscription.CreateParams{Customer: c.ID, Plan: p.ID, Metadata: api.Metadata{"seat": "4"}}))(t)
	expect.True(t, made.Status == subscription.Active && made.CurrentPeriodStart == s.Now().Unix() && made.CurrentPeriodEnd == s.Now().AddDate(0, 1, 0).Unix() &&
		*made.PhoneNumber == "024****567" && made.DaysUntilDue == 7, "created %+v", made)
	got := must.Get(s.Subscriptions.Get(t.Context(), s.Caller, made.ID))(t)
	expect.Same(t, got, made, "the subscription as read")
	list := must.Get(s.Subscriptions.List(t.Context(), s.Caller, subscription.ListParams{Customer: c.ID, Plan: p.ID, Status: subscription.Active}))(t)
	expect.True(t, len(list.Data) == 1 && list.Data[0].ID == made.ID, "listed %+v", list)
	_, err := s.Subscriptions.Get(t.Context(), api.Caller{Merchant: s.Caller.Merchant, Live: true}, made.ID)
	testkit.WantCode(t, "of the other mode", err, api.ResourceMissing)
}
