package account

import (
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Key is an API key of a merchant. The store keeps only a hash of the secret.
type Key struct {
	ID     string `json:"id"`     // key_…
	Object string `json:"object"` // always "api_key"
	Name   string `json:"name"`
	// Secret is set only on the key that CreateKey and RollKey return.
	Secret string `json:"secret,omitempty"`
	// Hint is the beginning and the end of the secret, so that people recognise the key.
	Hint     string `json:"hint"`
	Livemode bool   `json:"livemode"`
	// ReadOnly keys cannot change anything.
	ReadOnly bool `json:"read_only"`
	// Resources limits the key to some of [api.Resources], such as "qr_codes". Nil allows all, an
	// empty list nothing.
	Resources []string  `json:"resources,omitzero"`
	CreatedAt api.Time  `json:"created_at"`
	LastUsed  *api.Time `json:"last_used,omitempty"` // exact to the hour
	// ExpiresAt is the time when the key ends, by a revocation or at the end of a roll's overlap.
	ExpiresAt *api.Time `json:"expires_at,omitempty"`
}

// CreateKeyParams describe a new key. The zero value makes a key without limits.
type CreateKeyParams struct {
	Name     string
	ReadOnly bool
	// Resources limits the key to some of [api.Resources]. Nil allows all, an empty list nothing.
	Resources []string
}

// Access holds the rights of a valid key.
type Access struct {
	Merchant  string
	Live      bool
	ReadOnly  bool
	Resources []string
}

// Allows reports whether the key may read, or change, a resource such as "qr_codes".
func (a Access) Allows(resource string, write bool) bool {
	if write && a.ReadOnly {
		return false
	}
	return a.Resources == nil || slices.Contains(a.Resources, resource)
}

// RollKeyParams describe the roll of a key.
type RollKeyParams struct {
	// Overlap is the time for which the old key still works; zero ends it at once.
	Overlap time.Duration `json:"overlap"`
}
