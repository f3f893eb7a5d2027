package inspector_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/browsertest"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/webhook"
)

// TestPicturesOfAShop takes pictures of a shop of two weeks.
func TestPicturesOfAShop(t *testing.T) {
	if os.Getenv("PAYMENTS_SCREENSHOTS") == "" {
		t.Skip("PAYMENTS_SCREENSHOTS names no folder")
	}
	b := browsertest.Open(t, browsertest.Desktop, false)
	s := open(t, inspector.Config{})
	ctx := t.Context()
	_, err := s.Webhooks.Create(ctx, s.Caller, webhook.CreateParams{URL: "http://127.0.0.1:9/webhooks", Events: []event.Type{"*"}})
	s.check(err)
	till, err := s.QRCodes.Create(ctx, s.Caller, qrcode.CreateParams{Name: "Till 1"})
	s.check(err)
	s.Fund(s.Consumer.ID, 500000)
	names := []string{"Kofi Boateng", "Yaa Asante", "Efua Sackey", "Kwame Nkansah-Boateng"}
	var customers []string
	for i, n := range names {
		c, err := s.Accounts.CreateCustomer(ctx, s.Caller, account.CreateCustomerParams{Name: n, Phone: fmt.Sprintf("024123%04d", i)})
		s.check(err)
		customers = append(customers, c.ID)
	}
	prefixes := []string{"024", "020", "027"}
	for day := range 14 {
		for i := range 3 + (day*7)%5 {
			ending := "4567"
			if (day+i)%6 == 0 {
				ending = "0901"
			}
			_, err := s.Payments.Create(ctx, s.Caller, payment.CreateParams{
				Amount: int64(1575 + 3300*i + 700*day), Description: fmt.Sprintf("Table %d", i+1), Reference: fmt.Sprintf("order-%d%d", day, i), Customer: customers[i%4],
				MobileMoney: payment.MobileMoney{PhoneNumber: fmt.Sprintf("%s%d23%s", prefixes[(day+i)%3], 1+day%9, ending)},
			})
			s.check(err)
		}
		s.Pay(till.ID, 3600+int64(day)*110)
		s.check(s.Drain(ctx))
		if day < 13 {
			_, err = s.MoveClock(ctx, s.Caller, payments.ClockParams{By: 24 * time.Hour})
			s.check(err)
		}
	}
	_, err = s.Payments.Create(ctx, s.Caller, payment.CreateParams{Amount: 34000, Description: "Catering", MobileMoney: payment.MobileMoney{PhoneNumber: "0241230903"}, Customer: customers[1]})
	s.check(err)
	_, err = s.Payments.Create(ctx, s.Caller, payment.CreateParams{Amount: 12000, Description: "Table 2", MobileMoney: payment.MobileMoney{PhoneNumber: "0551230910"}, Customer: customers[0]})
	s.check(err)
	s.check(s.Drain(ctx))
	_, err = s.MoveClock(ctx, s.Caller, payments.ClockParams{By: 26 * time.Minute})
	s.check(err)
	s.check(s.Drain(ctx))
	_, err = s.Payments.Create(ctx, s.Caller, payment.CreateParams{Amount: 8000, Description: "Table 3", MobileMoney: payment.MobileMoney{PhoneNumber: "0551230903"}, Customer: customers[0]})
	s.check(err)
	_, err = s.Disbursements.Create(ctx, s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(340), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903", AccountName: "Abena Ofori"},
	})
	s.check(err)
	s.check(s.Drain(ctx))
	b.Go(s.at(""))
	b.Fits()
	b.Accessible(browsertest.Axe(t))
	b.Picture("shop-overview")
	b.Ask(`document.querySelectorAll("details").forEach((d) => { d.open = true }), 0`, new(int))
	b.Fits()
	b.Picture("shop-figures")
	b.Go(s.at("?form=add-money"))
	b.Picture("form-money")
	b.Go(s.at("payments?form=create"))
	b.Accessible(browsertest.Axe(t))
	b.Picture("form-payment")
	b.Press("Ask the phone")
	b.Accessible(browsertest.Axe(t))
	b.Picture("form-refused")
	paid, err := s.Payments.List(ctx, s.Caller, payment.ListParams{Status: payment.Completed})
	s.check(err)
	b.Go(s.at("payments/" + paid.Data[1].ID + "?form=refund"))
	b.Fill("Amount in cedis", "5000")
	b.Press("Refund")
	b.See("Not refunded yet")
	b.Picture("form-refund")
	b.Go(s.at(""))
	b.Press("Decide")
	b.Accessible(browsertest.Axe(t))
	b.Picture("shop-contradiction")
	b.Press("Book it as paid")
	b.Accessible(browsertest.Axe(t))
	b.Picture("form-book")
	b.Press("Book GH₵ 120.00")
	b.See("The balance is corrected")
	b.Accessible(browsertest.Axe(t))
	b.Picture("shop-decided")
	b.Go(s.at("payments?status=completed&period=7days"))
	b.Picture("shop-payments")
}
