package event

import (
	"bytes"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/personal"
	"github.com/seed-7082ffec/payments/storage"
)

// Erase takes the personal data of a customer out of the snapshots of the events
// that tell of it. The events stay, and are still told to whoever waits for them.
func (s *Service) Erase(ctx context.Context, caller api.Caller, customer string) error {
	for more := true; more; {
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			page, further, err := events.List(tx, storage.Query{
				Scope: caller.Scope(), Where: api.Where(nil, "person", customer), Limit: api.MaxLimit,
			})
			if err != nil {
				return fmt.Errorf("event: list for erasure: %w", err)
			}
			more = further
			for _, o := range page {
				if o.Value.Data.Object, err = personal.Redact(o.Value.Data.Object); err != nil {
					return err
				}
				o.Value.Person = ""
				if err := events.Replace(tx, o); err != nil {
					return fmt.Errorf("event: redact: %w", err)
				}
				if o.Value.Due != nil {
					tx.Due(events.Kind()) // whoever held it has lost it
				}
				if s.Erased == nil {
					continue
				}
				if err := s.Erased(tx, o.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EraseObjects takes the personal data of objects out of the snapshots of events.
func (s *Service) EraseObjects(ctx context.Context, in engine.Within, ids map[string]bool) error {
	// Also the events that an earlier run has changed, which may have ended before it called Erased.
	about := map[string]storage.Scope{}
	err := engine.Rewrite(ctx, s.engine, events, in, func(o *storage.Object[record]) (bool, error) {
		kept, is, err := personal.RedactObject(o.Value.Data.Object, ids)
		if err != nil || !is {
			return false, err
		}
		about[o.ID] = o.Scope
		changed := !bytes.Equal(kept, o.Value.Data.Object)
		o.Value.Data.Object = kept
		return changed, nil
	})
	for id, scope := range about {
		if err != nil || s.Erased == nil {
			break
		}
		err = s.engine.Update(ctx, api.Caller{Merchant: scope.Merchant, Live: scope.Live}, func(tx *engine.Tx) error {
			return s.Erased(tx, id)
		})
	}
	return err
}
