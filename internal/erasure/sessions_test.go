package erasure_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// The erasure finds the copies of a session from before it has made its customer.
func TestErasureReachesCustomersOfSessions(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		svc := testkit.New(t, store, payments.Config{})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		keyed := func(key string) api.Caller { return api.Caller{Merchant: m.ID, IdempotencyKey: key} }
		plan := must.Get(svc.Plans.Create(t.Context(), keyed("plan"), catalog.CreatePlanParams{Name: "Juice", Amount: 100, Interval: catalog.Week}))(t)
		made := must.Get(svc.Checkout.Create(t.Context(), keyed("session"), checkout.CreateParams{
			Mode: checkout.ModeSubscription, Plan: plan.ID, SuccessURL: "https://shop.example/", Name: "Zenobia",
		}))(t)
		pay := func(number string) {
			t.Helper()
			p := checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}, Email: new("zenobia@example.com")}
			must.Get(svc.Checkout.Pay(t.Context(), keyed(number), made.ID, p))(t)
			must.Do(t, svc.Drain(t.Context()))
		}
		pay("0241110901") // declined
		pay("0241110903") // without an outcome
		late := must.Get(svc.Payments.List(t.Context(), keyed(""), payment.ListParams{Status: payment.Processing}))(t).Data[0].ID
		must.Do(t, svc.Payments.Leave(t.Context(), keyed(""), late))
		pay("0241112222")
		done := must.Get(svc.Checkout.Get(t.Context(), keyed(""), made.ID))(t)
		must.True(t, done.Customer != nil && done.Subscription != nil, "no subscription has begun: %+v", done)
		must.Get(svc.Accounts.DeleteCustomer(t.Context(), keyed("delete"), *done.Customer))(t)
		must.Do(t, svc.Drain(t.Context()))
		must.Do(t, svc.Providers.Settle(t.Context(), keyed(""), late, provider.Result{Outcome: provider.Paid}))
		must.Do(t, svc.Drain(t.Context()))
		for _, word := range []string{"Zenobia", "+23324111", "024****901", "024****903", "024****222"} {
			left(t, store, m.ID, word, "invoices", "invoice_pdfs")
		}
	})
}

// The erasure removes a customer's data from checkout sessions, whatever their status, from what the payer
// has entered, and from all copies. A payment afterwards, or a replay, does not bring it back.
func TestErasureReachesCheckoutSessions(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		svc := testkit.New(t, store, payments.Config{Sandbox: true, Clock: func() time.Time { return now }})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
		caller := api.Caller{Merchant: m.ID}
		keyed := func(key string) api.Caller { return api.Caller{Merchant: m.ID, IdempotencyKey: key} }
		ama := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"}))(t)
		must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: ama.ID, Amount: decimal.NewFromInt(100), Source: "test"}))
		customer := func(key, name string) string {
			c := must.Get(svc.Accounts.CreateCustomer(t.Context(), keyed(key), account.CreateCustomerParams{Name: name, Email: name + "@example.com", Phone: "0241112222"}))(t)
			return c.ID
		}
		gone, stays := customer("gone", "Zenobia"), customer("stays", "Akua")
		sell := func(key, customer string) string {
			price := int64(100)
			v := must.Get(svc.Checkout.Create(t.Context(), keyed(key), checkout.CreateParams{
				SuccessURL: "https://shop.example/", Customer: customer, Lines: []invoice.LineParams{{Description: "a", UnitAmount: &price}},
			}))(t)
			return v.ID
		}
		pay := func(id, number string) {
			t.Helper()
			p := checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}, Email: new("zenobia.private@example.com")}
			if number == "" {
				p = checkout.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234", Email: p.Email}
			}
			must.Get(svc.Checkout.Pay(t.Context(), keyed("pay"+id), id, p))(t)
			must.Do(t, svc.Drain(t.Context()))
		}
		open, paid, walleted, expired, held, other := sell("a", gone), sell("b", gone), sell("c", gone), sell("d", gone), sell("e", gone), sell("f", stays)
		after := sell("g", gone)
		pay(paid, "0241234567")
		pay(walleted, "")
		pay(held, "0201230903")
		must.Get(svc.Checkout.Expire(t.Context(), keyed("expire"), expired))(t)

		must.Get(svc.Accounts.DeleteCustomer(t.Context(), keyed("deleted"), gone))(t)
		must.Do(t, svc.Drain(t.Context()))
		sell("a", gone) // a replay
		pay(open, "0271234567")
		pay(after, "")
		of := must.Get(svc.Payments.List(t.Context(), caller, payment.ListParams{CheckoutSession: after}))(t).Data[0]
		expect.True(t, of.Phone == nil, "Phone is set")
		expect.True(t, of.PhoneNumber == nil, "PhoneNumber is set")
		now = now.Add(11 * time.Minute) // the payment under way loses its number when it ends
		must.Get(svc.Checkout.Expire(t.Context(), keyed("expire held"), held))(t)
		must.Do(t, svc.Drain(t.Context()))
		left(t, store, m.ID, "Zenobia", "payments")
		for _, id := range []string{open, paid, walleted, expired, held, after} {
			v := must.Get(svc.Checkout.Get(t.Context(), caller, id))(t)
			expect.True(t, v.Name == nil, "Name is set")
			expect.True(t, v.Email == nil, "Email is set")
			expect.True(t, v.Phone == nil, "Phone is set")
			expect.Same(t, v.Customer, new(gone), "customer")
		}
		v := must.Get(svc.Checkout.Get(t.Context(), caller, other))(t)
		expect.Same(t, v.Name, new("Akua"), "the other customer's: name")
		expect.Same(t, v.Email, new("Akua@example.com"), "the other customer's: email")
		expect.Same(t, v.Phone, new("+233241112222"), "the other customer's: phone")
	})
}

// The erasure of a phone's holder, or of a wallet's, removes what they have entered from the sessions that
// they paid, from the receipts and from all copies.
func TestErasureReachesPayersOfSessions(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		svc := testkit.New(t, store, payments.Config{Sandbox: true})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
		caller := api.Caller{Merchant: m.ID}
		price := int64(100)
		ama := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"}))(t)
		must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: ama.ID, Amount: decimal.New(price, -2), Source: "test"}))
		pay := func(name string, p checkout.PayParams) string {
			t.Helper()
			keyed := caller
			keyed.IdempotencyKey = "made " + name[:1]
			v := must.Get(svc.Checkout.Create(t.Context(), keyed, checkout.CreateParams{
				SuccessURL: "https://shop.example/", Name: name, Phone: "0241119999", Lines: []invoice.LineParams{{Description: "a", UnitAmount: &price}},
			}))(t)
			keyed.IdempotencyKey, p.Email = "paid "+name[:1], new(name+"@example.com")
			must.Get(svc.Checkout.Pay(t.Context(), keyed, v.ID, p))(t)
			must.Do(t, svc.Drain(t.Context()))
			return v.ID
		}
		phoned := pay("Zenobia", checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: "0241112222"}})
		walleted := pay("Yolanda", checkout.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"})
		stays := pay("Akua", checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: "0261112222"}})
		must.Do(t, svc.ErasePayee(t.Context(), caller, payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241112222"}))
		must.Do(t, svc.EraseConsumer(t.Context(), api.Caller{}, ama.ID))
		for _, name := range []string{"Zenobia", "Yolanda"} {
			left(t, store, m.ID, name)
		}
		for _, id := range []string{phoned, walleted} {
			v := must.Get(svc.Checkout.Get(t.Context(), caller, id))(t)
			expect.True(t, v.Name == nil, "Name is set")
			expect.True(t, v.Email == nil, "Email is set")
			expect.True(t, v.Phone == nil, "Phone is set")
		}
		expect.Equal(t, *must.Get(svc.Checkout.Get(t.Context(), caller, stays))(t).Email, "Akua@example.com", "the other payer's e-mail")
	})
}

// A subscription needs the number that it charges. One that waits for a confirmation is forgotten at once.
func TestErasureReachesPhonesOfSubscriptions(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		svc := testkit.New(t, store, payments.Config{})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		who := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Esi"}))(t)
		plan := must.Get(svc.Plans.Create(t.Context(), caller, catalog.CreatePlanParams{Name: "Juice", Amount: 100, Interval: catalog.Week}))(t)
		made := must.Get(svc.Subscriptions.Create(t.Context(), caller, subscription.CreateParams{
			Customer: who.ID, Plan: plan.ID, CollectionMethod: invoice.ChargeAutomatically, PhoneNumber: "0241230901", // declines
		}))(t)
		must.Get(svc.Subscriptions.StartPhoneChange(t.Context(), caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0241112222"}))(t)
		must.Do(t, svc.Drain(t.Context()))
		erase := func(number string) error {
			return svc.ErasePayee(t.Context(), caller, payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: number})
		}
		must.Do(t, erase("0241112222"))
		left(t, store, m.ID, "+233241112222")
		testkit.WantParam(t, "the phone that is charged", erase("0241230901"), api.ParameterInvalid, "destination")
		must.Get(svc.Subscriptions.Update(t.Context(), caller, made.ID, subscription.UpdateParams{PhoneNumber: new("0261112222")}))(t)
		must.Do(t, svc.Drain(t.Context()))
		must.Do(t, erase("0241230901"))
		left(t, store, m.ID, "+233241230901")
	})
}
