package invoice_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// token is the secret part of the address of an invoice's page.
func token(v *invoice.Invoice) string {
	return v.HostedURL[strings.LastIndex(v.HostedURL, "/")+1:]
}

// Whichever operation of the store fails, a call says so, and under its key it has
// its effect once when it is made again.
func TestNoFailureOfTheStoreIsLost(t *testing.T) {
	store := faultstore.New(memory.New())
	s := open(t, store, payments.Config{InvoiceReminders: []int{-3}})
	ctx := t.Context()
	c := must.Get(s.Accounts.CreateCustomer(ctx, s.Caller, account.CreateCustomerParams{Name: "Efua", Email: "efua@example.com", Phone: "0245556666"}))(t)
	named := func(key string) api.Caller { return api.Caller{Merchant: s.Caller.Merchant, IdempotencyKey: key} }
	due := s.Now().AddDate(0, 0, 14)
	fields := invoice.Fields{Customer: &c.ID, DueDate: &due, Lines: []invoice.LineParams{line(10_00)}}

	var v, outside, copied, byWallet *invoice.Invoice
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"Create", func() (err error) {
			v, err = s.Invoices.Create(ctx, named("create"), invoice.CreateParams{Fields: fields})
			return err
		}},
		{"Update", func() error {
			_, err := s.Invoices.Update(ctx, named("update"), v.ID, invoice.Fields{Memo: new("m"), Customer: &c.ID})
			return err
		}},
		{"AddLine", func() error { _, err := s.Invoices.AddLine(ctx, named("line"), v.ID, line(5_00)); return err }},
		{"Lines", func() error { _, err := s.Invoices.ListLines(ctx, s.Caller, v.ID, api.Page{}); return err }},
		{"a document of a draft", func() error { _, _, err := s.Invoices.HostedPDF(ctx, token(v)); return err }},
		{"Finalize", func() error { _, err := s.Invoices.Finalize(ctx, named("finalize"), v.ID); return err }},
		{"Send", func() error { _, err := s.Invoices.Send(ctx, named("send"), v.ID); return err }},
		{"Open", func() error { _, err := s.Invoices.Hosted(ctx, token(v)); return err }},
		{"PDF", func() error { _, err := s.Invoices.PDF(ctx, s.Caller, v.ID); return err }},
		{"a document that has changed", func() error { _, _, err := s.Invoices.HostedPDF(ctx, token(v)); return err }},
		{"a document that is kept", func() error { _, _, err := s.Invoices.HostedPDF(ctx, token(v)); return err }},
		{"Duplicate", func() (err error) {
			copied, err = s.Invoices.Duplicate(ctx, named("duplicate"), v.ID)
			return err
		}},
		{"Delete", func() error { _, err := s.Invoices.Delete(ctx, named("delete"), copied.ID); return err }},
		{"List", func() error { _, err := s.Invoices.List(ctx, s.Caller, invoice.ListParams{}); return err }},
		{"Export", func() error { return s.Invoices.Export(ctx, s.Caller, invoice.ExportParams{Writer: io.Discard}) }},
		{"Create, and finalize", func() (err error) {
			outside, err = s.Invoices.Create(ctx, named("at once"), invoice.CreateParams{Fields: fields, AutoFinalize: true})
			return err
		}},
		{"Pay, outside", func() error {
			_, err := s.Invoices.Pay(ctx, named("outside"), outside.ID, invoice.PayParams{PaidOutOfBand: true})
			return err
		}},
		{"Create, for a wallet", func() (err error) {
			byWallet, err = s.Invoices.Create(ctx, named("wallet"), invoice.CreateParams{Fields: fields, AutoFinalize: true})
			return err
		}},
		{"Void", func() error {
			third, err := s.Invoices.Create(ctx, named("third"), invoice.CreateParams{Fields: fields, AutoFinalize: true})
			if err != nil {
				return err
			}
			_, err = s.Invoices.Void(ctx, named("void"), third.ID)
			return err
		}},
		{"MarkUncollectible", func() error {
			fourth, err := s.Invoices.Create(ctx, named("fourth"), invoice.CreateParams{Fields: fields, AutoFinalize: true})
			if err != nil {
				return err
			}
			_, err = s.Invoices.MarkUncollectible(ctx, named("mark"), fourth.ID)
			return err
		}},
	} {
		store.Each(t, call.name, call.do)
	}

	// A payment may be under way when the store fails; the workers find out, and it is
	// taken once.
	hit := true
	for k := 1; hit; k++ {
		store.FailAt(k)
		_, err := s.Invoices.PayFromWallet(ctx, named("pay wallet"), byWallet.ID, invoice.PayFromWalletParams{
			Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN,
		})
		if hit = store.Heal(); (err == nil) == hit {
			t.Errorf("operation %d failed, %t: %v", k, hit, err)
		}
		must.Do(t, s.Accounts.SetPIN(ctx, api.Caller{}, s.Consumer.ID, account.SetPINParams{PIN: s.PIN})) // tries that were not given back
	}
	hit = true
	for k := 1; hit; k++ {
		store.FailAt(k)
		_, err := s.Invoices.Pay(ctx, named("pay"), v.ID, invoice.PayParams{})
		if hit = store.Heal(); !hit && err != nil || hit && !errors.Is(err, faultstore.Err) {
			t.Errorf("operation %d failed, %t: %v", k, hit, err)
		}
		if hit {
			s.pass(10 * time.Minute)
		}
	}
	paid := s.get(v.ID)
	if paid.Status != invoice.Paid || paid.AmountPaid != 15_00 || paid.Payment == nil {
		t.Errorf("in the end %+v", paid)
	}
	made := must.Get(s.Refunds.Create(ctx, named("refund"), refund.CreateParams{Invoice: v.ID, Amount: new(int64(4_00))}))(t)
	s.pass(time.Minute)
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"Open, refunded", func() error {
			h, err := s.Invoices.Hosted(ctx, token(v))
			if err == nil && (len(h.CreditNotes) != 1 || h.Invoice.AmountRefunded != 4_00) {
				t.Errorf("the page has %+v", h)
			}
			return err
		}},
		{"CreditNotePDF", func() error { _, _, err := s.Invoices.CreditNotePDF(ctx, s.Caller, made.ID); return err }},
		{"CreditNote", func() error { _, err := s.Refunds.CreditNote(ctx, s.Caller, made.ID); return err }},
		{"HostedCreditNote", func() error { _, _, err := s.Invoices.HostedCreditNote(ctx, token(v), made.ID); return err }},
	} {
		store.Each(t, call.name, call.do)
	}
	// The note is on the page of its own invoice alone.
	_, _, err := s.Invoices.HostedCreditNote(ctx, token(outside), made.ID)
	testkit.WantCode(t, "another invoice's note", err, api.ResourceMissing)
	_, _, err = s.Invoices.CreditNotePDF(ctx, api.Caller{Merchant: "mer_2"}, made.ID)
	testkit.WantCode(t, "another merchant's note", err, api.ResourceMissing)

	count := map[event.Type]int{}
	for e, err := range api.All(ctx, s.Caller, event.ListParams{}, s.Events.List) {
		must.Do(t, err)
		if strings.HasPrefix(string(e.Type), "invoice.") || strings.HasPrefix(string(e.Type), "payment.") {
			count[e.Type]++
		}
	}
	want := map[event.Type]int{
		event.InvoiceCreated: 6, event.InvoiceUpdated: 2, event.InvoiceFinalized: 5, event.InvoiceSent: 1, event.InvoiceDeleted: 1,
		event.InvoicePaid: 3, event.InvoiceVoided: 1, event.InvoiceMarkedUncollectible: 1, event.PaymentCreated: 2, event.PaymentSucceeded: 2,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	s.Verified()
}

// While the store fails at any operation of the work in turn, reminders and
// automatic charges come, each once.
func TestWorkersWhileTheStoreFails(t *testing.T) {
	charger := &counting{charged: map[string]int{}}
	store := faultstore.New(memory.New())
	s := open(t, store, payments.Config{InvoiceReminders: []int{3}, Test: payments.Providers{Charger: charger}})
	automatic := invoice.ChargeAutomatically
	type pair struct{ charged, reminded string }
	var made []pair
	hit := true
	for k := 1; hit; k++ {
		charged := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{
			Fields: invoice.Fields{CollectionMethod: &automatic, Lines: []invoice.LineParams{line(100)}}, AutoFinalize: true,
		}))(t)
		late := s.Now().AddDate(0, 0, 1)
		reminded := s.openInvoice(invoice.Fields{Phone: new("0245556666"), DueDate: &late})
		made = append(made, pair{charged.ID, reminded.ID})
		s.Pass(5 * 24 * time.Hour)
		store.FailAt(k)
		err := s.Drain(t.Context())
		if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		if k > 500 {
			t.Fatal("the work has no end")
		}
	}
	s.pass(24 * time.Hour)
	sent := map[string]int{}
	for e, err := range api.All(t.Context(), s.Caller, event.ListParams{Type: event.InvoiceSent}, s.Events.List) {
		must.Do(t, err)
		var object struct{ ID string }
		must.Do(t, json.Unmarshal(e.Data.Object, &object))
		sent[object.ID]++
	}
	for _, p := range made {
		if v := s.get(p.charged); v.Status != invoice.Paid || v.AmountPaid != 100 {
			t.Errorf("charged: %s is %s, with %d paid", v.ID, v.Status, v.AmountPaid)
		}
		if sent[p.reminded] != 1 {
			t.Errorf("%s was sent %d times", p.reminded, sent[p.reminded])
		}
	}
	for id, n := range charger.charged {
		if n != 100 {
			t.Errorf("of %s %d were taken", id, n)
		}
	}
	if len(charger.charged) != len(made) {
		t.Errorf("%d charges for %d invoices", len(charger.charged), len(made))
	}
	s.Verified()
}

// counting is a charger that takes the money once for an id.
type counting struct {
	mu      sync.Mutex
	charged map[string]int
}

func (c *counting) Charge(_ context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.charged[charge.ID] = int(charge.Amount)
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c *counting) ChargeStatus(_ context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.charged[charge.ID] == 0 {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return provider.Result{Outcome: provider.Paid}, nil
}
