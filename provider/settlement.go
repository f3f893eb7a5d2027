package provider

import "time"

// SettlementParams describes money that has moved between a provider and the operator's bank account.
type SettlementParams struct {
	// Route is the provider's name, as in [Order]; empty for a provider without a name.
	Route string
	// Reference is the provider's own reference for the settlement, at most 100 characters. One
	// reference of a provider is recorded once.
	Reference string
	// Amount is what the bank account has got, in pesewas. It is negative for what the operator has paid
	// in, for the provider to pay out. It is not 0.
	Amount int64
	// Fee is what the provider has kept of it, in pesewas; 0 if nothing.
	Fee int64
}

// Settlement is a recorded settlement.
type Settlement struct {
	SettlementParams
	// Posting is the id of the posting that books it, at RecordedAt: no posting is dated back, so the
	// position of an earlier day is without it.
	Posting    string
	RecordedAt time.Time
}

// PositionParams selects the position at one provider.
type PositionParams struct {
	// Route is the provider's name, as in [Order]; empty for a provider without a name.
	Route string
	// From and Until bound the period: a day, for example. A zero From is the beginning of the books,
	// and a zero Until is now.
	From, Until time.Time
	// Reported is what the provider says lay with it at Until, in pesewas: all of it, also what
	// transfers cannot be taken from. If Reported is nil and Until is zero, Position asks a live
	// provider that is a [Balancer] and tells what it holds. It does not ask in a host's transaction.
	Reported *int64
	// Rows are the provider's statement of the period; nil for none. Outcomes is as in [ReconcileParams].
	Rows     RowReader
	Outcomes map[string]Outcome
}

// Position is how much of the operator's money lies with a provider, by the books and as the provider
// says. All amounts are in pesewas.
type Position struct {
	Route string
	Until time.Time
	// Booked is what the provider has taken in, less what it has paid out, kept as fees and settled.
	Booked int64
	// Reported is what the provider says; nil if it does not say. Difference is Reported - Booked.
	Reported   *int64
	Difference int64
	// Lines are the orders and settlements of the period on which books and statement disagree, by
	// reference. Unexplained is Difference less what Lines explain. It is 0 if Rows or Reported is
	// missing.
	Lines       []PositionLine
	Unexplained int64
}

// PositionLine is an order or a settlement by which books and statement differ: because one of them
// does not have it, or has another amount, outcome or fee.
//
// Three differences are normal. An order in progress may be only in the statement. Each side may have
// another day for an order that ended near midnight. A transfer that was taken back may differ on
// the day on which the library booked that, if the statement of that day has no row for it.
type PositionLine struct {
	Reference string
	// Booked and Reported are what it has added to the money with the provider, in pesewas; negative for
	// what has left.
	Booked, Reported int64
	// Unknown says that the row is no order of the library and has no Flow. Reported is the amount of the
	// row. If that money moved, Unexplained still contains it.
	Unknown bool
}
