package party

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

// queueDeparture queues the cancellation of a deleted customer's subscriptions. It wakes a worker only in a
// host's transaction. Otherwise leaveNow does the work, and after a crash a worker's poll finds it.
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
		if err := s.engine.Runner.RunNow(ctx, pii.Departures.Kind(), scope, id, nil); err != nil {
			s.engine.Runner.Wake(pii.Departures.Kind(), scope, time.Time{})
		}
	}
}
