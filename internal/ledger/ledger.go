// Package ledger is the chart of ledger accounts: it names every account that a
// posting of this library touches, and says which of them are guarded against
// going below zero. What the postings mean is the business of the packages that
// make them.
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

// Move returns a leg of a posting: pesewas into the account, or, negative, out
// of it.
func (a Account) Move(pesewas int64) storage.Move {
	return storage.Move{Account: a.Name, Guarded: a.Guarded, Amount: pesewas}
}

// Available is the merchant's money that may be spent.
func Available(merchant string, live bool) Account {
	return Account{mode(live) + "/merchant/" + merchant + "/available", true}
}

// Reserved is the merchant's money that is promised to transfers under way.
func Reserved(merchant string, live bool) Account {
	return Account{mode(live) + "/merchant/" + merchant + "/reserved", true}
}

// Wallet is a consumer's money.
func Wallet(consumer string, live bool) Account {
	return Account{mode(live) + "/wallet/" + consumer, true}
}

// Float is a cash agent's money.
func Float(agent string, live bool) Account {
	return Account{mode(live) + "/float/" + agent, true}
}

// Fees is what the operator has earned.
func Fees(live bool) Account {
	return Account{mode(live) + "/operator/fees", false}
}

// Clearing stands for the world outside: what came in through it is negative
// here. It may go below zero.
func Clearing(name string, live bool) Account {
	return Account{mode(live) + "/clearing/" + name, false}
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
