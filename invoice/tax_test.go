package invoice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// rowsText writes taxes as "VAT 13.5 of 90; NHIL …", amounts in pesewas.
func rowsText(rows []invoice.TaxRow) string {
	var all []string
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s %s%% on %d: %d", r.Name, r.Percent, r.Base, r.Amount))
	}
	return strings.Join(all, "; ")
}

func repeat(n int, p invoice.LineParams) []invoice.LineParams {
	lines := make([]invoice.LineParams, n)
	for i := range lines {
		lines[i] = p
	}
	return lines
}

func vat(unit int64) invoice.LineParams {
	return invoice.LineParams{Description: "x", UnitAmount: &unit, Taxable: new(true), Taxes: invoice.GhanaVAT()}
}

func TestTaxIsRoundedOncePerRate(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	zero := taxed(500, "0")
	for _, c := range []struct {
		name  string
		lines []invoice.LineParams
		rows  string
	}{
		{"40 lines of 3.33", repeat(40, taxed(333, "20")), "Tax 20% on 13320: 2664"},
		{"20 lines of 4.50 with parts", repeat(20, vat(450)), "VAT 15% on 9000: 1350; NHIL 2.5% on 9000: 225; GETFund 2.5% on 9000: 225"},
		// 2.6 pesewas in all: 1.95, 0.325 and 0.325.
		{"the largest remainders", repeat(13, vat(1)), "VAT 15% on 13: 2; NHIL 2.5% on 13: 1; GETFund 2.5% on 13: 0"},
		{"two rates", append(repeat(3, taxed(333, "20")), repeat(3, taxed(333, "12.5"))...), "Tax 20% on 999: 200; Tax 12.5% on 999: 125"},
		{"one rate in two spellings, between others", []invoice.LineParams{taxed(2, "20"), taxed(3, "5"), taxed(1, "20.00")}, "Tax 20% on 3: 1; Tax 5% on 3: 0"},
		{
			"one rate with parts and without",
			[]invoice.LineParams{vat(450), taxed(450, "20")},
			"VAT 15% on 450: 68; NHIL 2.5% on 450: 11; GETFund 2.5% on 450: 11; Tax 20% on 450: 90",
		},
		{"a rate of 0", []invoice.LineParams{zero, taxed(500, "20")}, "Tax 0% on 500: 0; Tax 20% on 500: 100"},
		{"nothing taxable", []invoice.LineParams{line(500)}, ""},
	} {
		v := s.draft(invoice.Fields{Lines: c.lines})
		var sum int64
		for _, r := range v.TaxRows() {
			sum += r.Amount
		}
		expect.Equal(t, rowsText(v.TaxRows()), c.rows, "%s", c.name)
		expect.Equal(t, v.Tax, sum, "%s: the tax", c.name)
		expect.Equal(t, rowsText(s.get(v.ID).TaxRows()), c.rows, "%s, as it was kept", c.name)
	}
}

// A subscription's credit is in the sum, and a tax below zero is rounded as one above it.
func TestTaxOfNegativeLines(t *testing.T) {
	s := newIssuer(t)
	price := func(units ...int64) *invoicing.Issued {
		p := invoicing.IssueParams{Date: s.now}
		for _, u := range units {
			p.Lines = append(p.Lines, withTax(planned(u), 20))
		}
		return s.issue(p)
	}
	// 20% of −333 and of 1000 are −66.6 and 200, of both 133.4.
	expect.Equal(t, price(-333, 1000).Tax, int64(133), "the tax of a credit and a charge")
	v := price(-333, -334, -6) // 20% of −673 is −134.6
	expect.Equal(t, v.Tax, int64(-135), "the tax of credits")
	expect.Equal(t, v.CreditBalance, int64(673+135), "the credit")
	expect.Equal(t, price(-12, -5, -5).Tax, int64(-4), "the tax of −22, −4.4")
	expect.Equal(t, price(-50, 50, 7).Tax, int64(1), "the tax of 7 when the others add up to nothing")
}

// However an invoice is refunded in parts, its credit notes take back its taxes and what they are on to the
// pesewa when all is refunded, each rate is rounded once, and no note takes back less than nothing, nor more taxes
// than its amount.
func TestTaxesOfRefundsAddUp(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		var f invoice.Fields
		for range rapid.IntRange(1, 4).Draw(rt, "lines") {
			unit := rapid.Int64Range(1, 600).Draw(rt, "unit")
			f.Lines = append(f.Lines, rapid.SampledFrom([]invoice.LineParams{line(unit), vat(unit), taxed(unit, "7.5")}).Draw(rt, "line"))
		}
		v := s.openInvoice(f)
		v = must.Get(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{}))(rt)
		taken := make([]invoice.TaxRow, len(v.TaxRows()))
		for before := int64(0); before < v.Total; {
			amount := rapid.Int64Range(1, v.Total-before).Draw(rt, "amount")
			r := must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID, Amount: &amount}))(rt)
			must.Do(rt, s.Drain(t.Context()))
			h := must.Get(s.Invoices.Hosted(t.Context(), token(v)))(rt)
			note := h.CreditNotes[0]
			must.True(rt, note.Refund == r.ID, "the newest credit note is of %s", note.Refund)
			before += amount
			var noted, owed int64
			for i, row := range note.Taxes {
				expect.True(rt, row.Amount >= 0, "%d of %d take back %s", amount, v.Total, rowsText(note.Taxes))
				expect.True(rt, row.Base >= 0, "%d of %d take back %s", amount, v.Total, rowsText(note.Taxes))
				noted += row.Amount
				taken[i].Name, taken[i].Percent = row.Name, row.Percent
				taken[i].Base += row.Base
				taken[i].Amount += row.Amount
			}
			expect.True(rt, noted <= amount, "%d of %d take back %s", amount, v.Total, rowsText(note.Taxes))
			for i := 0; i < len(taken); {
				n := 1
				if taken[i].Name == "VAT" {
					n = 3
				}
				var tax, whole int64
				for j, row := range v.TaxRows()[i : i+n] {
					tax += taken[i+j].Amount
					whole += row.Amount
				}
				want := decimal.NewFromInt(whole * before).Div(decimal.NewFromInt(v.Total)).Round(0).IntPart()
				expect.True(rt, tax <= want, "the tax in %d of %d is %d, want at most %d", before, v.Total, tax, want)
				owed += want - tax
				i += n
			}
			expect.True(rt, owed == 0 || noted == amount, "%d of %d leave %d of the taxes to later notes, and are %d of them", amount, v.Total, owed, noted)
		}
		expect.Equal(rt, rowsText(taken), rowsText(v.TaxRows()), "what all notes take back")
	})
}

// asEarlierRelease makes an invoice one of an earlier release, which rounded the tax of each line.
func (s *shop) asEarlierRelease(store storage.Store, v *invoice.Invoice, tax int64) {
	s.t.Helper()
	kind := invoicing.Kinds()[0]
	must.Do(s.t, store.Update(s.t.Context(), func(tx storage.Tx) error {
		r, err := tx.Get(kind, storage.Scope{Merchant: s.Caller.Merchant, Live: s.Caller.Live}, v.ID)
		if err != nil {
			return err
		}
		for now, then := range map[string]string{
			`,"tax_per_rate":true`:                   "",
			fmt.Sprintf(`"tax":%d,`, v.Tax):          fmt.Sprintf(`"tax":%d,`, tax),
			fmt.Sprintf(`"total":%d,`, v.Total):      fmt.Sprintf(`"total":%d,`, v.Subtotal+tax),
			fmt.Sprintf(`"amount_due":%d,`, v.Total): fmt.Sprintf(`"amount_due":%d,`, v.Subtotal+tax),
		} {
			must.True(s.t, strings.Contains(string(r.Data), now), "no %s in %s", now, r.Data)
			r.Data = []byte(strings.Replace(string(r.Data), now, then, 1))
		}
		return tx.Replace(kind, r)
	}))
}

// An issued invoice of an earlier release keeps its figures, and so do its credit notes. A draft is rounded
// anew when it is finalized.
func TestTaxOfAnEarlierRelease(t *testing.T) {
	store := memory.New()
	s := open(t, store, payments.Config{})
	const rows = "VAT 15% on 9000: 1360; NHIL 2.5% on 9000: 220; GETFund 2.5% on 9000: 220"
	v := s.openInvoice(invoice.Fields{Lines: repeat(20, vat(450))})
	s.asEarlierRelease(store, v, 1800)
	expect.Equal(t, rowsText(s.get(v.ID).TaxRows()), rows, "issued")
	v = must.Get(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{}))(t)
	expect.Equal(t, rowsText(v.TaxRows()), rows, "paid")
	for i, want := range []string{"Before tax 4500 VAT 15% 680 NHIL 2.5% 110 GETFund 2.5% 110", "Before tax 4500 VAT 15% 680 NHIL 2.5% 110 GETFund 2.5% 110"} {
		must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID, Amount: new(int64(54_00))}))(t)
		must.Do(t, s.Drain(t.Context()))
		h := must.Get(s.Invoices.Hosted(t.Context(), token(v)))(t)
		shown := figures(t, &h.Invoice, &h.CreditNotes[0])
		var got []string
		for _, name := range []string{"Before tax", "VAT 15%", "NHIL 2.5%", "GETFund 2.5%"} {
			got = append(got, fmt.Sprint(name, " ", shown[name]))
		}
		expect.Equal(t, strings.Join(got, " "), want, "credit note %d", i+1)
	}

	draft := s.draft(invoice.Fields{Lines: repeat(40, taxed(333, "20"))})
	s.asEarlierRelease(store, draft, 2680)
	expect.Equal(t, s.get(draft.ID).Tax, int64(2680), "the tax of a draft")
	expect.Equal(t, rowsText(s.get(draft.ID).TaxRows()), "Tax 20% on 13320: 2680", "the taxes of a draft")
	draft = must.Get(s.Invoices.Finalize(t.Context(), s.Caller, draft.ID))(t)
	expect.Equal(t, draft.Tax, int64(2664), "the tax of a draft that was finalized")
	expect.Equal(t, draft.AmountDue, int64(159_84), "what is due of it")
}

// Parts mean taxable, unless the caller says otherwise. A rate does not.
func TestPartsMeanTaxable(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	parts, silent, exempt := vat(1000), vat(1000), vat(1000)
	silent.Taxable, exempt.Taxable = nil, new(false)
	rate := taxed(1000, "20")
	rate.Taxable = nil
	expect.Equal(t, s.draft(invoice.Fields{Lines: []invoice.LineParams{parts, silent}}).Tax, int64(400), "the tax of parts")
	expect.Equal(t, s.draft(invoice.Fields{Lines: []invoice.LineParams{exempt, rate}}).Tax, int64(0), "the tax of an exempt line and of a rate alone")
}

// Page and PDF say what each tax is on, and which lines have none; the e-mail has the totals.
func TestTaxesSayWhatTheyAreOn(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{Lines: []invoice.LineParams{taxed(250_00, "20"), line(50_00)}, Email: new("ama@example.com")})
	text := drawn(t, v, nil)
	expect.True(t, strings.Contains(text, "Tax 20% on 250.00\n50.00\n"), "the document: %s", text)
	expect.Equal(t, strings.Count(text, "not taxed"), 1, "lines of the document that are not taxed")
	shown := invoice.ShownLines(v.Lines.Data)
	expect.Equal(t, shown[0].NotTaxed, false, "the lines of the page: [0].NotTaxed")
	expect.Equal(t, shown[1].NotTaxed, true, "the lines of the page: [1].NotTaxed")
	sent := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: "ama@example.com"}))(t).Data[0]
	html := must.Get(s.Messages.Get(t.Context(), s.Caller, sent.ID))(t).HTML
	expect.True(t, strings.Contains(sent.Text, "Subtotal: GHS 300.00\nTax 20% on 250.00: GHS 50.00\nTotal: GHS 350.00\n"), "the e-mail: %s", sent.Text)
	expect.True(t, strings.Contains(html, "Tax 20% on 250.00"), "the e-mail: %s", sent.Text)

	plain := s.openInvoice(invoice.Fields{Lines: []invoice.LineParams{line(50_00)}, Email: new("esi@example.com")})
	expect.True(t, !strings.Contains(drawn(t, plain, nil), "not taxed"), "an invoice without taxes speaks of them")
	sent = must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: "esi@example.com"}))(t).Data[0]
	expect.True(t, !strings.Contains(sent.Text, "Total"), "the e-mail repeats its amount: %s", sent.Text)

	v = must.Get(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{}))(t)
	must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID, Amount: new(int64(175_00))}))(t)
	must.Do(t, s.Drain(t.Context()))
	h := must.Get(s.Invoices.Hosted(t.Context(), token(v)))(t)
	text = drawn(t, &h.Invoice, &h.CreditNotes[0])
	expect.True(t, strings.Contains(text, "Before tax\n150.00\nTax 20% on 125.00\n25.00\n"), "the credit note: %s", text)
	sent = must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: "ama@example.com"}))(t).Data[0]
	expect.True(t, strings.Contains(sent.Text, "Tax 20% on 125.00: GHS 25.00"), "the e-mail of the refund: %s", sent.Text)
}
