package payments_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

// left reports where a store still has a word. Kinds that may have it are named.
func left(t *testing.T, store storage.Store, merchant, word string, except ...string) {
	t.Helper()
	for where, text := range without(contents(t, store, merchant), except...) {
		if strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
			t.Errorf("%s is left in %s: %s", word, where, text)
		}
	}
}

// A deleted customer is gone from drafts that were unlinked before, from what was kept of
// them, and comes back in no duplicate; what is about another customer with the same
// address stays.
func TestErasureOfWhatOnceHeldTheCustomer(t *testing.T) {
	overStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		svc := open(t, store, payments.Config{Clock: func() time.Time { return now }})
		m, err := svc.Accounts.CreateMerchant(t.Context(), account.MerchantParams{Name: "M"})
		check(err)
		caller := api.Caller{Merchant: m.ID}
		keyed := func(key string) api.Caller { return api.Caller{Merchant: m.ID, IdempotencyKey: key} }
		customer := func(name string) *account.Customer {
			c, err := svc.Accounts.CreateCustomer(t.Context(), keyed("made "+name[:1]), account.CustomerParams{
				Name: name, Email: "shared@example.com", Phone: "0241112222", Address: name + " Lane",
			})
			check(err)
			return c
		}
		gone, stays := customer("Zenobia"), customer("Akua")
		bill := func(c *account.Customer, issue bool) *invoice.Invoice {
			price := int64(100)
			v, err := svc.Invoices.Create(t.Context(), caller, invoice.CreateParams{AutoFinalize: issue, Fields: invoice.Fields{
				Customer: &c.ID, Lines: []invoice.LineParams{{Description: "a", UnitAmount: &price}},
			}})
			check(err)
			return v
		}
		unlinked, duplicated, relinked := bill(gone, false), bill(gone, true), bill(gone, false)
		bill(stays, true)
		_, err = svc.Invoices.Update(t.Context(), keyed("unlinked"), unlinked.ID, invoice.Fields{Customer: new("")})
		check(err)
		_, err = svc.Invoices.AddLine(t.Context(), keyed("line"), unlinked.ID, invoice.LineParams{Description: "b", UnitAmount: new(int64(1))})
		check(err)
		events, err := svc.Events.List(t.Context(), caller, event.ListParams{Type: event.InvoiceUpdated})
		check(err)
		if text := string(events.Data[0].Data.Object); !strings.Contains(text, "Zenobia") {
			t.Fatalf("the draft has nothing of the customer: %s", text)
		}
		_, err = svc.Webhooks.Resend(t.Context(), keyed("resent"), events.Data[0].ID)
		check(err)
		_, err = svc.Invoices.Duplicate(t.Context(), keyed("before"), unlinked.ID)
		check(err)
		_, err = svc.Invoices.Update(t.Context(), keyed("relinked"), relinked.ID, invoice.Fields{Customer: &stays.ID})
		check(err)
		_, err = svc.Invoices.Pay(t.Context(), keyed("paid"), duplicated.ID, invoice.PayParams{})
		check(err)
		check(svc.Drain(t.Context()))
		messages := func() int {
			list, err := svc.Messages.List(t.Context(), caller, message.ListParams{Page: api.Page{Limit: 100}})
			check(err)
			return len(list.Data)
		}
		before := messages()

		_, err = svc.Accounts.DeleteCustomer(t.Context(), keyed("deleted"), gone.ID)
		check(err)
		check(svc.Drain(t.Context()))
		// A repetition of a call from before, and duplicates, bring nothing back.
		made, err := svc.Invoices.Duplicate(t.Context(), keyed("after"), duplicated.ID)
		check(err)
		if made.Customer != nil || made.Name != nil || made.Email != nil || made.Phone != nil || made.Address != nil || made.Total != 100 {
			t.Errorf("the duplicate has %+v", made)
		}
		_, err = svc.Invoices.AddLine(t.Context(), keyed("another line"), unlinked.ID, invoice.LineParams{Description: "c", UnitAmount: new(int64(1))})
		check(err)
		check(svc.Drain(t.Context()))
		left(t, store, m.ID, "Zenobia", "invoices", "invoice_pdfs")
		list, err := svc.Invoices.List(t.Context(), caller, invoice.ListParams{Status: invoice.Draft})
		check(err)
		for _, v := range list.Data {
			if v.Name != nil && *v.Name == "Zenobia" || v.Address != nil && *v.Address == "Zenobia Lane" {
				t.Errorf("a draft has %s", *v.Name)
			}
		}
		if len(list.Data) != 4 {
			t.Errorf("%d drafts", len(list.Data))
		}
		// An e-mail and an SMS about the invoice of the other customer.
		if after := messages(); after != 2 || before <= after {
			t.Errorf("%d messages were there, %d are left, want those about the other customer", before, after)
		}
	})
}
