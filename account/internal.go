package account

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// Internal is what sibling packages call in their own transactions. Only package payments
// has one, so a host cannot call it.
type Internal struct{ svc *Service }

// Merchant returns one merchant.
func (*Internal) Merchant(tx storage.ReadTx, id string) (*Merchant, error) {
	return getMerchant(tx, id)
}

// Logo returns a merchant's picture, which it reads in a transaction of its own.
func (i *Internal) Logo(ctx context.Context, merchant string) (*Logo, error) {
	return i.svc.GetLogo(ctx, api.Caller{}, merchant)
}

// Customer returns one customer of a scope.
func (*Internal) Customer(tx storage.ReadTx, scope storage.Scope, id string) (*Customer, error) {
	return getCustomer(tx, scope, id)
}

// ConsumerExists refuses an id that is not a consumer's with account_not_found of the
// parameter account_id. The status of the consumer does not matter.
func (*Internal) ConsumerExists(tx storage.ReadTx, live bool, id string) error {
	return consumerExists(tx, live, id)
}

// Payer finds the consumer whose wallet pays, or refuses with account_not_found. It also
// finds frozen wallets: the payer learns the status after the PIN, see [Consumer.Usable].
func (*Internal) Payer(tx storage.ReadTx, live bool, ref WalletRef) (*Consumer, error) {
	return findPayer(tx, live, ref)
}

// Recipient finds the account that a payout or disbursement pays. A service id goes before
// an account id, and that before a phone number, with which a consumer goes before a cash
// agent.
//
// Refusals: invalid_service_id, service_id_not_found, service_id_not_payable,
// subagent_not_payable, invalid_phone_number, account_not_found, wallet_not_active, and
// parameter_missing when ref is empty. Their params are the names service_id, account_id
// and phone_number.
func (*Internal) Recipient(tx storage.ReadTx, live bool, ref WalletRef) (*Recipient, error) {
	return findRecipient(tx, live, ref)
}

// PayingAccount finds the account whose wallet pays, for [PINEntry.Account]. A phone number
// or a service id without an open wallet gives an account whose PIN is always wrong, so
// that strangers do not learn who has a wallet. An account id, which cannot be guessed, is
// refused with account_not_found.
func (i *Internal) PayingAccount(tx storage.ReadTx, live bool, ref WalletRef) (string, error) {
	return i.svc.payingAccount(tx, live, ref)
}

// WithPIN counts a try, compares the PIN outside of any transaction, and, when it is right,
// runs the effect, whose transaction must call [Internal.Confirm]. A wrong PIN is
// pin_invalid; while the PIN is locked every entry is pin_locked. A right PIN is no failed
// try, even if the effect is refused.
//
// Five wrong entries in a day lock the PIN, for 15 minutes, an hour, 6 hours, 24 hours,
// and then until [Service.UnlockPIN] or [Service.SetPIN]. A right entry starts anew. The
// holder gets an SMS at each lock. In test mode a PIN is locked only for the merchant
// whose entries were wrong, by that merchant's clock.
//
// This process compares the tries for one account one at a time.
func (i *Internal) WithPIN(ctx context.Context, caller api.Caller, e PINEntry, effect func(*Proof) error) error {
	return i.svc.withPIN(ctx, caller, e, effect)
}

// Confirm gives the try back, in the transaction of the effect. It refuses if the PIN was
// changed since it was compared, or locked by other entries.
func (i *Internal) Confirm(tx *engine.Tx, p *Proof) error { return i.svc.confirm(tx, p) }

// Prepare makes room for the worker that seals the ledger.
func (i *Internal) Prepare(ctx context.Context) error { return i.svc.prepareSealer(ctx) }

// Unsealed returns a time before which every entry has a seal; nil if the ledger is empty.
// It takes two reads, however large the ledger.
func (*Internal) Unsealed(tx storage.ReadTx) (*api.Time, error) { return unsealedSince(tx) }

// Jobs are the background work of the accounts.
func (i *Internal) Jobs() []work.Job { return []work.Job{i.svc.sealJob()} }
