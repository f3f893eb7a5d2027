package erasure_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

const day = 24 * time.Hour

// left reports where a store still contains a word. except names the kinds that may contain it.
func left(t *testing.T, store storage.Store, merchant, word string, except ...string) {
	t.Helper()
	for where, text := range testkit.Without(testkit.Contents(t, store, merchant), except...) {
		expect.True(t, !strings.Contains(strings.ToLower(text), strings.ToLower(word)), "%s is left in %s: %s", word, where, text)
	}
}

// The erasure removes a customer's data from drafts that were unlinked before, unless the draft
// was retyped for another customer. A duplicate does not bring the data back. The data of another
// customer with the same address stays.
func TestErasureReachesUnlinkedDrafts(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		svc := testkit.New(t, store, payments.Config{Clock: func() time.Time { return now }})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		keyed := func(key string) api.Caller { return api.Caller{Merchant: m.ID, IdempotencyKey: key} }
		customer := func(name string) *account.Customer {
			c := must.Get(svc.Accounts.CreateCustomer(t.Context(), keyed("made "+name[:1]), account.CreateCustomerParams{
				Name: name, Email: "shared@example.com", Phone: "0241112222", Address: name + " Lane",
			}))(t)
			return c
		}
		gone, stays := customer("Zenobia"), customer("Akua")
		bill := func(c *account.Customer, issue bool) *invoice.Invoice {
			price := int64(100)
			v := must.Get(svc.Invoices.Create(t.Context(), caller, invoice.CreateParams{AutoFinalize: issue, Fields: invoice.Fields{
				Customer: &c.ID, Lines: []invoice.LineParams{{Description: "a", UnitAmount: &price}},
			}}))(t)
			return v
		}
		unlinked, duplicated, relinked := bill(gone, false), bill(gone, true), bill(gone, false)
		bill(stays, true)
		// A draft that was retyped for another person no longer concerns the customer.
		retyped := bill(gone, false)
		_, _, err := svc.Invoices.HostedPDF(t.Context(), retyped.HostedURL[strings.LastIndex(retyped.HostedURL, "/")+1:])
		must.Do(t, err)
		must.Get(svc.Invoices.Update(t.Context(), caller, retyped.ID, invoice.Fields{Customer: new(""), Name: new("Yaw")}))(t)
		must.Get(svc.Invoices.Update(t.Context(), caller, retyped.ID, invoice.Fields{
			Name: new("Yaw Typed"), Email: new("yaw@example.com"), Phone: new("0241113333"), Address: new(""),
		}))(t)
		for where := range testkit.Contents(t, store, m.ID) {
			expect.True(t, !strings.HasPrefix(where, "invoice_pdfs") || !strings.Contains(where, retyped.ID), "%s is left of the customer", where)
		}
		for n := range api.MaxLimit + 20 { // events of more than one step
			must.Get(svc.Invoices.Update(t.Context(), caller, unlinked.ID, invoice.Fields{Memo: new(fmt.Sprint(n))}))(t)
		}
		must.Get(svc.Invoices.Update(t.Context(), keyed("unlinked"), unlinked.ID, invoice.Fields{Customer: new("")}))(t)
		must.Get(svc.Invoices.AddLine(t.Context(), keyed("line"), unlinked.ID, invoice.LineParams{Description: "b", UnitAmount: new(int64(1))}))(t)
		events := must.Get(svc.Events.List(t.Context(), caller, event.ListParams{Type: event.InvoiceUpdated}))(t)
		if text := string(events.Data[0].Data.Object); !strings.Contains(text, "Zenobia") {
			t.Fatalf("the draft has nothing of the customer: %s", text)
		}
		must.Get(svc.Webhooks.Resend(t.Context(), keyed("resent"), events.Data[0].ID))(t)
		must.Get(svc.Invoices.Duplicate(t.Context(), keyed("before"), unlinked.ID))(t)
		must.Get(svc.Invoices.Update(t.Context(), keyed("relinked"), relinked.ID, invoice.Fields{Customer: &stays.ID}))(t)
		must.Get(svc.Invoices.Pay(t.Context(), keyed("paid"), duplicated.ID, invoice.PayParams{}))(t)
		must.Do(t, svc.Drain(t.Context()))
		messages := func() int {
			list := must.Get(svc.Messages.List(t.Context(), caller, message.ListParams{Page: api.Page{Limit: 100}}))(t)
			return len(list.Data)
		}
		before := messages()

		must.Get(svc.Accounts.DeleteCustomer(t.Context(), keyed("deleted"), gone.ID))(t)
		must.Get(svc.Invoices.Send(t.Context(), caller, duplicated.ID))(t) // before the work of the deletion
		must.Do(t, svc.Drain(t.Context()))
		// A replay of an earlier call, and duplicates, bring nothing back.
		made := must.Get(svc.Invoices.Duplicate(t.Context(), keyed("after"), duplicated.ID))(t)
		expect.True(t, made.Customer == nil, "the duplicate: Customer is set")
		expect.True(t, made.Name == nil, "the duplicate: Name is set")
		expect.True(t, made.Email == nil, "the duplicate: Email is set")
		expect.True(t, made.Phone == nil, "the duplicate: Phone is set")
		expect.True(t, made.Address == nil, "the duplicate: Address is set")
		expect.Equal(t, made.Total, 100, "the duplicate: total")
		must.Get(svc.Invoices.AddLine(t.Context(), keyed("another line"), unlinked.ID, invoice.LineParams{Description: "c", UnitAmount: new(int64(1))}))(t)
		must.Do(t, svc.Drain(t.Context()))
		left(t, store, m.ID, "Zenobia", "invoices", "invoice_pdfs")
		list := must.Get(svc.Invoices.List(t.Context(), caller, invoice.ListParams{Status: invoice.Draft}))(t)
		for _, v := range list.Data {
			if v.Name != nil && *v.Name == "Zenobia" || v.Address != nil && *v.Address == "Zenobia Lane" {
				t.Errorf("a draft has %s", *v.Name)
			}
		}
		if got, err := svc.Invoices.Get(t.Context(), caller, retyped.ID); err != nil || got.Name == nil || *got.Name != "Yaw Typed" || *got.Email != "yaw@example.com" {
			t.Errorf("the draft that was typed anew is %+v, %v", got, err)
		}
		expect.Equal(t, len(list.Data), 5, "%d drafts", len(list.Data))
		// An e-mail and an SMS about the invoice of the other customer.
		if after := messages(); after != 2 || before <= after {
			t.Errorf("%d messages were there, %d are left, want those about the other customer", before, after)
		}
	})
}

// A document of a draft that is made beside the deletion of its customer, or of the draft, is not kept: it
// may show the customer.
func TestErasureReachesDocumentsUnderWay(t *testing.T) {
	for what, erase := range map[string]func(svc *payments.Service, caller api.Caller, customer, draft string) error{
		"customer": func(svc *payments.Service, caller api.Caller, customer, _ string) error {
			_, err := svc.Accounts.DeleteCustomer(t.Context(), caller, customer)
			return errors.Join(err, svc.Drain(t.Context()))
		},
		"draft": func(svc *payments.Service, caller api.Caller, _, draft string) error {
			return testkit.Err(svc.Invoices.Delete(t.Context(), caller, draft))
		},
	} {
		for n, more := 1, true; more; n++ { // before each transaction of the call
			store := faultstore.New(memory.New())
			svc := testkit.New(t, store, payments.Config{})
			m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
			caller := api.Caller{Merchant: m.ID}
			c := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Zenobia"}))(t)
			draft := must.Get(svc.Invoices.Create(t.Context(), caller, invoice.CreateParams{Fields: invoice.Fields{Customer: &c.ID}}))(t)
			kept := func() (data string) {
				for where, text := range testkit.Contents(t, store, m.ID) {
					if strings.HasPrefix(where, "invoice_pdfs") {
						data += text
					}
				}
				return data
			}
			store.BetweenAt(n, func() { must.Do(t, erase(svc, caller, c.ID, draft.ID)) })
			_, _, err := svc.Invoices.PDFFile(t.Context(), caller, draft.ID)
			must.True(t, err == nil || api.CodeOf(err) == api.ResourceMissing, "the document: %v", err)
			if more = store.Heal(); !more {
				continue
			}
			before := kept()
			_, _, err = svc.Invoices.PDFFile(t.Context(), caller, draft.ID)
			must.True(t, err == nil || api.CodeOf(err) == api.ResourceMissing, "the document: %v", err)
			is := before == "" || err == nil && before == kept()
			expect.True(t, is, "%s erased before transaction %d: a document of before is kept", what, n)
		}
	}
}

// Retention removes the number of an ended transfer after the host's time. That includes
// transfers from before the setting, and one that ends later.
func TestRetentionRemovesNumbersOfEndedTransfers(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		config := payments.Config{Clock: func() time.Time { return now }}
		svc := testkit.New(t, store, config)
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1000), Source: "bank"}))
		caller := api.Caller{Merchant: m.ID}
		send := func(d payout.DestinationParams) *payout.Transfer {
			t.Helper()
			made := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: d}))(t)
			must.Do(t, svc.Drain(t.Context()))
			return made
		}
		mobile := func(number string) *payout.Transfer {
			t.Helper()
			return send(payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: number})
		}
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			must.Do(t, svc.Drain(t.Context()))
		}
		first := mobile("0241110001")
		send(payout.DestinationParams{Type: payout.BankTransfer, AccountNumber: "987654321012", BankCode: provider.SampleBanks().Banks()[0].Code})
		stays := mobile("0241110903") // processing
		pass(20 * day)
		mobile("0241110002")

		config.NumberRetention = 30 * day
		svc = testkit.New(t, store, config)
		held := func(number string) bool {
			for _, text := range testkit.Without(testkit.Contents(t, store, m.ID)) {
				if strings.Contains(text, number) {
					return true
				}
			}
			return false
		}
		want := func(what string, numbers map[string]bool) {
			t.Helper()
			for number, is := range numbers {
				expect.Equal(t, held(number), is, "%s: %s is kept: %t, want %t", what, number, !is, is)
			}
		}
		pass(2 * time.Hour)
		want("before its time", map[string]bool{"241110001": true, "987654321012": true, "241110903": true, "241110002": true})
		pass(10 * day)
		want("after its time", map[string]bool{"241110001": false, "987654321012": false, "241110903": true, "241110002": true})
		pass(2 * time.Hour)
		mobile("0241110003")
		pass(20 * day)
		want("later", map[string]bool{"241110903": true, "241110002": false, "241110003": true})
		must.Do(t, svc.Providers.Settle(t.Context(), caller, stays.ID, provider.Result{Outcome: provider.Paid}))
		pass(2 * time.Hour)
		want("the one that ends late", map[string]bool{"241110903": false, "241110003": true})
		got := must.Get(svc.Disbursements.Get(t.Context(), caller, first.ID))(t)
		expect.Equal(t, got.Destination.Number, "024****001", "the transfer: number of the destination")
		expect.Equal(t, got.Status, payout.Completed, "the transfer: status")
	})
}
