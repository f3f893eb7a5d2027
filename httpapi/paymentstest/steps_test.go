package paymentstest_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// waits is a number with which the simulated rail does not decide.
var waits = payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903"}

func balance(t *testing.T, s *paymentstest.Shop) string {
	t.Helper()
	b := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	return b.Available.String()
}

// A payout waits for the rail until the test settles it, and the inbox is told of
// each step.
func TestSettleAPayout(t *testing.T) {
	shop := paymentstest.New(t)
	inbox := shop.Inbox("payout.created", "payout.processing", "payout.completed")
	sent := must.Get(shop.Payouts.Create(t.Context(), shop.Caller, payout.CreateParams{
		Amount: decimal.NewFromInt(100), Destination: waits, OTPCode: shop.OTP(),
	}))(t)
	shop.Work()
	if got := balance(t, shop); got != "899" { // the fee is 1%
		t.Errorf("available while it waits: %s", got)
	}
	if done := shop.Settle(sent.ID, provider.Result{Outcome: provider.Paid, Reference: "theirs"}); done.Status != payout.Succeeded {
		t.Errorf("settled as %s", done.Status)
	}
	var types []string
	for _, e := range inbox.Events() {
		types = append(types, string(e.Type))
	}
	expect.Equal(t, strings.Join(types, " "), "payout.created payout.processing payout.completed", "told of")
	if told := paymentstest.Object[payout.Transfer](inbox, "payout.completed"); told.ID != sent.ID || *told.ProviderReference != "theirs" {
		t.Errorf("told of %+v", told)
	}
}

// The number decides about a payment from a phone, or the test does.
func TestAskPhones(t *testing.T) {
	shop := paymentstest.New(t)
	inbox := shop.Inbox("payment.succeeded", "payment.failed")
	paid, waits := shop.AskPhone("0241234567", 1250), shop.AskPhone("0241230903", 500)
	shop.Work()
	if told := paymentstest.Object[payment.Payment](inbox, event.PaymentSucceeded); told.ID != paid.ID || balance(t, shop) != "1012.5" {
		t.Errorf("told of %+v, available %s", told, balance(t, shop))
	}
	done := shop.SettlePayment(waits.ID, provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "The payer said no."}})
	if told := paymentstest.Object[payment.Payment](inbox, event.PaymentFailed); done.Status != payment.Failed || *told.FailureReason != "The payer said no." {
		t.Errorf("settled as %+v, told of %+v", done, told)
	}
}

// A session is paid from a phone or from the consumer's wallet.
func TestPaySessions(t *testing.T) {
	shop := paymentstest.New(t)
	inbox := shop.Inbox("checkout.session.completed")
	for _, number := range []string{"0241234567", ""} {
		session := must.Get(shop.Checkout.Create(t.Context(), shop.Caller, checkout.CreateParams{
			SuccessURL: "https://shop.example/", Lines: []invoice.LineParams{{Description: "Shirt", UnitAmount: new(int64(1250))}},
		}))(t)
		shop.PaySession(session.ID, number)
		shop.Work()
		if told := paymentstest.Object[checkout.Session](inbox, event.CheckoutSessionCompleted); told.ID != session.ID {
			t.Errorf("told of %+v", told)
		}
	}
	expect.Equal(t, balance(t, shop), "1025", "available")
}

// A phone pays each month, until one is declined.
func TestSubscribe(t *testing.T) {
	shop := paymentstest.New(t)
	pays, declines := shop.Subscribe("0241234567", 5000), shop.Subscribe("0241230901", 5000)
	shop.Advance(2 * 24 * time.Hour)
	is := must.Get(shop.Subscriptions.Get(t.Context(), shop.Caller, declines.ID))(t)
	expect.Equal(t, is.Status, subscription.PastDue, "status while charges follow")
	shop.Advance(30 * 24 * time.Hour)
	for id, want := range map[string]subscription.Status{pays.ID: subscription.Active, declines.ID: subscription.Cancelled} {
		is := must.Get(shop.Subscriptions.Get(t.Context(), shop.Caller, id))(t)
		expect.Equal(t, is.Status, want, "status")
	}
	expect.Equal(t, balance(t, shop), "1100", "available after two months")
}

// A host's handler is told, signed with the secret that it was built with; while it
// fails it is told again, as time goes by.
func TestReceive(t *testing.T) {
	shop := paymentstest.New(t)
	told, fails := 0, true
	endpoint := shop.Receive(func(secret string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			told++
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = webhook.Verify(r.Header, body, secret, 0, time.Now())
			}
			if err != nil || fails {
				http.Error(w, "later", http.StatusServiceUnavailable)
			}
		})
	}, event.PaymentSucceeded)
	code := must.Get(shop.QRCodes.Create(t.Context(), shop.Caller, qrcode.CreateParams{}))(t)
	shop.Pay(code.ID, 1250)
	shop.Work()
	shop.Work()
	expect.Equal(t, told, 1, "told %d times at once", told)
	fails = false
	before := shop.Advance(0)
	if after := shop.Advance(time.Minute); after.Sub(before) < time.Minute || after.Sub(before) > 2*time.Minute {
		t.Errorf("the clock went from %s to %s", before, after)
	}
	expect.Equal(t, told, 2, "told %d times after a minute", told)
	expect.True(t, endpoint.Secret != "", "the endpoint is %+v", endpoint)
	expect.Equal(t, len(endpoint.Events), 1, "the endpoint: number of events")
}

// An inbox of everything is told once of each event, and messages can be read.
func TestInboxOfAllEvents(t *testing.T) {
	shop := paymentstest.New(t)
	inbox := shop.Inbox()
	code := must.Get(shop.QRCodes.Create(t.Context(), shop.Caller, qrcode.CreateParams{}))(t)
	paid := shop.Pay(code.ID, 1250)
	n := len(inbox.Events())
	if again := len(inbox.Events()); n == 0 || again != n {
		t.Errorf("%d events, then %d", n, again)
	}
	if got := paymentstest.Object[payment.Payment](inbox, event.PaymentSucceeded); got.ID != paid.ID {
		t.Errorf("told of %s, want %s", got.ID, paid.ID)
	}
	if sent := shop.Sent(shop.Consumer.Phone); len(sent) != 1 || !strings.Contains(sent[0].Text, "12.50") {
		t.Errorf("the consumer was sent %+v", sent)
	}
	if sent := shop.Sent("0209999999"); len(sent) != 0 {
		t.Errorf("a message was sent: %+v", sent)
	}
}

// failing is a test that keeps its failure.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatal(all ...any) {
	f.said = fmt.Sprint(all...)
	runtime.Goexit()
}

// An inbox that gets a delivery with a wrong signature fails the test, and does not look empty.
func TestInboxTellsWrongSignatures(t *testing.T) {
	f := &failing{TB: t}
	shop := paymentstest.New(f)
	inbox := shop.Inbox(event.QRCodeCreated)
	must.Get(shop.Webhooks.RotateSecret(t.Context(), shop.Caller, inbox.Endpoint.ID))(t)
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{time.Hour, ""}, {25 * time.Hour, "paymentstest: a delivery to the inbox: webhook: the signature does not match"}} { // both secrets sign for 24 hours
		shop.Advance(c.after)
		must.Get(shop.QRCodes.Create(t.Context(), shop.Caller, qrcode.CreateParams{}))(t)
		var read sync.WaitGroup
		read.Go(func() { inbox.Events() })
		read.Wait()
		expect.True(t, strings.HasPrefix(f.said, c.want), "after %s: %q", c.after, f.said)
		expect.True(t, c.want != "" || f.said == "", "after %s: %q", c.after, f.said)
	}
}
