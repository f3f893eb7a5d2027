package event

import (
	"context"
	"errors"
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
	const atATime = 256
	one := func(tx *engine.Tx, r *storage.Object[record]) error {
		if r.Value.Told {
			if err := forget(tx, r.ID); err != nil {
				return err
			}
			return events.Delete(tx, r)
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
		return events.Replace(tx, r)
	}
	group := engine.NewGroup(atATime, func(members []*storage.Object[record]) error {
		return s.engine.Update(context.Background(), api.Caller{}, func(tx *engine.Tx) error {
			for _, o := range members {
				tx, err := tx.For(callerOf(&o.Value.Event, o.Scope))
				if err != nil {
					return err
				}
				r := *o // a run that is undone leaves the claimed version as it is
				if err := one(tx, &r); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return due.Job{
		Kind: events.Kind(), Lease: time.Minute, Batch: atATime,
		Do: func(ctx context.Context, claimed storage.Record) error {
			o, err := events.Decode(claimed)
			if err != nil {
				return err
			}
			err = group.Do(o)
			said := due.Outcome{Name: "fanned_out", RequestID: callerOf(&o.Value.Event, o.Scope).RequestID, Level: slog.LevelDebug}
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
