package due

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// What a process works on is leased to it for Lease, and that is renewed every
// renewEvery: another process takes the work over soon after this one has died, or has
// lost its database, and not before.
const (
	Lease      = 15 * time.Second
	renewEvery = 5 * time.Second
)

// Hold renews the leases of records for as long as a process works on them. Between the
// leases, which whoever begins has written, and Begin there is no more than a moment.
type Hold struct {
	store   storage.Store
	clock   func() time.Time
	kind    *storage.Kind
	records []storage.Record // of which scope, id and version count

	mu    sync.Mutex
	timer *time.Timer // nil before Begin
	ended bool
	stop  context.CancelFunc // of the renewal under way
}

// NewHold returns a hold, which Begin begins.
func NewHold(store storage.Store, clock func() time.Time, k *storage.Kind, records ...storage.Record) *Hold {
	return &Hold{store: store, clock: clock, kind: k, records: records}
}

// Begin begins to renew, until End, or until all records were written by others.
func (h *Hold) Begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.timer = time.AfterFunc(renewEvery, h.renew) // most work is over before
	}
}

// End ends the renewing. It does not wait for one that is under way.
func (h *Hold) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	if h.timer != nil {
		h.timer.Stop()
	}
	if h.stop != nil {
		h.stop()
	}
}

func (h *Hold) renew() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	h.mu.Lock()
	h.stop = stop
	ended := h.ended
	h.mu.Unlock()
	if ended {
		return
	}
	var left []storage.Record
	err := h.store.Update(ctx, func(tx storage.Tx) error {
		left = nil
		until := h.clock().Add(Lease)
		for _, r := range h.records {
			err := tx.Lease(h.kind, r.Scope, r.ID, r.Version, until)
			switch {
			case err == nil:
				left = append(left, r)
			case !errors.Is(err, storage.ErrConflict) && !errors.Is(err, storage.ErrNotFound):
				return err
			}
		}
		return nil
	})
	if err == nil { // else the database may be back in time
		h.records = left
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended && len(h.records) > 0 {
		h.timer.Reset(renewEvery)
	}
}
