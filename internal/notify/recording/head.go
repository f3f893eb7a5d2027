package recording

import (
	"fmt"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// head is the newest event of all merchants and modes. Every transaction that records events
// reads and writes it. So the ids of events ascend in the order of their commits, although
// each process makes them by its own clock.
//
// There is one head for all merchants, since the SQL stores commit many transactions at once.
// They then write one row. A head for each merchant would be a row for nearly every event.
type head struct {
	Event string `json:"event"`
}

var heads = storage.NewCollection[head]("event_heads", nil)

// headID is the id of the head, which is in the scope of no merchant.
const headID = "head"

// newIDs returns the ids of n events that the caller's transaction is about to write.
func (s *Service) newIDs(tx *engine.Tx, n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	o, err := readHead(tx)
	if err != nil {
		return nil, err
	}
	made := make([]string, n)
	for i := range made {
		made[i] = ids.Following(tx.NewID("evt_"), o.Value.Event)
		o.Value.Event = made[i]
	}
	if err := heads.Put(tx, o); err != nil {
		return nil, fmt.Errorf("event: write head: %w", err)
	}
	return made, nil
}

// Newest returns an id that no event's id exceeds so far; empty if there are no events. Events recorded later
// have greater ids.
func (*Service) Newest(tx *engine.Tx) (string, error) {
	o, err := readHead(tx)
	return o.Value.Event, err
}

// readHead returns the head, without a version if the store has none yet.
func readHead(tx *engine.Tx) (*storage.Object[head], error) {
	o, err := heads.GetOrNew(tx, storage.Scope{}, headID)
	if err != nil {
		return &storage.Object[head]{}, fmt.Errorf("event: read head: %w", err)
	}
	return o, nil
}
