package erasure_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// Any operation of the store fails during the erasure of a deleted customer. In the end no data
// of the customer is left.
func TestErasureIsFinished(t *testing.T) {
	for n := 1; ; n += effort.Of(4, 1) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		whole := memory.New()
		store := faultstore.New(whole)
		svc := testkit.New(t, store, payments.Config{Clock: func() time.Time { return now }})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID, IdempotencyKey: "made"}
		c := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Zenobia", Email: "zenobia@example.com"}))(t)
		caller.IdempotencyKey = "draft"
		must.Get(svc.Invoices.Create(t.Context(), caller, invoice.CreateParams{Fields: invoice.Fields{Customer: &c.ID}}))(t)
		caller.IdempotencyKey = "paid"
		paid := must.Get(svc.Payments.Create(t.Context(), caller, payment.CreateParams{Amount: 500, MobileMoney: payment.MobileMoney{PhoneNumber: "0241112225"}, Customer: c.ID}))(t)
		must.Do(t, svc.Drain(t.Context()))
		caller.IdempotencyKey = "refunded"
		must.Get(svc.Refunds.Create(t.Context(), caller, refund.CreateParams{Payment: paid.ID}))(t)
		must.Do(t, svc.Drain(t.Context()))
		caller.IdempotencyKey = "subscribed"
		plan := must.Get(svc.Plans.Create(t.Context(), api.Caller{Merchant: m.ID}, catalog.CreatePlanParams{Name: "P", Amount: 500, Interval: catalog.Month}))(t)
		sub := must.Get(svc.Subscriptions.Create(t.Context(), caller, subscription.CreateParams{
			Customer: c.ID, Plan: plan.ID, PhoneNumber: "0241112225", TrialPeriodDays: new(int64(9)), CollectionMethod: invoice.ChargeAutomatically,
		}))(t)
		caller.IdempotencyKey = ""
		must.Get(svc.Subscriptions.StartPhoneChange(t.Context(), caller, sub.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0241112225"}))(t)
		must.Get(svc.Accounts.DeleteCustomer(t.Context(), caller, c.ID))(t)

		store.FailAt(n)
		_ = svc.Drain(t.Context()) // the failed operation may belong to the claim
		hit := store.Heal()
		now = now.Add(10 * time.Minute) // the lease ends
		must.Do(t, svc.Drain(t.Context()))
		for where, text := range testkit.Contents(t, whole, m.ID) {
			for _, word := range []string{"zenobia", "241112225", "024****225"} {
				expect.True(t, !strings.Contains(strings.ToLower(text), word), "operation %d failed, and %s is left with %s", n, where, text)
			}
		}
		if !hit {
			expect.True(t, n >= 20, "only %d operations; the test wants more", n)
			return
		}
		must.True(t, n <= 500, "there is no end of it")
	}
}

// records are a host's own customers.
type records map[string]account.Customer

func (r records) Customer(_ context.Context, _ api.Caller, id string) (*account.Customer, error) {
	c, ok := r[id]
	if !ok {
		return nil, api.NoSuch("customer")
	}
	return &c, nil
}

// For a host that keeps its own customers, the library removes their copies, too.
func TestForgetCustomer(t *testing.T) {
	whole := memory.New()
	own := records{"crm-1": {Name: "Zenobia", Email: "zenobia@example.com", Address: "Zongo Lane"}, "crm-2": {Name: "Yaw Other"}}
	svc := testkit.New(t, whole, payments.Config{Customers: own})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID, IdempotencyKey: "draft"}
	draft := must.Get(svc.Invoices.Create(t.Context(), caller, invoice.CreateParams{Fields: invoice.Fields{Customer: new("crm-1")}}))(t)
	expect.Same(t, draft.Name, new("Zenobia"), "filled: name")
	expect.Same(t, draft.Address, new("Zongo Lane"), "filled: address")
	caller.IdempotencyKey = ""
	draft = must.Get(svc.Invoices.Update(t.Context(), caller, draft.ID, invoice.Fields{Customer: new("crm-2")}))(t)
	expect.Same(t, draft.Name, new("Yaw Other"), "another customer has the address of the one before: name")
	expect.True(t, draft.Address == nil, "another customer has the address of the one before: Address is set")
	must.Get(svc.Invoices.Update(t.Context(), caller, draft.ID, invoice.Fields{Customer: new("crm-1")}))(t)
	must.Get(svc.Events.Record(t.Context(), caller, event.RecordParams{Type: "customer.updated", Object: map[string]any{"object": "customer", "id": "crm-1", "name": "Zenobia"}}))(t)
	for range 2 {
		must.Do(t, svc.Accounts.ForgetCustomer(t.Context(), caller, "crm-1"))
		must.Do(t, svc.Drain(t.Context()))
	}
	for where, text := range testkit.Contents(t, whole, m.ID) {
		if lower := strings.ToLower(text); strings.Contains(lower, "zenobia") || strings.Contains(lower, "zongo") {
			t.Errorf("%s is left with %s", where, text)
		}
	}
	mine := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Akua"}))(t)
	for id, code := range map[string]api.Code{"": api.ParameterMissing, mine.ID: api.ParameterInvalid} {
		if err := svc.Accounts.ForgetCustomer(t.Context(), caller, id); api.CodeOf(err) != code {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// The answer of an endpoint may quote its event. The erasure of the event's customer removes the
// answer, too.
func TestErasureRemovesEndpointAnswers(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Get(io.Copy(w, r.Body))(t)
	}))
	t.Cleanup(echo.Close)
	store := memory.New()
	svc := testkit.New(t, store, payments.Config{WebhookAllow: paymentstest.Loopback()})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	must.Get(svc.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: echo.URL, Events: []event.Type{"*"}}))(t)
	c := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Zenobia"}))(t)
	must.Do(t, svc.Drain(t.Context()))
	quoted := func() bool {
		for where, text := range testkit.Contents(t, store, m.ID) {
			if strings.HasPrefix(where, "webhook_deliveries") && strings.Contains(text, "Zenobia") {
				return true
			}
		}
		return false
	}
	must.True(t, quoted(), "no delivery quotes the customer")
	must.Get(svc.Accounts.DeleteCustomer(t.Context(), caller, c.ID))(t)
	must.Do(t, svc.Drain(t.Context()))
	expect.True(t, !quoted(), "a delivery still quotes the customer")
}

// An endpoint may answer only after the erasure of the event's customer, or of the recipient of a transfer.
func TestErasureReachesLateAnswers(t *testing.T) {
	for kind, erase := range map[event.Type]func(*payments.Service, api.Caller) (now func()){
		event.CustomerCreated: func(svc *payments.Service, caller api.Caller) func() {
			c := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Zenobia"}))(t)
			return func() { must.Get(svc.Accounts.DeleteCustomer(t.Context(), caller, c.ID))(t) }
		},
		event.DisbursementCompleted: func(svc *payments.Service, caller api.Caller) func() {
			to := payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230000", AccountName: "Zenobia"}
			must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: to}))(t)
			return func() { must.Do(t, svc.ErasePayee(t.Context(), caller, to)) }
		},
	} {
		asked, answer := make(chan bool, 1), make(chan bool)
		echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := must.Get(io.ReadAll(r.Body))(t)
			if strings.Contains(string(body), string(kind)) {
				asked <- true
				<-answer
			}
			must.Get(w.Write(body))(t)
		}))
		t.Cleanup(echo.Close)
		store := memory.New()
		svc := testkit.New(t, store, payments.Config{WebhookAllow: paymentstest.Loopback(), Poll: 10 * time.Millisecond})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(10), Source: "bank"}))
		caller := api.Caller{Merchant: m.ID}
		must.Get(svc.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: echo.URL, Events: []event.Type{kind}}))(t)
		svc.Start(t.Context())
		now := erase(svc, caller)
		<-asked
		now()
		found := func(word string) bool {
			for _, text := range testkit.Contents(t, store, m.ID) {
				if strings.Contains(text, word) {
					return true
				}
			}
			return false
		}
		for found("Zenobia") {
			time.Sleep(time.Millisecond)
		}
		close(answer)
		must.Do(t, svc.Stop(t.Context()))
		must.Do(t, svc.Drain(t.Context()))
		expect.True(t, found(string(kind)), "there is no event %s", kind)
		expect.True(t, !found("Zenobia"), "the answer to %s still quotes the person", kind)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
