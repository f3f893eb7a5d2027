package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/storage"
)

// DeleteCustomer removes a customer, and with it the person's data: name, e-mail,
// phone number, address and metadata. The record is gone when it returns; copies
// are gone when the background work that it queues has been done, at once as a
// rule, and after any crash.
//
// Copies are the snapshots of events, the answers that are kept under idempotency
// keys, draft invoices of the customer with their documents, also those from which the
// customer was taken off, what endpoints answered to webhooks about them, and messages
// about the customer that wait or, in test mode, are kept. A message to the same address
// about somebody else stays. A duplicate of an invoice has nothing of a deleted customer.
// Afterwards the data is kept in one place alone, where the law of Ghana wants it kept: in
// issued invoices (open, paid, void or uncollectible) and their documents, which stay as
// they are. An invoice still names the customer's id, which then leads nowhere.
//
// A merchant who sends an issued invoice again, or is paid for it, still writes to
// the address on it; such a message leaves the store when it is sent, in test mode
// after 30 days.
//
// What nobody can know to be about the person stays: words in descriptions, memos
// and footers, in the metadata of invoices, and what was sent out already. Backups, and
// space that a database has freed and not yet written over, are the host's.
//
// Refusals: resource_missing, also for one that was deleted before.
func (s *Service) DeleteCustomer(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	op := engine.Operation{Name: "customer.delete", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*api.Deleted, error) {
		o, err := engine.GetTx(tx, customers, engine.Scope(caller), id, "customer")
		if err != nil {
			return nil, err
		}
		if err := customers.Delete(tx, o); err != nil {
			return nil, fmt.Errorf("account: delete customer: %w", err)
		}
		if err := forget(tx, id); err != nil {
			return nil, err
		}
		deleted := &api.Deleted{ID: id, Object: "customer", Deleted: true}
		return deleted, s.record(tx, deleted, event.CustomerDeleted)
	})
}

// ForgetCustomer is DeleteCustomer for hosts with records of their own, see
// [Customers]: it removes the copies of the data of a customer whom the host has
// deleted. A customer of the library's own is refused with parameter_invalid; an id
// of which there are no copies is fine. It may be called again.
func (s *Service) ForgetCustomer(ctx context.Context, caller api.Caller, id string) error {
	if id == "" {
		return api.Missing("id")
	}
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		_, err := customers.Get(tx, engine.Scope(caller), id)
		if err == nil {
			return api.Invalid("id", "This customer is one of the library's own. Delete it instead.")
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("account: read customer: %w", err)
		}
		return forget(tx, id)
	})
}

// forget queues the work on the copies of a customer's data.
func forget(tx *engine.Tx, id string) error {
	erasure := pii.Erasure{Request: tx.Caller.RequestID, Key: tx.Caller.IdempotencyKey, Due: api.AtOrNil(tx.Now)}
	scope := engine.Scope(tx.Caller)
	o, err := pii.Erasures.GetOrNew(tx, scope, id)
	if err == nil {
		o.Value = erasure
		err = pii.Erasures.Put(tx, o)
	}
	if err != nil {
		return fmt.Errorf("account: queue erasure: %w", err)
	}
	tx.WakeAfterCommit(pii.Erasures.Kind())
	return nil
}
