package event

import (
	"fmt"
	"sync"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// head is the newest event of all merchants and modes. It is written with every event, so
// that two transactions that record events are never committed both without one having
// read the head of the other: the ids of events ascend in the order of their commits,
// although each process makes them by its own clock.
//
// There is one for all, since the SQL stores commit many transactions at once: then they
// write one row, where a head for each merchant is a row for nearly every event.
type head struct {
	Event string `json:"event"`
	// CoversAll says that the head is as old as the first event. Otherwise an earlier
	// release, with a head for each merchant or none, recorded events before it.
	CoversAll bool `json:"whole,omitempty"`
}

var heads = storage.NewCollection[head]("event_heads", nil)

// headID is the id of the head, which is in no merchant's scope.
const headID = "head"

// newIDs returns the ids of n events that the caller's transaction is about to write.
func (s *Service) newIDs(tx *engine.Tx, n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	o, err := headOf(tx)
	if err != nil {
		return nil, err
	}
	if !o.Value.CoversAll {
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

// Newest returns an id that no event of the caller's merchant and mode is beyond; empty
// when there is none. Events that are recorded later have greater ids.
func (*Internal) Newest(tx *engine.Tx) (string, error) {
	o, err := headOf(tx)
	if err != nil || o.Value.CoversAll {
		return o.Value.Event, err
	}
	before, err := newestOf(tx)
	return max(o.Value.Event, before), err
}

// headOf returns the head, without a version if it is not there yet.
func headOf(tx *engine.Tx) (*storage.Object[head], error) {
	o, err := heads.GetOrNew(tx, storage.Scope{}, headID)
	if err != nil {
		return &storage.Object[head]{}, fmt.Errorf("event: read head: %w", err)
	}
	if o.Version > 0 {
		return o, nil
	}
	if scanner, ok := tx.Tx.(storage.Scanner); ok {
		first, err := scanner.Scan(events.Kind(), storage.Scope{}, "", 1)
		if err != nil {
			return o, fmt.Errorf("event: look for events before the head: %w", err)
		}
		o.Value.CoversAll = len(first) == 0
	}
	return o, nil
}

// newestOf returns the id of the newest event of the caller's scope.
func newestOf(tx *engine.Tx) (string, error) {
	page, _, err := events.List(tx, storage.Query{Scope: engine.Scope(tx.Caller), Limit: 1})
	if err != nil {
		return "", fmt.Errorf("event: read newest event: %w", err)
	}
	if len(page) == 0 {
		return "", nil
	}
	return page[0].ID, nil
}

// legacyHeads remembers the newest event of a scope when this process first recorded one
// there: the head covers later ones. newIDs asks it while the head does not cover all.
type legacyHeads struct {
	mu  sync.Mutex
	ids map[storage.Scope]string
}

// maxLegacyHeads bounds how many scopes are remembered.
const maxLegacyHeads = 10_000

func (o *legacyHeads) newest(tx *engine.Tx) (string, error) {
	scope := engine.Scope(tx.Caller)
	o.mu.Lock()
	id, ok := o.ids[scope]
	o.mu.Unlock()
	if ok {
		return id, nil
	}
	id, err := newestOf(tx)
	if err != nil {
		return "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil || len(o.ids) >= maxLegacyHeads {
		o.ids = map[storage.Scope]string{}
	}
	o.ids[scope] = id
	return id, nil
}
