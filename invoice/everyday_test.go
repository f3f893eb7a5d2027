package invoice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// texts returns the SMS to a number, oldest first.
func (s *shop) texts(to string) []string {
	s.t.Helper()
	list := must.Get(s.Messages.List(s.t.Context(), s.Caller, message.ListParams{To: to, Kind: message.KindSMS, Page: api.Page{Limit: api.MaxLimit}}))(s.t)
	var all []string
	for _, m := range list.Data {
		all = append([]string{m.Text}, all...)
	}
	return all
}

// An export goes on when the draft that ends a page is deleted before the next page is read.
func TestExportGoesOnAfterDeletedDraft(t *testing.T) {
	store := faultstore.New(memory.New())
	s := open(t, store, payments.Config{})
	var ids []string
	for range api.MaxLimit + 2 {
		ids = append(ids, must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{}))(t).ID)
	}
	var b strings.Builder
	store.BetweenAt(2, func() { must.Get(s.Invoices.Delete(t.Context(), s.Caller, ids[2]))(t) })
	must.Do(t, s.Invoices.Export(t.Context(), s.Caller, invoice.ExportParams{Writer: &b}))
	must.True(t, store.Heal(), "nothing was deleted")
	for _, id := range ids {
		expect.Equal(t, strings.Count(b.String(), id), 1, "rows of %s", id)
	}
}

// An invoice that was paid outside is paid, and no money has moved.
func TestPaidOutOfBand(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		before := must.Get(s.Accounts.ListEntries(t.Context(), s.Caller, account.ListEntriesParams{}))(t)
		for method, row := range map[string]string{"cash": "Paid outside (cash)", "": "Paid outside"} {
			v := s.openInvoice(invoice.Fields{Phone: new("0245556666")})
			caller := s.Caller
			caller.IdempotencyKey = "paid-" + method
			p := invoice.PayParams{PaidOutOfBand: true, PaymentMethod: method}
			for range 2 {
				paid := must.Get(s.Invoices.Pay(t.Context(), caller, v.ID, p))(t)
				if paid.Status != invoice.Paid || paid.AmountPaid != 25_00 || paid.AmountDue != 0 || paid.Payment != nil || paid.PaidAt == nil {
					t.Errorf("%q: got %+v", method, paid)
				}
			}
			is := s.get(v.ID)
			expect.Same(t, is.PaidOutOfBand, new(method), "%q: kept", method)
			var rows []string
			for _, sum := range is.Sums() {
				rows = append(rows, sum.Name)
			}
			expect.Equal(t, strings.Join(rows, ", "), "Subtotal, Total, "+row, "%q: the document says", method)
			testkit.WantCode(t, "once more", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.InvoiceAlreadyPaid)
			testkit.WantCode(t, "refunded", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID})), api.PaymentNotRefundable)
			sms := s.texts("0245556666")
			expect.Equal(t, sms[len(sms)-1], fmt.Sprintf("You paid GHS 25.00 to Adom Juice Bar for invoice %s.", v.Number), "told")
		}
		after := must.Get(s.Accounts.ListEntries(t.Context(), s.Caller, account.ListEntriesParams{}))(t)
		expect.Equal(t, len(after.Data), len(before.Data), "money has moved: %+v", after.Data)
		paid := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: event.InvoicePaid}))(t)
		expect.Equal(t, len(paid.Data), 2, "%d events", len(paid.Data))
		testkit.WantCode(t, "a draft", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, s.draft(invoice.Fields{}).ID, invoice.PayParams{PaidOutOfBand: true})), api.InvoiceNotOpen)
		_, err := s.Invoices.Pay(t.Context(), s.Caller, s.openInvoice(invoice.Fields{}).ID, invoice.PayParams{PaidOutOfBand: true, PaymentMethod: strings.Repeat("x", 51)})
		testkit.WantCode(t, "a long method", err, api.ParameterInvalid)
		s.Verified()
	})
}

func TestDuplicate(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	auto := invoice.ChargeAutomatically
	cents := int64(99)
	coupon := s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(20))})
	old := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Name: new("Efua"), Email: new("efua@example.com"), Phone: new("0245556666"), Address: new("Osu"), Description: new("Rent"),
		Footer: new("Medaase"), Memo: new("mine"), Coupon: &coupon, Discount: new(int64(7)), CollectionMethod: &auto,
		DueDate: new(s.Now().AddDate(0, 0, 7)), Metadata: api.Metadata{"flat": "3"},
		Lines: []invoice.LineParams{
			{Description: "a", UnitAmount: &cents, Taxable: new(true), Taxes: invoice.GhanaVAT(), Discount: 9},
			{Description: "b", UnitAmount: &cents, Quantity: new(decimal.New(25, -1))},
		},
	}}))(t)
	s.pass(time.Hour) // it is paid
	caller := s.Caller
	caller.IdempotencyKey = "again"
	made := must.Get(s.Invoices.Duplicate(t.Context(), caller, old.ID))(t)
	repeated, err := s.Invoices.Duplicate(t.Context(), caller, old.ID)
	must.Do(t, err)
	expect.Equal(t, repeated.ID, made.ID, "repeated: ID")
	is := s.get(made.ID)
	if is.ID == old.ID || is.Status != invoice.Draft || is.Number != "INV-2026-000002" || is.HostedURL == old.HostedURL ||
		is.DueDate != nil || is.PaidAt != nil || is.Payment != nil || is.AmountPaid != 0 || is.PDF != nil || is.AttemptCount != 0 || is.FinalizedAt != nil {
		t.Errorf("got %+v", is)
	}
	if is.Total != old.Total || is.AmountDue != old.Total || is.Discount != 36 || *is.Name != "Efua" || *is.Email != "efua@example.com" ||
		*is.Phone != "+233245556666" || *is.Address != "Osu" || *is.Description != "Rent" || *is.Footer != "Medaase" || *is.Memo != "mine" ||
		*is.Coupon != coupon || is.CollectionMethod != auto || is.Metadata["flat"] != "3" || fmt.Sprint(is.TaxRows()) != fmt.Sprint(old.TaxRows()) {
		t.Errorf("got %+v", is)
	}
	must.True(t, len(is.Lines.Data) == 2, "lines %+v", is.Lines)
	expect.True(t, is.Lines.Data[0].ID != old.Lines.Data[0].ID, "the first line has the old one's ID %s", old.Lines.Data[0].ID)
	expect.Equal(t, is.Lines.URL, "/v1/invoices/"+is.ID+"/lines", "URL of the lines")
	created := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: event.InvoiceCreated}))(t)
	expect.Equal(t, len(created.Data), 2, "%d events", len(created.Data))
	testkit.WantCode(t, "no such invoice", testkit.Err(s.Invoices.Duplicate(t.Context(), s.Caller, "inv_0")), api.ResourceMissing)
	was := s.get(old.ID)
	expect.Equal(t, was.Status, invoice.Paid, "the old one: status of %+v", was)
	expect.Equal(t, was.Lines.Data[0].ID, old.Lines.Data[0].ID, "the old one: ID of the first line")
}

// reminded counts the reminders among the SMS to a number.
func (s *shop) reminded(to string) int {
	n := 0
	for _, text := range s.texts(to) {
		if strings.HasPrefix(text, "Reminder of invoice INV-") && strings.Contains(text, " from Adom Juice Bar: GHS 25.00, due ") {
			n++
		}
	}
	return n
}

// Reminders come on their days, at nine in the morning, once each.
func TestReminders(t *testing.T) {
	onEachStore(t, payments.Config{InvoiceReminders: []int{7, -3, 0}}, func(t *testing.T, s *shop) {
		due := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
		const to = "0245556666"
		v := s.openInvoice(invoice.Fields{Phone: new(to), Email: new("efua@example.com"), DueDate: &due})
		until := func(at time.Time) { s.pass(at.Sub(s.Now())) }
		for i, day := range []int{-3, 0, 7} {
			at := due.AddDate(0, 0, day).Add(9 * time.Hour)
			until(at.Add(-time.Second))
			expect.Equal(t, s.reminded(to), i, "reminders a second before day %d", day)
			until(at)
			expect.Equal(t, s.reminded(to), i+1, "reminders on day %d", day)
			s.pass(time.Minute)
			s.pass(time.Hour)
			expect.Equal(t, s.reminded(to), i+1, "reminders an hour after day %d", day)
		}
		s.pass(10 * 24 * time.Hour)
		expect.Equal(t, s.reminded(to), 3, "reminders in all")
		mails := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: "efua@example.com"}))(t)
		for _, m := range mails.Data {
			expect.True(t, !strings.HasPrefix(m.Subject, "Reminder") || strings.Contains(m.Text, "Please pay by 20 March 2026."), "mailed %s", m.Text)
		}
		sent := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: event.InvoiceSent}))(t)
		expect.Equal(t, len(sent.Data), 3, "%d events", len(sent.Data))
		is := s.get(v.ID)
		expect.True(t, is.Status == invoice.Open, "it is %s", is.Status)
	})
}

func TestNoReminderWhereNoneIsDue(t *testing.T) {
	due := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
	auto := invoice.ChargeAutomatically
	for what, c := range map[string]struct {
		fields invoice.Fields
		do     func(s *shop, id string) error
		want   int
	}{
		"open":      {invoice.Fields{DueDate: &due}, nil, 1}, // of two that were missed, the last
		"no date":   {invoice.Fields{}, nil, 0},
		"the past":  {invoice.Fields{DueDate: new(due.AddDate(0, 0, -30))}, nil, 0},
		"half past": {invoice.Fields{DueDate: new(time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC))}, nil, 1},
		"by itself": {invoice.Fields{DueDate: &due, CollectionMethod: &auto}, nil, 0},
		"void":      {invoice.Fields{DueDate: &due}, func(s *shop, id string) error { return testkit.Err(s.Invoices.Void(s.t.Context(), s.Caller, id)) }, 0},
		"given up": {invoice.Fields{DueDate: &due}, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.MarkUncollectible(s.t.Context(), s.Caller, id))
		}, 0},
		"paid": {invoice.Fields{DueDate: &due}, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.Pay(s.t.Context(), s.Caller, id, invoice.PayParams{}))
		}, 0},
		"by wallet": {invoice.Fields{DueDate: &due}, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.PayFromWallet(s.t.Context(), s.Caller, id, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}))
		}, 0},
		"in outside": {invoice.Fields{DueDate: &due}, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.Pay(s.t.Context(), s.Caller, id, invoice.PayParams{PaidOutOfBand: true}))
		}, 0},
	} {
		s := open(t, memory.New(), payments.Config{InvoiceReminders: []int{-3, 2}})
		c.fields.Phone = new("0245556666")
		v := s.openInvoice(c.fields)
		if c.do != nil {
			must.Do(t, c.do(s, v.ID))
		}
		s.pass(20 * 24 * time.Hour) // to 26 March
		s.pass(24 * time.Hour)
		expect.Equal(t, s.reminded("0245556666"), c.want, "%s: reminders", what)
	}
	for what, days := range map[string][]int{"twice": {1, 1}, "too early": {-366}, "too late": {366}} {
		expect.True(t, testkit.Err(payments.New(t.Context(), memory.New(), payments.Config{InvoiceReminders: days})) != nil, "%s: %v is taken", what, days)
	}
}

// A charge under way is waited for.
func TestNoReminderDuringACharge(t *testing.T) {
	m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
		return provider.Result{Outcome: provider.InProgress}, nil
	}}
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}, InvoiceReminders: []int{0}})
	v := s.openInvoice(invoice.Fields{Phone: new("0245556666"), DueDate: new(s.Now().AddDate(0, 0, 1))})
	testkit.WantCode(t, "pay", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.Unavailable)
	s.pass(24 * time.Hour)
	m.mu.Lock()
	m.answer = func(provider.Charge, bool) (provider.Result, error) {
		return provider.Result{Outcome: provider.Refused}, nil
	}
	m.mu.Unlock()
	expect.Equal(t, s.reminded("0245556666"), 0, "reminders while it is charged")
	s.pass(time.Hour) // the charge is declined, and then the reminder is due
	s.pass(time.Hour)
	expect.Equal(t, s.reminded("0245556666"), 1, "reminders")
}

// An invoice of 0 is open after finalization. However it is paid, it is paid without a
// payment, and no charger is asked: live mode has none here.
func TestInvoiceOfZeroIsPaidWithoutACharge(t *testing.T) {
	automatic := invoice.ChargeAutomatically
	for _, mode := range []string{"test", "live"} {
		for name, pay := range map[string]func(*shop, api.Caller, string) (*invoice.Invoice, error){
			"by call": func(s *shop, c api.Caller, id string) (*invoice.Invoice, error) {
				return s.Invoices.Pay(t.Context(), c, id, invoice.PayParams{PaymentMethod: "pm_fail_card"})
			},
			"by page": func(s *shop, c api.Caller, id string) (*invoice.Invoice, error) {
				return s.Invoices.PayFromWallet(t.Context(), c, id, invoice.PayFromWalletParams{})
			},
			"automatically": nil,
		} {
			t.Run(name+" in "+mode+" mode", func(t *testing.T) {
				asked := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
					return provider.Result{Outcome: provider.Paid}, nil
				}}
				s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: asked}})
				caller := api.Caller{Merchant: s.Caller.Merchant, Live: mode == "live"}
				fields := invoice.Fields{Lines: []invoice.LineParams{line(0)}}
				if pay == nil {
					fields.CollectionMethod = &automatic
				}
				v := must.Get(s.Invoices.Create(t.Context(), caller, invoice.CreateParams{Fields: fields}))(t)
				v = must.Get(s.Invoices.Finalize(t.Context(), caller, v.ID))(t)
				expect.Equal(t, v.Status, invoice.Open, "finalized")
				if pay != nil {
					caller.IdempotencyKey = "once"
					paid := must.Get(pay(s, caller, v.ID))(t)
					again := must.Get(pay(s, caller, v.ID))(t)
					same(t, paid, again)
					caller.IdempotencyKey = ""
				}
				must.Do(t, s.Drain(t.Context()))
				is := must.Get(s.Invoices.Get(t.Context(), caller, v.ID))(t)
				expect.Equal(t, is.Status, invoice.Paid, "paid: status")
				expect.True(t, is.Payment == nil, "paid: Payment is set")
				expect.True(t, is.PaidAt != nil, "paid: PaidAt is nil")
				expect.Equal(t, is.AttemptCount, 0, "paid: attempt count")
				expect.True(t, is.NextPaymentAttempt == nil, "paid: NextPaymentAttempt is set")
				made := must.Get(s.Payments.List(t.Context(), caller, payment.ListParams{}))(t)
				expect.Equal(t, len(asked.calls), 0, "number of calls")
				expect.Equal(t, len(made.Data), 0, "number")
				events := must.Get(s.Events.List(t.Context(), caller, event.ListParams{}))(t)
				count := map[event.Type]int{}
				for _, e := range events.Data {
					count[e.Type]++
				}
				want := map[event.Type]int{event.InvoiceCreated: 1, event.InvoiceFinalized: 1, event.InvoicePaid: 1}
				expect.Same(t, count, want, "events")
				testkit.WantCode(t, "pay again", testkit.Err(s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})), api.InvoiceAlreadyPaid)
			})
		}
	}
}

// Nobody is reminded of an invoice of which nothing is due.
func TestNoReminderOfNothing(t *testing.T) {
	s := open(t, memory.New(), payments.Config{InvoiceReminders: []int{-3, 2}})
	s.openInvoice(invoice.Fields{Phone: new("0245556666"), DueDate: new(s.Now().AddDate(0, 0, 7)), Lines: []invoice.LineParams{line(0)}})
	for range 12 {
		s.pass(24 * time.Hour)
	}
	for _, text := range s.texts("0245556666") {
		expect.True(t, !strings.HasPrefix(text, "Reminder"), "sent %s", text)
	}
}
