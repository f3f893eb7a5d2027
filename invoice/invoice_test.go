package invoice_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// shop is a merchant whose clock stands still until it is moved.
type shop struct {
	*testkit.Shop
	t *testing.T
}

func open(t *testing.T, store storage.Store, c payments.Config) *shop {
	t.Helper()
	return &shop{testkit.OpenShop(t, store, c), t}
}

func (s *shop) pass(d time.Duration) {
	s.Pass(d)
	must.Do(s.t, s.Drain(s.t.Context()))
}

func onEachStore(t *testing.T, c payments.Config, test func(*testing.T, *shop)) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) { test(t, open(t, store, c)) })
}

func line(pesewas int64) invoice.LineParams {
	return invoice.LineParams{Description: "Catering", UnitAmount: &pesewas}
}

// draft makes an invoice of GHS 25.00.
func (s *shop) draft(f invoice.Fields) *invoice.Invoice {
	s.t.Helper()
	if f.Lines == nil {
		f.Lines = []invoice.LineParams{line(25_00)}
	}
	return must.Get(s.Invoices.Create(s.t.Context(), s.Caller, invoice.CreateParams{Fields: f}))(s.t)
}

func (s *shop) openInvoice(f invoice.Fields) *invoice.Invoice {
	s.t.Helper()
	return must.Get(s.Invoices.Finalize(s.t.Context(), s.Caller, s.draft(f).ID))(s.t)
}

func (s *shop) get(id string) *invoice.Invoice {
	s.t.Helper()
	return must.Get(s.Invoices.Get(s.t.Context(), s.Caller, id))(s.t)
}

// For any lines the totals keep the identities, and equal a reference in exact
// fractions.
func TestTotalsEqualExactFractions(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(rt, "lines")
		var params []invoice.LineParams
		subtotal, tax, discount := decimal.Zero, decimal.Zero, decimal.Zero
		bases := map[string]decimal.Decimal{} // by rate
		halfUp := func(d decimal.Decimal) decimal.Decimal { return d.Add(decimal.New(5, -1)).Floor() }
		for range n {
			unit := rapid.Int64Range(0, 50_000).Draw(rt, "unit")
			quantity := decimal.New(rapid.Int64Range(1, 20_000_000).Draw(rt, "quantity"), -6)
			p := invoice.LineParams{Description: "x", UnitAmount: &unit, Quantity: &quantity}
			amount := halfUp(quantity.Mul(decimal.NewFromInt(unit)))
			if rapid.Bool().Draw(rt, "discounted") {
				p.Discount = rapid.Int64Range(0, amount.IntPart()).Draw(rt, "discount")
			}
			if rapid.Bool().Draw(rt, "taxable") {
				p.Taxable = new(true)
				rate := decimal.New(rapid.OneOf(rapid.SampledFrom([]int64{5_000_000, 20_000_000}), rapid.Int64Range(0, 100_000_000)).Draw(rt, "rate"), -6)
				p.TaxPercent = &rate
				bases[rate.String()] = bases[rate.String()].Add(amount.Sub(decimal.NewFromInt(p.Discount)))
			}
			subtotal, discount = subtotal.Add(amount), discount.Add(decimal.NewFromInt(p.Discount))
			params = append(params, p)
		}
		for rate, base := range bases {
			tax = tax.Add(halfUp(base.Mul(decimal.RequireFromString(rate)).Div(decimal.NewFromInt(100))))
		}
		v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: invoice.Fields{Lines: params}}))(rt)
		if v.Subtotal != subtotal.IntPart() || v.Tax != tax.IntPart() || v.Discount != discount.IntPart() {
			rt.Errorf("subtotal %d, tax %d, discount %d; want %s, %s, %s", v.Subtotal, v.Tax, v.Discount, subtotal, tax, discount)
		}
		if v.Total != v.Subtotal+v.Tax-v.Discount || v.AmountDue != v.Total-v.AmountPaid {
			rt.Errorf("total %d, due %d of %d + %d - %d", v.Total, v.AmountDue, v.Subtotal, v.Tax, v.Discount)
		}
		var rows int64
		for _, row := range v.TaxRows() {
			rows += row.Amount
		}
		expect.True(rt, rows == v.Tax, "the rows of taxes add up to %d, not %d", rows, v.Tax)
	})
}

func TestTaxes(t *testing.T) {
	rate := decimal.New(125, -1)
	s := open(t, memory.New(), payments.Config{DefaultTax: &rate})
	cents := int64(99)
	v := s.draft(invoice.Fields{Lines: []invoice.LineParams{
		{Description: "a", UnitAmount: &cents, Taxable: new(true), Taxes: invoice.GhanaVAT()},
		{Description: "b", UnitAmount: &cents, Taxable: new(true), Taxes: invoice.GhanaVAT()},
	}})
	// 20% of 198 is 39.6, so 40; of it VAT is 29.7, NHIL and GETFund are 4.95.
	want := []invoice.TaxRow{
		{Name: "VAT", Percent: decimal.NewFromInt(15), Base: 198, Amount: 30},
		{Name: "NHIL", Percent: decimal.New(25, -1), Base: 198, Amount: 5},
		{Name: "GETFund", Percent: decimal.New(25, -1), Base: 198, Amount: 5},
	}
	got := s.get(v.ID).TaxRows() // what was kept, too
	expect.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "tax rows")
	expect.Equal(t, v.Tax, 40, "tax")
	expect.Equal(t, fmt.Sprint(v.TaxPercent), "20", "tax percent")
	v = s.draft(invoice.Fields{Lines: []invoice.LineParams{{Description: "a", UnitAmount: &cents, Taxable: new(true)}, {Description: "b", UnitAmount: &cents}}})
	expect.Equal(t, v.TaxPercent.String(), "12.5", "the configured rate: tax percent")
	expect.Equal(t, v.Tax, 12, "the configured rate: tax")
	other := decimal.NewFromInt(5)
	v = s.draft(invoice.Fields{Lines: []invoice.LineParams{
		{Description: "a", UnitAmount: &cents, Taxable: new(true)},
		{Description: "b", UnitAmount: &cents, Taxable: new(true), TaxPercent: &other},
	}})
	expect.True(t, v.TaxPercent == nil, "two rates are shown as %s", v.TaxPercent)
}

// One wins, and the money moves once.
func TestConcurrentCallsMoveMoneyOnce(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		for range 10 {
			v := s.openInvoice(invoice.Fields{})
			before := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
			calls := []func() error{
				func() error { return testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})) },
				func() error { return testkit.Err(s.Invoices.Void(t.Context(), s.Caller, v.ID)) },
				func() error {
					return testkit.Err(s.Invoices.PayFromWallet(t.Context(), s.Caller, v.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}))
				},
				func() error { return testkit.Err(s.Invoices.MarkUncollectible(t.Context(), s.Caller, v.ID)) },
			}
			won := make([]bool, 2*len(calls))
			var all sync.WaitGroup
			for i := range won {
				all.Go(func() {
					err := calls[i%len(calls)]()
					won[i] = err == nil
					expect.True(t, err == nil || api.CodeOf(err) != "", "%v", err)
				})
			}
			all.Wait()
			is := s.get(v.ID)
			after := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
			moved := after.Available.Sub(before.Available.Decimal).String()
			paid := won[0] || won[2] || won[4] || won[6]
			wins := 0
			for _, w := range won {
				if w {
					wins++
				}
			}
			// An uncollectible invoice may still be voided, which are two steps.
			two := is.Status == invoice.Void && (won[3] || won[7])
			expect.True(t, wins == 1 || two && wins == 2, "%d won: %v, %s", wins, won, is.Status)
			expect.Equal(t, paid, is.Status == invoice.Paid, "paid")
			expect.True(t, !paid || moved == "25", "%s, won %v, moved %s", is.Status, won, moved)
			expect.True(t, paid || moved == "0", "%s, won %v, moved %s", is.Status, won, moved)
		}
		for range 10 { // finalize beside delete, and twice
			v := s.draft(invoice.Fields{})
			outcomes := make([]error, 4)
			var all sync.WaitGroup
			for i := range outcomes {
				all.Go(func() {
					if i%2 == 0 {
						_, outcomes[i] = s.Invoices.Finalize(t.Context(), s.Caller, v.ID)
					} else {
						_, outcomes[i] = s.Invoices.Delete(t.Context(), s.Caller, v.ID)
					}
				})
			}
			all.Wait()
			wins := 0
			for _, err := range outcomes {
				if err == nil {
					wins++
				}
			}
			expect.Equal(t, wins, 1, "%d won: %v", wins, outcomes)
		}
		s.Verified()
	})
}

func TestInvoiceNumbers(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		const n = 1000
		numbers := make([]string, n)
		var all sync.WaitGroup
		slots := make(chan struct{}, 32)
		for i := range n {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				v, err := s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{})
				if err != nil {
					t.Error(err)
					return
				}
				numbers[i] = v.Number
			})
		}
		all.Wait()
		seen := map[string]bool{}
		for _, number := range numbers {
			seen[number] = true
		}
		for i := range n {
			want := fmt.Sprintf("INV-2026-%06d", i+1)
			must.True(t, seen[want], "%s is missing; %d are different", want, len(seen))
		}
		s.pass(365 * 24 * time.Hour)
		if v := s.draft(invoice.Fields{}); v.Number != "INV-2027-000001" {
			t.Errorf("the next year begins with %s", v.Number)
		}
	})
}

// moody is a charger that does as it is told.
type moody struct {
	mu     sync.Mutex
	answer func(c provider.Charge, status bool) (provider.Result, error)
	calls  []string
}

func (m *moody) do(c provider.Charge, status bool) (provider.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, fmt.Sprint(c.ID, c.Amount, status))
	return m.answer(c, status)
}

func (m *moody) Charge(_ context.Context, c provider.Charge) (provider.Result, error) {
	return m.do(c, false)
}

func (m *moody) ChargeStatus(_ context.Context, c provider.Charge) (provider.Result, error) {
	return m.do(c, true)
}

// A charge whose answer is lost blocks everything else, and is booked once when
// the charger is asked again; the repetition of the call finds it.
func TestLostChargeBlocksAndIsBookedOnce(t *testing.T) {
	for name, later := range map[string]provider.Result{
		"charged":  {Outcome: provider.Paid, Network: "mtn"},
		"declined": {Outcome: provider.Refused, Reason: provider.Refusal{Message: "No funds."}},
		"unseen":   {Outcome: provider.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			lost := errors.New("the answer is lost")
			m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) { return provider.Result{}, lost }}
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}})
			v := s.openInvoice(invoice.Fields{})
			caller := s.Caller
			caller.IdempotencyKey = "pay-1"
			pay := func(c api.Caller) error {
				return testkit.Err(s.Invoices.Pay(t.Context(), c, v.ID, invoice.PayParams{PaymentMethod: "momo"}))
			}
			testkit.WantCode(t, "the outcome is open", pay(caller), api.Unavailable)
			testkit.WantCode(t, "again with the key", pay(caller), api.IdempotencyKeyInUse)
			testkit.WantCode(t, "another payment", pay(s.Caller), api.InvoicePaymentInProgress)
			testkit.WantCode(t, "void", testkit.Err(s.Invoices.Void(t.Context(), s.Caller, v.ID)), api.InvoicePaymentInProgress)
			_, err := s.Invoices.PayFromWallet(t.Context(), s.Caller, v.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN})
			testkit.WantCode(t, "from a wallet", err, api.InvoicePaymentInProgress)

			s.pass(5 * time.Second) // asked again, and lost again
			m.mu.Lock()
			m.answer = func(_ provider.Charge, status bool) (provider.Result, error) {
				if !status {
					return provider.Result{Outcome: provider.Paid}, nil
				}
				return later, nil
			}
			m.mu.Unlock()
			s.pass(time.Minute)
			is := s.get(v.ID)
			if later.Outcome == provider.Refused {
				expect.Equal(t, is.Status, invoice.Open, "status")
				expect.Equal(t, is.AttemptCount, 1, "number of attempts")
				return
			}
			expect.Equal(t, is.Status, invoice.Paid, "status")
			expect.Equal(t, is.AttemptCount, 1, "attempt count")
			expect.Equal(t, is.AmountDue, 0, "amount due")
			expect.Equal(t, is.AmountPaid, 25_00, "amount paid")
			var replayed bool
			caller.Replayed = &replayed
			if err := pay(caller); err != nil || !replayed {
				t.Errorf("the repetition: %v, replayed %t", err, replayed)
			}
			id, _, _ := strings.Cut(m.calls[0], "25")
			for _, call := range m.calls {
				expect.True(t, strings.HasPrefix(call, id), "two ids for one charge: %v", m.calls)
			}
			s.Verified()
		})
	}
}

// A call of Pay that fails before the scheduled time leaves the schedule of the automatic
// charges as it is.
func TestFailedPayLeavesTheSchedule(t *testing.T) {
	m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
		return provider.Result{Outcome: provider.Refused}, nil
	}}
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}})
	method := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{CollectionMethod: &method})
	s.pass(0)
	s.pass(time.Hour)
	for range 4 {
		testkit.WantCode(t, "refused", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.PaymentFailed)
	}
	s.pass(0)
	begin := v.FinalizedAt.Time
	if is := s.get(v.ID); is.Status != invoice.Open || is.AttemptCount != 5 || !is.NextPaymentAttempt.Equal(begin.Add(24*time.Hour)) {
		t.Fatalf("%s after %d charges, the next at %v", is.Status, is.AttemptCount, is.NextPaymentAttempt)
	}
	for i, day := range []int{1, 3, 5} {
		s.pass(begin.AddDate(0, 0, day).Sub(s.Now()))
		if is := s.get(v.ID); is.AttemptCount != 6+i || (day == 5) != (is.Status == invoice.Uncollectible) {
			t.Errorf("day %d: %s after %d charges", day, is.Status, is.AttemptCount)
		}
	}
}

func TestAutomaticCharges(t *testing.T) {
	m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
		return provider.Result{Outcome: provider.Refused}, nil
	}}
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}})
	method := invoice.ChargeAutomatically
	v := s.openInvoice(invoice.Fields{CollectionMethod: &method})
	begin := s.Now()
	for i, after := range []time.Duration{0, 24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour} {
		s.pass(begin.Add(after).Sub(s.Now()) - time.Second)
		if is := s.get(v.ID); i > 0 && is.AttemptCount != i {
			t.Errorf("a second before: %d attempts, want %d", is.AttemptCount, i)
		}
		s.pass(time.Second)
		is := s.get(v.ID)
		expect.Equal(t, is.AttemptCount, i+1, "after %s: %d attempts, want %d", after, is.AttemptCount, i+1)
		if last := i == 3; last != (is.Status == invoice.Uncollectible) || last != (is.NextPaymentAttempt == nil) {
			t.Errorf("after %s: %s, next %v", after, is.Status, is.NextPaymentAttempt)
		}
	}
	s.pass(30 * 24 * time.Hour)
	if is := s.get(v.ID); is.AttemptCount != 4 {
		t.Errorf("%d attempts", is.AttemptCount)
	}
	// One that succeeds is paid at once, in live mode only with a charger.
	m.answer = func(provider.Charge, bool) (provider.Result, error) {
		return provider.Result{Outcome: provider.Paid}, nil
	}
	v = s.openInvoice(invoice.Fields{CollectionMethod: &method})
	s.pass(0)
	if is := s.get(v.ID); is.Status != invoice.Paid || is.NextPaymentAttempt != nil || is.Payment == nil {
		t.Errorf("got %+v", is)
	}
	live := s.Caller
	live.Live = true
	lv := must.Get(s.Invoices.Create(t.Context(), live, invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{line(100)}}, AutoFinalize: true}))(t)
	testkit.WantCode(t, "live without a charger", testkit.Err(s.Invoices.Pay(t.Context(), live, lv.ID, invoice.PayParams{})), api.PaymentFailed)
	s.Verified()
}

func TestExport(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	evil := "=HYPERLINK(\"http://evil\")"
	s.openInvoice(invoice.Fields{Name: &evil, Phone: new("0241112222"), Description: new("-2+3\nline")})
	for range 120 {
		s.draft(invoice.Fields{})
	}
	var b bytes.Buffer
	var written []int
	must.Do(t, s.Invoices.Export(t.Context(), s.Caller, invoice.ExportParams{Writer: &b, Progress: func(n int) { written = append(written, n) }}))
	expect.True(t, slices.Equal(written, []int{100, 121}), "told of %v invoices", written)
	expect.True(t, strings.HasPrefix(b.String(), "\ufeffinvoice_number,"), "the export begins %.20q", b.String())
	rows := must.Get(csv.NewReader(&b).ReadAll())(t)
	last := rows[len(rows)-1]
	if len(rows) != 122 || last[5] != "'"+evil || last[7] != "+233241112222" || last[11] != "25.00" || last[18] != "0.00" || last[19] != "" || !strings.HasPrefix(last[17], "'-") {
		t.Errorf("%d rows, the last is %q", len(rows), last)
	}
}

// own is a host's record of customers.
type own struct{}

func (own) Customer(_ context.Context, _ api.Caller, id string) (*account.Customer, error) {
	if id == "crm-9" {
		return nil, nil // which says that there is none, too
	}
	if id != "crm-7" {
		return nil, api.NoSuch("customer")
	}
	return &account.Customer{ID: id, Name: "Efua", Email: "efua@example.com", Phone: "+44 20 12"}, nil
}

func TestHostCustomerDirectory(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Customers: own{}})
	v := s.draft(invoice.Fields{Customer: new("crm-7"), Name: new("Efua & Co"), Email: new("")})
	expect.Same(t, v.Customer, new("crm-7"), "customer")
	expect.Same(t, v.Name, new("Efua & Co"), "name")
	expect.Same(t, v.Email, new("efua@example.com"), "email")
	expect.True(t, v.Phone == nil, "Phone is set")
	_, err := s.Invoices.Update(t.Context(), s.Caller, v.ID, invoice.Fields{Customer: new("crm-8")})
	var refusal *api.Error
	if testkit.WantCode(t, "nobody", err, api.ResourceMissing); !errors.As(err, &refusal) || refusal.Param != "customer" {
		t.Errorf("got %v", err)
	}
	testkit.WantCode(t, "nobody, without an error", testkit.Err(s.Invoices.Update(t.Context(), s.Caller, v.ID, invoice.Fields{Customer: new("crm-9")})), api.ResourceMissing)
	v, err = s.Invoices.Update(t.Context(), s.Caller, v.ID, invoice.Fields{Customer: new("")})
	must.Do(t, err)
	expect.True(t, v.Customer == nil, "Customer is set")
	expect.Same(t, v.Name, new("Efua & Co"), "name")
}
