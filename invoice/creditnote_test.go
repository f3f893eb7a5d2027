package invoice

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// However an invoice is refunded in parts, its credit notes take back its taxes to
// the pesewa when all is refunded, and none takes back less than nothing.
func TestTaxesOfCreditNotes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := &sample(t, rapid.IntRange(1, 6).Draw(rt, "lines")).Invoice
		sums := make([]int64, len(v.TaxRows()))
		for before := int64(0); before < v.Total; {
			n := CreditNote{Before: before, Amount: rapid.Int64Range(1, v.Total-before).Draw(rt, "amount")}
			rows, sum := n.taxes(v)
			for i, row := range rows {
				expect.True(rt, row.Amount >= 0 && row.Amount <= n.Amount, "of %d %d are %s", n.Amount, row.Amount, row.Name)
				sums[i] += row.Amount
				sum -= row.Amount
			}
			expect.True(rt, sum == 0, "the rows do not add up: %d", sum)
			before += n.Amount
		}
		for i, row := range v.TaxRows() {
			expect.True(rt, sums[i] == row.Amount, "%s: %d of %d are taken back", row.Name, sums[i], row.Amount)
		}
	})
}

func TestCreditNotePDF(t *testing.T) {
	r := sample(t, 3)
	note := &CreditNote{
		Refund: "re_1", Number: "CN-2026-000007", Invoice: r.ID, Amount: r.Total / 2,
		Reason: "Two plates were cold ɛɔŋ", CreatedAt: api.At(r.InvoiceDate.AddDate(0, 0, 9)),
	}
	d := contents{invoice: &r.Invoice, merchant: merchant, creditNote: note}
	data := must.Get(render(d))(t)
	again := must.Get(render(d))(t)
	expect.True(t, bytes.Equal(data, again), "made again, the bytes differ")
	keepPDF(t, "credit-note", data)
	text := drawn(t, d)
	expect.True(t, !strings.Contains(text, "Pay online"), "there is something to pay")
	if pdftotext, err := exec.LookPath("pdftotext"); err == nil {
		command := exec.Command(pdftotext, "-layout", "-", "-")
		command.Stdin = bytes.NewReader(data)
		out := must.Get(command.Output())(t)
		text += string(out)
		expect.True(t, strings.Contains(text, "page 1 of 1"), "no number of the page in %s", text)
	}
	for _, want := range []string{
		"Credit note", "CN-2026-000007", "INV-2026-000042", "15 March 2026", "Akosua Agyemang", "re_1",
		"Two plates were cold ɛɔŋ", "Before tax", "VAT 15%", "Refunded",
	} {
		expect.True(t, strings.Contains(text, want), "no %q in %s", want, text)
	}
	expect.True(t, !strings.Contains(text, "SECRET") && !strings.Contains(text, "Amount due"), "too much in %s", text)
	of := must.Get(d.digest())(t)
	note.Amount++
	changed := must.Get(d.digest())(t)
	expect.True(t, !bytes.Equal(of, changed), "another note has the same digest")
}

// What the JSON does not tell changes the document all the same.
func TestDigestCoversDocumentContents(t *testing.T) {
	r := sample(t, 1)
	d := contents{invoice: &r.Invoice, merchant: merchant}
	seen := map[string]string{}
	for _, what := range []struct {
		name   string
		change func()
	}{
		{"as it is", func() {}},
		{"paid outside", func() { r.PaidOutOfBand = new("") }},
		{"in cash", func() { r.PaidOutOfBand = new("cash") }},
		{"refunded", func() { r.AmountRefunded = 1 }},
	} {
		what.change()
		of := must.Get(d.digest())(t)
		if other, ok := seen[string(of)]; ok {
			t.Errorf("%s is like %s", what.name, other)
		}
		seen[string(of)] = what.name
	}
}

// Of ten that come together two run at a time, and who cannot wait is told so.
func TestRenderLimiterBoundsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := make(renderLimiter, 2)
		start := time.Now()
		ended := make(chan time.Duration, 10)
		for range 10 {
			go func() {
				err := p.run(t.Context(), func() error {
					time.Sleep(time.Second)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				ended <- time.Since(start)
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		err := p.run(ctx, func() error {
			t.Error("it ran beside two others")
			return nil
		})
		expect.True(t, errors.Is(err, context.DeadlineExceeded), "got %v", err)
		last := time.Duration(0)
		for range 10 {
			last = max(last, <-ended)
		}
		expect.Equal(t, last, 5*time.Second, "the last of ten ended after %s, want 5 s", last)
		func() {
			defer func() { _ = recover() }()
			_ = p.run(t.Context(), func() error { panic("a broken picture") })
		}()
		expect.Equal(t, len(p), 0, "%d places are kept", len(p))
	})
}

// priced returns a paid invoice of a subscription.
func priced(t *testing.T, p PriceParams) *record {
	t.Helper()
	s, r := &Service{engine: &engine.Engine{}}, sample(t, 1)
	must.Get(s.price(r, &p))(t)
	s.fillDerived(r)
	return r
}

// What was paid with credit does not come back with a refund, nor do its taxes.
func TestCreditNoteOfInvoicePaidWithCredit(t *testing.T) {
	gold := SubscriptionLine{Description: "Gold", Quantity: 1, UnitAmount: 10000, Taxable: true, TaxPercent: new(decimal.NewFromInt(20))}
	v := &priced(t, PriceParams{Lines: []SubscriptionLine{gold}, CreditBalance: 11000}).Invoice
	must.True(t, v.Total == 1000 && v.Tax == 2000, "total %d, tax %d", v.Total, v.Tax)
	_, tax := (&CreditNote{Amount: 1000}).taxes(v)
	expect.Equal(t, tax, 167, "the tax in 10.00 of 120.00")
	_, first := (&CreditNote{Amount: 400}).taxes(v)
	_, second := (&CreditNote{Before: 400, Amount: 600}).taxes(v)
	expect.Equal(t, first+second, 167, "the tax in two parts")
}

// A credit note shows taxes below zero, too.
func TestCreditNoteShowsNegativeTaxes(t *testing.T) {
	unused := SubscriptionLine{Description: "Unused time on Gold", Quantity: 1, UnitAmount: -1000, Taxable: true, TaxPercent: new(decimal.NewFromInt(20))}
	r := priced(t, PriceParams{Lines: []SubscriptionLine{unused, {Description: "Untaxed", Quantity: 1, UnitAmount: 3000}}})
	must.True(t, r.Total == 1800 && r.Tax == -200, "total %d, tax %d", r.Total, r.Tax)
	note := &CreditNote{Refund: "re_1", Number: "CN-2026-000007", Invoice: r.ID, Amount: 1800, CreatedAt: r.InvoiceDate}
	text := drawn(t, contents{invoice: &r.Invoice, merchant: merchant, creditNote: note})
	expect.True(t, strings.Contains(text, "Before tax\n20.00\n") && strings.Contains(text, "Tax 20%\n−2.00\n"), "got %s", text)
}
