package account

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// Internal holds the methods that sibling packages call in their own transactions. Only package
// payments has one, so a host cannot call it.
type Internal struct{ svc *Service }

// Merchant returns one merchant.
func (*Internal) Merchant(tx storage.ReadTx, id string) (*Merchant, error) {
	return getMerchant(tx, id)
}

// Logo returns a merchant's picture. It opens its own transaction.
func (i *Internal) Logo(ctx context.Context, merchant string) (*Logo, error) {
	return i.svc.GetLogo(ctx, api.Caller{}, merchant)
}

// NewCustomerID makes the id of a customer who is made later; see [Internal.NewCustomer].
func (*Internal) NewCustomerID(tx *engine.Tx) string { return tx.NewID("cus_") }

// NewCustomer makes a customer of the caller's with that id, as [Service.CreateCustomer] does.
func (i *Internal) NewCustomer(tx *engine.Tx, id string, p CreateCustomerParams) (*Customer, error) {
	made, err := p.customer()
	if err != nil {
		return nil, err
	}
	return i.svc.insertCustomer(tx, id, *made)
}

// Customer returns one of the library's own customers. One that was deleted is resource_missing.
func (*Internal) Customer(tx storage.ReadTx, scope storage.Scope, id string) (*Customer, error) {
	return getCustomer(tx, scope, id)
}

// FindCustomer finds a customer, and returns a function that reads it in the caller's transaction. With
// a directory, FindCustomer asks it at once, outside of any transaction. With nil, the function reads
// the library's own customers. A customer that is unknown or was deleted is refused with
// resource_missing (customer).
func (i *Internal) FindCustomer(ctx context.Context, caller api.Caller, directory CustomerDirectory, id string) (func(storage.ReadTx) (*Customer, error), error) {
	var known *Customer
	if directory != nil {
		c, err := directory.Customer(ctx, caller, id)
		if err == nil && c == nil {
			err = api.NoSuch("customer")
		}
		if err != nil {
			return nil, check.Under("customer", err)
		}
		known = c
	}
	return func(tx storage.ReadTx) (*Customer, error) {
		c := known
		if c == nil {
			var err error
			if c, err = getCustomer(tx, engine.Scope(caller), id); err != nil {
				return nil, check.Under("customer", err)
			}
		}
		// A host may have been asked just before it deleted the customer.
		deleted, err := pii.Deleted(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, fmt.Errorf("account: customer: %w", err)
		}
		if deleted {
			return nil, api.NoSuch("customer").Under("customer")
		}
		return c, nil
	}, nil
}

// ConsumerExists refuses an id without a consumer, with account_not_found for the parameter
// account_id. It accepts any status.
func (*Internal) ConsumerExists(tx storage.ReadTx, live bool, id string) error {
	return consumerExists(tx, live, id)
}

// Consumer returns one consumer of a mode, in any status. An unknown id is resource_missing.
func (*Internal) Consumer(tx storage.ReadTx, live bool, id string) (*Consumer, error) {
	o, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// Payer finds the consumer whose wallet pays, or refuses with account_not_found. It also finds
// frozen wallets: [Consumer.Usable] tells the payer the status after the PIN.
func (*Internal) Payer(tx storage.ReadTx, live bool, ref WalletRef) (*Consumer, error) {
	return findPayer(tx, live, ref)
}

// Recipient finds the account that a payout or disbursement pays. It uses the service id if
// given, else the account id, else the phone number. For a phone number it prefers a consumer to
// a cash agent.
//
// Refusals: invalid_service_id, service_id_not_found, service_id_not_payable,
// subagent_not_payable, invalid_phone_number, account_not_found, wallet_not_active, and
// parameter_missing when ref is empty. Their parameters are service_id, account_id and
// phone_number.
func (*Internal) Recipient(tx storage.ReadTx, live bool, ref WalletRef) (*Recipient, error) {
	return findRecipient(tx, live, ref)
}

// PayingAccount finds the account whose wallet pays, for [PINEntry.Account]. A phone number or a
// service id without an open wallet gives an account whose PIN is always wrong, so that strangers
// cannot find out which numbers have a wallet. An unknown account id is refused with
// account_not_found, because strangers cannot guess one.
func (i *Internal) PayingAccount(tx storage.ReadTx, live bool, ref WalletRef) (string, error) {
	return i.svc.payingAccount(tx, live, ref)
}

// WithPIN counts a try, compares the PIN outside of any transaction, and, when it is right, runs
// the effect, whose transaction must call [Internal.Confirm]. A wrong PIN is pin_invalid. While
// the PIN is locked, every entry is pin_locked. A right PIN never counts as a failed try, even if
// the effect is refused.
//
// Five wrong entries in a day lock the PIN. The first lock lasts 15 minutes, the next an hour, then 6
// and 24 hours; the fifth lasts until [Service.UnlockPIN] or [Service.SetPIN]. A right entry resets the
// count. The holder gets an SMS at each lock. In test mode the lock affects only the merchant whose
// entries were wrong, and runs by that merchant's clock.
//
// Each process compares one PIN of an account at a time.
func (i *Internal) WithPIN(ctx context.Context, caller api.Caller, e PINEntry, effect func(*Proof) error) error {
	return i.svc.withPIN(ctx, caller, e, effect)
}

// Confirm resets the count of wrong entries, in the transaction that moves the money. It refuses if
// the PIN has changed since the comparison, or if other entries have locked it.
func (i *Internal) Confirm(tx *engine.Tx, p *Proof) error { return i.svc.confirm(tx, p) }

// Prepare inserts the record of the worker that seals the ledger.
func (i *Internal) Prepare(ctx context.Context) error { return i.svc.prepareSealer(ctx) }

// Unsealed returns a time before which every entry has a seal, or nil for an empty ledger. It
// takes two reads for a ledger of any size.
func (*Internal) Unsealed(tx storage.ReadTx) (*api.Time, error) { return unsealedSince(tx) }

// Jobs are the background work of the accounts.
func (i *Internal) Jobs() []work.Job { return []work.Job{i.svc.sealJob()} }
