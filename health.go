package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// HealthLimit is how far Health counts. A count that has reached it means that
// many, or more.
const HealthLimit = 10_000

// Health is how the service is doing, for a readiness probe and for alarms.
type Health struct {
	At api.Time `json:"at"`
	// Running says that the background work runs in this process.
	Running bool `json:"running"`
	// Queues are all kinds of background work, in no certain order.
	Queues []Queue `json:"queues"`
	// OldestDue is the longest past due time of all queues; nil when nothing is due.
	OldestDue *api.Time `json:"oldest_due"`
	// StuckLive and StuckTest count the transfers to mobile money and banks, the refunds
	// and the charges of invoices that have been on their way for longer than StuckAfter
	// of the configuration, or that the provider contradicted; List of Providers lists them.
	StuckLive int `json:"stuck_live"`
	StuckTest int `json:"stuck_test"`
	// OldestUnsealed is the time from which on entries of the ledger may be without a
	// seal: each that was booked before has one. It is when the last pass over all
	// accounts began that has sealed everything, so in an idle ledger it stands still
	// for some minutes, too; nil when nothing was ever booked.
	OldestUnsealed *api.Time `json:"oldest_unsealed"`
}

// Queue is one kind of background work.
type Queue struct {
	Name string `json:"name"`
	// Due is how much work is due by the real time, what a worker has in hand
	// included; not what is to be tried again later.
	Due int `json:"due"`
	// OldestDue is the longest past due time; nil when nothing is due.
	OldestDue *api.Time `json:"oldest_due"`
}

// Lag is for how long the oldest due work has waited; 0 when nothing is due. Work
// that a worker has in hand counts until it is done, for half a minute where an
// endpoint or a provider does not answer. Above a minute, workers are too few,
// stand still, or do not run at all.
func (h *Health) Lag() time.Duration {
	if h.OldestDue == nil {
		return 0
	}
	return max(0, h.At.Sub(h.OldestDue.Time))
}

// SealLag is the greatest age that an entry of the ledger without a seal can have; 0
// when nothing was ever booked. Above [account.SealWithin], the sealing of entries
// stands still, cannot keep up, or refuses an account whose entries were changed behind
// their seals; Verify of the accounts says which.
func (h *Health) SealLag() time.Duration {
	if h.OldestUnsealed == nil {
		return 0
	}
	return max(0, h.At.Sub(h.OldestUnsealed.Time))
}

// Health looks at the work of all processes over this store. It reads indexes and
// counts no further than HealthLimit, so that it may be called every few seconds,
// however long the history. The error means that the store does not answer; give
// ctx the time that an answer may take.
func (s *Service) Health(ctx context.Context) (*Health, error) {
	var h *Health
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		now := s.engine.Clock()
		h = &Health{At: api.At(now), Running: s.runner.Running()}
		for _, k := range s.runner.Kinds() {
			b, err := tx.Backlog(k, now, HealthLimit)
			if err != nil {
				return fmt.Errorf("count %s: %w", k.Name, err)
			}
			q := Queue{Name: k.Name, Due: b.Count, OldestDue: api.AtOrNil(b.Oldest)}
			if q.OldestDue != nil && (h.OldestDue == nil || q.OldestDue.Before(h.OldestDue.Time)) {
				h.OldestDue = q.OldestDue
			}
			h.Queues = append(h.Queues, q)
		}
		var err error
		if h.StuckLive, err = s.internal.providers.CountStuck(tx, true, HealthLimit); err != nil {
			return err
		}
		if h.StuckTest, err = s.internal.providers.CountStuck(tx, false, HealthLimit); err != nil {
			return err
		}
		h.OldestUnsealed, err = s.internal.accounts.Unsealed(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("payments: health: %w", err)
	}
	return h, nil
}
