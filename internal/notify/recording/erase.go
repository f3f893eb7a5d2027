package recording

import (
	"bytes"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/storage"
)

// EraseCustomer takes the personal data of a customer out of the snapshots of some of the
// events that hold it. It returns the ids of those, and whether there are more. Workers still
// fan these events out.
func (*Service) EraseCustomer(tx *engine.Tx, customer string) (changed []string, more bool, err error) {
	page, more, err := events.List(tx, storage.Query{
		Scope: engine.Scope(tx.Caller), Where: engine.Where(nil, "person", customer), Limit: api.MaxLimit,
	})
	if err != nil {
		return nil, false, fmt.Errorf("event: list for erasure: %w", err)
	}
	for _, o := range page {
		if o.Value.Data.Object, err = pii.Redact(o.Value.Data.Object); err != nil {
			return nil, false, err
		}
		o.Value.StoredPerson = ""
		if err := events.Replace(tx, o); err != nil {
			return nil, false, fmt.Errorf("event: redact: %w", err)
		}
		if o.Value.Due != nil {
			tx.WakeAfterCommit(events.Kind()) // a process that leased it has lost the lease
		}
		changed = append(changed, o.ID)
	}
	return changed, more, nil
}

// EraseObjects takes the personal data of objects out of the snapshots of events. It returns
// all events about these objects, also those that an earlier run has changed.
func (s *Service) EraseObjects(ctx context.Context, in engine.Within, ids map[string]bool) (about map[string]storage.Scope, err error) {
	about = map[string]storage.Scope{}
	err = engine.Rewrite(ctx, s.engine, events, in, func(o *storage.Object[record]) (bool, error) {
		kept, is, err := pii.RedactObject(o.Value.Data.Object, ids)
		if err != nil || !is {
			return false, err
		}
		about[o.ID] = o.Scope
		changed := !bytes.Equal(kept, o.Value.Data.Object)
		o.Value.Data.Object = kept
		return changed, nil
	})
	return about, err
}
