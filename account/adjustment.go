package account

import (
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// Adjustment is a change of a merchant's balance that an operator made by hand. It names the
// operator and the reason. It is never changed or removed; another adjustment corrects a wrong
// one.
type Adjustment struct {
	ID     string `json:"id"`     // adj_…
	Object string `json:"object"` // always "balance_adjustment"
	// Amount is in GHS, negative when it took money away.
	Amount   api.GHS `json:"amount"`
	Currency string  `json:"currency"`
	Reason   string  `json:"reason"`
	Actor    string  `json:"actor"`
	// Reference is the operator's own, such as a ticket number; may be empty.
	Reference string   `json:"reference"`
	Livemode  bool     `json:"livemode"`
	CreatedAt api.Time `json:"created_at"`
}

// AdjustParams describes an adjustment.
type AdjustParams struct {
	// Amount is in GHS, not zero: positive tops the balance up, negative takes from
	// it.
	Amount decimal.Decimal `json:"amount"`
	// Reason and Actor are required. Reason says why, in at most 500 characters. Actor is the
	// name or account of the operator who decided, in at most 255.
	Reason string `json:"reason"`
	Actor  string `json:"actor"`
	// Reference is the operator's own, at most 100 characters. The id of a payment from a phone that has ended says
	// that the adjustment books what became of it, after its provider contradicted itself. Then the payment's page
	// says so to the payer, and an SMS tells payer and merchant of one that was booked as paid.
	Reference string `json:"reference,omitempty"`
}
