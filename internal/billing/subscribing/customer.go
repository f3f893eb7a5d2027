package subscribing

import (
	"context"
	"errors"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// customerReader reads a customer in a transaction. It never asks a host's directory: findCustomer has done so
// before the transaction.
type customerReader = func(storage.ReadTx) (*account.Customer, error)

// findCustomer returns the reader of a customer. It asks a host's directory at once, so the caller is outside of
// any transaction. If the directory fails, the reader fails with that error. So a transaction that does not need
// the customer passes while the directory is down.
func (s *Service) findCustomer(ctx context.Context, caller api.Caller, id string) customerReader {
	readCustomer, err := s.config.Accounts.FindCustomer(ctx, caller, id)
	if err != nil {
		return func(storage.ReadTx) (*account.Customer, error) { return nil, err }
	}
	return readCustomer
}

// deletedCustomer is the customerReader of a customer who was deleted.
func deletedCustomer(storage.ReadTx) (*account.Customer, error) { return nil, api.NoSuch("customer") }

// unneededCustomer is the customerReader of a transaction that needs no customer.
func unneededCustomer(storage.ReadTx) (*account.Customer, error) {
	return nil, errors.New("subscription: a customer is needed that was not read")
}
