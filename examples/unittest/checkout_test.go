package checkout_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	checkout "github.com/seed-7082ffec/payments/examples/unittest"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// open returns the host's shop on a payment service of its own, whose webhooks
// reach it.
func open(t *testing.T) (*paymentstest.Shop, *checkout.Shop) {
	t.Helper()
	sandbox := paymentstest.New(t)
	shop := checkout.New(sandbox.Service, sandbox.Caller)
	sandbox.Receive(func(secret string) http.Handler { return shop.Webhooks(secret) })
	return sandbox, shop
}

func TestAnOrderIsPaid(t *testing.T) {
	sandbox, shop := open(t)
	code, err := shop.Checkout(t.Context(), "1001", 1250, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got := shop.Paid("1001"); got != "" {
		t.Errorf("paid by %s before anybody paid", got)
	}
	paid := sandbox.Pay(code.ID, 0) // the consumer scans the code
	sandbox.Work()                  // the webhook is delivered
	if got := shop.Paid("1001"); got != paid.ID {
		t.Errorf("paid by %q, want %s", got, paid.ID)
	}
}

// A repeated checkout gives the same code, so that a customer cannot pay twice.
func TestACheckoutIsRepeated(t *testing.T) {
	_, shop := open(t)
	placed := time.Now()
	first, err := shop.Checkout(t.Context(), "1001", 1250, placed)
	if err != nil {
		t.Fatal(err)
	}
	again, err := shop.Checkout(t.Context(), "1001", 1250, placed)
	if err != nil || again.ID != first.ID {
		t.Errorf("got %+v, %v", again, err)
	}
	if _, err := shop.Checkout(t.Context(), "1001", 9900, placed); api.CodeOf(err) != api.IdempotencyKeyReused {
		t.Errorf("with another amount: %v", err)
	}
}

// The test moves the clock by a quarter of an hour, and waits for nothing.
func TestAnOrderExpires(t *testing.T) {
	sandbox, shop := open(t)
	code, err := shop.Checkout(t.Context(), "1001", 1250, sandbox.Advance(0))
	if err != nil {
		t.Fatal(err)
	}
	sandbox.Advance(16 * time.Minute)
	_, err = sandbox.QRCodes.Pay(t.Context(), sandbox.Caller, code.ID, qrcode.PayParams{
		Wallet: account.WalletRef{AccountID: sandbox.Consumer.ID}, PIN: sandbox.PIN,
	})
	if api.CodeOf(err) != api.QRExpired || shop.Paid("1001") != "" {
		t.Errorf("paid by %q, %v", shop.Paid("1001"), err)
	}
}

// The payer's number decides what the simulated charger answers. A declined order can be tried again.
func TestAnOrderIsPaidFromAPhone(t *testing.T) {
	sandbox, shop := open(t)
	code, err := shop.Checkout(t.Context(), "1001", 1250, sandbox.Advance(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shop.AskPhone(t.Context(), "1001", code.ID, 1, "0241230901"); err != nil {
		t.Fatal(err)
	}
	sandbox.Work() // the payer declines, and the webhook is delivered
	if got := shop.Failed("1001"); got != "The payer declined." || shop.Paid("1001") != "" {
		t.Errorf("failed with %q, paid by %q", got, shop.Paid("1001"))
	}
	var asked string
	for range 2 { // the second call is a repetition, and asks no phone
		p, err := shop.AskPhone(t.Context(), "1001", code.ID, 2, "0241230904")
		if err != nil || asked != "" && p.ID != asked {
			t.Fatalf("got %+v, %v", p, err)
		}
		asked = p.ID
	}
	sandbox.Work()
	if got := shop.Paid("1001"); got != "" {
		t.Errorf("paid by %s while the payer thinks", got)
	}
	sandbox.Advance(25 * time.Second) // the payer approves
	if got := shop.Paid("1001"); got != asked {
		t.Errorf("paid by %q, want %s", got, asked)
	}
}

// A customer whose phone waits for an approval cannot pay the same order by its code, too.
func TestAnOrderIsPaidOnce(t *testing.T) {
	sandbox, shop := open(t)
	code, err := shop.Checkout(t.Context(), "1001", 1250, sandbox.Advance(0))
	if err != nil {
		t.Fatal(err)
	}
	asked, err := shop.AskPhone(t.Context(), "1001", code.ID, 1, "0241230904")
	if err != nil {
		t.Fatal(err)
	}
	sandbox.Work()
	_, err = sandbox.QRCodes.Pay(t.Context(), sandbox.Caller, code.ID, qrcode.PayParams{
		Wallet: account.WalletRef{AccountID: sandbox.Consumer.ID}, PIN: sandbox.PIN,
	})
	if api.CodeOf(err) != api.PaymentInProgress {
		t.Errorf("paid by the code while the phone is asked: %v", err)
	}
	sandbox.Advance(25 * time.Second) // the payer approves
	if got := shop.Paid("1001"); got != asked.ID {
		t.Errorf("paid by %q, want %s", got, asked.ID)
	}
}

// A customer pays by the code, and then approves on the phone, too. The service gives the second payment back, and
// the order keeps the first.
func TestAnOrderKeepsThePaymentThatStays(t *testing.T) {
	sandbox, shop := open(t)
	code, err := shop.Checkout(t.Context(), "1001", 1250, sandbox.Advance(0))
	if err != nil {
		t.Fatal(err)
	}
	asked, err := shop.AskPhone(t.Context(), "1001", code.ID, 1, "0241230903")
	if err != nil {
		t.Fatal(err)
	}
	sandbox.Advance(11 * time.Minute) // the phone has not answered in time
	paid := sandbox.Pay(code.ID, 0)
	sandbox.Work()
	sandbox.SettlePayment(asked.ID, provider.Result{Outcome: provider.Paid})
	sandbox.Work()
	if got := shop.Paid("1001"); got != paid.ID {
		t.Errorf("paid by %q, want %s, since %s is given back", got, paid.ID, asked.ID)
	}
}

// The test decides what the mobile-money provider answers.
func TestABillIsPaid(t *testing.T) {
	for want, result := range map[payout.Status]provider.Result{
		payout.Completed: {Outcome: provider.Paid},
		payout.Failed:    {Outcome: provider.Refused, Reason: provider.Refusal{Message: "The wallet is full."}},
	} {
		sandbox, shop := open(t)
		const undecided = "0241230903" // a number of which the simulated rail does not decide
		id, err := shop.PayBill(t.Context(), "flour", undecided, decimal.NewFromInt(100))
		if err != nil {
			t.Fatal(err)
		}
		sandbox.Work()
		if got := shop.Bill("flour"); got != "" {
			t.Errorf("while the provider is silent: %s", got)
		}
		sandbox.Settle(id, result)
		sandbox.Work()
		if got := shop.Bill("flour"); got != string(want) {
			t.Errorf("the bill is %q, want %s", got, want)
		}
		for range 2 { // at once, and when the idempotency key has ended
			if again, err := shop.PayBill(t.Context(), "flour", undecided, decimal.NewFromInt(100)); err != nil || again != id {
				t.Errorf("paid again: %s, %v", again, err)
			}
			sandbox.Advance(31 * 24 * time.Hour)
		}
	}
}

// The provider takes a paid bill back, and the event that it was paid comes last.
func TestABillIsTakenBack(t *testing.T) {
	sandbox := paymentstest.New(t)
	shop, late := checkout.New(sandbox.Service, sandbox.Caller), true
	sandbox.Receive(func(secret string) http.Handler {
		handler := shop.Webhooks(secret)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if late { // the shop's server is down
				http.Error(w, "later", http.StatusServiceUnavailable)
				return
			}
			handler.ServeHTTP(w, r)
		})
	}, event.DisbursementCompleted)
	sandbox.Receive(func(secret string) http.Handler { return shop.Webhooks(secret) }, event.DisbursementFailed)
	id, err := shop.PayBill(t.Context(), "flour", "0241230903", decimal.NewFromInt(100))
	if err != nil {
		t.Fatal(err)
	}
	sandbox.Work()
	sandbox.Settle(id, provider.Result{Outcome: provider.Paid})
	sandbox.Work()
	sandbox.Settle(id, provider.Result{Outcome: provider.Reversed})
	sandbox.Work()
	late = false
	sandbox.Advance(time.Hour) // the delivery is tried again
	if got := shop.Bill("flour"); got != string(payout.Failed) {
		t.Errorf("the bill is %q", got)
	}
}

// A shop that has too little pays no bill.
func TestABillIsTooLarge(t *testing.T) {
	_, shop := open(t)
	_, err := shop.PayBill(t.Context(), "oven", "0241234567", decimal.NewFromInt(paymentstest.InitialBalance))
	if api.CodeOf(err) != api.InsufficientBalance { // the fee comes on top
		t.Errorf("got %v", err)
	}
}
