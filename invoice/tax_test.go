package invoice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/refund"
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

// An invoice with stated figures shows them, on its credit notes too. Its lines would give others.
func TestStatedFigures(t *testing.T) {
	v := invoice.Invoice{
		Subtotal: 1000, Tax: 201, Discount: 130, Total: 1071, AmountDue: 1071,
		Lines: api.List[invoice.Line]{Data: []invoice.Line{
			{Amount: 1000, Discount: 30, Taxable: true, TaxPercent: &api.Number{Decimal: decimal.NewFromInt(20)}},
		}},
		Stated: &invoice.StatedFigures{
			Taxes:            []invoice.TaxRow{{Name: "Tax", Percent: decimal.NewFromInt(20), Base: 970, Amount: 201}},
			DiscountAfterTax: 100,
		},
	}
	var rows []string
	for _, sum := range v.Sums() {
		rows = append(rows, fmt.Sprint(sum.Name, " ", sum.Amount))
	}
	expect.Same(t, rows, []string{"Subtotal 1000", "Discount -30", "Tax 20% on 9.70 201", "Discount -100", "Total 1071"}, "the sums")
	shown := figures(t, &v, &invoice.CreditNote{Before: 500, Amount: 571})
	expect.Equal(t, shown["Before tax"], 464, "a credit note: before tax") // 201 − 93.8, rounded
	expect.Equal(t, shown["Tax 20%"], 107, "a credit note: the tax")
	v.Stated = &invoice.StatedFigures{}
	expect.Equal(t, len(v.TaxRows()), 0, "rows of an invoice that states no taxes")
}

// Finalization computes the totals again, and they stay as they are.
func TestFinalizationKeepsTheTotals(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	state := func(v *invoice.Invoice) string {
		text := fmt.Sprint(v.Subtotal, v.Tax, v.TaxPercent, v.Discount, v.Total, v.AmountDue, rowsText(v.TaxRows()), v.Sums(), v.CreditUsed)
		for _, l := range v.Lines.Data {
			text += fmt.Sprint("; ", l.Amount, l.TaxPercent, l.Taxes, l.Discount, l.DiscountShare, l.Net)
		}
		return text
	}
	rapid.Check(t, func(rt *rapid.T) {
		var f invoice.Fields
		for range rapid.IntRange(1, 6).Draw(rt, "lines") {
			unit := rapid.Int64Range(0, 2000).Draw(rt, "unit")
			p := rapid.SampledFrom([]invoice.LineParams{line(unit), vat(unit), taxed(unit, "7.5"), taxed(unit, "0")}).Draw(rt, "line")
			p.Discount = rapid.Int64Range(0, unit/3).Draw(rt, "own")
			f.Lines = append(f.Lines, p)
		}
		switch rapid.IntRange(0, 2).Draw(rt, "coupon") {
		case 1:
			f.Coupon = new(s.coupon(catalog.CreateCouponParams{AmountOff: new(rapid.Int64Range(1, 3000).Draw(rt, "amount off"))}))
		case 2:
			f.Coupon = new(s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.New(rapid.Int64Range(1, 10_000).Draw(rt, "percent off"), -2))}))
		}
		v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: f}))(rt)
		room := v.Subtotal
		for _, l := range v.Lines.Data {
			room -= l.Discount
		}
		v = must.Get(s.Invoices.Update(t.Context(), s.Caller, v.ID, invoice.Fields{Discount: new(rapid.Int64Range(0, room).Draw(rt, "off"))}))(rt)
		want := state(v)
		expect.Equal(rt, state(s.get(v.ID)), want, "as it is stored")
		v = must.Get(s.Invoices.Finalize(t.Context(), s.Caller, v.ID))(rt)
		expect.Equal(rt, state(v), want, "finalized")
		expect.Equal(rt, state(s.get(v.ID)), want, "finalized, as it is stored")
	})

	sub := newIssuer(t) // a line of a subscription's change, in a copy of its invoice
	p := invoicing.IssueParams{Date: sub.now}
	p.Lines = []invoicing.SubscriptionLine{withTax(planned(1000), 20), withTax(net(300), 20)}
	v := must.Get(sub.Duplicate(t.Context(), sub.caller, sub.issue(p).ID))(t)
	v = must.Get(sub.Update(t.Context(), sub.caller, v.ID, invoice.Fields{Discount: new(int64(100))}))(t)
	want := state(v)
	v = must.Get(sub.Finalize(t.Context(), sub.caller, v.ID))(t)
	expect.Equal(t, state(v), want, "a copy of a subscription's invoice, finalized")
	expect.Equal(t, v.Lines.Data[1].Net, true, "its second line: Net")
	expect.Equal(t, v.Lines.Data[1].DiscountShare, 0, "its second line: share of the discount")
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
