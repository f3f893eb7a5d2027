package invoice

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/expect"
)

// The state machine, written out once more: every move that is not here is
// refused.
func TestInvoiceStates(t *testing.T) {
	allowed := map[[2]Status]bool{
		{Draft, Open}: true, {Open, Paid}: true, {Open, Void}: true, {Open, Uncollectible}: true, {Uncollectible, Void}: true,
	}
	all := []Status{Draft, Open, Paid, Void, Uncollectible}
	for _, from := range all {
		for _, to := range all {
			r := record{Invoice: Invoice{Status: from}}
			entered := r.enter(to) == nil
			expect.True(t, entered == allowed[[2]Status{from, to}], "from %s to %s: %t", from, to, entered)
			want := map[bool]Status{true: to, false: from}[entered]
			expect.True(t, r.Status == want, "from %s to %s: it is %s", from, to, r.Status)
		}
	}
}

// Every text that an invoice may carry makes a document, on whose pages all of it
// stands, and which turns no direction of writing.
func FuzzPDFText(f *testing.F) {
	for _, seed := range []string{
		"Jollof rice", "", " ", "₵ ɛ ɔ ŋ", strings.Repeat("W", 500), "a\u202eb", "\ufeff", "e\u0301\u0301\u0301", "你好 👍🏾", "(\\) Tj ET", "%PDF", "a\nb\r\nc", "\u2028", "\u00ad\u200b",
		"=1+1", "<script>", "\U0001F468\u200d\U0001F469", "\U0010FFFF", strings.Repeat("x\n", 100), "\u0085",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, description, footer string) {
		if check.Text("", description, api.MaxText) != nil || check.Text("", footer, api.MaxText) != nil {
			return // refused before it comes here
		}
		r := sample(t, 2)
		r.Livemode = true // without the mark of test mode, which stands above the body
		r.Lines.Data[0].Description, r.Footer, r.Name, r.Address = description, &footer, &description, &footer
		d := contents{invoice: &r.Invoice, merchant: merchant}
		for i, page := range laid(t, d) {
			for _, at := range page {
				if strings.ContainsAny(at.Text, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f") {
					t.Errorf("%q turns the direction of writing", at.Text)
				}
				if at.Top < document.Left-1 || at.Top > 842-20 || at.From < document.Left-1 || at.To > document.Right+1 {
					t.Errorf("page %d: %q is at %.0f–%.0f, %.0f", i+1, at.Text, at.From, at.To, at.Top)
				}
			}
		}
		data, err := render(d)
		expect.True(t, err == nil && bytes.HasPrefix(data, []byte("%PDF-")), "%d bytes, %v", len(data), err)
	})
}
