package api

import (
	"time"

	"github.com/seed-7082ffec/payments/internal/phone"
)

// DayTotals are the totals of the objects that were created on one day and have ended.
type DayTotals struct {
	// Day is its midnight in Accra, which is UTC.
	Day time.Time
	// Totals are those that are not zero, by network and outcome.
	Totals []Total
}

// Total is a number of objects and their amounts.
type Total struct {
	Network string // one of Networks
	Outcome Outcome
	Count   int64
	Amount  int64 // pesewas
}

// Outcome is how something ended.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted Outcome = "completed"
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
)

// These names of networks occur only in totals, beside mtn, telecel and airteltigo.
const (
	WalletNetwork = "wallet" // wallets of this library, and agents' floats
	OtherNetwork  = "other"  // banks, and what a host's own charger takes
)

// Networks are the networks by which totals are kept, in the order in which to show them.
func Networks() []string {
	return append(phone.Networks(), WalletNetwork, OtherNetwork)
}

// Sum adds up the totals of a day with that network and outcome; an empty one matches all.
func (d *DayTotals) Sum(network string, o Outcome) (count, amount int64) {
	for _, t := range d.Totals {
		if (network == "" || t.Network == network) && (o == "" || t.Outcome == o) {
			count += t.Count
			amount += t.Amount
		}
	}
	return count, amount
}

// MoneyFlow says where the money of a mode is held, and to whom it is owed. Both sides have the same sum; a
// difference means that the ledger is damaged. account.Service.MoneyFlow has the names of the items.
type MoneyFlow struct {
	Held, OwedTo []FlowItem
	// Complete says that every account was read. If it is false, the sides are empty.
	Complete bool
}

// FlowItem is an amount on one side of a flow.
type FlowItem struct {
	Name   string
	Amount int64 // pesewas; below zero where more went out than came in
}
