// Package account knows who holds money and who may call: merchants and their
// API keys, consumers with wallets, cash agents with floats, a merchant's
// customers, service ids, PINs, and the balances of all of them.
//
// It owns those records, and the reading and checking of the ledger. It does not
// own what moves money: the nouns that do so post to the accounts named in
// internal/ledger, each in its own transaction.
//
// Merchants, consumers, agents and service ids belong to the operator; those of
// live and of test mode are strangers to each other. Only API keys and customers
// belong to a merchant.
package account

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/pin"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is whether an account may be used.
type Status string

// The statuses of consumers and cash agents. A frozen or suspended account is
// refused with wallet_not_active, a closed one does not exist any more.
const (
	Active    Status = "active"
	Frozen    Status = "frozen"
	Suspended Status = "suspended"
	Closed    Status = "closed"
)

var statuses = []string{string(Active), string(Frozen), string(Suspended), string(Closed)}

func (s Status) check() error {
	switch s {
	case Active, Frozen, Suspended, Closed:
		return nil
	}
	return api.Invalid("status", "status must be active, frozen, suspended or closed.")
}

// Config is what the service works with.
type Config struct {
	// Keys are the server's secrets. New PINs are hashed under the first; PINs of the
	// others, and of none, are accepted and hashed anew when they are entered.
	Keys [][]byte
	// Messages sends holders an SMS when their PIN is locked; nil sends none.
	Messages *message.Internal
	// Events records what happens to customers; nil records nothing.
	Events *event.Internal
	// Outer is set for a service inside a host's transaction: the service outside, which
	// this one shares its memory of API keys with.
	Outer *Internal
}

// Service keeps accounts. It is safe for concurrent use.
type Service struct {
	engine   *engine.Engine
	messages *message.Internal
	hasher   *pin.Hasher
	guard    pin.Guard
	// key keeps network addresses out of the store, and strangers from telling decoys apart.
	key    []byte
	events *event.Internal
	// sealKeys are what the seals of the ledger are made and checked with.
	sealKeys [][]byte
	// known is shared with the services inside a host's transaction.
	keys *keyCache
}

// New returns the service, and what sibling packages call on it in their transactions.
func New(e *engine.Engine, c Config) (*Service, *Internal) {
	s := &Service{
		engine: e, messages: c.Messages, events: c.Events, hasher: pin.NewHasher(c.Keys...), keys: new(keyCache),
		sealKeys: deriveSealKeys(c.Keys),
	}
	if len(c.Keys) > 0 {
		s.key = c.Keys[0]
	}
	if c.Outer != nil {
		s.keys = c.Outer.svc.keys
	}
	return s, &Internal{s}
}

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{
		merchants.Kind(), logos.Kind(), apiKeys.Kind(), consumers.Kind(), agents.Kind(),
		customers.Kind(), serviceIDs.Kind(), pins.Kind(), adjustments.Kind(),
		sealHeads.Kind(), seals.Kind(), sealProgressRecords.Kind(),
	}
}

// operator is the scope of what belongs to no merchant.
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

// parsePhone returns the kept form of a number, or "" for an empty one.
func parsePhone(param, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	number, err := phone.Parse(text)
	if err != nil {
		return "", api.Errorf(api.InvalidPhoneNumber, param, "%s is not a valid Ghana phone number. Write it as 0241234567 or +233241234567.", param).WithCause(err)
	}
	return number, nil
}
