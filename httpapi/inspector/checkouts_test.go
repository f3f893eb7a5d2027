package inspector_test

import (
	"path"
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestCheckoutForms(t *testing.T) {
	s := open(t, inspector.Config{})
	s.Fund(s.Consumer.ID, 5000)
	make := func() string {
		t.Helper()
		at, body := s.do("checkouts", "create", "description", "Two smoothies", "unit_amount", "25", "customer_email", "akosua@example.com", "success_url", "https://shop.example.com/thanks")
		shows(t, body, "Created.", "GH₵25.00", "Open", "akosua@example.com", "Two smoothies", s.BaseURL()+"/checkout/")
		return "checkouts/" + path.Base(at)
	}
	_, body := s.do(make(), "pay", "wallet", s.Consumer.ID, "pin", "1234")
	shows(t, body, "Paid.", "Complete", "checkout.session.completed", "payments/pay_")
	_, body = s.do(make(), "expire")
	shows(t, body, "Expired")
	_, body = s.do(make(), "pay-phone", "phone_number", "0241234567")
	shows(t, body, "The phone is asked.")
	shows(t, s.page("checkouts?status=expired"), "Expired")
}

func TestSubscriptionForms(t *testing.T) {
	s := open(t, inspector.Config{})
	ctx := t.Context()
	customer := must.Get(s.Accounts.CreateCustomer(ctx, s.Caller, account.CreateCustomerParams{Name: "Esi Owusu", Email: "esi@example.com"}))(t)
	plan := must.Get(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "Juice", Amount: 4500, Interval: catalog.Week}))(t)
	at, body := s.do("subscriptions", "create", "customer", customer.ID, "plan", plan.ID, "quantity", "2", "collection_method", "send_invoice")
	shows(t, body, "Created.", "GH₵90.00 every week", "Esi Owusu subscribes to Juice, ", "next charge on ", "subscription.created", "INV-")
	page := "subscriptions/" + path.Base(at)
	shows(t, s.page("subscriptions?status=active"), "Esi Owusu", "Juice")
	_, body = s.do(page, "pause")
	shows(t, body, "It is paused.", "Paused", "Resume", "subscription.paused")
	_, body = s.do(page, "resume")
	shows(t, body, "It goes on.", "Active")
	_, body = s.do(page, "cancel", "at_period_end", "yes")
	shows(t, body, "Cancelled.", "subscription.updated")
	_, body = s.do(page, "cancel")
	shows(t, body, "Cancelled", "subscription.canceled")
}
