package api

// Caller says on whose behalf a service method runs. Every object belongs to
// one merchant and one mode; what belongs to another does not exist for the
// caller.
//
// The services trust it: whoever fills it in has authenticated the merchant,
// as package httpapi does with API keys.
type Caller struct {
	// Merchant is the merchant's id (mer_…).
	Merchant string
	// Live is true for live mode, false for test mode.
	Live bool
	// RequestID (req_…) is kept with the events that the call causes. Optional.
	RequestID string
	// IdempotencyKey makes a mutating call safe to repeat: a call with the same
	// key and the same parameters returns the first call's result for 30 days and
	// does nothing. 1 to 255 printable ASCII characters; empty for none.
	IdempotencyKey string
	// Replayed, where not nil, is set to true when the result is that of an
	// earlier call with the same key.
	Replayed *bool
	// Permissions are those of the caller's API key; nil allows everything. Services ask
	// them about what a call shows or writes beside its own noun, as an event shows its
	// object. Whether the call itself is allowed was decided before.
	Permissions Permissions
}

// Permissions say what a caller may do.
type Permissions interface {
	// Allows reports whether the caller may read, or change, a resource, named as in
	// [Resources].
	Allows(resource string, write bool) bool
}

// MarkReplayed records that the result is an earlier call's.
func (c Caller) MarkReplayed() {
	if c.Replayed != nil {
		*c.Replayed = true
	}
}
