package account

import "github.com/seed-7082ffec/payments/api"

// Statement reports the changes of a merchant's available balance in a period, in GHS. Opening
// plus Credits less Debits is Closing, exactly. The figures come from the ledger.
// [Statements.StatementCSV], [Statements.StatementPDF] and, for the same period, [Statements.ListEntries] give the
// entries themselves.
type Statement struct {
	Object string `json:"object"` // always "balance_statement"
	// From is the start of the period. Until is its end, and not part of it. Each is nil where
	// the period is open.
	From     *api.Time `json:"from"`
	Until    *api.Time `json:"until"`
	Opening  api.GHS   `json:"opening_balance"`
	Credits  api.GHS   `json:"credits"` // money in
	Debits   api.GHS   `json:"debits"`  // money out, as a positive amount
	Closing  api.GHS   `json:"closing_balance"`
	Entries  int64     `json:"entries"` // the number of entries
	Currency string    `json:"currency"`
	Livemode bool      `json:"livemode"`

	// Merchant is the id of the merchant. First is the number of the first entry among all of the merchant's, and
	// TakenAt when the statement was taken. StatementCSV and StatementPDF read the same entries by them.
	Merchant string   `json:"-"`
	First    int64    `json:"-"`
	TakenAt  api.Time `json:"-"`
}
