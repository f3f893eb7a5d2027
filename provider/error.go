package provider

import "strconv"

// Class says in one word why a call of a provider has brought no answer.
type Class string

// The classes. Any other error of a host's rail or charger is ClassOther.
const (
	ClassUnauthorized Class = "unauthorized" // the provider does not accept the keys, or the address of this server
	ClassUnreachable  Class = "unreachable"  // no connection, a broken one, or an error of the provider's servers
	ClassTimeout      Class = "timeout"      // no answer in time
	ClassThrottled    Class = "throttled"    // too many calls
	// ClassRefused means that the provider refused the request. That decides nothing about the order.
	ClassRefused    Class = "refused"
	ClassUnreadable Class = "unreadable" // the answer has another form than documented, or is about another order
	// ClassAmountMismatch means that the provider reports another amount or currency than the order's.
	// The library lists the order as contradicted at once.
	ClassAmountMismatch Class = "amount_mismatch"
	ClassOther          Class = "other"
)

// Error says why a call of a [Rail] or a [Charger] has failed, in words that may be logged. It quotes
// nothing that the provider has said. The library writes the class to its log and keeps it with the
// order. Its Observer and payments.Health count it. An error that wraps an Error counts as that.
type Error struct {
	// Route is the name of the provider, as in [Order]; empty if it has none. The order's own comes first.
	Route string
	Class Class
	// Amount is what the provider reports instead of the order's amount, in pesewas, for
	// ClassAmountMismatch. It is 0 if that is unknown, or of another currency.
	Amount int64
}

// Error implements error.
func (e *Error) Error() string {
	text := "provider"
	if e.Route != "" {
		text += " " + e.Route
	}
	text += ": " + string(e.Class)
	if e.Amount != 0 {
		text += ": " + strconv.FormatInt(e.Amount, 10) + " pesewas"
	}
	return text
}
