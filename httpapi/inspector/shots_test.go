package inspector_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/browsertest"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// shopDays is how long the shop of the pictures has been open.
const shopDays = 60

// payers are those of the shop of the pictures, by how much they like to pay.
var payers = []struct{ name, number string }{
	{"Ama Mensah", "0241234567"},
	{"Kofi Boateng", "0201230002"},
	{"Yaa Asante", "0551230340"},
	{"Kojo Antwi", "0501233344"},
	{"Nana Ampofo", "0241238080"},
	{"Efua Sackey", "0541230109"},
	{"Akosua Darko", "0271236120"},
	{"Kwame Nkansah-Boateng", "0551237720"},
	{"Abena Ofori", "0241235001"},
	{"Esi Owusu", "0261230003"},
}

// shop is a site with two months of payments, and one page of each kind.
type shop struct {
	*site
	customers map[string]string // by name
	one       map[string]string // the id of one object, by the path of its list
}

func openShop(t *testing.T) *shop {
	now := time.Now().UTC()
	fee := payment.Fee{Percent: decimal.New(15, -1)}
	fees := &payment.Fees{MTN: fee, Telecel: fee, AirtelTigo: fee}
	networks := &provider.Router{
		Rails: map[string]provider.Rail{}, Chargers: map[string]provider.Charger{},
		Rail: func(to provider.Transfer) string { return cmp.Or(to.Network, "bank") }, Charger: func(c provider.Charge) string { return cmp.Or(c.Network, "bank") },
	}
	for _, name := range []string{"mtn", "telecel", "airteltigo", "bank"} {
		networks.Rails[name], networks.Chargers[name] = provider.Simulated{}, provider.Simulated{}
	}
	service := payments.Config{CollectionFees: fees, Test: payments.Providers{Rail: networks, Charger: networks}}
	s := &shop{site: openWith(t, memory.New(), inspector.Config{}, service), customers: map[string]string{}, one: map[string]string{}}
	s.Fund(s.Consumer.ID, 50_000)
	s.Caller.RequestID = s.NewID("req_")
	for _, p := range payers {
		c, err := s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: p.name, Phone: p.number, Email: strings.ToLower(strings.Fields(p.name)[0]) + "@example.com"})
		s.check(err)
		s.customers[p.name] = c.ID
	}
	s.pass(now.Truncate(24 * time.Hour).Add(24*time.Hour + 9*time.Hour).Sub(now)) // all days are sold at nine
	s.months()
	s.today()
	return s
}

func (s *shop) pass(d time.Duration) {
	s.t.Helper()
	s.check(s.Drain(s.t.Context()))
	_, err := s.MoveClock(s.t.Context(), s.Caller, payments.ClockParams{By: d})
	s.check(err)
	s.check(s.Drain(s.t.Context()))
}

// ask asks a customer's phone, or another number, for money.
func (s *shop) ask(name, number, what string, amount int64) string {
	s.t.Helper()
	p, err := s.Payments.Create(s.t.Context(), s.Caller, payment.CreateParams{Amount: amount, Description: what, Customer: s.customers[name], MobileMoney: payment.MobileMoney{PhoneNumber: number}})
	s.check(err)
	return p.ID
}

// months sells every day but the last, with a bad day in the middle.
func (s *shop) months() {
	till := must.Get(s.QRCodes.Create(s.t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"}))(s.t)
	s.one["qr-codes"] = till.ID
	for day := range shopDays - 1 {
		sold := 20 + day/8 + (day*5)%7 + 9*(day%7/5)
		for i := range sold {
			p := payers[(day*3+i*7)%len(payers)]
			number := p.number
			if i == 7 || i == 16 && day%3 == 0 || day == shopDays-9 && i%10 == 0 {
				number = number[:6] + "0901"
			}
			s.ask(p.name, number, fmt.Sprintf("Table %d", 1+i%12), int64(15_75+3_70*(i*5%17)+(day*37%11)*2_10))
		}
		for i := range 1 + day%3 {
			s.Pay(till.ID, int64(36_00+day*2_10+12_50*i))
		}
		if day%7 == 5 { // wages
			_, err := s.Disbursements.Create(s.t.Context(), s.Caller, disbursement.CreateParams{
				Amount: decimal.NewFromInt(int64(3_000 + 20*day)), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241235001", AccountName: "Abena Ofori"}, Description: "Wages",
			})
			s.check(err)
		}
		s.pass(24 * time.Hour)
	}
}

// today is the last day, of which the pictures show most.
func (s *shop) today() {
	t, ctx := s.t, s.t.Context()
	failures := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); failures == 0 && strings.Contains(string(body), `"amount":23450`) && strings.Contains(string(body), "payment.succeeded") {
			failures++
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	hook := must.Get(s.Webhooks.Create(ctx, s.Caller, webhook.CreateParams{URL: strings.Replace(receiver.URL, "127.0.0.1", "localhost", 1) + "/webhooks", Events: []event.Type{event.PaymentSucceeded, event.PaymentFailed, event.RefundSucceeded, event.InvoicePaid}}))(t)
	s.one["webhooks"] = hook.ID
	s.pass(3*time.Hour + 44*time.Minute)
	for i, p := range payers { // in the morning
		s.ask(p.name, p.number, fmt.Sprintf("Table %d", 1+i), int64(22_50+7_30*i))
	}
	s.Pay(s.one["qr-codes"], 48_00)
	s.pass(13 * time.Minute)
	s.ask("Akosua Darko", "0271236120", "Checkout", 74_25)
	canceled, err := s.Payments.Create(ctx, s.Caller, payment.CreateParams{Amount: 74_25, Description: "Order 2037", Customer: s.customers["Akosua Darko"], MobileMoney: payment.MobileMoney{PhoneNumber: "0271230906"}})
	s.check(err)
	_, err = s.Payments.Cancel(ctx, s.Caller, canceled.ID)
	s.check(err)
	s.pass(7 * time.Minute)
	s.ask("Kojo Antwi", "0501233344", "Monthly plan", 180_00)
	s.ask("Ama Mensah", "0241230910", "Catering", 1200_00)
	s.pass(15 * time.Minute)
	part := s.ask("Abena Ofori", "0241235001", "Order 2038", 99_00)
	s.pass(4 * time.Minute)
	back := must.Get(s.Refunds.Create(ctx, s.Caller, refund.CreateParams{Payment: part, Amount: new(int64(24_00)), Reason: "One smoothie was sold out"}))(t)
	s.one["refunds"] = back.ID
	s.pass(7 * time.Minute)
	s.sell()
	s.pass(11 * time.Minute)
	s.ask("Yaa Asante", "0551230340", "Table 2", 340_00)
	s.pass(4 * time.Minute)
	s.pay("0241239113")
	s.one["payments"] = s.ask("Ama Mensah", "0241230905", "Table 4", 234_50)
	s.pass(25 * time.Second)
	s.pass(5 * time.Second)
	s.pass(3 * time.Minute)
	s.ask("Esi Owusu", "0261230901", "Monthly plan", 180_00)
	s.send()
	s.pass(3 * time.Minute)
	s.Pay(s.one["qr-codes"], 36_00)
	s.one["waiting"] = s.ask("Kofi Boateng", "0201230907", "Order 2041", 417_60)
	s.check(s.Drain(ctx))
	_, err = s.Webhooks.Create(ctx, s.Caller, webhook.CreateParams{URL: "http://127.0.0.1:9/webhooks", Events: []event.Type{event.PaymentSucceeded, event.RefundSucceeded}})
	s.check(err)
	s.ask("Efua Sackey", "0541230109", "Table 1", 15_75)
	s.check(s.Drain(ctx))
	s.newest()
}

// pay pays at the till from the phone of a stranger.
func (s *shop) pay(number string) {
	s.t.Helper()
	_, err := s.QRCodes.Pay(s.t.Context(), s.Caller, s.one["qr-codes"], qrcode.PayParams{Amount: new(int64(12_50)), MobileMoney: payment.MobileMoney{PhoneNumber: number}})
	s.check(err)
}

// sell makes an invoice, a checkout and a subscription.
func (s *shop) sell() {
	t, ctx := s.t, s.t.Context()
	lines := []invoice.LineParams{
		{Description: "Catering for the outdooring", Quantity: new(decimal.New(15, -1)), UnitAmount: new(int64(800_00)), Taxable: new(true), TaxPercent: new(decimal.NewFromInt(20))},
		{Description: "Sobolo, 50 cl", Quantity: new(decimal.New(24, 0)), UnitAmount: new(int64(15_00))},
	}
	kwame, yaa := s.customers["Kwame Nkansah-Boateng"], s.customers["Yaa Asante"]
	due := must.Get(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{Customer: &kwame, Lines: lines, Memo: new("Thank you for the order.")}}))(t)
	s.one["invoices"] = due.ID
	paid := must.Get(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{Customer: &yaa, Lines: lines[1:]}}))(t)
	_, err := s.Invoices.Pay(ctx, s.Caller, paid.ID, invoice.PayParams{})
	s.check(err)
	session := must.Get(s.Checkout.Create(ctx, s.Caller, checkout.CreateParams{Lines: lines[1:], SuccessURL: "https://shop.example.com/thanks", Email: "akosua@example.com"}))(t)
	s.one["checkouts"] = session.ID
	product := must.Get(s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{Name: "Sobolo, 50 cl", UnitAmount: new(int64(15_00))}))(t)
	plan := must.Get(s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "Juice every week", Amount: 45_00, Interval: catalog.Week, Product: product.ID}))(t)
	member := must.Get(s.Subscriptions.Create(ctx, s.Caller, subscription.CreateParams{Customer: s.customers["Kojo Antwi"], Plan: plan.ID, CollectionMethod: invoice.ChargeAutomatically}))(t)
	s.one["subscriptions"], s.one["plans"], s.one["customers"] = member.ID, plan.ID, s.customers["Kojo Antwi"]
}

// send sends money: a payout, a disbursement that is held, and a batch.
func (s *shop) send() {
	t, ctx := s.t, s.t.Context()
	for i, to := range []struct{ name, number, what string }{{"Kwasi Appiah", "0241230016", "Oranges"}, {"Adwoa Frimpong", "0201230019", "Ice"}} {
		_, err := s.Payouts.RequestOTP(ctx, s.Caller, payout.ForPayout)
		s.check(err)
		code := s.lastCode()
		_, err = s.Payouts.VerifyOTP(ctx, s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: code})
		s.check(err)
		out := must.Get(s.Payouts.Create(ctx, s.Caller, payout.CreateParams{
			Amount: decimal.NewFromInt(int64(150 + 90*i)), OTPCode: code, Description: to.what,
			Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: to.number, AccountName: to.name},
		}))(t)
		s.one["payouts"] = out.ID
	}
	_, err := s.Disbursements.Create(ctx, s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(340), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903", AccountName: "Abena Ofori"}, Description: "Wages",
	})
	s.check(err)
	rows := must.Get(disbursement.ReadRows(strings.NewReader(batchCSV)))(t)
	batch := must.Get(s.Disbursements.CreateBatch(ctx, s.Caller, disbursement.CreateBatchParams{Rows: rows, Description: "Wages of November"}))(t)
	s.one["batches"] = batch.ID
}

// newest finds what the shop's work has written.
func (s *shop) newest() {
	t, ctx := s.t, s.t.Context()
	s.one["events"] = must.Get(s.Events.List(ctx, s.Caller, event.ListParams{Type: event.RefundSucceeded}))(t).Data[0].ID
	s.one["messages"] = must.Get(s.Messages.List(ctx, s.Caller, message.ListParams{Kind: message.KindEmail}))(t).Data[0].ID
	s.one["consumers"] = s.Consumer.ID
}

// TestPicturesOfAShop takes pictures of a shop of two months.
func TestPicturesOfAShop(t *testing.T) {
	if os.Getenv("PAYMENTS_SCREENSHOTS") == "" {
		t.Skip("PAYMENTS_SCREENSHOTS names no folder")
	}
	b := browsertest.Open(t, browsertest.Desktop, false)
	axe := browsertest.Axe(t)
	s := openShop(t)
	look := func(name, path string) {
		b.Go(s.at(path))
		b.Fits()
		b.Accessible(axe)
		b.Picture(name)
	}
	look("overview", "")
	b.Ask(`document.querySelectorAll("details").forEach((d) => { d.open = true }), 0`, new(int))
	b.Fits()
	b.Picture("overview-figures")
	for _, list := range []string{"payments", "refunds", "payouts", "disbursements", "invoices", "subscriptions", "customers", "webhooks", "events", "messages", "ledger", "consumers", "clock"} {
		look(list, list)
	}
	for path, id := range s.one {
		look(path+"-one", strings.Replace(path, "waiting", "payments", 1)+"/"+id)
	}
	look("payments-filtered", "payments?period=today")
	look("search", "search?q=Kojo")
	look("form-money", "?form=add-money")
	look("form-payout", "payouts?form=create")
	look("form-payment", "payments?form=create")
	b.Press("Ask the phone")
	b.Accessible(axe)
	b.Picture("form-payment-refused")
	look("refund", "payments/"+s.one["payments"]+"?form=refund")
	b.Fill("Amount in cedis", "300.00")
	b.Fill("Reason optional", "Sold out")
	b.Press("Refund")
	b.See("Not refunded yet")
	b.Accessible(axe)
	b.Picture("refund-refused")
	b.Go(s.at(""))
	b.Press("Decide")
	b.Accessible(axe)
	b.Picture("contradiction")
	b.Press("Book it as paid")
	b.Accessible(axe)
	b.Picture("contradiction-book")
	b.Press("Book GH₵ 1,200.00")
	b.See("The balance is corrected")
	b.Accessible(axe)
	b.Picture("contradiction-decided")
	phone := browsertest.Open(t, browsertest.Phone, false)
	phone.Go(s.at("#nav"))
	phone.Picture("menu")
}
