package account

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/document"
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

// Logo returns a merchant's picture. It opens a transaction of e.
func (i *Internal) Logo(ctx context.Context, e *engine.Engine, merchant string) (*Logo, error) {
	return i.In(e).GetLogo(ctx, api.Caller{}, merchant)
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

// HostsCustomers reports that the host keeps its own customers.
func (i *Internal) HostsCustomers() bool { return i.svc.directory != nil }

// directoryTimeout bounds one call of a host's directory of customers.
const directoryTimeout = 30 * time.Second

// FindCustomer finds a customer, and returns a function that reads it in the caller's transaction. A
// host's own directory is asked at once, outside of any transaction. Without one, the function reads the
// library's own customers. A customer that is unknown or was deleted is refused with
// resource_missing (customer).
func (i *Internal) FindCustomer(ctx context.Context, caller api.Caller, id string) (func(storage.ReadTx) (*Customer, error), error) {
	var known *Customer
	if i.HostsCustomers() {
		c, err := work.CallHost(ctx, directoryTimeout, func(ctx context.Context) (*Customer, error) {
			return i.svc.directory.Customer(ctx, caller, id)
		})
		if err == nil && c == nil {
			err = api.NoSuch("customer")
		}
		if api.IsRefusal(err) {
			return nil, check.Under("customer", err)
		}
		if err != nil {
			return nil, work.HideText(err, "account: the host's directory of customers failed")
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

// Confirm resets the count of wrong entries, in the transaction that moves the money. It refuses if
// the PIN has changed since the comparison, or if other entries have locked it.
func (i *Internal) Confirm(tx *engine.Tx, p *Proof) error { return i.svc.confirm(tx, p) }

// Jobs are the background work of the accounts.
func (i *Internal) Jobs() []work.Job { return []work.Job{i.svc.sealJob()} }

// For the tests of this package, which are all external: with one inside, each build of the tests compiles
// all packages above this one anew.

// LayOutStatement returns the document that the statement's PDF shows.
func (*Internal) LayOutStatement(ctx context.Context, st *Statement) (*document.Document, error) {
	return st.layOut(ctx)
}

// PINRecord returns the id of the record that counts the entries of an account's PIN.
func (*Internal) PINRecord(account string) string { return pinID(account) }

// In returns the service for the transaction of a host, in which that engine works.
func (i *Internal) In(e *engine.Engine) *Service {
	in := *i.svc
	in.engine = e
	return &in
}
