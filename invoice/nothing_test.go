package invoice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// An invoice of 0 is open when it is finalized. The work that follows books it paid, once, without a payment,
// and no message asks for money.
func TestInvoiceOfNothingIsPaidByWorker(t *testing.T) {
	s := open(t, memory.New(), payments.Config{InvoiceReminders: []int{0}})
	ctx, cases := t.Context(), 0
	all := s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(100))})
	for name, f := range map[string]invoice.Fields{
		"a line of 0": {Lines: []invoice.LineParams{line(0)}}, "a coupon": {Coupon: &all}, "no phone": {Lines: []invoice.LineParams{line(0)}, Phone: new("")},
	} {
		for _, method := range []invoice.CollectionMethod{invoice.SendInvoice, invoice.ChargeAutomatically} {
			cases++
			to := fmt.Sprintf("ama-%d@example.com", cases)
			f.Email, f.CollectionMethod, f.DueDate = &to, &method, new(s.Now().Add(24*time.Hour))
			if f.Phone == nil {
				f.Phone = new("0241112222")
			}
			v := s.openInvoice(f)
			expect.Equal(t, v.Status, invoice.Open, "%s, %s: finalized: status", name, method)
			expect.Equal(t, v.Total, 0, "%s, %s: finalized: total", name, method)
			expect.True(t, v.NextPaymentAttempt == nil, "%s, %s: finalized: NextPaymentAttempt is set", name, method)
			expect.True(t, v.PaidAt == nil, "%s, %s: finalized: PaidAt is set", name, method)
			must.Get(s.Invoices.Send(ctx, s.Caller, v.ID))(t)
			for range 2 {
				must.Do(t, s.Drain(ctx))
				s.pass(48 * time.Hour)
			}
			v = s.get(v.ID)
			expect.Equal(t, v.Status, invoice.Paid, "%s, %s: worked on: status", name, method)
			expect.True(t, v.Payment == nil, "%s, %s: worked on: Payment is set", name, method)
			expect.True(t, v.PaidAt != nil, "%s, %s: worked on: PaidAt is nil", name, method)
			expect.Equal(t, v.AttemptCount, 0, "%s, %s: worked on: attempt count", name, method)
			expect.Equal(t, s.countEvents(event.InvoicePaid), cases, "%s, %s: invoice.paid", name, method)
			sent := must.Get(s.Messages.List(ctx, s.Caller, message.ListParams{To: to}))(t).Data
			expect.Equal(t, len(sent), 2, "%s, %s: e-mails", name, method) // of Send, and of the booking
			for _, m := range sent {
				expect.True(t, strings.Contains(m.Text, "There is nothing to pay."), "%s, %s: %s", name, method, m.Text)
				expect.True(t, !strings.Contains(m.Text, "lease pay"), "%s, %s: %s", name, method, m.Text)
				expect.True(t, !strings.Contains(m.Text, "and pay"), "%s, %s: %s", name, method, m.Text)
			}
		}
	}
	for _, m := range must.Get(s.Messages.List(ctx, s.Caller, message.ListParams{To: "0241112222"}))(t).Data {
		expect.True(t, strings.Contains(m.Text, ", nothing to pay."), "an SMS: %s", m.Text) // of Send
	}
}

// A subscription's invoice of 0 is open as it is made, also for the outcome that its subscription is told.
func TestIssueNothingDue(t *testing.T) {
	s := newIssuer(t)
	issue := func() *invoicing.Issued {
		return s.issue(invoicing.IssueParams{
			Date: s.now, PriceParams: invoicing.PriceParams{Lines: []invoicing.SubscriptionLine{planned(0)}}, CollectionMethod: invoice.ChargeAutomatically, ChargedPhone: "+233241234567",
		})
	}
	made := issue()
	expect.Equal(t, made.Status, invoice.Open, "status")
	expect.True(t, made.PaidAt == nil, "PaidAt is set")
	expect.True(t, made.NextPaymentAttempt == nil, "NextPaymentAttempt is set")
	expect.Same(t, s.recorded(), []event.Type{event.InvoiceCreated, event.InvoiceFinalized}, "events")
	testkit.WantCode(t, "void it", testkit.Err(s.Void(t.Context(), s.caller, made.ID)), api.InvoiceAlreadyPaid)
	testkit.WantCode(t, "write it off", testkit.Err(s.MarkUncollectible(t.Context(), s.caller, made.ID)), api.InvoiceAlreadyPaid)
	s.update(func(tx *engine.Tx) error { return s.StopCharges(tx, []string{made.ID}) }) // as a cancelled subscription does
	s.update(func(tx *engine.Tx) error { return testkit.Err(s.Begin(t.Context(), tx, made.ID)) })
	is := must.Get(s.Get(t.Context(), s.caller, made.ID))(t)
	expect.Equal(t, is.Status, invoice.Paid, "worked on: status")
	expect.True(t, is.Payment == nil, "worked on: Payment is set")
	expect.Same(t, s.recorded(), []event.Type{event.InvoiceCreated, event.InvoiceFinalized, event.InvoicePaid}, "events after the work")
	expect.Equal(t, len(s.outcomes()), 1, "outcomes")

	second := issue()
	for range 2 {
		s.update(func(tx *engine.Tx) error { return s.MarkNothingDuePaid(tx, second.ID) })
	}
	is = must.Get(s.Get(t.Context(), s.caller, second.ID))(t)
	expect.Equal(t, is.Status, invoice.Paid, "settled at once")
	expect.Equal(t, len(s.outcomes()), 1, "outcomes of the second")
}
