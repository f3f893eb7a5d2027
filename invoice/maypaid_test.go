package invoice_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// scripted answers for phones as the test says. It decides nothing about payment methods, and gives no refunds.
type scripted struct {
	phone  *func() (provider.Result, error)
	method *string // the id of the last charge of a payment method
}

func newScripted(phone func() (provider.Result, error)) scripted {
	return scripted{&phone, new(string)}
}

func (c scripted) Charge(_ context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone == "" {
		*c.method = o.ID
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	return (*c.phone)()
}

func (c scripted) ChargeStatus(_ context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone == "" {
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	r, err := (*c.phone)()
	if err != nil { // nothing has arrived
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return r, nil
}

// refunding is scripted, and answers all refunds alike.
type refunding struct {
	scripted
	refund *provider.Outcome
}

func (c refunding) Refund(context.Context, provider.Refund) (provider.Result, error) {
	return provider.Result{Outcome: *c.refund}, nil
}

func (c refunding) RefundStatus(context.Context, provider.Refund) (provider.Result, error) {
	return provider.Result{Outcome: *c.refund}, nil
}

func inProgress() (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, nil
}

func refuse() (provider.Result, error) { return provider.Result{Outcome: provider.Refused}, nil }

func lose() (provider.Result, error) { return provider.Result{}, errors.New("the answer is lost") }

// prompts returns the payments from phones of an invoice, the newest first.
func (s *shop) prompts(id string) []payment.Payment {
	s.t.Helper()
	return must.Get(s.Payments.List(s.t.Context(), s.Caller, payment.ListParams{Invoice: id, PaymentMethod: payment.FromPhone}))(s.t).Data
}

// listed returns the charges that need a person.
func (s *shop) listed() []provider.OrderInfo {
	s.t.Helper()
	return must.Get(s.Providers.List(s.t.Context(), s.Caller, provider.ListParams{Flow: provider.Charges, Contradicted: true}))(s.t).Data
}

// An automatic payment that arrives late pays its invoice, or is given back, or waits for a person. While its money
// waits for a person, the phone is not asked again.
func TestLateMoneyIsNotAskedForTwice(t *testing.T) {
	lates := map[string]struct {
		answer func() (provider.Result, error)
		// contradicts says that the payment had failed before.
		contradicts bool
		// charged says that another charge of the invoice is under way.
		charged bool
		// decided says that a person has found the report to be wrong.
		decided bool
	}{
		"in time":               {answer: inProgress},
		"after its deadline":    {answer: inProgress},
		"after a refusal":       {answer: refuse, contradicts: true},
		"after it was given up": {answer: lose, contradicts: true},
		"during another charge": {answer: inProgress, charged: true},
		"by a wrong report":     {answer: refuse, contradicts: true, decided: true},
	}
	refunds := map[string]*provider.Outcome{"none": nil, "paid": new(provider.Paid), "refused": new(provider.Refused)}
	closes := map[string]struct {
		status invoice.Status
		close  func(*shop, string) error
	}{
		"open": {invoice.Open, func(*shop, string) error { return nil }},
		"paid": {invoice.Paid, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.Pay(s.t.Context(), s.Caller, id, invoice.PayParams{PaidOutOfBand: true}))
		}},
		"void": {invoice.Void, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.Void(s.t.Context(), s.Caller, id))
		}},
		"uncollectible": {invoice.Uncollectible, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.MarkUncollectible(s.t.Context(), s.Caller, id))
		}},
	}
	for how, late := range lates {
		for refunded, refund := range refunds {
			for is, closed := range closes {
				if closed.status != invoice.Open && (late.charged || how == "in time") {
					continue // such an invoice cannot be closed
				}
				t.Run(how+"/refund "+refunded+"/"+is, func(t *testing.T) {
					script := newScripted(late.answer)
					var charger provider.Charger = script
					if refund != nil {
						charger = refunding{script, refund}
					}
					s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: charger}})
					v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: new(invoice.ChargeAutomatically)})
					must.Do(t, s.Drain(t.Context()))
					first := s.prompts(v.ID)[0].ID
					if how != "in time" {
						s.pass(10 * time.Minute)
						s.pass(10 * time.Minute)
					}
					must.Do(t, closed.close(s, v.ID))
					if late.charged {
						testkit.WantCode(t, "another charge", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.Unavailable)
					}
					*script.phone = inProgress // of all later prompts
					err := s.Providers.Notify(t.Context(), first, provider.Result{Outcome: provider.Paid})
					expect.Equal(t, errors.Is(err, provider.ErrContradicted), late.contradicts, "the report is refused: %v", err)
					if late.decided {
						must.Do(t, s.Providers.Resolve(t.Context(), first))
					}
					must.Do(t, s.Drain(t.Context()))
					if late.charged {
						must.Do(t, s.Providers.Notify(t.Context(), *script.method, provider.Result{Outcome: provider.Refused}))
					}

					status, taken := closed.status, closed.status == invoice.Open && !late.contradicts && !late.charged
					if taken {
						status = invoice.Paid
					}
					expect.Equal(t, s.get(v.ID).Status, status, "status")
					back := int64(0)
					if refunded == "paid" && !taken && !late.contradicts {
						back = 25_00
					}
					expect.Equal(t, s.payment(first).AmountRefunded, back, "given back")
					held, listed := !taken && back == 0 && !late.decided, 0
					if held {
						listed = 1
					}
					expect.Equal(t, len(s.listed()), listed, "orders that need a person")
					want := 1
					expect.Equal(t, len(s.prompts(v.ID)), want, "prompts before the next is due")
					for range 7 {
						s.pass(24 * time.Hour)
					}
					if status == invoice.Open && !held {
						want = 2 // which has no outcome
					}
					expect.Equal(t, len(s.prompts(v.ID)), want, "prompts in a week")
					expect.Equal(t, s.get(v.ID).Status, status, "status a week later")
					s.Verified()
					if !held {
						return
					}
					must.Do(t, s.Providers.Resolve(t.Context(), first))
					s.pass(time.Hour)
					if status == invoice.Open {
						want = 2
					}
					expect.Equal(t, len(s.prompts(v.ID)), want, "prompts when a person has decided")
				})
			}
		}
	}
}

// bookFor books an amount in pesewas as staff do, for a payment or an invoice.
func (s *shop) bookFor(id string, pesewas int64) {
	s.t.Helper()
	must.Get(s.Accounts.Adjust(s.t.Context(), s.Caller, account.AdjustParams{
		Amount: api.FromPesewas(pesewas).Decimal, Reason: "The provider contradicted itself.", Actor: "esi", Reference: id,
	}))(s.t)
}

// refusesMethods refuses each charge of a payment method, when the test asks it for an outcome.
type refusesMethods struct {
	provider.Simulated
	ids     *[]string
	refuses *bool
}

func (c refusesMethods) Charge(_ context.Context, o provider.Charge) (provider.Result, error) {
	if !slices.Contains(*c.ids, o.ID) {
		*c.ids = append(*c.ids, o.ID)
	}
	return c.ChargeStatus(context.Background(), o)
}

func (c refusesMethods) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	if *c.refuses {
		return provider.Result{Outcome: provider.Refused}, nil
	}
	return provider.Result{Outcome: provider.InProgress}, nil
}

// While a refused charge of a payment method may have been paid, no other automatic charge is made. One that staff
// have booked as paid is not asked for at all.
func TestDoubtfulChargeStopsSchedule(t *testing.T) {
	for reported, refusedFirst := range map[provider.Result]bool{
		{Outcome: provider.Paid}:               true,
		{Outcome: provider.Paid, Amount: 3_00}: true,
		{Outcome: provider.Paid, Amount: 9_00}: false, // the charge is under way, and refused later
	} {
		for _, booked := range []bool{false, true} {
			c := refusesMethods{ids: new([]string), refuses: &refusedFirst}
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: c}})
			v := s.openInvoice(invoice.Fields{CollectionMethod: new(invoice.ChargeAutomatically)})
			must.Do(t, s.Drain(t.Context()))
			first := (*c.ids)[0]
			err := s.Providers.Notify(t.Context(), first, reported)
			expect.Equal(t, errors.Is(err, provider.ErrContradicted), refusedFirst, "%+v: the report: %v", reported, err)
			if !refusedFirst {
				must.Do(t, s.Providers.Notify(t.Context(), first, provider.Result{Outcome: provider.Refused}))
			}
			for range 7 {
				s.pass(24 * time.Hour)
			}
			expect.Equal(t, s.get(v.ID).Status, invoice.Open, "%+v: status", reported)
			expect.Equal(t, len(*c.ids), 1, "%+v: charges in a week", reported)
			must.True(t, len(s.listed()) == 1, "%+v: listed %+v", reported, s.listed())
			if booked {
				s.bookFor(v.ID, 25_00)
			}
			must.Do(t, s.Providers.Resolve(t.Context(), first))
			s.pass(time.Hour)
			want := 2
			if booked {
				want = 1
			}
			expect.Equal(t, len(*c.ids), want, "%+v: charges when a person has decided, booked %t", reported, booked)
			if booked { // by mistake
				s.bookFor(v.ID, -25_00)
				s.pass(time.Hour)
				expect.Equal(t, len(*c.ids), 2, "%+v: charges when nothing is booked any more", reported)
			}
			s.Verified()
		}
	}
}

// A payment that staff have booked as paid is not asked for again, until its money is back.
func TestBookedPaymentStopsSchedule(t *testing.T) {
	script, back := newScripted(refuse), provider.Paid
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: refunding{script, &back}}})
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: new(invoice.ChargeAutomatically)})
	must.Do(t, s.Drain(t.Context()))
	first := s.prompts(v.ID)[0].ID
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), first, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "the report")
	s.bookFor(first, 25_00)
	must.Do(t, s.Providers.Resolve(t.Context(), first))
	*script.phone = inProgress
	for range 7 {
		s.pass(24 * time.Hour)
	}
	expect.Equal(t, len(s.prompts(v.ID)), 1, "prompts while it is booked as paid")
	expect.Equal(t, s.get(v.ID).Status, invoice.Open, "status")
	must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: first}))(t)
	must.Do(t, s.Drain(t.Context()))
	s.pass(time.Hour)
	expect.Equal(t, len(s.prompts(v.ID)), 2, "prompts when the money is back")
	s.Verified()
}

// A payment that is being given back is not asked for again before its money is back.
func TestRefundUnderWayStopsSchedule(t *testing.T) {
	for _, outcome := range []provider.Outcome{provider.Paid, provider.Refused} {
		script, back := newScripted(inProgress), provider.InProgress
		s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: refunding{script, &back}}})
		v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: new(invoice.ChargeAutomatically)})
		must.Do(t, s.Drain(t.Context()))
		first := s.prompts(v.ID)[0].ID
		s.pass(10 * time.Minute)
		testkit.WantCode(t, "another charge", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.Unavailable)
		must.Do(t, s.Providers.Notify(t.Context(), first, provider.Result{Outcome: provider.Paid}))
		must.Do(t, s.Providers.Notify(t.Context(), *script.method, provider.Result{Outcome: provider.Refused}))
		must.Do(t, s.Drain(t.Context()))
		s.pass(48 * time.Hour)
		expect.Equal(t, len(s.prompts(v.ID)), 1, "%s: prompts while the refund has no outcome", outcome)
		back = outcome
		s.pass(time.Hour)
		s.pass(time.Hour)
		if outcome == provider.Paid {
			expect.Equal(t, len(s.prompts(v.ID)), 2, "prompts after the refund")
			continue
		}
		expect.Equal(t, len(s.prompts(v.ID)), 1, "prompts after the refund has failed")
		expect.Equal(t, len(s.listed()), 1, "orders that need a person")

		// The merchant tries once more.
		back = provider.Paid
		must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: first}))(t)
		must.Do(t, s.Drain(t.Context()))
		s.pass(time.Hour)
		expect.Equal(t, len(s.prompts(v.ID)), 2, "prompts after the second refund")
		s.Verified()
	}
}

// A payer's own payment stops the schedule, too, also when the report states another amount.
func TestOwnPaymentStopsSchedule(t *testing.T) {
	for _, amount := range []int64{0, 3_00} {
		script := newScripted(refuse)
		s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: script}})
		v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: new(invoice.ChargeAutomatically)})
		must.Do(t, s.Drain(t.Context()))
		if amount != 0 {
			*script.phone = inProgress
		}
		own := s.start(v.ID, "0551234567")
		if amount == 0 {
			expect.ErrorIs(t, s.Providers.Notify(t.Context(), own.ID, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "the report")
		} else {
			must.Do(t, s.Providers.Notify(t.Context(), own.ID, provider.Result{Outcome: provider.Paid, Amount: amount}))
		}
		*script.phone = inProgress
		for range 3 {
			s.pass(24 * time.Hour)
		}
		expect.Equal(t, len(s.prompts(v.ID)), 2, "prompts while a person must decide")
		must.Do(t, s.Providers.Resolve(t.Context(), own.ID))
		s.pass(time.Hour)
		expect.Equal(t, len(s.prompts(v.ID)), 3, "prompts afterwards")
	}
}

// While a person must decide, the schedule stands still: afterwards all the charges are made that are left, and a
// phone that must not be asked at once is asked later.
func TestScheduleStandsStillUntilDecision(t *testing.T) {
	script := newScripted(refuse)
	s := open(t, memory.New(), payments.Config{ChargeHours: invoice.ChargeHours{From: 0, Until: 24}, Live: payments.Providers{Charger: script}})
	s.Caller.Live = true
	v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: new(invoice.ChargeAutomatically)})
	must.Do(t, s.Drain(t.Context()))
	first := s.prompts(v.ID)[0].ID
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), first, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "the report")
	for range 10 {
		s.pass(24 * time.Hour)
	}
	expect.Equal(t, s.get(v.ID).AttemptCount, 1, "attempts while a person must decide")
	next := s.get(v.ID).NextPaymentAttempt
	must.True(t, next != nil && next.After(s.Now()), "the next attempt is planned at %v, now is %v", next, s.Now())

	resumed := next.Time
	must.Do(t, s.Providers.Resolve(t.Context(), first))
	s.pass(resumed.Add(-time.Minute).Sub(s.Now()))
	*script.phone = inProgress
	other := must.Get(s.Payments.Create(t.Context(), s.Caller, payment.CreateParams{Amount: 1, MobileMoney: phone(quick)}))(t)
	must.Do(t, s.Drain(t.Context()))
	s.pass(time.Minute)
	expect.Equal(t, s.get(v.ID).AttemptCount, 1, "attempts while the phone is asked for another payment")
	*script.phone = refuse
	must.Do(t, s.Providers.Notify(t.Context(), other.ID, provider.Result{Outcome: provider.Refused}))
	s.pass(9 * time.Minute)
	expect.Equal(t, s.get(v.ID).AttemptCount, 2, "attempts after that")
	for attempts, day := range []int{2, 4} {
		s.pass(resumed.AddDate(0, 0, day).Add(-time.Second).Sub(s.Now()))
		expect.Equal(t, s.get(v.ID).AttemptCount, attempts+2, "attempts before day %d", day)
		s.pass(time.Second)
		expect.Equal(t, s.get(v.ID).AttemptCount, attempts+3, "attempts on day %d", day)
	}
	expect.Equal(t, s.get(v.ID).Status, invoice.Uncollectible, "status after the last")
}
