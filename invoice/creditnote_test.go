package invoice_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// figures returns the amounts in a document, in pesewas, by the text before each.
func figures(tb testing.TB, v *invoice.Invoice, n *invoice.CreditNote) map[string]int64 {
	tb.Helper()
	plain, before, found := strings.NewReplacer(",", "", ".", "", "−", "-"), "", map[string]int64{}
	for text := range strings.Lines(drawn(tb, v, n)) {
		text = strings.TrimSuffix(text, "\n")
		if amount, err := strconv.ParseInt(plain.Replace(text), 10, 64); err == nil {
			found[before] = amount
		}
		before = text
	}
	return found
}

// However an invoice with stated figures is refunded in parts, its credit notes take back its taxes to
// the pesewa when all is refunded, and none takes back less than nothing.
func TestTaxesOfCreditNotes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := sample(t, rapid.IntRange(1, 6).Draw(rt, "lines"))
		v.Stated = &invoice.StatedFigures{Taxes: v.TaxRows()}
		sums := make([]int64, len(v.TaxRows()))
		for before := int64(0); before < v.Total; {
			n := &invoice.CreditNote{Before: before, Amount: rapid.Int64Range(1, v.Total-before).Draw(rt, "amount")}
			shown := figures(t, v, n)
			sum := int64(0)
			for i, row := range v.TaxRows() {
				tax := shown[fmt.Sprintf("%s %s%%", row.Name, row.Percent)]
				expect.True(rt, tax >= 0 && tax <= n.Amount, "of %d %d are %s", n.Amount, tax, row.Name)
				sums[i] += tax
				sum += tax
			}
			net, taxed := shown["Before tax"]
			expect.True(rt, taxed && net+sum == n.Amount || !taxed && sum == 0, "%d before taxes of %d are not %d", net, sum, n.Amount)
			before += n.Amount
		}
		for i, row := range v.TaxRows() {
			expect.True(rt, sums[i] == row.Amount, "%s: %d of %d are taken back", row.Name, sums[i], row.Amount)
		}
	})
}

func TestCreditNotePDF(t *testing.T) {
	v := sample(t, 3)
	note := &invoice.CreditNote{
		Refund: "re_1", Number: "CN-2026-000007", Invoice: v.ID, Amount: v.Total / 2,
		Reason: "Two plates were cold ɛɔŋ", CreatedAt: api.At(v.InvoiceDate.AddDate(0, 0, 9)),
	}
	data := render(t, v, note, nil)
	expect.True(t, bytes.Equal(data, render(t, v, note, nil)), "made again, the bytes differ")
	keepPDF(t, "credit-note", data)
	text := drawn(t, v, note)
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
	expect.True(t, !strings.Contains(text, "SECRET"), "too much in %s", text)
	expect.True(t, !strings.Contains(text, "Amount due"), "too much in %s", text)
}

// A document is kept, and made again once its invoice or its merchant is another. A refund changes nothing
// in the JSON of the invoice.
func TestKeptDocumentFollowsInvoice(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{})
	seen := map[string]string{}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"open", func() error { return nil }},
		{"paid", func() error {
			_, err := s.Invoices.PayFromWallet(t.Context(), s.Caller, v.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN})
			return err
		}},
		{"refunded", func() error {
			_, err := s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID, Amount: new(int64(1_00))})
			return err
		}},
		{"refunded again", func() error {
			_, err := s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: v.ID, Amount: new(int64(1_00))})
			return err
		}},
		{"of a merchant who moved", func() error {
			_, err := s.Accounts.UpdateMerchant(t.Context(), api.Caller{}, s.Caller.Merchant, account.UpdateMerchantParams{Address: new("Osu")})
			return err
		}},
	} {
		must.Do(t, step.do())
		data, _, err := s.Invoices.HostedPDF(t.Context(), token(v))
		must.Do(t, err)
		again, _, err := s.Invoices.HostedPDF(t.Context(), token(v))
		expect.NoError(t, err, "%s", step.name)
		expect.True(t, bytes.Equal(data, again), "%s: the second time it is another, %v", step.name, err)
		if other, ok := seen[string(data)]; ok {
			t.Errorf("%s is like %s", step.name, other)
		}
		seen[string(data)] = step.name
	}
}

// What was paid with credit does not come back with a refund, nor do its taxes.
func TestCreditNoteOfInvoicePaidWithCredit(t *testing.T) {
	s := newIssuer(t)
	v := &s.issue(invoicing.IssueParams{Date: s.now, PriceParams: invoicing.PriceParams{
		Lines: []invoicing.SubscriptionLine{withTax(planned(100_00), 20)}, CreditBalance: 110_00,
	}}).Invoice
	must.True(t, v.Total == 1000 && v.Tax == 2000, "total %d, tax %d", v.Total, v.Tax)
	tax := func(before, amount int64) int64 {
		return figures(t, v, &invoice.CreditNote{Before: before, Amount: amount})["Tax 20%"]
	}
	expect.Equal(t, tax(0, 1000), 167, "the tax in 10.00 of 120.00")
	expect.Equal(t, tax(0, 400)+tax(400, 600), 167, "the tax in two parts")
}

// A credit note shows taxes below zero, too.
func TestCreditNoteShowsNegativeTaxes(t *testing.T) {
	s := newIssuer(t)
	v := &s.issue(invoicing.IssueParams{Date: s.now, PriceParams: invoicing.PriceParams{
		Lines: []invoicing.SubscriptionLine{withTax(planned(-10_00), 20), planned(30_00)},
	}}).Invoice
	must.True(t, v.Total == 1800 && v.Tax == -200, "total %d, tax %d", v.Total, v.Tax)
	text := drawn(t, v, &invoice.CreditNote{Refund: "re_1", Number: "CN-2026-000007", Invoice: v.ID, Amount: 1800, CreatedAt: v.InvoiceDate})
	expect.True(t, strings.Contains(text, "Before tax\n20.00\n"), "got %s", text)
	expect.True(t, strings.Contains(text, "Tax 20%\n−2.00\n"), "got %s", text)
}
