package checkout

import (
	"github.com/seed-7082ffec/payments/api"
)

// Confirming is a phone that waits for its code.
type Confirming struct {
	// PhoneNumber is masked.
	PhoneNumber string
	// ExpiresAt is the end of the code's life.
	ExpiresAt api.Time
}
