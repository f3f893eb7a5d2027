package refund_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var reversed = provider.Result{Outcome: provider.Reversed}

// fromPhone returns a payment that a phone has made.
func (s *shop) fromPhone(pesewas int64) *payment.Payment {
	s.t.Helper()
	p := s.AskPhone("0241234567", pesewas)
	must.Do(s.t, s.Drain(s.t.Context()))
	return must.Get(s.Payments.Get(s.t.Context(), s.Caller, p.ID))(s.t)
}

func (s *shop) reverse(charge string) {
	s.t.Helper()
	must.Do(s.t, s.Providers.Notify(s.t.Context(), charge, reversed))
}

// disburse takes an amount from the shop, to a phone without a fee.
func (s *shop) disburse(ghs string, number string) (*payout.Transfer, error) {
	to := payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: number}
	return s.Disbursements.Create(s.t.Context(), s.Caller, disbursement.CreateParams{Amount: decimal.RequireFromString(ghs), Destination: to})
}

// owes checks what is available and what is owed, in GHS, and what the merchant's record says.
func (s *shop) owes(what, available, owed string) {
	s.t.Helper()
	b := must.Get(s.Accounts.Balance(s.t.Context(), s.Caller))(s.t)
	m := must.Get(s.Accounts.GetMerchant(s.t.Context(), s.Caller, s.Caller.Merchant))(s.t)
	if b.Available.String() != available || b.Owed.String() != owed || m.OwesTest != (owed != "0") || m.OwesLive {
		s.t.Errorf("%s: available %s, owed %s, %+v; want %s, %s", what, b.Available, b.Owed, m, available, owed)
	}
}

// refundsOf returns the refunds of a payment, newest first.
func (s *shop) refundsOf(payment string) []refund.Refund {
	s.t.Helper()
	return must.Get(s.Refunds.List(s.t.Context(), s.Caller, refund.ListParams{Payment: payment}))(s.t).Data
}

// listed returns the orders that need a person, and why.
func (s *shop) listed() string {
	s.t.Helper()
	var all []string
	for _, o := range must.Get(s.Providers.List(s.t.Context(), s.Caller, provider.ListParams{}))(s.t).Data {
		all = append(all, fmt.Sprintf("%s %s: %s", o.ID, o.Outcome, o.Contradiction))
	}
	return strings.Join(all, "; ")
}

// entries returns the types and amounts of the statement's entries of a source, oldest first.
func (s *shop) entries(source string) string {
	s.t.Helper()
	var lines []string
	for _, e := range must.Get(s.Accounts.ListEntries(s.t.Context(), s.Caller, account.ListEntriesParams{Source: source}))(s.t).Data {
		lines = append([]string{e.Type + " " + e.Amount.String()}, lines...)
	}
	return strings.Join(lines, ", ")
}

// A payment that the provider takes back becomes a refund of the whole payment, once. The operator's fee
// stays.
func TestPaymentTakenBackIsARefund(t *testing.T) {
	one := payment.Fee{Percent: decimal.NewFromInt(1)}
	s := open(t, memory.New(), payments.Config{CollectionFees: &payment.Fees{MTN: one}})
	paid := s.fromPhone(50_00)
	s.owes("paid", "1049.5", "0")
	sent := len(s.Sent("0241234567"))
	s.reverse(paid.ID)
	s.reverse(paid.ID)
	backs := s.refundsOf(paid.ID)
	must.True(t, len(backs) == 1, "refunds: %+v", backs)
	r := backs[0]
	expect.Equal(t, r.Status, refund.Succeeded, "status of %+v", r)
	expect.Equal(t, r.Amount, 50_00, "amount")
	expect.True(t, r.CompletedAt != nil, "CompletedAt is nil")
	expect.Equal(t, r.PaymentMethod, payment.FromPhone, "payment method")
	expect.Equal(t, *r.Reason, "Reversed by the provider", "why")
	expect.Equal(t, s.told(r.ID), "[created succeeded]", "events")
	expect.Equal(t, s.refunded(paid.ID), 50_00, "refunded")
	s.owes("taken back", "999.5", "0")
	expect.Equal(t, s.entries(paid.ID), "payment 49.5, payment_reversed -50", "the statement")
	expect.Equal(t, len(s.Sent("0241234567")), sent, "messages to the customer")
	shop := must.Get(s.Accounts.GetMerchant(t.Context(), s.Caller, s.Caller.Merchant))(t)
	expect.Equal(t, s.Sent(shop.Phone)[0].Text, "The provider took back GHS 50.00 of payment "+paid.ID+". Refund "+r.ID+".", "what the merchant reads")
	expect.Equal(t, s.listed(), "", "listed")
	testkit.WantCode(t, "a refund of the merchant's", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: paid.ID})), api.PaymentRefunded)

	expect.ErrorIs(t, s.Providers.Notify(t.Context(), paid.ID, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid again")
	expect.Equal(t, s.listed(), paid.ID+" reversed: reversed, and now paid", "listed")
	s.owes("paid again", "999.5", "0")
	s.Verified()
}

// What the balance does not cover is owed, and comes off whatever the merchant receives next.
func TestDebtIsNettedFromReceipts(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s := open(t, store, payments.Config{Fees: &payout.Fees{}})
		first, second := s.fromPhone(40_00), s.fromPhone(60_00)
		waiting := must.Get(s.disburse("5", "0241230903"))(t)
		must.Get(s.disburse("1085", "0241234567"))(t)
		must.Do(t, s.Drain(t.Context()))
		s.owes("before", "10", "0")

		s.reverse(first.ID)
		s.owes("the first", "0", "30")
		expect.Equal(t, s.entries(first.ID), "payment 40, payment_reversed -10", "the statement")
		shop := must.Get(s.Accounts.GetMerchant(t.Context(), s.Caller, s.Caller.Merchant))(t)
		expect.True(t, strings.Contains(s.Sent(shop.Phone)[0].Text, "did not cover GHS 30.00, which comes off what you receive next."), "told: %s", s.Sent(shop.Phone)[0].Text)
		s.reverse(second.ID)
		s.owes("the second", "0", "90")
		expect.Equal(t, s.entries(second.ID), "payment 60", "the statement")

		wallet := s.paidQR(1_00)
		s.owes("from a wallet", "0", "89")
		expect.Equal(t, s.entries(wallet.ID), "payment 1, debt_netted -1", "the statement")
		s.fromPhone(2_00)
		s.owes("from a phone", "0", "87")
		s.paidInvoice(3_00, "card")
		s.owes("an invoice", "0", "84")
		must.Do(t, s.Providers.Settle(t.Context(), s.Caller, waiting.ID, provider.Result{Outcome: provider.Refused}))
		s.owes("a payout that failed", "0", "79")
		s.Fund(s.Caller.Merchant, 4)
		must.Get(s.Accounts.Adjust(t.Context(), s.Caller, account.AdjustParams{Amount: decimal.NewFromInt(70), Reason: "forgiven", Actor: "test"}))(t)
		s.owes("nearly", "0", "5")
		testkit.WantCode(t, "a payout of one who owes", testkit.Err(s.disburse("1", "0241234567")), api.InsufficientBalance)
		s.paidQR(10_00)
		s.owes("all paid", "5", "0")
		s.paidQR(1_00)
		s.owes("later", "6", "0")
		s.Verified()
	})
}

// After a refund only the rest is taken, and a person looks at it. A refund that fails later leaves the
// merchant nothing, since the provider has the money.
func TestPaymentTakenBackAfterARefund(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	part := s.fromPhone(10_00)
	own := s.refund(refund.CreateParams{Payment: part.ID, Amount: new(int64(4_00))})
	must.Do(t, s.Drain(t.Context()))
	must.Do(t, s.Providers.Notify(t.Context(), part.ID, provider.Result{Outcome: provider.Reversed, Amount: 6_00})) // or the whole, or none
	s.owes("a part", "1000", "0")
	backs := s.refundsOf(part.ID)
	must.True(t, len(backs) == 2 && backs[1].ID == own.ID, "refunds: %+v", backs)
	expect.Equal(t, backs[0].Amount, 6_00, "the rest")
	expect.Equal(t, s.listed(), part.ID+" reversed: reversed, and GHS 4.00 refunded before", "listed")
	must.Do(t, s.Providers.Resolve(t.Context(), part.ID))
	s.reverse(part.ID)
	expect.Equal(t, s.listed(), "", "listed after a repetition")

	whole := s.AskPhone("0241230912", 10_00) // whose refund stays processing
	must.Do(t, s.Drain(t.Context()))
	own = s.refund(refund.CreateParams{Payment: whole.ID})
	must.Do(t, s.Drain(t.Context()))
	s.reverse(whole.ID)
	s.owes("all refunded", "1000", "0")
	expect.Equal(t, len(s.refundsOf(whole.ID)), 1, "refunds of the second")
	expect.Equal(t, s.listed(), whole.ID+" reversed: reversed, and GHS 10.00 refunded before", "listed")
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, own.ID, provider.Result{Outcome: provider.Refused}))
	s.owes("its refund failed", "1000", "0")
	backs = s.refundsOf(whole.ID)
	must.True(t, len(backs) == 2 && backs[0].Status == refund.Succeeded && backs[1].Status == refund.Failed, "refunds: %+v, %+v", backs[0], backs)
	expect.Equal(t, s.refunded(whole.ID), 10_00, "refunded")
	s.Verified()
}

// A provider that took back another amount than the payment's books nothing back: a person finds out where
// the rest is.
func TestReversalOfAnotherAmountBooksNothing(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	paid := s.fromPhone(10_00)
	err := s.Providers.Notify(t.Context(), paid.ID, provider.Result{Outcome: provider.Reversed, Amount: 3_00})
	expect.ErrorIs(t, err, provider.ErrContradicted, "a part")
	s.owes("a part", "1010", "0")
	expect.Equal(t, s.listed(), paid.ID+" paid: completed, and now reversed: 300 pesewas of 1000", "listed")
	must.Do(t, s.Providers.Notify(t.Context(), paid.ID, provider.Result{Outcome: provider.Reversed, Amount: 10_00}))
	s.owes("all", "1000", "0")
	s.Verified()
}

// recorder notes the id of the last charge.
type recorder struct {
	provider.Simulated
	last *string
}

func (r recorder) Charge(ctx context.Context, c provider.Charge) (provider.Result, error) {
	*r.last = c.ID
	return r.Simulated.Charge(ctx, c)
}

// An invoice whose payment was taken back stays paid, and shows a refund with its credit note, of which
// the customer gets no message. It does not matter what it was paid with.
func TestInvoiceTakenBack(t *testing.T) {
	for _, method := range []string{"a card", "a phone"} {
		t.Run(method, func(t *testing.T) {
			var charge string
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: recorder{last: &charge}}})
			v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
				Phone: new("0245556666"), Email: new("efua@example.com"),
				Lines: []invoice.LineParams{{Description: "Catering", UnitAmount: new(int64(30_00))}},
			}}))(t)
			p := invoice.PayParams{PaymentMethod: "card"}
			if method == "a phone" {
				p = invoice.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: "0241234567"}}
			}
			must.Get(s.Invoices.Pay(t.Context(), s.Caller, v.ID, p))(t)
			must.Do(t, s.Drain(t.Context()))
			messages := func() int {
				return len(s.Sent("0245556666")) + len(s.Sent("0241234567")) + len(s.Sent("efua@example.com"))
			}
			sent := messages()
			must.True(t, sent > 0, "no receipt")

			s.reverse(charge)
			s.reverse(charge)
			must.Do(t, s.Drain(t.Context()))
			v = must.Get(s.Invoices.Get(t.Context(), s.Caller, v.ID))(t)
			expect.Equal(t, v.Status, invoice.Paid, "the invoice: status of %+v", v)
			expect.Equal(t, v.AmountRefunded, 30_00, "the invoice: refunded")
			backs := s.refundsOf(*v.Payment)
			must.True(t, len(backs) == 1 && backs[0].CreditNote != nil && *backs[0].Invoice == v.ID, "refunds: %+v", backs)
			must.Get(s.Refunds.CreditNoteURL(t.Context(), s.Caller, backs[0].ID))(t)
			expect.Equal(t, messages(), sent, "messages to the customer")
			s.owes("taken back", "1000", "0")
			expect.ErrorIs(t, s.Providers.Notify(t.Context(), charge, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid again")
			expect.Equal(t, s.listed(), charge+" reversed: reversed, and now paid", "listed")
			rows := provider.CSV(strings.NewReader("reference,amount,status\n" + charge + ",30,reversed\n"))
			position := must.Get(s.Providers.Position(t.Context(), api.Caller{}, provider.PositionParams{Reported: new(int64(0)), Rows: rows}))(t)
			expect.Equal(t, position.Booked, 0, "the provider's account: booked")
			expect.Equal(t, len(position.Lines), 0, "the provider's account: lines of %+v", position)
			s.Verified()
		})
	}
}

// A payment that came too late is refunded whole, though the merchant owes money.
func TestLatePaymentOfADebtorIsRefunded(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Fees: &payout.Fees{}})
	paid := s.fromPhone(40_00)
	must.Get(s.disburse("1040", "0241234567"))(t)
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: new(int64(5_00)), UsageLimit: new(int64(1))}))(t)
	from := func(number string) *payment.Payment {
		p := qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}}
		made := must.Get(s.QRCodes.Pay(t.Context(), s.Caller, code.ID, p))(t)
		must.Do(t, s.Drain(t.Context()))
		return made
	}
	late := from("0241230903")
	s.pass(time.Hour)
	from("0241234568")
	s.reverse(paid.ID)
	s.owes("before", "0", "35")
	must.Do(t, s.Providers.Notify(t.Context(), late.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, s.Drain(t.Context()))
	backs := s.refundsOf(late.ID)
	must.True(t, len(backs) == 1 && backs[0].Status == refund.Succeeded && *backs[0].Reason == collect.CodeUsedUp, "refunds: %+v", backs)
	s.owes("after", "0", "35")
	s.Verified()
}

// No sequence of receipts, payouts, refunds and payments taken back makes a balance negative, or leaves
// a debtor with money.
func TestRandomReversals(t *testing.T) {
	for _, b := range testkit.Backends {
		t.Run(b.Name, func(t *testing.T) {
			for seed := range uint64(6 / b.Every) {
				randomReversals(t, b.Open(t), seed)
			}
		})
	}
}

func randomReversals(t *testing.T, store storage.Store, seed uint64) {
	defer func() { must.Do(t, store.Close()) }()
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
	s := open(t, store, payments.Config{})
	must.Get(s.disburse("989", "0241234567"))(t)
	must.Do(t, s.Drain(t.Context()))
	balance := func(a ledger.Account) int64 {
		var is storage.Balance
		must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) (err error) {
			is, err = tx.Balance(a.Name)
			return err
		}))
		return is.Amount
	}
	merchant := s.Caller.Merchant
	var charged, paid, open []string
	for step := range 60 {
		amount := 1 + random.Int64N(20_00)
		pick := func(from []string) string { return from[random.IntN(len(from))] }
		what := random.IntN(8)
		var err error
		switch {
		case what == 0:
			paid = append(paid, s.paidQR(amount).ID)
		case what == 1:
			s.Pass(21 * time.Minute) // the limit of prompts to a phone
			p := s.AskPhone(pick([]string{"0241234567", "0241230912"}), amount)
			charged, paid = append(charged, p.ID), append(paid, p.ID)
			must.Do(t, s.Drain(t.Context()))
		case what == 2:
			var out *payout.Transfer
			if out, err = s.disburse(decimal.New(amount, -2).String(), pick([]string{"0241234567", "0241230903"})); err == nil {
				open = append(open, out.ID)
			}
			must.Do(t, s.Drain(t.Context()))
		case what == 3 && len(open) > 0: // a failure, or a reversal of what was paid
			err = s.Providers.Settle(t.Context(), s.Caller, pick(open), provider.Result{Outcome: provider.Reversed})
		case what == 4 && len(paid) > 0:
			var r *refund.Refund
			if r, err = s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: pick(paid), Amount: &amount}); err == nil && r.Status == refund.Pending {
				open = append(open, r.ID)
			}
			must.Do(t, s.Drain(t.Context()))
		case what >= 5 && what < 7 && len(charged) > 0:
			s.reverse(pick(charged))
		case what == 7 && step%4 == 0:
			s.Fund(merchant, 1+random.Int64N(9))
		}
		switch api.CodeOf(err) {
		case "", api.InsufficientBalance, api.AmountTooLarge, api.PaymentRefunded, api.TransferSettled:
		default:
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
		available, reserved, owed := balance(ledger.Available(merchant, false)), balance(ledger.Reserved(merchant, false)), balance(ledger.Owed(merchant, false))
		if available < 0 || reserved < 0 || owed > 0 || available > 0 && owed < 0 {
			t.Fatalf("seed %d, step %d (%d): available %d, reserved %d, owed %d", seed, step, what, available, reserved, owed)
		}
		m := must.Get(s.Accounts.GetMerchant(t.Context(), s.Caller, merchant))(t)
		must.True(t, m.OwesTest == (owed < 0), "seed %d, step %d: the merchant's record says %t, and %d is owed", seed, step, m.OwesTest, owed)
	}
	for _, id := range charged { // what was taken back counts once
		p := must.Get(s.Payments.Get(t.Context(), s.Caller, id))(t)
		sum := int64(0)
		for r, err := range api.All(t.Context(), s.Caller, refund.ListParams{Payment: id}, s.Refunds.List) {
			must.Do(t, err)
			if r.Status != refund.Failed {
				sum += r.Amount
			}
		}
		must.True(t, sum == p.AmountRefunded && sum <= p.Amount, "seed %d: %s has refunds of %d: %+v", seed, id, sum, p)
	}
	s.Verified()
}
