package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/storage"
)

// DeleteCustomer removes a customer and the person's data: name, e-mail, phone number, address
// and metadata. The record is gone when the call returns. The background work that the call
// queues removes the copies, normally at once, and also after a crash.
//
// Payments of the customer from a phone, and their refunds, lose the number and the e-mail; those
// under way lose them when they end. A later refund gives the provider the id of the charge, but
// not the phone number.
//
// Copies are in snapshots of events, in answers stored under idempotency keys, in draft invoices of the
// customer and their documents, in answers of webhook endpoints, and in queued messages. That includes
// drafts from which an update has removed the customer's id, and messages that test mode keeps. A
// message about another customer at the same address stays. A duplicate of an invoice has no data of a
// deleted customer. Issued invoices (open, paid, void or uncollectible) and their documents keep the
// data, because the law of Ghana requires it. They still name the customer's id, which no longer leads
// to a record.
//
// When a merchant sends an issued invoice again, or is paid for it, the message still goes to the
// address on it. The store drops such a message once it is sent, in test mode after
// payments.Config.MessageRetention.
//
// The library cannot recognise the person in free text. It leaves descriptions, memos, footers
// and the metadata of invoices as they are, and cannot recall messages that were sent. The host
// erases backups, and space that a database has freed but not overwritten.
//
// The subscriptions of the customer are cancelled before the call returns. In a host's transaction a
// worker does it after the commit.
//
// Refusals: resource_missing, also for a customer that was deleted before.
func (s *Service) DeleteCustomer(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	op := engine.Operation{Name: "customer.delete", Params: id}
	deleted, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*api.Deleted, error) {
		o, err := engine.GetTx(tx, customers, engine.Scope(caller), id, "customer")
		if err != nil {
			return nil, err
		}
		if err := engine.Delete(tx, customers, o); err != nil {
			return nil, fmt.Errorf("account: delete customer: %w", err)
		}
		if err := s.forget(tx, id); err != nil {
			return nil, err
		}
		deleted := &api.Deleted{ID: id, Object: "customer", Deleted: true}
		return deleted, s.record(tx, deleted, event.CustomerDeleted)
	})
	if err != nil {
		return nil, err
	}
	s.leaveNow(ctx, caller, id)
	return deleted, nil
}

// ForgetCustomer is DeleteCustomer for hosts with a [CustomerDirectory]: it removes the copies of
// the data of a customer whom the host has deleted. It refuses one of the library's own customers
// with parameter_invalid. An id without copies is no error. It may be called again.
func (s *Service) ForgetCustomer(ctx context.Context, caller api.Caller, id string) error {
	if id == "" {
		return api.Missing("id")
	}
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		_, err := customers.Get(tx, engine.Scope(caller), id)
		if err == nil {
			return api.Invalid("id", "This customer is one of the library's own. Delete it instead.")
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("account: read customer: %w", err)
		}
		return s.forget(tx, id)
	})
	if err == nil {
		s.leaveNow(ctx, caller, id)
	}
	return err
}

// forget queues the end of a customer's subscriptions, and the work on the copies of the customer's data.
func (s *Service) forget(tx *engine.Tx, id string) error {
	erasure := pii.Erasure{Request: tx.Caller.RequestID, IdempotencyKey: tx.Caller.IdempotencyKey, Due: api.AtOrNil(tx.Now)}
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
	return s.queueDeparture(tx, id)
}

// queueDeparture queues the end of a deleted customer's subscriptions. It wakes a worker only in a host's
// transaction: the call runs the work itself, and a worker's poll finds what a crash has left.
func (s *Service) queueDeparture(tx *engine.Tx, id string) error {
	o, err := pii.Departures.GetOrNew(tx, engine.Scope(tx.Caller), id)
	if err == nil {
		o.Value = pii.Departure{Request: tx.Caller.RequestID, IdempotencyKey: tx.Caller.IdempotencyKey, Due: api.At(tx.Now)}
		err = pii.Departures.Put(tx, o)
	}
	if err != nil {
		return fmt.Errorf("account: queue departure: %w", err)
	}
	if s.engine.Host != nil {
		tx.WakeAfterCommit(pii.Departures.Kind())
	}
	return nil
}

// leaveNow runs the work on a departure, outside of a host's transaction. If it fails, the runner logs it
// and a worker repeats it.
func (s *Service) leaveNow(ctx context.Context, caller api.Caller, id string) {
	if s.engine.Host == nil {
		scope := engine.Scope(caller)
		if err := s.engine.Runner.RunNow(ctx, pii.Departures.Kind(), scope, id, storage.Record{Scope: scope, ID: id}); err != nil {
			s.engine.Runner.Wake(pii.Departures.Kind(), scope, time.Time{})
		}
	}
}
