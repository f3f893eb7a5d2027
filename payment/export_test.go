package payment_test

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/refund"
)

// exported returns the rows of an export, each by the names of its columns.
func (s *shop) exported(t *testing.T, p payment.ListParams) []map[string]string {
	t.Helper()
	var b strings.Builder
	must.Do(t, s.Payments.Export(t.Context(), s.caller, payment.ExportParams{ListParams: p, Writer: &b}))
	table := must.Get(csv.NewReader(strings.NewReader(b.String())).ReadAll())(t)
	var rows []map[string]string
	for _, cells := range table[1:] {
		row := map[string]string{}
		for i, name := range table[0] {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// The export tells of a payment from a phone what the payment shows, and takes every filter.
func TestExportOfPaymentsFromPhones(t *testing.T) {
	s := newShop(t, payments.Config{CollectionFees: &payment.Fees{MTN: payment.Fee{Percent: decimal.NewFromInt(2)}}})
	ama := must.Get(s.Accounts.CreateCustomer(t.Context(), s.caller, account.CreateCustomerParams{Name: "Ama Mensah"}))(t)
	paid := must.Get(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{
		Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: "0241234567"}, Description: "=1+1", Customer: ama.ID,
	}))(t)
	must.Do(t, s.Drain(t.Context()))
	s.after(t, time.Second)
	declined := s.create(t, "0201230901")
	must.Do(t, s.Drain(t.Context()))

	rows := s.exported(t, payment.ListParams{})
	must.True(t, len(rows) == 2, "%d rows", len(rows))
	want := []map[string]string{
		{
			"id": declined.ID, "status": "failed", "amount": "12.50", "payment_method": "mobile_money", "provider": "telecel", "phone": "020****901",
			"description": "", "completed_at": "", "fee": "", "net": "", "failure_reason": "The payer declined.",
			"provider_reference": "SIM-" + declined.ID[len(declined.ID)-8:], "customer": "",
		},
		{
			"id": paid.ID, "status": "completed", "amount": "12.50", "payment_method": "mobile_money", "provider": "mtn", "phone": "024****567",
			"description": "'=1+1", "completed_at": rows[1]["created_at"], "fee": "0.25", "net": "12.25", "failure_reason": "",
			"provider_reference": "SIM-" + paid.ID[len(paid.ID)-8:], "customer": ama.ID,
		},
	}
	for i := range want {
		for name, value := range want[i] {
			expect.Equal(t, rows[i][name], value, "row %d, %s", i, name)
		}
	}
	for name, test := range map[string]struct {
		p    payment.ListParams
		want string
	}{
		"status": {payment.ListParams{Status: payment.Failed}, declined.ID},
		"method": {payment.ListParams{PaymentMethod: payment.FromPhone, Status: payment.Completed}, paid.ID},
		"person": {payment.ListParams{Customer: ama.ID}, paid.ID},
	} {
		rows := s.exported(t, test.p)
		must.True(t, len(rows) == 1, "%s: %v", name, rows)
		expect.Equal(t, rows[0]["id"], test.want, "%s: id", name)
	}
	expect.Equal(t, len(s.exported(t, payment.ListParams{PaymentMethod: payment.ServiceWallet})), 0, "payments from wallets")
}

// A payment from a phone is one entry of its net on the merchant's balance, and a refund of it is
// one of the amount that it returns. The statement adds up.
func TestStatementOfPaymentsFromPhones(t *testing.T) {
	s := newShop(t, payments.Config{CollectionFees: &payment.Fees{MTN: payment.Fee{Percent: decimal.NewFromInt(2)}}})
	must.Do(t, s.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: s.caller.Merchant, Amount: decimal.NewFromInt(100), Source: "test"}))
	paid := s.create(t, "0241234567")
	must.Do(t, s.Drain(t.Context()))
	back := must.Get(s.Refunds.Create(t.Context(), s.caller, refund.CreateParams{Payment: paid.ID}))(t)
	must.Do(t, s.Drain(t.Context()))

	for _, want := range []struct{ source, kind, amount, balance string }{
		{paid.ID, "payment", "12.25", "112.25"},
		{back.ID, "refund", "-12.50", "99.75"},
	} {
		list := must.Get(s.Accounts.ListEntries(t.Context(), s.caller, account.ListEntriesParams{Source: want.source}))(t)
		must.True(t, len(list.Data) == 1, "%s has %d entries", want.source, len(list.Data))
		e := list.Data[0]
		expect.Equal(t, e.Type, want.kind, "%s: type", want.source)
		expect.Equal(t, e.Amount.StringFixed(2), want.amount, "%s: amount", want.source)
		expect.Equal(t, e.Balance.StringFixed(2), want.balance, "%s: balance", want.source)
	}
	st := must.Get(s.Accounts.Statement(t.Context(), s.caller, api.Times{}))(t)
	expect.Equal(t, st.Credits.StringFixed(2), "112.25", "credits")
	expect.Equal(t, st.Debits.StringFixed(2), "12.50", "debits")
	expect.Equal(t, st.Closing.StringFixed(2), "99.75", "closing")
	expect.Equal(t, st.Entries, 3, "statement: entries")
	verified := must.Get(s.Accounts.Verify(t.Context()))(t)
	expect.Equal(t, len(verified.Problems), 0, "%v", verified.Problems)
}
