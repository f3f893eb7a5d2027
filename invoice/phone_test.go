package invoice_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Phones to test with: see provider.Simulated.
const (
	quick        = "0241234567" // succeeds at once
	declines     = "0241230901"
	neverAnswers = "0241230903"
	waits        = "0241230906" // stays pending
)

func phone(number string) payment.MobileMoney { return payment.MobileMoney{PhoneNumber: number} }

func (s *shop) start(id, number string) *payment.Payment {
	s.t.Helper()
	p := must.Get(s.Invoices.StartPayment(s.t.Context(), s.Caller, id, phone(number)))(s.t)
	must.Do(s.t, s.Drain(s.t.Context()))
	return p
}

func (s *shop) payment(id string) *payment.Payment {
	s.t.Helper()
	return must.Get(s.Payments.Get(s.t.Context(), s.Caller, id))(s.t)
}

func (s *shop) countEvents(of event.Type) int {
	s.t.Helper()
	return len(must.Get(s.Events.List(s.t.Context(), s.Caller, event.ListParams{Type: of}))(s.t).Data)
}

// A phone pays an invoice, which shows it when the payer has approved.
func TestPayFromPhone(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		v := s.openInvoice(invoice.Fields{})
		keyed := s.Caller
		keyed.IdempotencyKey = "pay"
		for range 2 {
			asked := must.Get(s.Invoices.Pay(t.Context(), keyed, v.ID, invoice.PayParams{MobileMoney: phone(quick)}))(t)
			expect.Equal(t, asked.Status, invoice.Open, "status at first")
			expect.True(t, asked.Payment == nil, "payment %v", asked.Payment)
		}
		must.Do(t, s.Drain(t.Context()))
		paid := s.get(v.ID)
		expect.Equal(t, paid.Status, invoice.Paid, "status")
		expect.Equal(t, paid.AttemptCount, 1, "attempts")
		p := s.payment(*paid.Payment)
		expect.Equal(t, p.Amount, 25_00, "amount")
		expect.Equal(t, *p.Invoice, v.ID, "invoice of the payment")
		expect.Equal(t, p.Reference, v.Number, "reference")
		expect.Equal(t, len(s.texts("+233"+quick[1:])), 1, "messages to the payer")
	})
}

// Another person than the customer who pays learns of it, beside the customer, and nobody twice.
func TestPayerAndCustomerGetReceipts(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	const customer = "+233551234567"
	receipts := func(to string) (n int) {
		for _, text := range s.texts(to) {
			if strings.HasPrefix(text, "You paid GHS 25.00") {
				n++
			}
		}
		return n
	}
	s.start(s.openInvoice(invoice.Fields{Phone: new(customer)}).ID, quick)
	expect.Equal(t, receipts("+233"+quick[1:]), 1, "receipts of the phone that has paid")
	expect.Equal(t, receipts(customer), 1, "receipts of the customer")
	s.start(s.openInvoice(invoice.Fields{Phone: new(customer)}).ID, customer)
	expect.Equal(t, receipts(customer), 2, "receipts of the customer who has paid")
	v := s.openInvoice(invoice.Fields{Phone: new(customer)})
	must.Get(s.Invoices.PayFromWallet(t.Context(), s.Caller, v.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}))(t)
	expect.Equal(t, receipts(s.Consumer.Phone), 1, "receipts of the holder of the wallet")
	must.Get(s.Invoices.Pay(t.Context(), s.Caller, s.openInvoice(invoice.Fields{Phone: new(customer)}).ID, invoice.PayParams{ReceiptPhone: "0200000009"}))(t)
	expect.Equal(t, receipts("+233200000009"), 0, "receipts of a number for an invoice without one")
}

// While a payer is asked, the invoice is neither paid another way, nor voided, nor written off.
func TestPaymentHoldsInvoice(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{})
	first := s.start(v.ID, neverAnswers)
	for what, call := range map[string]func() error{
		"pay":          func() error { return testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})) },
		"from a phone": func() error { return testkit.Err(s.Invoices.StartPayment(t.Context(), s.Caller, v.ID, phone(quick))) },
		"out of band": func() error {
			return testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{PaidOutOfBand: true}))
		},
		"void":          func() error { return testkit.Err(s.Invoices.Void(t.Context(), s.Caller, v.ID)) },
		"uncollectible": func() error { return testkit.Err(s.Invoices.MarkUncollectible(t.Context(), s.Caller, v.ID)) },
		"from a wallet": func() error {
			return testkit.Err(s.Invoices.PayFromWallet(t.Context(), s.Caller, v.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}))
		},
	} {
		testkit.WantCode(t, what, call(), api.PaymentInProgress)
	}
	s.pass(10 * time.Minute)
	second := s.start(v.ID, quick)
	expect.Equal(t, s.get(v.ID).Status, invoice.Paid, "status after the second payer")
	expect.Equal(t, s.payment(second.ID).Status, payment.Completed, "the second payment")

	// The first payer approves after all, and gets the money back; the invoice shows nothing of it.
	must.Do(t, s.Providers.Notify(t.Context(), first.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.payment(first.ID).Status, payment.Completed, "the first payment")
	expect.Equal(t, s.payment(first.ID).AmountRefunded, 25_00, "refunded of it")
	back := must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{Payment: first.ID}))(t).Data
	must.True(t, len(back) == 1, "refunds %v", back)
	expect.True(t, back[0].CreditNote == nil, "credit note %v", back[0].CreditNote)
	expect.Equal(t, s.get(v.ID).AmountRefunded, 0, "refunded of the invoice")
	s.Verified()
}

// A payer who approves after the hold pays an invoice that is open, and gets the money back from
// one that is not.
func TestLateApproval(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	for name, test := range map[string]struct {
		meanwhile func(id string)
		status    invoice.Status
		refunded  int64
		reason    string
	}{
		"open":   {func(string) {}, invoice.Paid, 0, ""},
		"voided": {func(id string) { must.Get(s.Invoices.Void(t.Context(), s.Caller, id))(t) }, invoice.Void, 25_00, collect.InvoiceVoided},
		"written off": {
			func(id string) { must.Get(s.Invoices.MarkUncollectible(t.Context(), s.Caller, id))(t) },
			invoice.Uncollectible, 25_00, collect.InvoiceUncollectible,
		},
		"held": {func(id string) { s.start(id, neverAnswers) }, invoice.Paid, 0, ""},
	} {
		v := s.openInvoice(invoice.Fields{})
		late := s.start(v.ID, neverAnswers)
		s.pass(10 * time.Minute)
		test.meanwhile(v.ID)
		must.Do(t, s.Providers.Settle(t.Context(), s.Caller, late.ID, provider.Result{Outcome: provider.Paid}))
		must.Do(t, s.Drain(t.Context()))
		expect.Equal(t, s.get(v.ID).Status, test.status, "%s: status", name)
		expect.Equal(t, s.payment(late.ID).AmountRefunded, test.refunded, "%s: refunded", name)
		for _, back := range must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{Payment: late.ID}))(t).Data {
			expect.Equal(t, *back.Reason, test.reason, "%s: reason", name)
		}
	}
	s.Verified()
}

// A declined payment leaves the invoice open, and counts as an attempt.
func TestDeclinedPayment(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{})
	s.start(v.ID, declines)
	got := s.get(v.ID)
	expect.Equal(t, got.Status, invoice.Open, "status")
	expect.Equal(t, got.AttemptCount, 1, "attempts")
	expect.Equal(t, s.countEvents(event.InvoicePaymentFailed), 1, "events of the failure")
	s.start(v.ID, quick)
	expect.Equal(t, s.get(v.ID).Status, invoice.Paid, "status after another payer")
}

// An invoice without anything due asks no phone.
func TestNothingDueFromPhone(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{Lines: []invoice.LineParams{line(0)}})
	p := must.Get(s.Invoices.StartPayment(t.Context(), s.Caller, v.ID, phone(quick)))(t)
	expect.True(t, p == nil, "payment %v", p)
	expect.Equal(t, s.get(v.ID).Status, invoice.Paid, "status")
}

// An automatic charge asks the customer's phone, at finalization and 1, 3 and 5 days later.
func TestAutomaticChargeOfPhone(t *testing.T) {
	for name, test := range map[string]struct {
		number   string
		status   invoice.Status
		attempts int
	}{
		"approves": {quick, invoice.Paid, 1},
		"declines": {declines, invoice.Uncollectible, 4},
		// Without an outcome no other charge is made.
		"undecided": {neverAnswers, invoice.Open, 1},
	} {
		s := open(t, memory.New(), payments.Config{})
		automatic := invoice.ChargeAutomatically
		v := s.openInvoice(invoice.Fields{Phone: &test.number, CollectionMethod: &automatic})
		must.Do(t, s.Drain(t.Context()))
		for range 7 {
			s.pass(24 * time.Hour)
		}
		got := s.get(v.ID)
		expect.Equal(t, got.Status, test.status, "%s: status", name)
		expect.Equal(t, got.AttemptCount, test.attempts, "%s: attempts", name)
		if test.status == invoice.Paid {
			expect.Equal(t, s.payment(*got.Payment).PaymentMethod, payment.FromPhone, "%s: method", name)
		}
	}
}

// A cancelled automatic payment has failed, and the next one is made in its time.
func TestCancelledAutomaticPayment(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	automatic := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{Phone: new(waits), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	first := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID}))(t).Data[0]
	must.Get(s.Payments.Cancel(t.Context(), s.Caller, first.ID))(t)
	s.pass(10 * time.Minute)
	expect.True(t, s.get(v.ID).NextPaymentAttempt.After(s.Now()), "next attempt at %v", s.get(v.ID).NextPaymentAttempt)
	s.pass(24 * time.Hour)
	s.pass(25 * time.Second)
	expect.Equal(t, s.get(v.ID).Status, invoice.Paid, "status")
	expect.Equal(t, s.get(v.ID).AttemptCount, 2, "attempts")
}

// declining declines charges of phones.
type declining struct{ provider.Simulated }

func (declining) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.Refused}, nil
}

// An automatic charge waits as long as the phone must not be asked, and as long as the customer is
// paying.
func TestAutomaticChargeWaits(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Live: payments.Providers{Charger: declining{}}})
	s.Caller.Live = true
	automatic := invoice.ChargeAutomatically
	for range 3 { // each fails
		s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
		must.Do(t, s.Drain(t.Context()))
	}
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.get(v.ID).AttemptCount, 0, "attempts while the phone must not be asked")
	expect.Equal(t, s.countEvents(event.InvoicePaymentFailed), 3, "failures")
	s.start(v.ID, "0551234567") // the charge that waits holds nothing
	expect.Equal(t, s.countEvents(event.InvoicePaymentFailed), 4, "failures of another phone")
	s.pass(10 * time.Minute)
	expect.Equal(t, s.get(v.ID).AttemptCount, 2, "attempts afterwards")
	expect.Equal(t, s.countEvents(event.InvoicePaymentFailed), 5, "failures")
}

// In live mode automatic charges ask phones by day alone. A merchant who has nothing due, or no phone to
// ask, causes no work.
func TestAutomaticChargeByDay(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Live: payments.Providers{Charger: declining{}}})
	s.Caller.Live = true
	automatic := invoice.ChargeAutomatically
	night := s.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour - time.Minute)
	s.pass(night.Sub(s.Now()))
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	free := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic, Lines: []invoice.LineParams{line(0)}})
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.get(free.ID).Status, invoice.Paid, "status of the free one")
	morning := night.Add(8*time.Hour + time.Minute)
	for day, after := range []int{0, 1, 3, 5} {
		at := morning.AddDate(0, 0, after)
		next := s.get(v.ID).NextPaymentAttempt
		must.True(t, next != nil && next.Equal(at), "attempt %d is planned at %v, want %v", day, next, at)
		s.pass(at.Add(-time.Second).Sub(s.Now()))
		expect.Equal(t, s.get(v.ID).AttemptCount, day, "attempts before %s", at)
		s.pass(time.Second)
		expect.Equal(t, s.get(v.ID).AttemptCount, day+1, "attempts at %s", at)
	}
	expect.Equal(t, s.get(v.ID).Status, invoice.Uncollectible, "status")

	always := open(t, memory.New(), payments.Config{ChargeHours: invoice.ChargeHours{From: 0, Until: 24}, Live: payments.Providers{Charger: declining{}}})
	always.Caller.Live = true
	always.pass(night.Sub(always.Now()))
	v = always.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	must.Do(t, always.Drain(t.Context()))
	expect.Equal(t, always.get(v.ID).AttemptCount, 1, "attempts at night, with hours of the whole day")
}

// A charge that had to wait until the evening was over waits for the morning.
func TestPostponedChargeWaitsForDay(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Live: payments.Providers{Charger: declining{}}})
	s.Caller.Live = true
	evening := s.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour + 19*time.Hour + 55*time.Minute)
	s.pass(evening.Sub(s.Now()))
	automatic := invoice.ChargeAutomatically
	for range 3 {
		s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
		must.Do(t, s.Drain(t.Context()))
	}
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	for range 11 { // hours
		s.pass(time.Hour)
		expect.Equal(t, s.get(v.ID).AttemptCount, 0, "attempts at %s", s.Now())
	}
	s.pass(time.Hour + 5*time.Minute)
	expect.Equal(t, s.get(v.ID).AttemptCount, 1, "attempts at %s", s.Now())
}

// A worker that resumes a postponed charge at night, more than a day after its time, has it fail at once.
func TestPostponedChargeFailsAtNight(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Live: payments.Providers{Charger: declining{}}})
	s.Caller.Live = true
	evening := s.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour + 19*time.Hour + 55*time.Minute)
	s.pass(evening.Sub(s.Now()))
	automatic := invoice.ChargeAutomatically
	for range 3 { // each fails, and is charged again by day
		s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
		must.Do(t, s.Drain(t.Context()))
	}
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	s.pass(24*time.Hour + 10*time.Minute) // no worker ran meanwhile
	expect.Equal(t, s.get(v.ID).AttemptCount, 1, "attempts at %s", s.Now())
	expect.Equal(t, s.countEvents(event.InvoicePaymentFailed), 4, "failures")
	next := s.get(v.ID).NextPaymentAttempt
	must.True(t, next != nil, "no next charge is planned")
	expect.True(t, next.Before(evening.Add(48*time.Hour)), "the next charge is at %v", next)
}

// A scheduled charge that limits or a hold keep from the phone has failed a day after its time. The schedule goes
// on, and closes the invoice in the end.
func TestPostponedChargeFailsAfterDay(t *testing.T) {
	for name, number := range map[string]string{"limits": "0241230908", "holds": quick} {
		t.Run(name, func(t *testing.T) {
			s := open(t, memory.New(), payments.Config{PaymentDeadline: time.Hour})
			v := s.openInvoice(invoice.Fields{Phone: &number, CollectionMethod: new(invoice.ChargeAutomatically)})
			hold := func() {
				if name == "limits" { // of a phone that is never asked
					return
				}
				for _, p := range must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID, Page: api.Page{Limit: 1}}))(t).Data {
					must.Get(s.Payments.Release(t.Context(), s.Caller, p.ID))(t)
				}
				must.Get(s.Invoices.StartPayment(t.Context(), s.Caller, v.ID, phone(neverAnswers)))(t)
			}
			made, days := v.FinalizedAt.Time, []int{1, 2, 4, 6}
			if name == "holds" {
				days = days[:1]
			}
			for failed, day := range days {
				end := made.AddDate(0, 0, day)
				for s.Now().Before(end.Add(-time.Second)) {
					hold()
					s.pass(min(55*time.Minute, end.Add(-time.Second).Sub(s.Now())))
				}
				expect.Equal(t, s.countEvents(event.InvoicePaymentFailed), failed, "failed before day %d is over", day)
				s.pass(time.Second)
				expect.Equal(t, s.countEvents(event.InvoicePaymentFailed), failed+1, "failed when day %d is over", day)
			}
			if name == "limits" {
				expect.Equal(t, s.get(v.ID).Status, invoice.Uncollectible, "status")
				expect.Equal(t, s.get(v.ID).AttemptCount, 4, "attempts")
			}
		})
	}
}

// Other payers' prompts do not use up the day of a phone that is charged. One open prompt is one for all.
func TestScheduledChargesHaveTheirOwnPrompts(t *testing.T) {
	answer := provider.Result{Outcome: provider.Refused}
	s := open(t, memory.New(), payments.Config{Live: payments.Providers{Charger: &answering{&answer}}})
	s.Caller.Live = true
	morning := s.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour + 8*time.Hour)
	s.pass(morning.Sub(s.Now()))
	ask := func(number string) error {
		err := testkit.Err(s.Payments.Create(t.Context(), s.Caller, payment.CreateParams{Amount: 1, MobileMoney: phone(number)}))
		must.Do(t, s.Drain(t.Context()))
		return err
	}
	charge := func(number string) (id string) {
		v := s.openInvoice(invoice.Fields{Phone: &number, CollectionMethod: new(invoice.ChargeAutomatically)})
		must.Do(t, s.Drain(t.Context()))
		return v.ID
	}
	for range 20 {
		must.Do(t, ask(quick))
		s.pass(4 * time.Minute)
	}
	testkit.WantCode(t, "a 21st", ask(quick), api.TooManyPrompts)
	for range 3 {
		expect.Equal(t, s.get(charge(quick)).AttemptCount, 1, "attempts when the day is used up")
	}
	fourth := charge(quick)
	expect.Equal(t, s.get(fourth).AttemptCount, 0, "attempts of a fourth in ten minutes")
	s.pass(10 * time.Minute)
	expect.Equal(t, s.get(fourth).AttemptCount, 1, "attempts ten minutes later")

	const another = "0201234567"
	answer = provider.Result{Outcome: provider.InProgress}
	must.Do(t, ask(another))
	waiting := charge(another)
	expect.Equal(t, s.get(waiting).AttemptCount, 0, "attempts while a prompt is open")
	s.pass(10 * time.Minute)
	expect.Equal(t, s.get(waiting).AttemptCount, 1, "attempts after its deadline")
	testkit.WantCode(t, "while the scheduled charge is open", ask(another), api.TooManyPrompts)
}

// answering is a charger that gives one answer.
type answering struct{ result *provider.Result }

func (a *answering) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return *a.result, nil
}

func (a *answering) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	return *a.result, nil
}

// An automatic payment without an outcome stops the schedule, and its late outcome sets it going:
// also one whose money was given back because the invoice was being charged another way.
func TestScheduleGoesOnAfterLateOutcome(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: slowMethods{}}})
	automatic := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{Phone: new(neverAnswers), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	first := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID}))(t).Data[0]
	s.pass(6 * 24 * time.Hour)
	charged := s.get(v.ID).AttemptCount
	testkit.WantCode(t, "a slow method", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{PaymentMethod: "pm_slow"})), api.Unavailable)
	must.Do(t, s.Providers.Notify(t.Context(), first.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.payment(first.ID).AmountRefunded, 25_00, "refunded")
	s.pass(time.Hour)
	s.pass(time.Hour)
	got := s.get(v.ID)
	expect.Equal(t, got.Status, invoice.Open, "status")
	expect.Equal(t, got.AttemptCount, charged+2, "attempts")
}

// The last automatic payment that fails does not close an invoice that is being charged another way.
func TestLastFailureLeavesOpenCharge(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: lastHangs{prompts: new(0)}}})
	automatic := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	for range 5 {
		s.pass(24 * time.Hour)
	}
	expect.Equal(t, s.get(v.ID).AttemptCount, 4, "attempts")
	last := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID, Status: payment.Processing}))(t).Data
	must.True(t, len(last) == 1, "payments under way %v", last)
	s.pass(10 * time.Minute)
	testkit.WantCode(t, "a slow method", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{PaymentMethod: "pm_slow"})), api.Unavailable)
	must.Do(t, s.Providers.Notify(t.Context(), last[0].ID, provider.Result{Outcome: provider.Refused}))
	expect.Equal(t, s.get(v.ID).Status, invoice.Open, "status while the charge is open")
	s.pass(2 * time.Hour)
	expect.Equal(t, s.get(v.ID).Status, invoice.Uncollectible, "status after the charge was refused")
}

// The last automatic payment that fails does not close an invoice that another payer is paying.
func TestLastFailureLeavesHold(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: lastHangs{prompts: new(0)}}})
	automatic := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	for range 5 {
		s.pass(24 * time.Hour)
	}
	last := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID, Status: payment.Processing}))(t).Data
	must.True(t, len(last) == 1, "payments under way %v", last)
	s.pass(10 * time.Minute)
	second := s.start(v.ID, "0551234567")
	must.Do(t, s.Providers.Notify(t.Context(), last[0].ID, provider.Result{Outcome: provider.Refused}))
	expect.Equal(t, s.get(v.ID).Status, invoice.Open, "status while held")
	must.Do(t, s.Providers.Notify(t.Context(), second.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.get(v.ID).Status, invoice.Paid, "status")
	expect.Equal(t, s.payment(second.ID).AmountRefunded, 0, "refunded")
}

// A last failure that is known more than a day late waits for one hold of another payer, also if an earlier charge
// was postponed. A second hold does not keep the invoice open.
func TestLateLastFailureWaitsForOneHold(t *testing.T) {
	for _, postponed := range []bool{false, true} {
		s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: lastHangs{prompts: new(0)}}})
		automatic := invoice.ChargeAutomatically
		v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
		must.Do(t, s.Drain(t.Context()))
		if postponed {
			s.pass(24*time.Hour - time.Minute)
			other := s.start(v.ID, "0551234567")
			s.pass(time.Minute)
			must.Do(t, s.Providers.Notify(t.Context(), other.ID, provider.Result{Outcome: provider.Refused}))
			expect.Equal(t, s.get(v.ID).AttemptCount, 2, "attempts while another payer is asked")
			s.pass(10 * time.Minute)
			expect.Equal(t, s.get(v.ID).AttemptCount, 3, "attempts afterwards")
		}
		for range 5 {
			s.pass(24 * time.Hour)
		}
		last := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID, Status: payment.Processing}))(t).Data
		must.True(t, len(last) == 1, "payments under way %v", last)
		s.pass(25 * time.Hour)
		first := s.start(v.ID, "0551234567")
		must.Do(t, s.Providers.Notify(t.Context(), last[0].ID, provider.Result{Outcome: provider.Refused}))
		expect.Equal(t, s.get(v.ID).Status, invoice.Open, "status while the first hold stands")
		s.pass(5 * time.Minute)
		must.Do(t, s.Providers.Notify(t.Context(), first.ID, provider.Result{Outcome: provider.Refused}))
		s.start(v.ID, "0551234568")
		s.pass(5*time.Minute - time.Second)
		expect.Equal(t, s.get(v.ID).Status, invoice.Open, "status before the deadline of the first hold")
		s.pass(time.Second)
		expect.Equal(t, s.get(v.ID).Status, invoice.Uncollectible, "status at its deadline, while the second hold stands")
	}
}

// An automatic charge of a payment method waits while a payer is asked. So the last one does not close the
// invoice before the payer has approved.
func TestAutomaticMethodWaitsForPayer(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: refusingMethods{}}})
	automatic := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	for range 4 {
		s.pass(24 * time.Hour)
	}
	s.pass(24*time.Hour - time.Minute)
	expect.Equal(t, s.get(v.ID).AttemptCount, 3, "attempts")
	p := s.start(v.ID, neverAnswers)
	s.pass(time.Minute)
	expect.Equal(t, s.get(v.ID).AttemptCount, 4, "attempts while payer is asked")
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, p.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.get(v.ID).Status, invoice.Paid, "status")
	expect.Equal(t, s.payment(p.ID).AmountRefunded, 0, "refunded")
}

type refusingMethods struct{ provider.Simulated }

func (c refusingMethods) Charge(ctx context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone != "" {
		return c.Simulated.Charge(ctx, o)
	}
	return provider.Result{Outcome: provider.Refused}, nil
}

func (c refusingMethods) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, o)
}

// lastHangs declines the first three prompts of the phone quick, and never answers others. Methods are slow.
type lastHangs struct {
	slowMethods
	prompts *int
}

func (c lastHangs) Charge(ctx context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone == "" {
		return c.slowMethods.Charge(ctx, o)
	}
	if strings.HasSuffix(o.Phone, quick[1:]) {
		if *c.prompts++; *c.prompts <= 3 {
			return provider.Result{Outcome: provider.Refused}, nil
		}
	}
	return provider.Result{Outcome: provider.InProgress}, nil
}

func (c lastHangs) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone == "" {
		return c.slowMethods.Charge(ctx, o)
	}
	return provider.Result{Outcome: provider.InProgress}, nil
}

// slowMethods declines a charge of a method an hour later, and never answers for phones.
type slowMethods struct{ provider.Simulated }

func (c slowMethods) Charge(ctx context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone != "" {
		return c.Simulated.Charge(ctx, o)
	}
	if o.Now.Sub(o.SubmittedAt) < time.Hour {
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	return provider.Result{Outcome: provider.Refused}, nil
}

func (c slowMethods) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, o)
}

// Declines of strangers, and of the merchant while a phone has not answered, do not use up the
// schedule.
func TestStrangersDoNotMoveSchedule(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	automatic := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{Phone: new(neverAnswers), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	s.pass(10 * time.Minute)
	next := s.get(v.ID).NextPaymentAttempt
	for range 5 {
		s.start(v.ID, declines)
		testkit.WantCode(t, "a method that fails", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{PaymentMethod: "pm_fail_1"})), api.PaymentFailed)
	}
	got := s.get(v.ID)
	expect.Equal(t, got.Status, invoice.Open, "status")
	expect.True(t, got.NextPaymentAttempt.Equal(next.Time), "next attempt at %v, before %v", got.NextPaymentAttempt, next)
}

// A phone or a method: not both.
func TestPhoneExcludesMethod(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{})
	testkit.WantParam(t, "both", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{MobileMoney: phone(quick), PaymentMethod: "pm_1"})), api.ParameterInvalid, "phone_number")
	_, err := s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{MobileMoney: payment.MobileMoney{Provider: "mtn"}})
	testkit.WantParam(t, "a provider without a number", err, api.ParameterMissing, "phone_number")
	s.Caller.Live = true
	v = s.openInvoice(invoice.Fields{})
	testkit.WantCode(t, "live without a charger", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{MobileMoney: phone(quick)})), api.PaymentFailed)
}

// patient decides nothing, and knows the last charge of a payment method.
type patient struct {
	provider.Simulated
	last *string
}

func (c patient) Charge(_ context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone == "" {
		*c.last = o.ID
	}
	return provider.Result{Outcome: provider.InProgress}, nil
}

func (c patient) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, nil
}

// An automatic payment that came during another charge was given back. When that charge has failed,
// the phone is asked again.
func TestAutomaticPaymentGivenBack(t *testing.T) {
	charge := ""
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: patient{last: &charge}}})
	automatic := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: &automatic})
	must.Do(t, s.Drain(t.Context()))
	first := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID}))(t).Data[0]
	s.pass(10 * time.Minute)
	testkit.WantCode(t, "another charge", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.Unavailable)
	must.Do(t, s.Providers.Notify(t.Context(), first.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, s.Providers.Notify(t.Context(), charge, provider.Result{Outcome: provider.Refused}))
	s.pass(24 * time.Hour)
	s.pass(time.Hour)
	expect.Equal(t, s.payment(first.ID).AmountRefunded, 25_00, "refunded of the first")
	must.Do(t, s.Providers.Notify(t.Context(), must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{Invoice: v.ID}))(t).Data[0].ID, provider.Result{Outcome: provider.Paid}))
	expect.Equal(t, s.get(v.ID).Status, invoice.Paid, "status")
}

// moodyRefunds refuses the first refund.
type moodyRefunds struct {
	provider.Simulated
	refused *bool
}

func (c moodyRefunds) Refund(ctx context.Context, r provider.Refund) (provider.Result, error) {
	if !*c.refused {
		*c.refused = true
		return provider.Result{Outcome: provider.Refused}, nil
	}
	return c.Simulated.Refund(ctx, r)
}

// A payment that came when the invoice was paid is none of it: if its refund fails, and the merchant
// refunds it, that counts for no invoice.
func TestRefundOfSecondPayment(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: moodyRefunds{refused: new(bool)}}})
	v := s.openInvoice(invoice.Fields{})
	late := s.start(v.ID, neverAnswers)
	s.pass(10 * time.Minute)
	kept := s.start(v.ID, quick)
	must.Do(t, s.Providers.Notify(t.Context(), late.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.payment(late.ID).AmountRefunded, 0, "refunded of the late payment, as its refund failed")
	for i, id := range []string{late.ID, kept.ID} {
		r := must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: id}))(t)
		must.Do(t, s.Drain(t.Context()))
		r = must.Get(s.Refunds.Get(t.Context(), s.Caller, r.ID))(t)
		expect.Equal(t, r.Status, refund.Succeeded, "the refund")
		expect.Equal(t, r.CreditNote != nil, id == kept.ID, "a credit note")
		expect.Equal(t, s.get(v.ID).AmountRefunded, int64(i)*25_00, "refunded of the invoice")
	}
	s.Verified()
}
