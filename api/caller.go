package api

// Caller says for which merchant and mode a service method runs. A caller cannot see objects of
// another merchant or mode; they are resource_missing.
//
// The services trust it. The host must authenticate the merchant before it fills in a Caller, as
// package httpapi does with API keys.
//
// Beside the refusals that a method names, any method may refuse an id that the caller cannot see
// (resource_missing). It may also refuse an idempotency key: one that another call used
// (idempotency_key_reused), one whose first call still runs (idempotency_key_in_use), and one of
// another form (idempotency_key_invalid).
type Caller struct {
	// Merchant is the id of the merchant (mer_…) for whom the call acts. Leave it empty only for
	// methods that say "only the operator may call it" or "over all merchants". Any other call that
	// records an event refuses an empty Merchant with resource_missing, and a payment from a phone also
	// refuses an unknown one.
	Merchant string
	// Live is true for live mode, false for test mode.
	Live bool
	// RequestID (req_…) is stored with the events that the call causes. Optional.
	RequestID string
	// IdempotencyKey makes a mutating call safe to repeat: a call with the same key and parameters
	// does nothing and returns the result of the first call that succeeded. This holds for 30 days or
	// longer; see payments.Config. It holds for every method that changes something, unless the method
	// says otherwise. The key has 1 to 255 printable ASCII characters; empty means none.
	//
	// A call that returned an error has left no result, so a repeated call runs again. For example,
	// Invoices.Pay then makes another charge.
	IdempotencyKey string
	// If Replayed is not nil, the library sets it to true when it returns an earlier call's result.
	Replayed *bool
	// Permissions are those of the caller's API key; nil allows everything. A service checks them only
	// for other resources than its own. A parameter may name such a resource, for example a customer,
	// and an answer may hold one, for example the object in an event. The host, or package httpapi,
	// checks the permission for the call itself before the call.
	Permissions Permissions
}

// Permissions say what a caller may do.
type Permissions interface {
	// Allows reports whether the caller may read, or change, a resource, named as in
	// [Resources].
	Allows(resource string, write bool) bool
}

// MarkReplayed sets *Replayed to true, if Replayed is not nil.
func (c Caller) MarkReplayed() {
	if c.Replayed != nil {
		*c.Replayed = true
	}
}
