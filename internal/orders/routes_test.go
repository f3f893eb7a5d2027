package orders_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Phones to test with: see provider.Simulated.
const (
	mtn     = "0241234567"
	telecel = "0201234567"
	slow    = "0241230904" // succeeds after 25 s
)

// named is a simulated provider that keeps the ids of what it was given, and tells its own fee.
type named struct {
	provider.Simulated
	got map[string]int
	fee int64
}

func newNamed(fee int64) *named { return &named{got: map[string]int{}, fee: fee} }

func (n *named) answer(id string, r provider.Result, err error) (provider.Result, error) {
	n.got[id]++
	if r.Outcome == provider.Paid {
		r.ProviderFee = n.fee
	}
	return r, err
}

func (n *named) Submit(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	r, err := n.Simulated.Submit(ctx, t)
	return n.answer(t.ID, r, err)
}

func (n *named) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	r, err := n.Simulated.Status(ctx, t)
	return n.answer(t.ID, r, err)
}

func (n *named) Charge(ctx context.Context, c provider.Charge) (provider.Result, error) {
	r, err := n.Simulated.Charge(ctx, c)
	return n.answer(c.ID, r, err)
}

func (n *named) ChargeStatus(ctx context.Context, c provider.Charge) (provider.Result, error) {
	r, err := n.Simulated.ChargeStatus(ctx, c)
	return n.answer(c.ID, r, err)
}

func (n *named) Refund(ctx context.Context, f provider.Refund) (provider.Result, error) {
	r, err := n.Simulated.Refund(ctx, f)
	return n.answer(f.ID, r, err)
}

// chargerOnly takes money and gives none back.
type chargerOnly struct{ provider.Charger }

// shop is a merchant of live mode behind a router of two providers.
type shop struct {
	*payments.Service
	t      *testing.T
	store  storage.Store
	caller api.Caller
	now    time.Time
	router *provider.Router
}

// open opens a shop behind a router, or behind the only provider.
func open(t *testing.T, router *provider.Router, only ...provider.Rail) *shop {
	s := &shop{t: t, store: memory.New(), now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), router: router}
	if router != nil {
		only = []provider.Rail{router}
	}
	s.restart(only[0])
	m := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	s.caller = api.Caller{Merchant: m.ID, Live: true}
	must.Do(t, s.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.New(1000, 0), Source: "cash"}))
	return s
}

// restart starts the service anew with another provider, which is a charger, too.
func (s *shop) restart(with provider.Rail) {
	s.Service = must.Get(payments.New(s.t.Context(), s.store, payments.Config{
		Live:  payments.Providers{Rail: with, Charger: with.(provider.Charger)},
		Clock: func() time.Time { return s.now }, Logger: slog.New(slog.DiscardHandler), Serial: true,
	}))(s.t)
}

// twoProviders routes MTN's numbers to one provider and all others to another.
func twoProviders(first, second *named) *provider.Router {
	return &provider.Router{
		Rails:    map[string]provider.Rail{"first": first, "second": second},
		Chargers: map[string]provider.Charger{"first": first, "second": chargerOnly{second}},
		Rail:     func(t provider.Transfer) string { return byNetwork(t.Network) },
		Charger:  func(c provider.Charge) string { return byNetwork(c.Network) },
	}
}

func byNetwork(network string) string {
	return map[string]string{"mtn": "first", "telecel": "second"}[network]
}

func (s *shop) disburse(number string) (string, error) {
	d, err := s.Disbursements.Create(s.t.Context(), s.caller, disbursement.CreateParams{
		Amount: decimal.New(10, 0), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: number},
	})
	if err != nil {
		return "", err
	}
	must.Do(s.t, s.Drain(s.t.Context()))
	return d.ID, nil
}

func (s *shop) charge(number string) (string, error) {
	p, err := s.Payments.Create(s.t.Context(), s.caller, payment.CreateParams{Amount: 20_00, MobileMoney: payment.MobileMoney{PhoneNumber: number}})
	if err != nil {
		return "", err
	}
	must.Do(s.t, s.Drain(s.t.Context()))
	return p.ID, nil
}

func (s *shop) balance(a ledger.Account) (amount int64) {
	s.t.Helper()
	must.Do(s.t, s.store.View(s.t.Context(), func(tx storage.ReadTx) error {
		b, err := tx.Balance(a.Name)
		amount = b.Amount
		return err
	}))
	return amount
}

// Each order goes to the provider that the router chose, which has an account of its own in the
// books, and bears its own fee there.
func TestRoutes(t *testing.T) {
	first, second := newNamed(7), newNamed(0)
	s := open(t, twoProviders(first, second))
	paidOut, charged := must.Get(s.disburse(mtn))(t), must.Get(s.charge(mtn))(t)
	other := must.Get(s.charge(telecel))(t)
	expect.Equal(t, first.got[paidOut]+first.got[charged], 2, "orders of the first")
	expect.Equal(t, second.got[other], 1, "orders of the second")
	expect.Equal(t, len(second.got), 1, "orders of the second")

	back := must.Get(s.Refunds.Create(t.Context(), s.caller, refund.CreateParams{Payment: charged}))(t)
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, first.got[back.ID], 1, "refunds by the charger of the payment")
	testkit.WantCode(t, "a refund by a charger that gives none", testkit.Err(s.Refunds.Create(t.Context(), s.caller, refund.CreateParams{Payment: other})), api.Unavailable)

	expect.Equal(t, s.balance(ledger.Provider("first", true)), 10_00+7-20_00+7+20_00+7, "the first's account")
	expect.Equal(t, s.balance(ledger.Provider("second", true)), -20_00, "the second's account")
	expect.Equal(t, s.balance(ledger.ProviderFees(true)), -21, "the operator's cost")
	must.Get(s.Accounts.Verify(t.Context()))(t)
}

// A changed choice does not change whom the library asks about an order that is on its way.
func TestRouteStays(t *testing.T) {
	first, second := newNamed(0), newNamed(0)
	s := open(t, twoProviders(first, second))
	paidOut, charged := must.Get(s.disburse(slow))(t), must.Get(s.charge(slow))(t)
	s.router.Rail = func(provider.Transfer) string { return "second" }
	s.router.Charger = func(provider.Charge) string { return "second" }
	s.now = s.now.Add(time.Minute)
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, len(second.got), 0, "orders of the second")
	expect.Equal(t, must.Get(s.Disbursements.Get(t.Context(), s.caller, paidOut))(t).Status, payout.Completed, "the disbursement")
	expect.Equal(t, must.Get(s.Payments.Get(t.Context(), s.caller, charged))(t).Status, payment.Completed, "the payment")
}

// An order that was made while the provider had no name is one of the provider that the router chooses,
// also if a report comes before the first attempt. The worker then submits nothing.
func TestReportBeforeTheFirstAttempt(t *testing.T) {
	first := newNamed(0)
	s := open(t, nil, provider.Simulated{})
	d := must.Get(s.Disbursements.Create(t.Context(), s.caller, disbursement.CreateParams{
		Amount: decimal.New(10, 0), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: mtn},
	}))(t)
	p := must.Get(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{Amount: 20_00, MobileMoney: payment.MobileMoney{PhoneNumber: mtn}}))(t)
	s.restart(twoProviders(first, newNamed(0)))
	for _, id := range []string{d.ID, p.ID} {
		must.Do(t, s.Providers.Notify(t.Context(), id, provider.Result{Outcome: provider.Paid}))
	}
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, first.got[d.ID]+first.got[p.ID], 0, "submissions after the report")
	expect.Equal(t, s.balance(ledger.Provider("first", true)), 10_00-20_00, "the first's account")
	must.Get(s.Accounts.Verify(t.Context()))(t)
}

// A provider's test mode moves no money, so what it reports about a live order books nothing.
func TestReportOfTestMode(t *testing.T) {
	s := open(t, nil, provider.Simulated{})
	ids := []string{must.Get(s.disburse(slow))(t), must.Get(s.charge(slow))(t)}
	for _, id := range ids {
		for _, outcome := range []provider.Outcome{provider.Paid, provider.Refused, provider.InProgress} {
			err := s.Providers.Notify(t.Context(), id, provider.Result{Outcome: outcome, TestMode: true})
			testkit.WantCode(t, string(outcome), err, api.ResourceMissing)
		}
		expect.Equal(t, must.Get(s.Providers.Get(t.Context(), s.caller, id))(t).Outcome, provider.InProgress, "outcome")
	}
	s.restart(testMode{})
	ids = append(ids, must.Get(s.disburse(mtn))(t), must.Get(s.charge(mtn))(t))
	s.now = s.now.Add(time.Minute)
	must.Do(t, s.Drain(t.Context()))
	for _, id := range ids {
		expect.Equal(t, must.Get(s.Providers.Get(t.Context(), s.caller, id))(t).Outcome, provider.InProgress, "outcome after an answer in test mode")
	}
}

// testMode pays all orders, and says that no money has moved.
type testMode struct{ provider.Simulated }

func (testMode) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.Paid, TestMode: true}, nil
}

func (m testMode) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	return m.Submit(ctx, t)
}

func (testMode) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.Paid, TestMode: true}, nil
}

func (m testMode) ChargeStatus(ctx context.Context, c provider.Charge) (provider.Result, error) {
	return m.Charge(ctx, c)
}

// What no provider carries is refused before anything is kept.
func TestNoRoute(t *testing.T) {
	s := open(t, twoProviders(newNamed(0), newNamed(0)))
	testkit.WantCode(t, "a disbursement", testkit.Err(s.disburse("0271234567")), api.InvalidDestination)
	testkit.WantCode(t, "a payment", testkit.Err(s.charge("0271234567")), api.InvalidPhoneNumber)
	expect.Equal(t, len(must.Get(s.Payments.List(t.Context(), s.caller, payment.ListParams{}))(t).Data), 0, "payments")
	s.router.Rail = func(provider.Transfer) string { panic("the host's mistake") }
	_, err := s.disburse(mtn)
	expect.True(t, err != nil, "a disbursement passes whose choice panics")
	expect.Equal(t, api.CodeOf(err), "", "a disbursement whose choice panics: code of %v", err)
}

// A fee that the provider tells late, or corrects, is booked as far as it is new.
func TestLateProviderFee(t *testing.T) {
	s := open(t, twoProviders(newNamed(0), newNamed(0)))
	id := must.Get(s.charge(mtn))(t)
	for _, fee := range []int64{30, 30, 25} {
		must.Do(t, s.Providers.Notify(t.Context(), id, provider.Result{Outcome: provider.Paid, ProviderFee: fee}))
		expect.Equal(t, s.balance(ledger.ProviderFees(true)), -fee, "the operator's cost")
		expect.Equal(t, s.balance(ledger.Provider("first", true)), fee-20_00, "the provider's account")
	}
}

// called is a provider with a name of its own.
type called struct {
	*named
	name string
}

func (c called) RouteTransfer(t provider.Transfer) (string, bool) {
	return c.name, t.Route == "" || t.Route == c.name
}

func (c called) RouteCharge(h provider.Charge) (string, bool) {
	return c.name, h.Route == "" || h.Route == c.name
}

// A provider that has taken the place of another is not asked about, or given, the other's orders.
func TestAnotherProviderIsNotAsked(t *testing.T) {
	first, second := newNamed(0), newNamed(0)
	s := open(t, nil, called{first, "first"})
	paidOut, slowly := must.Get(s.disburse(slow))(t), must.Get(s.charge(slow))(t)
	charged := must.Get(s.charge(mtn))(t)
	for _, after := range []provider.Rail{called{second, "second"}, second} {
		s.restart(after)
		s.now = s.now.Add(20 * time.Minute)
		must.Do(t, s.Drain(t.Context()))
		expect.Equal(t, len(second.got), 0, "orders of the second")
		testkit.WantCode(t, "a refund by another provider", testkit.Err(s.Refunds.Create(t.Context(), s.caller, refund.CreateParams{Payment: charged})), api.Unavailable)
	}
	s.restart(called{first, "first"})
	s.now = s.now.Add(20 * time.Minute)
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, must.Get(s.Disbursements.Get(t.Context(), s.caller, paidOut))(t).Status, payout.Completed, "the disbursement")
	expect.Equal(t, must.Get(s.Payments.Get(t.Context(), s.caller, slowly))(t).Status, payment.Completed, "the payment")
}

// A choice that panics ends nothing: an invoice that is charged automatically waits.
func TestChoiceThatPanics(t *testing.T) {
	router := twoProviders(newNamed(0), newNamed(0))
	s := open(t, router)
	router.Charger = func(provider.Charge) string { panic("the host's mistake") }
	automatic := invoice.ChargeAutomatically
	v := must.Get(s.Invoices.Create(t.Context(), s.caller, invoice.CreateParams{
		AutoFinalize: true, Fields: invoice.Fields{CollectionMethod: &automatic, Phone: new(mtn), Lines: []invoice.LineParams{{Description: "x", UnitAmount: new(int64(30_00))}}},
	}))(t)
	for range 10 {
		_ = s.Drain(t.Context())
		s.now = s.now.Add(24 * time.Hour)
	}
	is := must.Get(s.Invoices.Get(t.Context(), s.caller, v.ID))(t)
	expect.Equal(t, is.Status, invoice.Open, "the invoice")
	router.Charger = func(provider.Charge) string { return "first" }
	s.now = s.now.Add(24 * time.Hour)
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, must.Get(s.Invoices.Get(t.Context(), s.caller, v.ID))(t).Status, invoice.Paid, "the invoice")
}

// A transfer or refund that is reported paid with another amount is not booked: the report may be of
// another order at the provider.
func TestOtherAmountIsNotBooked(t *testing.T) {
	s := open(t, twoProviders(newNamed(0), newNamed(0)))
	id := must.Get(s.disburse(slow))(t)
	must.Do(t, s.Providers.Notify(t.Context(), id, provider.Result{Outcome: provider.Paid, Amount: 1_00}))
	expect.Equal(t, must.Get(s.Disbursements.Get(t.Context(), s.caller, id))(t).Status, payout.Processing, "the disbursement")
	listed := must.Get(s.Providers.List(t.Context(), operator, provider.ListParams{}))(t).Data
	must.True(t, len(listed) == 1, "listed: %+v, want one", listed)
	expect.Equal(t, listed[0].ID, id, "the listed order")
}
