package party

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// Merchant returns one merchant.
func (*Service) Merchant(tx storage.ReadTx, id string) (*account.Merchant, error) {
	return getMerchant(tx, id)
}

// Logo returns a merchant's picture. It opens a transaction of e.
func (s *Service) Logo(ctx context.Context, e *engine.Engine, merchant string) (*account.Logo, error) {
	return s.In(e).GetLogo(ctx, api.Caller{}, merchant)
}

// NewCustomerID makes the id of a customer who is made later; see [Service.NewCustomer].
func (*Service) NewCustomerID(tx *engine.Tx) string { return tx.NewID("cus_") }

// NewCustomer makes a customer of the caller's with that id, as [Service.CreateCustomer] does.
func (s *Service) NewCustomer(tx *engine.Tx, id string, p account.CreateCustomerParams) (*account.Customer, error) {
	made, err := newCustomer(&p)
	if err != nil {
		return nil, err
	}
	return s.insertCustomer(tx, id, *made)
}

// Customer returns one of the library's own customers. One that was deleted is resource_missing.
func (*Service) Customer(tx storage.ReadTx, scope storage.Scope, id string) (*account.Customer, error) {
	return getCustomer(tx, scope, id)
}

// HostsCustomers reports that the host keeps its own customers.
func (s *Service) HostsCustomers() bool { return s.directory != nil }

// directoryTimeout bounds one call of a host's directory of customers.
const directoryTimeout = 30 * time.Second

// FindCustomer finds a customer, and returns a function that reads it in the caller's transaction. A
// host's own directory is asked at once, outside of any transaction. Without one, the function reads the
// library's own customers. A customer that is unknown or was deleted is refused with
// resource_missing (customer).
func (s *Service) FindCustomer(ctx context.Context, caller api.Caller, id string) (func(storage.ReadTx) (*account.Customer, error), error) {
	var known *account.Customer
	if s.HostsCustomers() {
		c, err := work.CallHost(ctx, directoryTimeout, func(ctx context.Context) (*account.Customer, error) {
			return s.directory.Customer(ctx, caller, id)
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
	return func(tx storage.ReadTx) (*account.Customer, error) {
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
func (*Service) Consumer(tx storage.ReadTx, live bool, id string) (*account.Consumer, error) {
	o, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// Payer finds the consumer whose wallet pays, or refuses with account_not_found. It also returns frozen and
// suspended wallets. The caller refuses those with [account.Consumer.Usable], after the PIN.
func (*Service) Payer(tx storage.ReadTx, live bool, ref account.WalletRef) (*account.Consumer, error) {
	return findPayer(tx, live, ref)
}

// Jobs are the background work of the accounts.
func (s *Service) Jobs() []work.Job { return []work.Job{s.sealJob()} }

// PINRecord returns the id of the record that counts the entries of an account's PIN. Only tests call it. They
// stand outside this package: a test inside would make each test build recompile all packages above this one.
func (*Service) PINRecord(account string) string { return pinID(account) }

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
