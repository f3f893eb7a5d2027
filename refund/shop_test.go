package refund_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

// shop is a merchant with a clock that the test moves.
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

// paidQR returns a payment of a QR code from the consumer's wallet.
func (s *shop) paidQR(pesewas int64) *payment.Payment {
	s.t.Helper()
	code := must.Get(s.QRCodes.Create(s.t.Context(), s.Caller, qrcode.CreateParams{}))(s.t)
	return s.Pay(code.ID, pesewas)
}

// paidInvoice returns an invoice of one line that was charged.
func (s *shop) paidInvoice(pesewas int64, method string) *invoice.Invoice {
	s.t.Helper()
	v := must.Get(s.Invoices.Create(s.t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Phone: new("0245556666"), Email: new("efua@example.com"),
		Lines: []invoice.LineParams{{Description: "Catering", UnitAmount: &pesewas}},
	}}))(s.t)
	v = must.Get(s.Invoices.Pay(s.t.Context(), s.Caller, v.ID, invoice.PayParams{PaymentMethod: method}))(s.t)
	return v
}

func (s *shop) refund(p refund.CreateParams) *refund.Refund {
	s.t.Helper()
	return must.Get(s.Refunds.Create(s.t.Context(), s.Caller, p))(s.t)
}

func (s *shop) get(id string) *refund.Refund {
	s.t.Helper()
	return must.Get(s.Refunds.Get(s.t.Context(), s.Caller, id))(s.t)
}

// holds checks the balances of the merchant and the consumer, in GHS.
func (s *shop) holds(what, available, reserved, wallet string) {
	s.t.Helper()
	b := must.Get(s.Accounts.Balance(s.t.Context(), s.Caller))(s.t)
	w := must.Get(s.Accounts.WalletBalance(s.t.Context(), api.Caller{}, s.Consumer.ID))(s.t)
	if b.Available.String() != available || b.Reserved.String() != reserved || w.String() != wallet {
		s.t.Errorf("%s: available %s, reserved %s, wallet %s; want %s, %s, %s", what, b.Available, b.Reserved, w, available, reserved, wallet)
	}
}

func (s *shop) refunded(payment string) int64 {
	s.t.Helper()
	p := must.Get(s.Payments.Get(s.t.Context(), s.Caller, payment))(s.t)
	expect.Equal(s.t, p.Status, "completed", "the payment")
	return p.AmountRefunded
}

// told returns the events of a refund, oldest first.
func (s *shop) told(id string) string {
	s.t.Helper()
	list := must.Get(s.Events.List(s.t.Context(), s.Caller, event.ListParams{Page: api.Page{Limit: api.MaxLimit}}))(s.t)
	var all []string
	for _, e := range list.Data {
		if strings.HasPrefix(string(e.Type), "refund.") && strings.Contains(string(e.Data.Object), `"id":"`+id+`"`) {
			all = append([]string{strings.TrimPrefix(string(e.Type), "refund.")}, all...)
		}
	}
	return fmt.Sprint(all)
}
