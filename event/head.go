package event

import (
	"fmt"
	"sync"

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
	// NoLegacyEvents says that every event was recorded under this head. Otherwise an earlier
	// release recorded events before it, with a head for each merchant or with none. The stored
	// name is of an earlier release.
	NoLegacyEvents bool `json:"whole,omitempty"`
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
	if !o.Value.NoLegacyEvents {
		before, err := s.legacyHeads.newest(tx)
		if err != nil {
			return nil, err
		}
		o.Value.Event = max(o.Value.Event, before)
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

// Newest returns an id that is at least that of each event of the caller's merchant and mode;
// empty when there is none. Events that are recorded later have greater ids.
func (*Internal) Newest(tx *engine.Tx) (string, error) {
	o, err := readHead(tx)
	if err != nil || o.Value.NoLegacyEvents {
		return o.Value.Event, err
	}
	before, err := newestInScope(tx)
	return max(o.Value.Event, before), err
}

// readHead returns the head, without a version if the store has none yet.
func readHead(tx *engine.Tx) (*storage.Object[head], error) {
	o, err := heads.GetOrNew(tx, storage.Scope{}, headID)
	if err != nil {
		return &storage.Object[head]{}, fmt.Errorf("event: read head: %w", err)
	}
	if o.Version > 0 {
		return o, nil
	}
	first, err := tx.Scan(events.Kind(), storage.Scope{}, "", 1)
	if err != nil {
		return o, fmt.Errorf("event: look for events before the head: %w", err)
	}
	o.Value.NoLegacyEvents = len(first) == 0
	return o, nil
}

// newestInScope returns the id of the newest event of the caller's merchant and mode.
func newestInScope(tx *engine.Tx) (string, error) {
	page, _, err := events.List(tx, storage.Query{Scope: engine.Scope(tx.Caller), Limit: 1})
	if err != nil {
		return "", fmt.Errorf("event: read newest event: %w", err)
	}
	if len(page) == 0 {
		return "", nil
	}
	return page[0].ID, nil
}

// legacyHeads remembers, for each scope, the newest event at the time when this process first
// recorded one there: the head covers later ones. newIDs reads it unless the head says that
// there are no legacy events.
type legacyHeads struct {
	mu  sync.Mutex
	ids map[storage.Scope]string
}

// maxLegacyHeads bounds how many scopes a process remembers.
const maxLegacyHeads = 10_000

func (h *legacyHeads) newest(tx *engine.Tx) (string, error) {
	scope := engine.Scope(tx.Caller)
	h.mu.Lock()
	id, ok := h.ids[scope]
	h.mu.Unlock()
	if ok {
		return id, nil
	}
	id, err := newestInScope(tx)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil || len(h.ids) >= maxLegacyHeads {
		h.ids = map[storage.Scope]string{}
	}
	h.ids[scope] = id
	return id, nil
}
