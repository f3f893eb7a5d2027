package event

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// FanOut is the job that hands each event somebody waits for to tell, once, in a
// transaction: tell writes down who is to be told, and returns how many they are.
// Events whose retention has ended are removed by it, after forget has removed what
// was written down of their telling.
func (s *Service) FanOut(
	tell func(tx *engine.Tx, e *Event) (waiting int, err error), forget func(tx *engine.Tx, id string) error,
) due.Job {
	const atATime = 64
	return due.Job{
		Kind: events.Kind(), Lease: time.Minute, Batch: atATime,
		Do: func(ctx context.Context, claimed storage.Record) error {
			o, err := events.Decode(claimed)
			if err != nil {
				return err
			}
			caller := callerOf(&o.Value.Event, o.Scope)
			err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
				r := *o // a run that is undone leaves the claimed version as it is
				if r.Value.Told {
					if err := forget(tx, r.ID); err != nil {
						return err
					}
					return events.Delete(tx, &r)
				}
				waiting, err := tell(tx, &r.Value.Event)
				if err != nil {
					return err
				}
				if err := s.subscribersTx(tx, &r.Value.Event); err != nil {
					return err
				}
				r.Value.PendingWebhooks = waiting
				s.told(&r.Value)
				return events.Replace(tx, &r)
			})
			said := due.Outcome{Name: "fanned_out", RequestID: caller.RequestID, Level: slog.LevelDebug}
			if o.Value.Told {
				said.Name = "forgotten"
			}
			due.Report(ctx, said)
			if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
				return nil // another worker took it over, and tells
			}
			return err
		},
	}
}

// callerOf stands for the merchant whose event it is, and for the call that
// caused it.
func callerOf(e *Event, scope storage.Scope) api.Caller {
	caller := api.Caller{Merchant: scope.Merchant, Live: scope.Live}
	if e.Request.ID != nil {
		caller.RequestID = *e.Request.ID
	}
	if e.Request.IdempotencyKey != nil {
		caller.IdempotencyKey = *e.Request.IdempotencyKey
	}
	return caller
}

// GetTx returns one event in a transaction.
func (s *Service) GetTx(tx storage.ReadTx, scope storage.Scope, id string) (*Event, error) {
	o, err := engine.GetTx(tx, events, scope, id, "event")
	if err != nil {
		return nil, err
	}
	return &o.Value.Event, nil
}

// ToldTx counts that so many more, or, negative, fewer are still to be told.
func (s *Service) ToldTx(tx *engine.Tx, id string, change int) error {
	o, err := events.Get(tx, tx.Caller.Scope(), id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("event: read: %w", err)
	}
	o.Value.PendingWebhooks = max(0, o.Value.PendingWebhooks+change)
	if err := events.Replace(tx, o); err != nil {
		return fmt.Errorf("event: count: %w", err)
	}
	return nil
}
