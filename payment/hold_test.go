package payment_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

const (
	stranger = "page 192.0.2.1"
	other    = "0201234567"
)

// heldObject is something that a payer pays on a page, or the merchant's server elsewhere.
type heldObject struct {
	// pay starts a payment of the object from a phone. from is the address of a page's payer, else "".
	pay func(number, from string) error
	// list selects the payments of the object.
	list payment.ListParams
}

// heldObjects makes one object of each kind that a payment from a phone holds.
func (s *shop) heldObjects(t *testing.T) map[string]heldObject {
	ctx := t.Context()
	line := []invoice.LineParams{{Description: "Juice", UnitAmount: new(int64(500))}}
	from := func(number string) payment.MobileMoney { return payment.MobileMoney{PhoneNumber: number} }
	code := must.Get(s.QRCodes.Create(ctx, s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: new(int64(500))}))(t).ID
	bill := must.Get(s.Invoices.Create(ctx, s.caller, invoice.CreateParams{Fields: invoice.Fields{Lines: line}, AutoFinalize: true}))(t).ID
	session := must.Get(s.Checkout.Create(ctx, s.caller, checkout.CreateParams{SuccessURL: "https://shop.example", Lines: line}))(t).ID
	return map[string]heldObject{
		"code": {func(number, address string) error {
			return testkit.Err(s.QRCodes.Pay(ctx, s.caller, code, qrcode.PayParams{MobileMoney: from(number), From: address}))
		}, payment.ListParams{QRCode: code}},
		"invoice": {func(number, address string) error {
			if address == "" {
				return testkit.Err(s.Invoices.StartPayment(ctx, s.caller, bill, from(number)))
			}
			return testkit.Err(s.Invoices.StartHostedPayment(ctx, s.caller, bill, invoice.HostedPayment{MobileMoney: from(number), From: address}))
		}, payment.ListParams{Invoice: bill}},
		"session": {func(number, address string) error {
			return testkit.Err(s.Checkout.Pay(ctx, s.caller, session, checkout.PayParams{MobileMoney: from(number), From: address}))
		}, payment.ListParams{CheckoutSession: session}},
	}
}

// newest returns the newest payment of an object.
func (s *shop) newest(t *testing.T, o heldObject) *payment.Payment {
	t.Helper()
	all := must.Get(s.Payments.List(t.Context(), s.caller, o.list))(t).Data
	must.True(t, len(all) > 0, "no payment")
	return &all[0]
}

func (s *shop) holdsUntil(t *testing.T, o heldObject, at time.Time) {
	t.Helper()
	got := s.newest(t, o).HoldExpiresAt
	must.True(t, got != nil, "there is no hold, want one until %v", at)
	expect.True(t, got.Equal(at), "the hold ends at %v, want %v", got, at)
}

// A hold that a page started ends after two minutes, unless the provider has answered that the phone was
// asked. Then another payer is let in, and what is approved twice is given back.
func TestSilentHoldOfPageEnds(t *testing.T) {
	for _, kind := range []string{"code", "invoice", "session"} {
		t.Run(kind, func(t *testing.T) {
			now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
			charger := &told{} // whose answers are lost
			s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: charger}})
			s.caller.Live = true
			held := s.heldObjects(t)[kind]
			pass := func(by time.Duration) {
				t.Helper()
				now = now.Add(by)
				must.Do(t, s.Drain(t.Context()))
			}
			must.Do(t, held.pay(quick, stranger))
			s.holdsUntil(t, held, now.Add(2*time.Minute))
			pass(0)
			first := s.newest(t, held)
			expect.Equal(t, first.Status, payment.Processing, "status")
			s.holdsUntil(t, held, now.Add(2*time.Minute))
			pass(2*time.Minute - time.Millisecond)
			testkit.WantCode(t, "while it holds", held.pay(other, stranger+"0"), api.PaymentInProgress)
			pass(time.Millisecond)
			must.Do(t, held.pay(other, stranger+"0"))

			// The provider answers: the hold of the second lasts until its deadline, and the first has none.
			started := now
			charger.charge, charger.status = inProgress, inProgress
			pass(15 * time.Second)
			second := s.newest(t, held)
			s.holdsUntil(t, held, started.Add(10*time.Minute))
			expect.True(t, s.get(t, first.ID).HoldExpiresAt == nil, "the first still holds")
			pass(9 * time.Minute)
			testkit.WantCode(t, "while the second holds", held.pay("0271234567", stranger+"1"), api.PaymentInProgress)

			must.Do(t, s.Providers.Notify(t.Context(), second.ID, provider.Result{Outcome: provider.Paid}))
			must.Do(t, s.Providers.Notify(t.Context(), first.ID, provider.Result{Outcome: provider.Paid}))
			stuck := must.Get(s.Providers.List(t.Context(), s.caller, provider.ListParams{}))(t).Data
			must.True(t, len(stuck) == 1, "payments to give back: %+v", stuck)
			expect.Equal(t, stuck[0].ID, first.ID, "payments to give back: ID of the first")
		})
	}
}

// A payer whose hold has ended completes what still stands open.
func TestLateApprovalAfterSilentHold(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: &told{}}})
	s.caller.Live = true
	for kind, held := range s.heldObjects(t) {
		must.Do(t, held.pay("02412345"+map[string]string{"code": "67", "invoice": "68", "session": "69"}[kind], stranger))
		now = now.Add(3 * time.Minute)
		must.Do(t, s.Drain(t.Context()))
		must.Do(t, s.Providers.Notify(t.Context(), s.newest(t, held).ID, provider.Result{Outcome: provider.Paid}))
		testkit.WantCode(t, kind, held.pay(other, stranger), map[string]api.Code{
			"code": api.QRLimitReached, "invoice": api.InvoiceAlreadyPaid, "session": api.CheckoutNotOpen,
		}[kind])
	}
	expect.Equal(t, len(must.Get(s.Providers.List(t.Context(), s.caller, provider.ListParams{}))(t).Data), 0, "payments to give back")
}

// What the merchant's server starts holds until the deadline, whatever the provider answers.
func TestHoldOfServerIsWhole(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: &told{}}})
	s.caller.Live = true
	for kind, held := range s.heldObjects(t) {
		must.Do(t, held.pay("02412345"+map[string]string{"code": "67", "invoice": "68", "session": "69"}[kind], ""))
		s.holdsUntil(t, held, now.Add(10*time.Minute))
	}
	now = now.Add(9 * time.Minute)
	must.Do(t, s.Drain(t.Context()))
	for kind, held := range s.heldObjects(t) {
		must.Do(t, held.pay("02412346"+map[string]string{"code": "67", "invoice": "68", "session": "69"}[kind], ""))
		testkit.WantCode(t, kind, held.pay(other, ""), api.PaymentInProgress)
	}
}

// A deadline below two minutes ends the hold of a page, too.
func TestHoldOfPageEndsAtShortDeadline(t *testing.T) {
	s := newShop(t, payments.Config{PaymentDeadline: time.Minute})
	held := s.heldObjects(t)["code"]
	must.Do(t, held.pay("0241230906", stranger)) // pending for 25 s
	p := s.newest(t, held)
	s.holdsUntil(t, held, p.CreatedAt.Add(time.Minute))
}

// In live mode an address starts two holds of one object in an hour. What is refused does not count.
func TestAddressStartsFewHolds(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: &told{charge: inProgress, status: inProgress}}})
	next := 0
	for _, kind := range []string{"code", "invoice", "session"} {
		t.Run(kind, func(t *testing.T) {
			s.caller.Live = true
			first := now
			held := s.heldObjects(t)[kind]
			pay := func(from string) error {
				next++
				err := held.pay(fmt.Sprintf("02412345%02d", next), from)
				must.Do(t, s.Drain(t.Context()))
				return err
			}
			fail := func() {
				must.Do(t, s.Providers.Notify(t.Context(), s.newest(t, held).ID, provider.Result{Outcome: provider.Refused}))
			}
			refused := func(wait time.Duration) {
				t.Helper()
				err := pay(stranger)
				testkit.WantCode(t, "a third", err, api.TooManyPrompts)
				var e *api.Error
				must.True(t, errors.As(err, &e), "%v, want a wait of %s", err, wait)
				expect.Equal(t, e.RetryAfter, wait, "retry after")
			}
			must.Do(t, pay(stranger))
			for range 3 { // held: not counted
				testkit.WantCode(t, "held", pay(stranger), api.PaymentInProgress)
			}
			fail()
			now = now.Add(20 * time.Minute)
			must.Do(t, pay(stranger))
			fail()
			refused(40 * time.Minute)
			must.Do(t, pay("page 192.0.2.2"))
			fail()
			must.Do(t, pay("")) // of the merchant's server
			fail()
			refused(40 * time.Minute)
			now = first.Add(time.Hour - time.Millisecond)
			refused(time.Millisecond)
			now = first.Add(time.Hour)
			must.Do(t, pay(stranger))
			fail()
			refused(20 * time.Minute)
			now = now.Add(24 * time.Hour)

			s.caller.Live = false
			held = s.heldObjects(t)[kind]
			for range 4 {
				must.Do(t, held.pay("0241230901", stranger)) // declined
				must.Do(t, s.Drain(t.Context()))
			}
		})
	}
}

// A code that may be paid any number of times has no holds: a till whose customers share an address goes on.
func TestTillHasNoHolds(t *testing.T) {
	s := newShop(t, payments.Config{Live: payments.Providers{Charger: provider.Simulated{}}})
	s.caller.Live = true
	code := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Amount: new(int64(500))}))(t).ID
	for i := range 9 {
		p := must.Get(s.QRCodes.Pay(t.Context(), s.caller, code, qrcode.PayParams{
			MobileMoney: payment.MobileMoney{PhoneNumber: fmt.Sprint("024123456", i)}, From: stranger,
		}))(t)
		expect.True(t, p.HoldExpiresAt == nil, "payment %d holds until %v", i, p.HoldExpiresAt)
	}
}

// A stranger with one address cannot stop the payments of a phone: its own limit is below that of the phone.
func TestStrangerLeavesPrompts(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := newShop(t, payments.Config{Clock: func() time.Time { return now }, Live: payments.Providers{Charger: scripted{}}})
	s.caller.Live = true
	pay := func(from string) error {
		code := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Amount: new(int64(500))}))(t).ID
		p, err := s.QRCodes.Pay(t.Context(), s.caller, code, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: quick}, From: from})
		if err == nil {
			must.Do(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Refused}))
		}
		return err
	}
	asked := 0
	for range 5 {
		for range 4 {
			if pay(stranger) == nil {
				asked++
			}
		}
		expect.NoError(t, pay(""), "the payer at %s", now)
		now = now.Add(15 * time.Minute)
	}
	expect.Equal(t, asked, 10, "prompts by the stranger in a day")
	testkit.WantCode(t, "the stranger", pay(stranger), api.TooManyPrompts)
	must.Do(t, pay("page 192.0.2.2"))
	now = now.Add(24 * time.Hour)
	must.Do(t, pay(stranger))
}

// A merchant gives up the hold of a payment that is out, and nothing else of it changes.
func TestRelease(t *testing.T) {
	ctx := t.Context()
	for _, kind := range []string{"code", "invoice", "session"} {
		s := newShop(t, payments.Config{})
		held := s.heldObjects(t)[kind]
		must.Do(t, held.pay(never, stranger))
		must.Do(t, s.Drain(ctx))
		before, events := s.newest(t, held), s.eventsOf(t)
		keyed := s.caller
		keyed.IdempotencyKey = "release"
		for _, caller := range []api.Caller{keyed, keyed, s.caller} {
			got := must.Get(s.Payments.Release(ctx, caller, before.ID))(t)
			want := *before
			want.HoldExpiresAt = nil
			expect.True(t, reflect.DeepEqual(*got, want), "%s: released as %+v", kind, got)
		}
		expect.True(t, s.get(t, before.ID).HoldExpiresAt == nil, "%s: it still holds", kind)
		expect.Equal(t, s.eventsOf(t), events, "%s: events", kind)
		must.Do(t, held.pay("0241230906", "")) // pending for 25 s
		pending := s.newest(t, held)
		expect.Equal(t, must.Get(s.Payments.Release(ctx, s.caller, pending.ID))(t).Status, payment.Pending, "%s: a pending payment", kind)
		must.Do(t, held.pay(quick, ""))
		must.Do(t, s.Drain(ctx))
		paid := s.newest(t, held)
		expect.Equal(t, paid.Status, payment.Completed, "%s: the next payment", kind)
		s.settle(t, before.ID, provider.Paid)
		expect.Equal(t, s.get(t, before.ID).AmountRefunded, 500, "%s: given back of the late approval", kind)
		s.settle(t, pending.ID, provider.Refused)
		for _, id := range []string{paid.ID, before.ID, pending.ID} {
			testkit.WantCode(t, kind+": ended", testkit.Err(s.Payments.Release(ctx, s.caller, id)), api.PaymentNotReleasable)
		}
	}
	s := newShop(t, payments.Config{})
	plain := s.create(t, never)
	must.Do(t, s.Drain(ctx))
	expect.Equal(t, must.Get(s.Payments.Release(ctx, s.caller, plain.ID))(t).Status, payment.Processing, "a payment that holds nothing")
	testkit.WantCode(t, "unknown", testkit.Err(s.Payments.Release(ctx, s.caller, "pay_1")), api.ResourceMissing)
}
