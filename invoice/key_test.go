package invoice_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// hesitant is a charger whose answers get lost; the money is taken.
type hesitant struct{}

func (hesitant) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{}, errors.New("the answer is lost")
}

func (hesitant) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.Paid}, nil
}

// Money that was taken is booked, whatever became of the idempotency key of the
// request meanwhile.
func TestChargeIsBookedThoughItsKeyWasReused(t *testing.T) {
	onEachStore(t, payments.Config{Test: payments.Providers{Charger: hesitant{}}}, func(t *testing.T, s *shop) {
		ctx := t.Context()
		var made []*invoice.Invoice
		for range 2 {
			one := must.Get(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{
				Fields: invoice.Fields{Lines: []invoice.LineParams{line(2500)}}, AutoFinalize: true,
			}))(t)
			made = append(made, one)
		}
		caller := s.Caller
		caller.IdempotencyKey = "k"
		testkit.WantCode(t, "unknown", testkit.Err(s.Invoices.Pay(ctx, caller, made[0].ID, invoice.PayParams{})), api.Unavailable)
		must.Get(s.QRCodes.Create(ctx, caller, qrcode.CreateParams{}))(t)
		// Two at once with one key, of which one is kept.
		caller.IdempotencyKey = "l"
		testkit.WantCode(t, "unknown", testkit.Err(s.Invoices.Pay(ctx, caller, made[1].ID, invoice.PayParams{})), api.Unavailable)
		s.pass(time.Hour)

		for _, one := range made {
			is := must.Get(s.Invoices.Get(ctx, s.Caller, one.ID))(t)
			expect.Equal(t, is.Status, invoice.Paid, "%s: status", one.ID)
			expect.True(t, is.Payment != nil, "%s: Payment is nil", one.ID)
		}
		b := must.Get(s.Accounts.Balance(ctx, s.Caller))(t)
		want := decimal.NewFromInt(1050)
		expect.True(t, b.Available.Equal(want), "the merchant has %s, want %s", b.Available, want)
		// The key stands for the request that has it.
		testkit.WantCode(t, "the key of a charge", testkit.Err(s.QRCodes.Create(ctx, caller, qrcode.CreateParams{})), api.IdempotencyKeyReused)
	})
}

// A charger that takes back what it told a worker is found out. What was booked stays, no caller is told
// that all is well or that the payment failed, and people find the charge in a list.
func TestContradictionIsReported(t *testing.T) {
	refused := provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "No funds."}}
	for how, c := range map[string]struct {
		worker, call provider.Result
		status       invoice.Status
		paid         int64
	}{
		"refused, and now paid": {refused, provider.Result{}, invoice.Open, 0},
		"paid, and now refused": {provider.Result{Outcome: provider.Paid}, refused, invoice.Paid, 25_00},
	} {
		m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) { return c.worker, nil }}
		var logged bytes.Buffer
		slow := &slowCharger{moody: m, begun: make(chan struct{}), decided: make(chan struct{}), ends: c.call}
		s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: slow}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		v := s.openInvoice(invoice.Fields{})
		caller := s.Caller
		caller.IdempotencyKey = "slow"
		pay := func() (*invoice.Invoice, error) {
			return s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})
		}
		told := make(chan error)
		go func() { told <- testkit.Err(pay()) }()
		<-slow.begun
		s.pass(2 * time.Minute) // a worker asks, and is told the one
		close(slow.decided)     // and then the first call ends with the other
		err := <-told
		expect.True(t, err != nil, "%s: the caller is told %v", how, err)
		expect.True(t, api.CodeOf(err) != api.PaymentFailed, "%s: the caller is told %v", how, err)
		is := s.get(v.ID)
		expect.Equal(t, is.Status, c.status, "%s: the invoice: status", how)
		expect.Equal(t, is.AmountPaid, c.paid, "%s: the invoice: amount paid", how)
		expect.True(t, (is.Payment != nil) == (c.paid > 0), "%s: the invoice is %+v", how, is)
		s.contradicted(&logged, v.ID, how)
		// The key stands for nothing: the repetition finds what was booked, or charges again.
		m.mu.Lock()
		m.answer = func(provider.Charge, bool) (provider.Result, error) {
			return provider.Result{}, errors.New("the answer is lost")
		}
		m.mu.Unlock()
		again, err := pay()
		if c.paid == 0 {
			testkit.WantCode(t, how+": the key again", err, api.Unavailable)
		} else {
			must.True(t, err == nil, "%s: again %+v, %v", how, again, err)
			expect.Equal(t, again.Status, invoice.Paid, "%s: again: status", how)
		}
		s.Verified()
	}
}

// contradicted checks that the log tells of a contradiction, that people find the charge in
// the list, and that they can take it off.
func (s *shop) contradicted(log *bytes.Buffer, id, how string) {
	s.t.Helper()
	if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "charge=att_") ||
		!strings.Contains(text, `how="`+how+`"`) || strings.Contains(text, "tried again") {
		s.t.Errorf("the log says: %s", text)
	}
	stuck := func() []provider.OrderInfo {
		s.t.Helper()
		list := must.Get(s.Providers.List(s.t.Context(), api.Caller{}, provider.ListParams{Flow: provider.Charges, Contradicted: true}))(s.t)
		return list.Data
	}
	list := stuck()
	h := must.Get(s.Health(s.t.Context()))(s.t)
	if len(list) != 1 || list[0].Record != id || list[0].Contradiction != how || list[0].Merchant != s.Caller.Merchant || h.StuckTest != 1 {
		s.t.Fatalf("%d are counted, listed %+v", h.StuckTest, list)
	}
	must.Do(s.t, s.Providers.Resolve(s.t.Context(), list[0].ID))
	if list := stuck(); len(list) != 0 {
		s.t.Errorf("listed when resolved: %+v", list)
	}
	testkit.WantCode(s.t, "resolved twice", s.Providers.Resolve(s.t.Context(), list[0].ID), api.ResourceMissing)
}

// gate holds up a call of a charger until the test says what it answers.
type gate struct {
	begun  chan struct{}
	answer chan provider.Outcome
}

func newGate() gate { return gate{make(chan struct{}), make(chan provider.Outcome)} }

func (g gate) pass() (provider.Result, error) {
	close(g.begun)
	return provider.Result{Outcome: <-g.answer}, nil
}

// gated is a charger whose first call and first question are held up.
type gated struct{ charge, status gate }

func (g *gated) Charge(context.Context, provider.Charge) (provider.Result, error) {
	return g.charge.pass()
}

func (g *gated) ChargeStatus(context.Context, provider.Charge) (provider.Result, error) {
	return g.status.pass()
}

// outcomes are what became of the work on invoices.
type outcomes chan string

func (outcomes) BeginWork(ctx context.Context, _ payments.Work) context.Context { return ctx }

func (o outcomes) EndWork(_ context.Context, w payments.Work) {
	if w.Queue == "invoices" {
		o <- w.Outcome
	}
}

// A worker that finds a contradiction does not say that it will be tried again.
func TestWorkerReportsContradiction(t *testing.T) {
	var logged bytes.Buffer
	g, ended := &gated{newGate(), newGate()}, make(outcomes, 10)
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: g}, Observer: ended, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	v := s.openInvoice(invoice.Fields{})
	var calls sync.WaitGroup
	calls.Go(func() {
		testkit.WantCode(t, "pay", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.PaymentFailed)
	})
	<-g.charge.begun
	var worker sync.WaitGroup
	worker.Go(func() { s.pass(2 * time.Minute) })
	<-g.status.begun
	g.charge.answer <- provider.Refused
	calls.Wait()
	g.status.answer <- provider.Paid
	worker.Wait()
	got := <-ended
	expect.Equal(t, got, "contradicted", "the observer is told")
	expect.Equal(t, len(ended), 0, "number")
	s.contradicted(&logged, v.ID, "refused, and now paid")
	s.Verified()
}

// A wallet pays with its PIN, while it may be used; a refusal takes nothing.
func TestPayFromWalletRefusesUnusableWallets(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{})
	pay := func(pin string) error {
		return testkit.Err(s.Invoices.PayFromWallet(t.Context(), s.Caller, v.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: pin}))
	}
	testkit.WantCode(t, "no PIN", pay(""), api.ParameterMissing)
	testkit.WantCode(t, "a wrong PIN", pay("4321"), api.PINInvalid)
	for _, status := range []account.Status{account.Frozen, account.Suspended} {
		must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.Consumer.ID, account.UpdateHolderParams{Status: new(status)}))(t)
		testkit.WantCode(t, string(status), pay(s.PIN), api.WalletNotActive)
	}
	must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.Consumer.ID, account.UpdateHolderParams{Status: new(account.Active)}))(t)
	balance, err := s.Accounts.WalletBalance(t.Context(), api.Caller{}, s.Consumer.ID)
	must.Do(t, err)
	expect.Equal(t, balance.IntPart(), 1000, "the wallet: balance")
	expect.Equal(t, s.get(v.ID).Status, invoice.Open, "status")
	testkit.WantCode(t, "active", pay(s.PIN), "")
	s.Verified()
}

// slowCharger charges, the first time, when it is told to.
type slowCharger struct {
	*moody
	once           sync.Once
	begun, decided chan struct{}
	ends           provider.Result // charged, when it says nothing
}

func (c *slowCharger) Charge(ctx context.Context, charge provider.Charge) (result provider.Result, err error) {
	first := false
	c.once.Do(func() { first = true })
	if !first {
		return c.moody.Charge(ctx, charge)
	}
	close(c.begun)
	<-c.decided
	if c.ends.Outcome != "" {
		return c.ends, nil
	}
	return provider.Result{Outcome: provider.Paid}, nil
}

// "Not taxable" is the default of a line without a product, and so the same request under a key with
// or without it. Of a line with a product it is another one.
func TestTaxableDefaultIsTheSameRequest(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	ctx, caller := t.Context(), s.Caller
	product := must.Get(s.Products.Create(ctx, caller, catalog.CreateProductParams{Name: "Sobolo", UnitAmount: new(int64(100)), Taxable: new(true)}))(t).ID
	for _, of := range []string{"", product} {
		said, silent := line(5), line(5)
		said.Product, silent.Product, said.Taxable = of, of, new(false)
		same := func(what string, one, other func(api.Caller) (*invoice.Invoice, error)) {
			t.Helper()
			caller.IdempotencyKey = what + of
			first := must.Get(one(caller))(t)
			again, err := other(caller)
			if of != "" {
				testkit.WantCode(t, what, err, api.IdempotencyKeyReused)
			} else {
				must.True(t, err == nil, "%s: %+v, %v", what, again, err)
				expect.Equal(t, again.ID, first.ID, "%s: ID", what)
				expect.Equal(t, len(again.Lines.Data), len(first.Lines.Data), "%s: number of lines", what)
			}
		}
		create := func(l invoice.LineParams) func(api.Caller) (*invoice.Invoice, error) {
			return func(c api.Caller) (*invoice.Invoice, error) {
				return s.Invoices.Create(ctx, c, invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{l}}})
			}
		}
		draft := s.draft(invoice.Fields{})
		update := func(l invoice.LineParams) func(api.Caller) (*invoice.Invoice, error) {
			return func(c api.Caller) (*invoice.Invoice, error) {
				return s.Invoices.Update(ctx, c, draft.ID, invoice.Fields{Lines: []invoice.LineParams{l}})
			}
		}
		add := func(l invoice.LineParams) func(api.Caller) (*invoice.Invoice, error) {
			return func(c api.Caller) (*invoice.Invoice, error) { return s.Invoices.AddLine(ctx, c, draft.ID, l) }
		}
		same("create", create(said), create(silent))
		same("update", update(said), update(silent))
		same("add", add(said), add(silent))
	}
}
