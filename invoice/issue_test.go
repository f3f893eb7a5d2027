package invoice_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// issuer issues invoices of subscriptions for a gym.
type issuer struct {
	*invoicing.Service
	t      *testing.T
	caller api.Caller
	now    time.Time
	engine *engine.Engine
	events event.Service
	hosts  payment.Service
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	s := &issuer{t: t, now: time.Date(2026, 3, 31, 6, 0, 0, 0, time.UTC)}
	store := memory.New()
	for _, kinds := range [][]*storage.Kind{engine.Kinds(), party.Kinds(), recording.Kinds(), messaging.Kinds(), orders.Kinds(), collect.Kinds(), totals.Kinds(), invoicing.Kinds()} {
		must.Do(t, store.Define(t.Context(), kinds...))
	}
	clock := func() time.Time { return s.now }
	s.engine = &engine.Engine{
		Store: store, Clock: clock, NewID: ids.New(clock, nil).Make, Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
		BaseURL: "https://pay.example.com", ServerKeys: [][]byte{make([]byte, 32)},
	}
	recorder := recording.New(s.engine)
	s.events = recorder
	messages := messaging.New(s.engine, messaging.Config{})
	accounts := party.New(s.engine, party.Config{Messages: messages, Events: recorder})
	payments, err := collect.New(s.engine, collect.Config{Accounts: accounts, Events: recorder, Messages: messages})
	must.Do(t, err)
	s.hosts = payments
	m := must.Get(accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Osu Gym"}))(t)
	s.caller = api.Caller{Merchant: m.ID, RequestID: "req_1"}
	s.Service = invoicing.New(s.engine, invoicing.Config{Accounts: accounts, Payments: payments, Events: recorder, Messages: messages})
	return s
}

func (s *issuer) update(do func(*engine.Tx) error) {
	s.t.Helper()
	must.Do(s.t, s.engine.Update(s.t.Context(), s.caller, do))
}

func (s *issuer) issue(p invoicing.IssueParams) *invoicing.Issued {
	s.t.Helper()
	p.Subscription, p.Customer = "sub_1", "cus_1"
	if p.CollectionMethod == "" {
		p.CollectionMethod = invoice.SendInvoice
	}
	var made *invoicing.Issued
	s.update(func(tx *engine.Tx) (err error) {
		made, err = s.Issue(tx, p)
		return err
	})
	return made
}

func (s *issuer) recorded() (types []event.Type) {
	s.t.Helper()
	for _, e := range must.Get(s.events.List(s.t.Context(), s.caller, event.ListParams{}))(s.t).Data {
		types = append([]event.Type{e.Type}, types...)
	}
	return types
}

func (s *issuer) paymentsOf(id string) []payment.Payment {
	s.t.Helper()
	return must.Get(s.hosts.List(s.t.Context(), s.caller, payment.ListParams{Invoice: id}))(s.t).Data
}

// outcomes returns the outcomes that are due, and ends them.
func (s *issuer) outcomes() (all []invoicing.Outcome) {
	s.t.Helper()
	s.update(func(tx *engine.Tx) error {
		claimed := must.Get(tx.Claim(s.OutcomeKind(), storage.Claim{Now: s.now, Due: s.now, Lease: time.Minute, Limit: 10}))(s.t)
		for _, r := range claimed {
			o := must.Get(s.Outcome(r))(s.t)
			all = append(all, *o)
			must.Do(s.t, s.FinishOutcome(tx, o))
		}
		return nil
	})
	return all
}

func planned(pesewas int64) invoicing.SubscriptionLine {
	return invoicing.SubscriptionLine{Description: "Gold", Quantity: 1, UnitAmount: pesewas}
}

func net(pesewas int64) invoicing.SubscriptionLine {
	l := planned(pesewas)
	l.Net = true
	return l
}

func withTax(l invoicing.SubscriptionLine, rate int64) invoicing.SubscriptionLine {
	l.Taxable, l.TaxPercent = true, new(decimal.NewFromInt(rate))
	return l
}

// taxOf computes the tax of lines anew: for each rate of two decimals, once of the sum.
func taxOf(lines []invoice.Line) (tax int64) {
	parts := map[int64]int64{} // by rate, in ten-thousandths of a pesewa
	for _, l := range lines {
		if l.TaxPercent != nil {
			rate := l.TaxPercent.Shift(2).IntPart()
			parts[rate] += rate * (l.Amount - l.Discount - l.DiscountShare)
		}
	}
	for _, sum := range parts {
		if sum < 0 {
			tax -= (5_000 - sum) / 10_000
		} else {
			tax += (5_000 + sum) / 10_000
		}
	}
	return tax
}

func TestSubscriptionPrices(t *testing.T) {
	s := newIssuer(t)
	tenPercent := catalog.Terms{PercentOff: &api.Number{Decimal: decimal.NewFromInt(10)}}
	for name, test := range map[string]struct {
		p                              invoicing.PriceParams
		subtotal, discount, tax, total int64
		credit                         int64
		amounts, shares                []int64
	}{
		"credit used": {
			invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(100_00)}, CreditBalance: 30_00},
			70_00, 0, 0, 70_00, 0,
			[]int64{100_00, -30_00},
			[]int64{0, 0},
		},
		"more credit than is due": {
			invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{withTax(planned(100_00), 20)}, CreditBalance: 130_00},
			-20_00, 0, 20_00, 0, 10_00,
			[]int64{100_00, -120_00},
			[]int64{0, 0},
		},
		// −52.50 of tax on −350 at 15% is one pesewa more by absolute value than half down: −53.
		"below zero": {
			invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{withTax(planned(-350), 15), planned(1_00)}, Coupon: "cpn_1", Terms: tenPercent, CreditBalance: 5},
			63, 10, -53, 0, 5 + 313,
			[]int64{-350, 100, 313},
			[]int64{0, 10, 0},
		},
		// Credit takes no share of a discount.
		"a discount": {
			invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(-5), planned(100)}, Coupon: "cpn_1", Terms: tenPercent, CreditBalance: 15},
			80, 10, 0, 70, 0,
			[]int64{-5, 100, -15},
			[]int64{0, 10, 0},
		},
		"exactly zero": {
			invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(-100), planned(100)}, Coupon: "cpn_1", Terms: tenPercent, CreditBalance: 7},
			10, 10, 0, 0, 7 + 10,
			[]int64{-100, 100, 10},
			[]int64{0, 10, 0},
		},
		"a line that carries its discount": {
			invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{net(-150), net(300), planned(300)}, Coupon: "cpn_1", Terms: tenPercent},
			450, 30, 0, 420, 0,
			[]int64{-150, 300, 300},
			[]int64{0, 0, 30},
		},
		// On the way to the last line the sum is beyond what an amount may be.
		"back within the limit": {
			invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(99_999_999), planned(99_999_999), planned(-99_999_999)}},
			99_999_999, 0, 0, 99_999_999, 0,
			[]int64{99_999_999, 99_999_999, -99_999_999},
			[]int64{0, 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(s.PriceSubscription(test.p))(t)
			var amounts, shares []int64
			for _, l := range got.Lines {
				amounts, shares = append(amounts, l.Amount), append(shares, l.DiscountShare)
			}
			expect.Same(t, amounts, test.amounts, "amounts")
			expect.Same(t, shares, test.shares, "shares of the discount")
			expect.Equal(t, got.Subtotal, test.subtotal, "subtotal")
			expect.Equal(t, got.Discount, test.discount, "discount")
			expect.Equal(t, got.Tax, test.tax, "tax")
			expect.Equal(t, got.Total, test.total, "total")
			expect.Equal(t, got.CreditBalance, test.credit, "credit")
		})
	}
	testkit.WantCode(t, "beyond the limit", testkit.Err(s.PriceSubscription(invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(99_999_999), planned(1)}})), api.ParameterInvalid)
	testkit.WantCode(t, "a line beyond the limit", testkit.Err(s.PriceSubscription(invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{{Description: "Gold", Quantity: 1_000_000, UnitAmount: 100}}})), api.ParameterInvalid)
}

// Whatever the lines, the shares sum to the discount, each share is less than a pesewa away from its
// exact part, and what is paid and the credit together are what the lines cost.
func TestSubscriptionPricesAddUp(t *testing.T) {
	s := newIssuer(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := invoicing.PriceParams{CreditBalance: rapid.Int64Range(0, 1000).Draw(rt, "credit")}
		if off := rapid.Int64Range(0, 100).Draw(rt, "percent off"); off > 0 {
			p.Coupon, p.Terms = "cpn_1", catalog.Terms{PercentOff: &api.Number{Decimal: decimal.NewFromInt(off)}}
		}
		var sum, base int64
		for range rapid.IntRange(1, 6).Draw(rt, "lines") {
			l := withTax(planned(rapid.Int64Range(-500, 500).Draw(rt, "amount")), rapid.Int64Range(0, 25).Draw(rt, "rate"))
			sum += l.UnitAmount
			if l.Net = rapid.Bool().Draw(rt, "net"); !l.Net {
				base += max(0, l.UnitAmount)
			}
			p.Lines = append(p.Lines, l)
		}
		got := must.Get(s.PriceSubscription(p))(rt)
		var subtotal, shares int64
		tax := taxOf(got.Lines)
		for i := range got.Lines {
			l := &got.Lines[i]
			subtotal, shares = subtotal+l.Amount, shares+l.DiscountShare
			if i < len(p.Lines) && (l.Amount < 0 || p.Lines[i].Net) {
				if l.DiscountShare != 0 {
					rt.Fatalf("line %d of %d, which no discount reduces, has %d of it", i, l.Amount, l.DiscountShare)
				}
				continue
			}
			if off := l.DiscountShare*base - got.Discount*l.Amount; i < len(p.Lines) && got.Discount > 0 && (off <= -base || off >= base) {
				rt.Fatalf("line %d of %d has %d of the discount %d", i, l.Amount, l.DiscountShare, got.Discount)
			}
		}
		if shares != got.Discount || subtotal != got.Subtotal || tax != got.Tax || got.Total != subtotal+tax-shares {
			rt.Fatalf("lines of %d, shares of %d and taxes of %d make %+v", subtotal, shares, tax, got)
		}
		// What the lines cost is paid, taken from the credit, or added to it.
		cost := sum - got.Discount + got.Tax
		if got.Total < 0 || got.CreditBalance < 0 || cost != got.Total+p.CreditBalance-got.CreditBalance {
			rt.Fatalf("a cost of %d with credit %d makes %+v", cost, p.CreditBalance, got)
		}
	})
}

func TestIssue(t *testing.T) {
	s := newIssuer(t)
	start := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)
	period := &invoice.Period{start.Unix(), start.AddDate(0, 1, 0).Unix()}
	line := planned(50_00)
	line.Period = period
	made := s.issue(invoicing.IssueParams{
		PriceParams: invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{line}, CreditBalance: 1_00},
		Person:      &account.Customer{Name: "Ama", Email: "ama@example.com", Phone: "0241234567", Address: "Osu"},
		Date:        start, DueDate: s.now.AddDate(0, 0, 7),
	})
	expect.Equal(t, made.Status, invoice.Open, "status")
	expect.Equal(t, made.CreditBalance, 0, "credit")
	expect.Equal(t, made.AmountDue, 49_00, "amount due")
	expect.Equal(t, made.Number, "INV-2026-000001", "the number has the year in which it was made")
	expect.True(t, made.InvoiceDate.Equal(start), "dated %s", made.InvoiceDate)
	expect.True(t, made.FinalizedAt.Equal(s.now), "finalized at %s", made.FinalizedAt)
	expect.Equal(t, *made.Phone, "+233241234567", "phone")
	expect.Same(t, made.Lines.Data[0].Period, period, "period")
	expect.True(t, made.Lines.Data[1].Period == nil, "the credit has a period")
	expect.Same(t, s.recorded(), []event.Type{event.InvoiceCreated, event.InvoiceFinalized}, "events")
	list := must.Get(s.List(t.Context(), s.caller, invoice.ListParams{Subscription: "sub_1"}))(t)
	expect.Equal(t, len(list.Data), 1, "invoices of the subscription")
	expect.Equal(t, len(must.Get(s.List(t.Context(), s.caller, invoice.ListParams{Subscription: "sub_2"}))(t).Data), 0, "invoices of another")
	expect.Equal(t, period.String(), "31 Dec 2025 – 30 Jan 2026", "period for people")
	expect.Equal(t, invoice.Period{Start: start.Unix(), End: start.Unix() + 86400}.String(), "31 Dec 2025", "a day for people")
	expect.Equal(t, len(s.outcomes()), 0, "outcomes of an open invoice")
	data, _, err := s.PDFFile(t.Context(), s.caller, made.ID)
	must.Do(t, err)
	expect.True(t, len(data) > 0, "a PDF of %d bytes, %v", len(data), err)

	copied := must.Get(s.Duplicate(t.Context(), s.caller, made.ID))(t)
	expect.True(t, copied.Subscription == nil, "the duplicate: Subscription is set")
	must.True(t, len(copied.Lines.Data) == 1, "the duplicate is %+v", copied)
	expect.True(t, copied.Lines.Data[0].Period == nil, "the duplicate: Lines.Data[0].Period is set")
	expect.Equal(t, copied.Total, 50_00, "total of the duplicate")
}

// An invoice that a payment has paid is paid as it is made. The caller knows, so that no outcome is queued.
func TestIssuePaid(t *testing.T) {
	for name, test := range map[string]struct {
		p       invoicing.IssueParams
		payment *string
		paid    int64
	}{
		"by a payment": {invoicing.IssueParams{PriceParams: invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(5)}}, Payment: "pay_1"}, new("pay_1"), 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := newIssuer(t)
			test.p.Date = s.now
			made := s.issue(test.p)
			expect.Equal(t, made.Status, invoice.Paid, "status")
			expect.Equal(t, made.AmountPaid, test.paid, "amount paid")
			expect.Equal(t, made.AmountDue, 0, "amount due")
			expect.Same(t, made.Payment, test.payment, "payment")
			expect.True(t, made.NextPaymentAttempt == nil, "NextPaymentAttempt is set")
			expect.True(t, made.PaidAt != nil, "PaidAt is nil")
			expect.Same(t, s.recorded(), []event.Type{event.InvoiceCreated, event.InvoiceFinalized, event.InvoicePaid}, "events")
			expect.Equal(t, len(s.outcomes()), 0, "outcomes")
		})
	}
}

func TestOutcomes(t *testing.T) {
	s := newIssuer(t)
	open := func() string {
		return s.issue(invoicing.IssueParams{PriceParams: invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(5)}}, Date: s.now}).ID
	}
	paid, voided, written := open(), open(), open()
	must.Get(s.Pay(t.Context(), s.caller, paid, invoice.PayParams{PaidOutOfBand: true}))(t)
	must.Get(s.Void(t.Context(), s.caller, voided))(t)
	must.Get(s.MarkUncollectible(t.Context(), s.caller, written))(t)
	got := s.outcomes()
	must.True(t, len(got) == 3, "got %+v", got)
	for i, want := range []invoicing.Outcome{{Invoice: paid, Types: []invoicing.OutcomeType{invoicing.OutcomePaid}}, {Invoice: voided, Types: []invoicing.OutcomeType{invoicing.OutcomeVoided}}, {Invoice: written, Types: []invoicing.OutcomeType{invoicing.OutcomeUncollectible}}} {
		expect.Equal(t, got[i].Invoice, want.Invoice, "%d: invoice", i)
		expect.Same(t, got[i].Types, want.Types, "%d: types", i)
		expect.Equal(t, got[i].Subscription, "sub_1", "%d: subscription", i)
		expect.Equal(t, got[i].Caller().RequestID, "req_1", "%d: request", i)
	}
	// The subscription itself knows.
	mine := open()
	s.update(func(tx *engine.Tx) error { return testkit.Err(s.GiveUp(tx, mine)) })
	expect.Equal(t, len(s.outcomes()), 0, "outcomes of the subscription's own call")
	err := s.engine.Update(t.Context(), s.caller, func(tx *engine.Tx) error { return testkit.Err(s.GiveUp(tx, mine)) })
	testkit.WantCode(t, "twice", err, api.InvoiceNotOpen)
}

// The worker that has claimed an outcome finds those before it, so that they can be booked in order.
func TestEarlierOutcomesAreFound(t *testing.T) {
	s := newIssuer(t)
	open := func() string {
		return s.issue(invoicing.IssueParams{PriceParams: invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(5)}}, Date: s.now}).ID
	}
	voided, written := open(), open()
	must.Get(s.Void(t.Context(), s.caller, voided))(t)
	must.Get(s.MarkUncollectible(t.Context(), s.caller, written))(t)
	s.update(func(tx *engine.Tx) error {
		claimed := must.Get(tx.Claim(s.OutcomeKind(), storage.Claim{Now: s.now, Due: s.now, Lease: time.Minute, Limit: 10}))(t)
		must.True(t, len(claimed) == 2, "%d outcomes", len(claimed))
		first, second := must.Get(s.Outcome(claimed[0]))(t), must.Get(s.Outcome(claimed[1]))(t)
		if first.Invoice != voided {
			first, second = second, first
		}
		earlier := must.Get(s.EarlierOutcome(tx, second))(t)
		must.True(t, earlier != nil && earlier.Invoice == voided, "before the second: %+v", earlier)
		expect.True(t, must.Get(s.EarlierOutcome(tx, first))(t) == nil, "something is before the first")
		must.Do(t, s.FinishOutcome(tx, first))
		expect.True(t, must.Get(s.EarlierOutcome(tx, second))(t) == nil, "something is before the second")
		return s.FinishOutcome(tx, second)
	})
}

// A subscription's invoice asks the subscription's phone, until the subscription ends its charges.
func TestChargesOfSubscription(t *testing.T) {
	s := newIssuer(t)
	customer := &account.Customer{Name: "Ama", Phone: "0200000000"}
	made := s.issue(invoicing.IssueParams{
		PriceParams: invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(5)}}, Person: customer, Date: s.now,
		CollectionMethod: invoice.ChargeAutomatically, ChargedPhone: "+233241230901", // declines
	})
	charge := func() {
		s.update(func(tx *engine.Tx) error { return testkit.Err(s.Begin(t.Context(), tx, made.ID)) })
	}
	charge()
	asked := s.paymentsOf(made.ID)
	must.True(t, len(asked) == 1 && *asked[0].Subscription == "sub_1", "got %+v", asked)
	expect.Equal(t, *asked[0].PhoneNumber, "024****901", "asked phone")
	failed := collect.Ended{Payment: *must.Get(s.hosts.Cancel(t.Context(), s.caller, asked[0].ID))(t)}
	failed.Status = payment.Failed
	s.update(func(tx *engine.Tx) error { return s.PaymentEnded(tx, &failed) })
	got := s.outcomes()
	must.True(t, len(got) == 1, "outcomes %+v", got)
	expect.Equal(t, got[0].Types[0], invoicing.OutcomePaymentFailed, "type of the outcome")

	s.update(func(tx *engine.Tx) error { return s.ChangeChargedPhone(tx, []string{made.ID}, "+233541234567") })
	next := must.Get(s.Get(t.Context(), s.caller, made.ID))(t).NextPaymentAttempt
	must.True(t, next != nil && next.Equal(s.now.AddDate(0, 0, 1)), "next attempt at %v", next)
	s.now = s.now.AddDate(0, 0, 1)
	charge()
	asked = s.paymentsOf(made.ID)
	must.True(t, len(asked) == 2, "%d payments", len(asked))
	expect.Equal(t, *asked[0].PhoneNumber, "054****567", "asked phone after the change")

	s.update(func(tx *engine.Tx) error { return s.StopCharges(tx, []string{made.ID}) })
	failed = collect.Ended{Payment: asked[0]}
	failed.Status = payment.Failed
	s.update(func(tx *engine.Tx) error { return s.PaymentEnded(tx, &failed) })
	v := must.Get(s.Get(t.Context(), s.caller, made.ID))(t)
	expect.Equal(t, v.Status, invoice.Open, "after the end")
	expect.True(t, v.NextPaymentAttempt == nil, "NextPaymentAttempt is set")
}

func TestChargeHoursAreChecked(t *testing.T) {
	for hours, good := range map[invoice.ChargeHours]bool{
		{}: true, {0, 24}: true, {8, 20}: true, {8, 8}: false, {20, 8}: false, {-1, 8}: false, {0, 25}: false,
	} {
		expect.True(t, (hours.Check() == nil) == good, "%+v: %v", hours, hours.Check())
	}
}
