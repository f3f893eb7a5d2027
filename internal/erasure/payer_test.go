package erasure_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// payer is a library over an SQLite database whose rows the test reads, with two merchants.
type payer struct {
	*payments.Service
	path    string
	store   *sqlite.Store
	fails   *faultstore.Store
	callers []api.Caller
	keys    int
}

func newPayer(t *testing.T) *payer {
	t.Helper()
	p := &payer{path: filepath.Join(t.TempDir(), "payments.db")}
	p.store = must.Get(sqlite.Open(t.Context(), p.path, sqlite.Config{}))(t)
	t.Cleanup(func() { must.Do(t, p.store.Close()) })
	p.fails = faultstore.New(p.store)
	p.Service = testkit.New(t, p.fails, payments.Config{Sandbox: true, Test: payments.Providers{Charger: twoWays{}}})
	for _, name := range []string{"First", "Second"} {
		m := must.Get(p.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: name, Phone: "0301234567"}))(t)
		must.Do(t, p.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1000), Source: "bank"}))
		p.callers = append(p.callers, api.Caller{Merchant: m.ID})
	}
	return p
}

// twoWays is the simulated charger, but one that decides by the amount, so that one number can have
// payments under way and ended ones: 903 pesewas stay in progress, and a refund of 912 does.
type twoWays struct{ provider.Simulated }

func (c twoWays) Charge(_ context.Context, p provider.Charge) (provider.Result, error) {
	if p.Amount == 903 {
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c twoWays) ChargeStatus(ctx context.Context, p provider.Charge) (provider.Result, error) {
	return c.Charge(ctx, p)
}

func (c twoWays) Refund(_ context.Context, r provider.Refund) (provider.Result, error) {
	if r.Amount == 912 {
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c twoWays) RefundStatus(ctx context.Context, r provider.Refund) (provider.Result, error) {
	return c.Refund(ctx, r)
}

func (p *payer) keyed(c api.Caller) api.Caller {
	p.keys++
	c.IdempotencyKey = fmt.Sprint("k", p.keys)
	return c
}

// pay pays from a phone, and does the work.
func (p *payer) pay(t *testing.T, caller api.Caller, number, customer string, amount int64) string {
	t.Helper()
	made := must.Get(p.Payments.Create(t.Context(), p.keyed(caller), payment.CreateParams{
		Amount: amount, MobileMoney: payment.MobileMoney{PhoneNumber: number}, Customer: customer,
	}))(t)
	must.Do(t, p.Drain(t.Context()))
	return made.ID
}

func (p *payer) refund(t *testing.T, caller api.Caller, id string) string {
	t.Helper()
	made := must.Get(p.Refunds.Create(t.Context(), p.keyed(caller), refund.CreateParams{Payment: id}))(t)
	must.Do(t, p.Drain(t.Context()))
	return made.ID
}

// lines returns the rows that contain a word.
func (p *payer) lines(t *testing.T, word string) (found []string) {
	t.Helper()
	for line := range strings.Lines(rows(t, p.path)) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return found
}

func (p *payer) gone(t *testing.T, words ...string) {
	t.Helper()
	for _, word := range words {
		for _, line := range p.lines(t, word) {
			t.Errorf("%s is in %s", word, line)
		}
	}
}

// The payments and refunds of a deleted customer lose the number and the e-mail. Those under way keep
// them until they end.
func TestDeletedCustomerIsInNoPayment(t *testing.T) {
	p := newPayer(t)
	caller := p.callers[0]
	c := must.Get(p.Accounts.CreateCustomer(t.Context(), p.keyed(caller), account.CreateCustomerParams{Name: "Zenobia", Email: "zenobia@example.com", Phone: "0241112225"}))(t)
	stays := must.Get(p.Accounts.CreateCustomer(t.Context(), p.keyed(caller), account.CreateCustomerParams{Name: "Adwoa", Email: "adwoa@example.com"}))(t)
	ended := p.pay(t, caller, "0241112225", c.ID, 500)
	p.refund(t, caller, p.pay(t, caller, "0241112225", c.ID, 700))
	open := p.pay(t, caller, "0241112225", c.ID, 903)
	slow := p.refund(t, caller, p.pay(t, caller, "0241112225", c.ID, 912))
	other := p.pay(t, caller, "0241112226", stays.ID, 500)
	for _, word := range []string{"+233241112225", "024****225", "zenobia@example.com", "+233241112226"} {
		must.True(t, len(p.lines(t, word)) > 1, "%s was nowhere", word)
	}

	must.Get(p.Accounts.DeleteCustomer(t.Context(), caller, c.ID))(t)
	must.Do(t, p.Drain(t.Context()))
	for _, word := range []string{"241112225", "024****225", "zenobia@example.com"} {
		for _, line := range p.lines(t, word) {
			if !strings.HasPrefix(line, "payments ") || !strings.Contains(line, strings.ToLower(open)) {
				expect.True(t, strings.HasPrefix(line, "refunds "), "%s is in %s", word, line)
				expect.True(t, strings.Contains(line, strings.ToLower(slow)), "%s is in %s", word, line)
			}
		}
	}
	expect.True(t, len(p.lines(t, "241112225")) == 2, "what is under way has no number")
	paid := provider.Result{Outcome: provider.Paid}
	must.Do(t, p.Providers.Settle(t.Context(), caller, open, paid))
	must.Do(t, p.Providers.Settle(t.Context(), caller, slow, paid))
	must.Do(t, p.Drain(t.Context()))
	p.gone(t, "241112225", "024****225", "zenobia")
	expect.True(t, len(p.lines(t, "+233241112226")) >= 2, "the number of another customer is gone")
	expect.True(t, len(p.lines(t, "024****226")) > 3, "the number of another customer is gone")

	// What is left can be refunded by its charge.
	for _, id := range []string{ended, open} {
		back := must.Get(p.Refunds.Get(t.Context(), caller, p.refund(t, caller, id)))(t)
		expect.Equal(t, back.Status, refund.Succeeded, "a refund after the erasure")
	}
	p.gone(t, "241112225", "024****225", "zenobia")
	expect.Equal(t, must.Get(p.Payments.Get(t.Context(), caller, other))(t).Status, payment.Completed, "the other payment")
}

// The holder of a phone is erased from the payments that came from it, of every kind.
func TestErasedPayerIsInNoRow(t *testing.T) {
	p := newPayer(t)
	const number = "0241112227"
	from := payment.MobileMoney{PhoneNumber: number}
	var open, slow string
	for _, caller := range p.callers {
		c := must.Get(p.Accounts.CreateCustomer(t.Context(), p.keyed(caller), account.CreateCustomerParams{Name: "Adwoa", Email: "adwoa@example.com"}))(t)
		p.pay(t, caller, number, "", 500)
		p.pay(t, caller, number, c.ID, 600)
		p.refund(t, caller, p.pay(t, caller, number, "", 700))
		code := must.Get(p.QRCodes.Create(t.Context(), caller, qrcode.CreateParams{Amount: new(int64(300))}))(t)
		must.Get(p.QRCodes.Pay(t.Context(), p.keyed(caller), code.ID, qrcode.PayParams{MobileMoney: from}))(t)
		for _, f := range []invoice.Fields{{}, {Customer: &c.ID}, {Phone: new("0241112228")}} {
			f.Lines = []invoice.LineParams{{Description: "a", UnitAmount: new(int64(50))}}
			bill := must.Get(p.Invoices.Create(t.Context(), p.keyed(caller), invoice.CreateParams{AutoFinalize: true, Fields: f}))(t)
			paid := must.Get(p.Invoices.StartPayment(t.Context(), p.keyed(caller), bill.ID, from))(t)
			must.Do(t, p.Drain(t.Context()))
			p.refund(t, caller, paid.ID)
		}
		p.pay(t, caller, "0241112228", "", 500)
		open, slow = p.pay(t, caller, number, "", 903), p.refund(t, caller, p.pay(t, caller, number, "", 912))
		if caller == p.callers[0] {
			must.Do(t, p.Providers.Settle(t.Context(), caller, open, provider.Result{Outcome: provider.Refused}))
			must.Do(t, p.Providers.Settle(t.Context(), caller, slow, provider.Result{Outcome: provider.Refused}))
		}
	}
	payee := payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: number}
	must.True(t, len(p.lines(t, "+233241112227")) > 10 && len(p.lines(t, "024****227")) > 20, "the number was nowhere")
	for n, failed := 1, true; failed; n++ { // at each call of the store
		p.fails.FailAt(n)
		err := p.ErasePayee(t.Context(), p.callers[0], payee)
		if failed = p.fails.Heal(); !failed {
			must.Do(t, err)
		}
	}
	for _, line := range p.lines(t, "241112227") {
		expect.True(t, !strings.Contains(line, strings.ToLower(p.callers[0].Merchant)), "the number is in %s", line)
	}
	testkit.WantCode(t, "while a payment is under way", p.ErasePayee(t.Context(), p.callers[1], payee), api.ParameterInvalid)
	expect.Equal(t, len(p.lines(t, "+233241112227")), 2, "rows with the number, of what is under way")
	for _, id := range []string{open, slow} {
		must.Do(t, p.Providers.Settle(t.Context(), p.callers[1], id, provider.Result{Outcome: provider.Paid}))
	}
	for range 2 {
		must.Do(t, p.ErasePayee(t.Context(), p.callers[1], payee))
	}
	p.gone(t, "241112227", "024****227")
	expect.True(t, len(p.lines(t, "+233241112228")) > 2, "other people are gone")
	expect.True(t, len(p.lines(t, "adwoa")) > 2, "other people are gone")
}

// An erased consumer is in no top-up. One under way keeps the number until its money is back.
func TestErasedConsumerIsInNoTopUp(t *testing.T) {
	p := newPayer(t)
	caller := p.callers[0]
	c := must.Get(p.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Zenobia Asante", Phone: "0241112229", PIN: "1234"}))(t)
	topUp := func(amount int64) *payment.TopUp {
		t.Helper()
		return must.Get(p.Payments.TopUp(t.Context(), p.keyed(caller), payment.TopUpParams{Account: c.ID, Amount: amount}))(t)
	}
	topUp(500)
	open, slow := topUp(903), topUp(903)
	code := must.Get(p.QRCodes.Create(t.Context(), caller, qrcode.CreateParams{Amount: new(int64(500))}))(t)
	must.Get(p.QRCodes.Pay(t.Context(), p.keyed(caller), code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: c.ID}, PIN: "1234"}))(t)
	must.True(t, len(p.lines(t, "+233241112229")) >= 4, "the number was nowhere")
	must.Do(t, p.EraseConsumer(t.Context(), api.Caller{}, c.ID))
	expect.Equal(t, len(p.lines(t, "241112229")), 2, "rows with the number, of what is under way")
	must.Do(t, p.Providers.Settle(t.Context(), caller, open.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, p.Providers.Settle(t.Context(), caller, slow.ID, provider.Result{Outcome: provider.Refused}))
	must.Do(t, p.Drain(t.Context()))
	got := must.Get(p.Payments.GetTopUp(t.Context(), caller, open.ID))(t)
	expect.Equal(t, got.Status, payment.Returned, "the top-up")
	p.gone(t, "241112229", "024****229", "zenobia")
}

// A call that passes on a payer's code stores no number of a payer who is erased meanwhile.
func TestErasureReachesCodesUnderWay(t *testing.T) {
	for n, more := 1, true; more; n++ { // before each transaction of the call
		store := faultstore.New(memory.New())
		svc := testkit.New(t, store, payments.Config{})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID, IdempotencyKey: "code"}
		from := payment.MobileMoney{PhoneNumber: "0241110907"}
		paid := must.Get(svc.Payments.Create(t.Context(), api.Caller{Merchant: m.ID}, payment.CreateParams{Amount: 100, MobileMoney: from}))(t)
		must.Do(t, svc.Drain(t.Context()))
		var erased error
		store.BetweenAt(n, func() {
			erased = svc.ErasePayee(t.Context(), caller, payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: from.PhoneNumber})
		})
		got := must.Get(svc.Payments.Confirm(t.Context(), caller, paid.ID, payment.ConfirmParams{Code: "123456"}))(t)
		expect.Equal(t, got.Status, payment.Completed, "after the code")
		if more = store.Heal(); more && erased == nil {
			left(t, store, m.ID, "024****907")
		} else if more {
			testkit.WantParam(t, "a payment under way", erased, api.ParameterInvalid, "destination")
		}
	}
}

// A call about an ended payment that runs beside the erasure of its payer stores no number with its answer.
func TestErasureReachesAnswersUnderWay(t *testing.T) {
	for n, more := 1, true; more; n++ { // before each transaction of the erasure
		store := faultstore.New(memory.New())
		svc := testkit.New(t, store, payments.Config{})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID, IdempotencyKey: "receipt"}
		from := payment.MobileMoney{PhoneNumber: "0241112222"}
		paid := must.Get(svc.Payments.Create(t.Context(), api.Caller{Merchant: m.ID}, payment.CreateParams{Amount: 100, MobileMoney: from}))(t)
		must.Do(t, svc.Drain(t.Context()))
		store.BetweenAt(n, func() {
			_, err := svc.Payments.SendReceipt(t.Context(), caller, paid.ID)
			must.True(t, err == nil || api.IsRefusal(err), "the receipt: %v", err)
		})
		must.Do(t, svc.ErasePayee(t.Context(), api.Caller{Merchant: m.ID}, payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: from.PhoneNumber}))
		more = store.Heal()
		left(t, store, m.ID, "024****222", "messages")
	}
}
