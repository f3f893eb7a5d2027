package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// A process leases the records that it works on for LeaseDuration, and renews the lease every
// renewEvery. If the process dies or loses its database, another takes over the work when the
// lease ends, and not before.
const (
	LeaseDuration = 15 * time.Second
	renewEvery    = 5 * time.Second
)

// LeaseRenewer renews the leases of records while a process works on them. The caller has
// written the leases just before Start.
type LeaseRenewer struct {
	store   storage.Store
	clock   func() time.Time
	kind    *storage.Kind
	records []storage.Record // only scope, id and version are used

	mu    sync.Mutex
	timer *time.Timer // nil before Start
	ended bool
	stop  context.CancelFunc // of the renewal under way
}

// NewLeaseRenewer returns a renewer of the leases of records.
func NewLeaseRenewer(store storage.Store, clock func() time.Time, k *storage.Kind, records ...storage.Record) *LeaseRenewer {
	return &LeaseRenewer{store: store, clock: clock, kind: k, records: records}
}

// Start renews until Stop, or until other writers have changed all records.
func (h *LeaseRenewer) Start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.timer = time.AfterFunc(renewEvery, h.renew) // most work ends before the first renewal
	}
}

// Stop ends the renewals. It does not wait for one that is under way.
func (h *LeaseRenewer) Stop() {
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

func (h *LeaseRenewer) renew() {
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
		until := h.clock().Add(LeaseDuration)
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
	if err == nil { // after an error the next renewal may still be in time
		h.records = left
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended && len(h.records) > 0 {
		h.timer.Reset(renewEvery)
	}
}
