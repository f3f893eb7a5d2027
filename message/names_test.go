package message_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// Long names of merchants and payers, which may be of several lines, leave a text one SMS of 160 characters,
// or reminders and codes two.
func TestLongNamesFitOneSMS(t *testing.T) {
	s := testkit.OpenShop(t, memory.New(), payments.Config{BaseURL: "https://pay.example.com", InvoiceReminders: []int{0}})
	long := "Ghana\n" + strings.Repeat("National Petroleum and ", 10)
	must.Get(s.Accounts.UpdateMerchant(t.Context(), api.Caller{}, s.Caller.Merchant, account.UpdateMerchantParams{Name: &long, Phone: new("0301000000")}))(t)
	payer := must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{
		Name: strings.Repeat("Nana", 60) + " Mensah", Phone: "0241000099", PIN: "1234",
	}))(t)
	s.Fund(payer.ID, 1000)
	phone := func(number string) payment.MobileMoney { return payment.MobileMoney{PhoneNumber: number} }

	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: new(int64(100_00))}))(t)
	late := must.Get(s.QRCodes.Pay(t.Context(), s.Caller, code.ID, qrcode.PayParams{MobileMoney: phone("0241230903")}))(t)
	must.Do(t, s.Drain(t.Context()))
	must.Do(t, s.Payments.Leave(t.Context(), s.Caller, late.ID))
	paid := must.Get(s.QRCodes.Pay(t.Context(), s.Caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: payer.ID}, PIN: "1234"}))(t)
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, late.ID, provider.Result{Outcome: provider.Paid}))
	s.Refund(paid.ID, 1_00)
	for _, end := range []string{"paid", "void", ""} {
		bill := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
			Phone: new("0241000098"), DueDate: new(s.Now().AddDate(0, 0, 1)), Description: &long,
			Lines: []invoice.LineParams{{Description: long, Quantity: new(decimal.NewFromInt(1)), UnitAmount: new(int64(100_00))}},
		}}))(t)
		switch end {
		case "paid":
			bill = must.Get(s.Invoices.Pay(t.Context(), s.Caller, bill.ID, invoice.PayParams{}))(t)
			s.Refund(*bill.Payment, 1_00)
		case "void":
			must.Get(s.Invoices.Send(t.Context(), s.Caller, bill.ID))(t)
			must.Get(s.Invoices.Void(t.Context(), s.Caller, bill.ID))(t)
		}
	}
	member := s.Subscribe("0241000097", 1_00)
	must.Get(s.Subscriptions.StartPhoneChange(t.Context(), s.Caller, member.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0241000096"}))(t)
	s.Pass(48 * time.Hour)
	must.Do(t, s.Drain(t.Context()))
	sent := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{Page: api.Page{Limit: 100}}))(t).Data
	expect.True(t, len(sent) >= 10, "%d messages", len(sent))
	for _, m := range sent {
		n, room := utf8.RuneCountInString(m.Text), 160
		if strings.HasPrefix(m.Text, "Reminder") || strings.Contains(m.Text, "is your code") { // which say more
			room = 2 * 153
		}
		expect.True(t, n <= room, "%d characters: %q", n, m.Text)
		expect.True(t, !strings.Contains(m.Text, "\n"), "%d characters: %q", n, m.Text)
	}
}
