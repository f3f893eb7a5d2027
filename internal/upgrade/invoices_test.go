package upgrade_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/upgrade"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// invoices is a shop whose invoices get a former form.
type invoices struct {
	*testkit.Shop
	t     *testing.T
	store storage.Store
}

// make makes a draft, or an open invoice.
func (s *invoices) make(f invoice.Fields, open bool) *invoice.Invoice {
	s.t.Helper()
	return must.Get(s.Invoices.Create(s.t.Context(), s.Caller, invoice.CreateParams{Fields: f, AutoFinalize: open}))(s.t)
}

// get returns an invoice, and its stored document.
func (s *invoices) get(id string) (*invoice.Invoice, map[string]any) {
	s.t.Helper()
	var document map[string]any
	must.Do(s.t, s.store.View(s.t.Context(), func(tx storage.ReadTx) error {
		r, err := tx.Get(invoicing.Kinds()[0], s.scope(), id)
		if err != nil {
			return err
		}
		return json.Unmarshal(r.Data, &document)
	}))
	return must.Get(s.Invoices.Get(s.t.Context(), s.Caller, id))(s.t), document
}

func (s *invoices) scope() storage.Scope {
	return storage.Scope{Merchant: s.Caller.Merchant, Live: s.Caller.Live}
}

// setMembers changes members of an invoice's document; nil removes one.
func (s *invoices) setMembers(id string, to map[string]any) {
	s.t.Helper()
	kind := invoicing.Kinds()[0]
	must.Do(s.t, s.store.Update(s.t.Context(), func(tx storage.Tx) error {
		r, err := tx.Get(kind, s.scope(), id)
		if err != nil {
			return err
		}
		var document map[string]any
		if err := json.Unmarshal(r.Data, &document); err != nil {
			return err
		}
		for name, value := range to {
			if document[name] = value; value == nil {
				delete(document, name)
			}
		}
		if r.Data, err = json.Marshal(document); err != nil {
			return err
		}
		return tx.Replace(kind, r)
	}))
}

// upgrade says that the records have Version 1, and runs the passes from there.
func (s *invoices) upgrade() {
	s.t.Helper()
	must.Do(s.t, s.store.Update(s.t.Context(), func(tx storage.Tx) error { return upgrade.SetVersion(tx, 1) }))
	must.Do(s.t, upgrade.Run(s.t.Context(), s.store, payments.Kinds()))
	must.Do(s.t, s.store.View(s.t.Context(), func(tx storage.ReadTx) error {
		_, err := tx.Scan(upgrade.Former()[0], storage.Scope{}, "", 1)
		expect.ErrorIs(s.t, err, storage.ErrInvalid, "a former kind, which Version 1 did not have")
		version, err := upgrade.VersionOf(tx)
		expect.Equal(s.t, version, upgrade.Version, "version")
		return err
	}))
}

// drawn returns the texts of a document, each in a line.
func (s *invoices) drawn(v *invoice.Invoice, n *invoice.CreditNote) string {
	s.t.Helper()
	var b strings.Builder
	for _, page := range must.Get(invoicing.LayOut(v, &account.Merchant{Name: "Adom Juice Bar"}, n, nil))(s.t).Pages() {
		for _, text := range page {
			b.WriteString(text.Text + "\n")
		}
	}
	return b.String()
}

// says checks that a document has the texts one after another.
func (s *invoices) says(v *invoice.Invoice, n *invoice.CreditNote, texts ...string) {
	s.t.Helper()
	text := s.drawn(v, n)
	expect.True(s.t, strings.Contains(text, "\n"+strings.Join(texts, "\n")+"\n"), "%s: no %s in %s", v.ID, texts, text)
}

// refund gives a part of an invoice back, and returns the invoice as its page has it, and the note.
func (s *invoices) refund(v *invoice.Invoice, amount int64) (*invoice.Invoice, *invoice.CreditNote) {
	s.t.Helper()
	must.Get(s.Refunds.Create(s.t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID, Amount: &amount}))(s.t)
	must.Do(s.t, s.Drain(s.t.Context()))
	h := must.Get(s.Invoices.Hosted(s.t.Context(), v.HostedURL[strings.LastIndex(v.HostedURL, "/")+1:]))(s.t)
	return &h.Invoice, &h.CreditNotes[0]
}

func repeat(n int, p invoice.LineParams) []invoice.LineParams {
	lines := make([]invoice.LineParams, n)
	for i := range lines {
		lines[i] = p
	}
	return lines
}

// taxed is a line with a rate, vat one with the parts of a rate.
func taxed(unit, rate int64) invoice.LineParams {
	return invoice.LineParams{Description: "x", UnitAmount: &unit, Taxable: new(true), TaxPercent: new(decimal.NewFromInt(rate))}
}

func vat(unit int64) invoice.LineParams {
	return invoice.LineParams{Description: "x", UnitAmount: &unit, Taxable: new(true), Taxes: invoice.GhanaVAT()}
}

func sums(v *invoice.Invoice) string {
	var rows []string
	for _, sum := range v.Sums() {
		rows = append(rows, fmt.Sprint(sum.Name, " ", sum.Amount))
	}
	return strings.Join(rows, ", ")
}

// An issued invoice of a former rule keeps its figures, and so do its credit notes. A draft keeps them until it is
// finalized.
func TestInvoicesKeepTheirFigures(t *testing.T) {
	store := memory.New()
	s := &invoices{testkit.OpenShop(t, store, payments.Config{}), t, store}
	ctx := t.Context()

	perLine := s.make(invoice.Fields{Lines: repeat(20, vat(450))}, true)
	s.setMembers(perLine.ID, map[string]any{"tax": 1800, "total": 108_00, "amount_due": 108_00})
	draft := s.make(invoice.Fields{Lines: repeat(40, taxed(333, 20))}, false)
	s.setMembers(draft.ID, map[string]any{"tax": 2680, "total": 160_00, "amount_due": 160_00})
	off := invoice.Fields{Lines: []invoice.LineParams{taxed(1000, 20)}, Discount: new(int64(100))}
	afterTax, draftAfterTax := s.make(off, true), s.make(off, false)
	for _, v := range []*invoice.Invoice{afterTax, draftAfterTax} {
		s.setMembers(v.ID, map[string]any{"shares": nil, "tax": 200, "total": 1100, "amount_due": 1100})
	}
	perRate := s.make(invoice.Fields{Lines: repeat(40, taxed(333, 20))}, true)
	s.setMembers(perRate.ID, map[string]any{"tax_per_rate": true})
	plain := s.make(invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: new(int64(500))}}}, true)
	s.upgrade()

	v, _ := s.get(perLine.ID)
	expect.Equal(t, sums(v), "Subtotal 9000, VAT 15% on 90.00 1360, NHIL 2.5% on 90.00 220, GETFund 2.5% on 90.00 220, Total 10800", "rounded per line")
	s.says(v, nil, "Subtotal", "90.00", "VAT 15% on 90.00", "13.60", "NHIL 2.5% on 90.00", "2.20", "GETFund 2.5% on 90.00", "2.20", "Total", "108.00")
	v = must.Get(s.Invoices.Pay(ctx, s.Caller, v.ID, invoice.PayParams{}))(t)
	for range 2 {
		page, note := s.refund(v, 54_00)
		expect.Equal(t, len(note.Taxes), 0, "taxes that a note states")
		s.says(page, note, "Before tax", "45.00", "VAT 15%", "6.80", "NHIL 2.5%", "1.10", "GETFund 2.5%", "1.10", "Refunded", "54.00")
	}
	v, _ = s.get(perLine.ID)
	expect.Equal(t, sums(v), "Subtotal 9000, VAT 15% on 90.00 1360, NHIL 2.5% on 90.00 220, GETFund 2.5% on 90.00 220, Total 10800, Paid -10800, Refunded 10800", "refunded")

	v, _ = s.get(draft.ID)
	expect.Equal(t, sums(v), "Subtotal 13320, Tax 20% on 133.20 2680, Total 16000", "a draft")
	v = must.Get(s.Invoices.Finalize(ctx, s.Caller, v.ID))(t)
	expect.Equal(t, sums(v), "Subtotal 13320, Tax 20% on 133.20 2664, Total 15984", "a draft that was finalized")
	expect.Equal(t, v.AmountDue, 159_84, "what is due of it")

	for _, id := range []string{afterTax.ID, draftAfterTax.ID} {
		v, _ = s.get(id)
		expect.Equal(t, sums(v), "Subtotal 1000, Tax 20% on 10.00 200, Discount -100, Total 1100", "a discount after the tax")
	}
	v = must.Get(s.Invoices.Finalize(ctx, s.Caller, v.ID))(t)
	expect.Equal(t, sums(v), "Subtotal 1000, Discount -100, Tax 20% on 9.00 180, Total 1080", "its draft, finalized")
	v, document := s.get(draftAfterTax.ID)
	expect.Equal(t, v.Stated == nil && document["stated_figures"] == nil, true, "it states no figures")
	v, _ = s.get(afterTax.ID)
	s.says(v, nil, "Tax 20% on 10.00", "2.00", "Discount", "−1.00", "Total", "11.00")

	v, document = s.get(perRate.ID)
	expect.Equal(t, sums(v), "Subtotal 13320, Tax 20% on 133.20 2664, Total 15984", "rounded per rate")
	expect.True(t, document["tax_per_rate"] == nil, "tax_per_rate is still in the document")
	v = must.Get(s.Invoices.Pay(ctx, s.Caller, v.ID, invoice.PayParams{}))(t)
	page, note := s.refund(v, 79_92)
	s.says(page, note, "Before tax", "66.60", "Tax 20% on 66.60", "13.32", "Refunded", "79.92")

	v, document = s.get(plain.ID)
	expect.Equal(t, sums(v), "Subtotal 500, Total 500", "no taxes")
	expect.True(t, document["stated_figures"] == nil, "an invoice without taxes states figures")
}
