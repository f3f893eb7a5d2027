package invoice

import "github.com/seed-7082ffec/payments/api"

// CreditNote is the document of a successful refund of an invoice. The invoice itself does not
// change.
type CreditNote struct {
	Refund  string `json:"refund"` // the refund's id, re_…, and the note's own
	Number  string `json:"number"` // CN-<year>-<6 digits>
	Invoice string `json:"invoice"`
	// Amount is in pesewas. Before is the sum of the invoice's earlier credit notes, in pesewas.
	Amount    int64    `json:"amount"`
	Before    int64    `json:"before"`
	Reason    string   `json:"reason,omitempty"`
	CreatedAt api.Time `json:"created_at"`
	// Taxes are what the note takes back of the invoice's taxes. They are nil if the invoice has none, or
	// has [Invoice.Stated].
	Taxes []TaxRow `json:"taxes,omitempty"`
}

// Address returns the URL of the note's PDF. The URL needs no key.
func (n *CreditNote) Address(v *Invoice) string { return v.HostedURL + "/credit_notes/" + n.Refund }
