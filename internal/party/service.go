// Package party keeps merchants with their API keys and customers, consumers with wallets, cash
// agents with floats, service ids, PINs, and all balances: it implements [account.Service].
//
// It reads, checks and seals the ledger. The only bookings that it starts are those of [Service.Deposit] and
// [Service.Adjust]. The packages that move other money book it themselves, with [Service.Credit] and
// [Service.Take] where these apply.
package party

import (
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/pin"
	"github.com/seed-7082ffec/payments/storage"
)

var statuses = []account.Status{account.Active, account.Frozen, account.Suspended, account.Closed}

func checkStatus(s account.Status) error {
	switch s {
	case account.Active, account.Frozen, account.Suspended, account.Closed:
		return nil
	}
	return api.Invalid("status", "status must be active, frozen, suspended or closed.")
}

// Config holds the service's settings and the packages that it calls.
type Config struct {
	// Messages sends holders an SMS when their PIN is locked; nil sends none.
	Messages *messaging.Service
	// Events records changes of customers; nil records nothing.
	Events *recording.Service
	// Customers is the host's record of customers; the library's own when nil.
	Customers account.CustomerDirectory
}

// Service implements [account.Service].
type Service struct {
	engine   *engine.Engine
	messages *messaging.Service
	// directory is the host's record of customers, or nil.
	directory account.CustomerDirectory
	hasher    *pin.Hasher
	guard     *pin.Guard
	// digestKey makes the digests of network addresses and the names of decoys, which strangers must
	// not be able to compute.
	digestKey []byte
	events    *recording.Service
	// sealKeys authenticate the seals of the ledger.
	sealKeys [][]byte
	// adjusted is called for each adjustment; nil for none. See [Service.OnAdjust].
	adjusted func(*engine.Tx, *account.Adjustment, int64) error
	keyCache *keyCache
}

var _ account.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	s := &Service{
		engine: e, messages: c.Messages, events: c.Events, directory: c.Customers, hasher: pin.NewHasher(e.ServerKeys...), keyCache: new(keyCache), guard: new(pin.Guard),
		sealKeys: deriveSealKeys(e.ServerKeys),
	}
	if len(e.ServerKeys) > 0 {
		s.digestKey = e.ServerKeys[0]
	}
	return s
}

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{
		merchants.Kind(), logos.Kind(), apiKeys.Kind(), consumers.Kind(), agents.Kind(),
		customers.Kind(), serviceIDs.Kind(), pins.Kind(), adjustments.Kind(),
		sealHeads.Kind(), seals.Kind(), sealProgressRecords.Kind(),
	}
}

// operator is the scope of records that belong to no merchant.
func operator(live bool) storage.Scope { return storage.Scope{Live: live} }

// operatorOnly refuses a caller with a Merchant: the call belongs to the operator, and so
// does its idempotency key.
func operatorOnly(caller api.Caller) error {
	if caller.Merchant != "" {
		return api.Errorf(api.PermissionDenied, "", "Only the operator may do this: a caller without Merchant.")
	}
	return nil
}

func checkName(name string) error {
	if name == "" {
		return api.Missing("name")
	}
	return check.Text("name", name, api.MaxName)
}
