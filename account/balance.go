package account

import (
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// Balance is a merchant's money, in GHS.
type Balance struct {
	Object string `json:"object"` // always "balance"
	// Available may be spent. Reserved belongs to transfers under way and is not part of
	// Available.
	Available api.GHS `json:"available"`
	Reserved  api.GHS `json:"reserved"`
	// Owed is what the merchant owes: payments that the provider took back when Available did not cover
	// them. Whatever would add to Available pays it first, so Available is 0 until then. The JSON has
	// it only if it is not 0.
	Owed     api.GHS `json:"owed,omitzero"`
	Currency string  `json:"currency"`
}

// Entry is one change of a merchant's available balance.
type Entry struct {
	ID     string `json:"id"`     // txn_…
	Object string `json:"object"` // always "balance_entry"
	// Type is the kind of movement: payment, refund, payout, disbursement, deposit, adjustment or
	// debt_netted. debt_netted paid what the merchant owed; see [Balance]. With _released after it,
	// reserved money has come back. With _reversed, the provider took money back.
	Type string `json:"type"`
	// Source is the id of the object that caused the entry. For a deposit it is DepositParams.Ref.
	Source string `json:"source"`
	// Amount is in GHS, positive when money came in. Balance is the available balance after the
	// entry.
	Amount    api.GHS  `json:"amount"`
	Balance   api.GHS  `json:"balance"`
	Currency  string   `json:"currency"`
	CreatedAt api.Time `json:"created_at"`
}

// DepositParams describes money that comes into the system from outside.
type DepositParams struct {
	// To is a consumer's (acc_…), cash agent's (cag_…) or merchant's (mer_…) id.
	To string
	// Amount is in GHS, more than zero.
	Amount decimal.Decimal
	// Source names the origin of the money, such as "bank". It is required: at most 40 lower-case
	// letters and underscores. The ledger debits the clearing account with this name.
	Source string
	// Ref is the operator's own reference, at most 100 characters. A merchant sees it as the Source of
	// the [Entry].
	Ref string
}

// ListEntriesParams selects changes of the balance; zero values select all.
type ListEntriesParams struct {
	api.Page
	// Created limits the list to a period. Each entry is in exactly one of several adjoining
	// periods. See [Statements.Statement].
	Created api.Times `param:"created"`
	// Type and Source select the entries that have them; see [Entry]. The service compares entry by
	// entry, so a period makes the search for rare entries faster.
	Type   string `param:"type"`
	Source string `param:"source"`
}
