package event

import (
	"fmt"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// head is the newest event of a merchant in a mode. It is written with every event, so
// that two transactions that record events of one merchant are never committed both
// without one having read the head of the other: the ids of events ascend in the order of
// their commits, although each process makes them by its own clock.
type head struct {
	Event string `json:"event"`
}

var heads = storage.NewCollection[head]("event_heads", nil)

// headID is the id of the one head in a scope.
const headID = "head"

// newIDs returns the ids of n events that the caller's transaction is about to write.
func newIDs(tx *engine.Tx, n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	o, err := headOf(tx)
	if err != nil {
		return nil, fmt.Errorf("event: read head: %w", err)
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

// NewestTx returns the id of the newest event of the caller's merchant and mode; empty
// when there is none. Events that are recorded later have greater ids.
func NewestTx(tx *engine.Tx) (string, error) {
	o, err := headOf(tx)
	if err != nil {
		return "", fmt.Errorf("event: read head: %w", err)
	}
	return o.Value.Event, nil
}

// headOf returns the head of the caller's scope, without a version if it is not there
// yet. There may be events of a release that kept none.
func headOf(tx *engine.Tx) (*storage.Object[head], error) {
	scope := tx.Caller.Scope()
	o, err := heads.GetOrNew(tx, scope, headID)
	if err != nil || o.Version > 0 {
		return o, err
	}
	page, _, err := events.List(tx, storage.Query{Scope: scope, Limit: 1})
	if len(page) > 0 {
		o.Value.Event = page[0].ID
	}
	return o, err
}
