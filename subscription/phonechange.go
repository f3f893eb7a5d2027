package subscription

import "github.com/seed-7082ffec/payments/api"

// PhoneChange is a new phone that waits for its confirmation.
type PhoneChange struct {
	// PhoneNumber is masked.
	PhoneNumber string
	// ExpiresAt is the end of the code's life.
	ExpiresAt api.Time
}

// StartPhoneChangeParams name the new phone.
type StartPhoneChangeParams struct {
	PhoneNumber string
	// From is the network address of a customer on a public page; empty for any other call.
	From string
}
