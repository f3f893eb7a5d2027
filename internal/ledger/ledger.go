// Package ledger is the chart of ledger accounts. It names every account of the library's
// postings, and says which of them may not go below zero. The packages that make postings define
// their meaning.
package ledger

import (
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// Account is one account of the ledger.
type Account struct {
	Name    string
	Guarded bool
}

// Move returns a leg of a posting. A positive amount goes into the account, a negative one comes
// out of it.
func (a Account) Move(pesewas int64) storage.Move {
	return storage.Move{Account: a.Name, Guarded: a.Guarded, Amount: pesewas}
}

// Available is the money that the merchant may spend.
func Available(merchant string, live bool) Account {
	return Account{mode(live) + "/merchant/" + merchant + "/available", true}
}

// Reserved is the merchant's money for transfers and refunds under way.
func Reserved(merchant string, live bool) Account {
	return Account{mode(live) + "/merchant/" + merchant + "/reserved", true}
}

// Owed is what the merchant owes the operator, below zero: the part of payments that a provider took
// back which the available balance did not cover. Later receipts bring it back to zero.
func Owed(merchant string, live bool) Account {
	return Account{mode(live) + "/merchant/" + merchant + "/owed", false}
}

// Wallet is a consumer's money.
func Wallet(consumer string, live bool) Account {
	return Account{mode(live) + "/wallet/" + consumer, true}
}

// Float is a cash agent's money.
func Float(agent string, live bool) Account {
	return Account{mode(live) + "/float/" + agent, true}
}

// Fees is the operator's income from fees.
func Fees(live bool) Account {
	return Account{mode(live) + "/operator/fees", false}
}

// Excess is money of top-ups that wallets could not take, until the provider has given it back.
func Excess(live bool) Account {
	return Account{mode(live) + "/operator/excess", true}
}

// Clearing stands for the world outside. Money that comes in makes its balance smaller, and money
// that goes out makes it larger. It may go below zero.
func Clearing(name string, live bool) Account {
	return Account{mode(live) + "/clearing/" + name, false}
}

// Provider stands for a named provider: what it holds of the operator's money, below zero. Money that
// comes in makes the balance smaller, and money that goes out makes it larger.
func Provider(route string, live bool) Account {
	return Account{mode(live) + "/provider/" + route, false}
}

// ProviderFees is the operator's cost of its providers, below zero.
func ProviderFees(live bool) Account {
	return Account{mode(live) + "/operator/provider_fees", false}
}

// Bank is the operator's bank account, to which providers pay what they hold. It is below zero while
// the operator has got more than it has paid in.
func Bank(live bool) Account {
	return Account{mode(live) + "/operator/bank", false}
}

func mode(live bool) string {
	if live {
		return "live"
	}
	return "test"
}

// Of returns the account that holds the money of a consumer (acc_…), a cash agent (cag_…)
// or a merchant (mer_…). It is the zero Account for any other id.
func Of(id string, live bool) Account {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "acc":
		return Wallet(id, live)
	case "cag":
		return Float(id, live)
	case "mer":
		return Available(id, live)
	}
	return Account{}
}
