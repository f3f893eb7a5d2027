package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// HealthLimit is where Health stops counting the work of a queue, and the transfers, the refunds and the
// charges that need a person. A count of HealthLimit means that many or more.
const HealthLimit = 10_000

// Health is the state of the service, for readiness probes and alarms.
type Health struct {
	At api.Time `json:"at"`
	// Running reports whether the background work runs in this process.
	Running bool `json:"running"`
	// Queues are all queues of background work, in no particular order.
	Queues []Queue `json:"queues"`
	// OldestDue is the earliest due time over all queues; nil if nothing is due.
	OldestDue *api.Time `json:"oldest_due"`
	// StuckLive and StuckTest count the transfers, refunds and charges that need a person. Charges are
	// payments from phones, top-ups, and charges of invoices. They have been under way for longer than Config.StuckAfter,
	// or the provider contradicted itself. [provider.Service].List lists them.
	StuckLive int `json:"stuck_live"`
	StuckTest int `json:"stuck_test"`
	// OldestUnsealed is a time before which every ledger entry has a seal. It is the start of the
	// last complete sealing pass. So it may stand still for some minutes, even in an idle ledger.
	// Before the first complete pass it is the time of the first posting. Sealing stops at an entry that
	// disagrees with earlier seals. OldestUnsealed is then at most the time of that entry. It is nil if
	// the ledger is empty.
	OldestUnsealed *api.Time `json:"oldest_unsealed"`
	// ProviderBalances are the operator's accounts at those providers of live mode that are a
	// [provider.Balancer].
	ProviderBalances []ProviderBalance `json:"provider_balances"`
	// Providers are the live providers that this process has called since its start, by their names in order.
	Providers []ProviderCalls `json:"providers"`
}

// ProviderCalls are this process's calls of a live provider: submissions of transfers, refunds and charges, and
// questions about them.
type ProviderCalls struct {
	// Route is the name of the provider, as in ProviderBalance.
	Route string `json:"route"`
	// LastSuccess is when the provider last answered a call; nil if it has not yet. LastError is the class of
	// the call that failed last, or of the last answer that told another amount than the order's; empty for none.
	LastSuccess *api.Time      `json:"last_success"`
	LastError   provider.Class `json:"last_error"`
	// Failures counts those of the last five minutes by class.
	Failures map[provider.Class]int `json:"failures"`
}

// ProviderBalance is the operator's money at a provider.
type ProviderBalance struct {
	// Provider is the name of the provider; see [provider.Router]. One without a name is "rail", or
	// "charger" if it is no rail.
	Provider string `json:"provider"`
	// Available is what transfers and refunds are taken from, in GHS, at the time At. Both are nil
	// until the provider has told a balance. At grows old while the provider does not answer.
	Available *api.GHS  `json:"available"`
	At        *api.Time `json:"at"`
}

// Queue is the state of one queue of background work.
type Queue struct {
	Name string `json:"name"`
	// Due counts the work that is due by the real time, including running work. It leaves out work
	// that waits for a later retry. It stops at HealthLimit.
	Due int `json:"due"`
	// OldestDue is the earliest due time; nil if nothing is due.
	OldestDue *api.Time `json:"oldest_due"`
}

// Lag returns how long the oldest due work has waited; 0 if nothing is due. Running work counts
// until it is done, which takes up to 30 seconds if an endpoint or provider does not answer. A lag
// above a minute means that the workers are too few, blocked, or not running.
func (h *Health) Lag() time.Duration {
	if h.OldestDue == nil {
		return 0
	}
	return max(0, h.At.Sub(h.OldestDue.Time))
}

// SealLag returns the greatest possible age of an unsealed ledger entry; 0 if the ledger is empty.
// Above [account.SealWithin], sealing has stopped, cannot keep up, or found entries that were
// changed after they were sealed. Accounts.Verify says which.
func (h *Health) SealLag() time.Duration {
	if h.OldestUnsealed == nil {
		return 0
	}
	return max(0, h.At.Sub(h.OldestUnsealed.Time))
}

// Health looks at the work of all processes over this store. It reads indexes and counts no further
// than HealthLimit, so that it may be called every few seconds, however long the history. An error
// means that the store does not answer. Give ctx a deadline.
//
// Health does not wait for providers. It shows the balances that it knows, and asks again in the
// background once they are a minute old.
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
		if h.StuckLive, err = s.internal.orders.CountStuck(tx, true, HealthLimit); err != nil {
			return err
		}
		if h.StuckTest, err = s.internal.orders.CountStuck(tx, false, HealthLimit); err != nil {
			return err
		}
		h.OldestUnsealed, err = s.internal.accounts.Unsealed(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("payments: health: %w", err)
	}
	h.ProviderBalances = []ProviderBalance{}
	for _, a := range s.internal.orders.Accounts(ctx) {
		b := ProviderBalance{Provider: a.Provider, At: api.AtOrNil(a.At)}
		if b.At != nil {
			b.Available = new(api.FromPesewas(a.Balance.Available))
		}
		h.ProviderBalances = append(h.ProviderBalances, b)
	}
	h.Providers = []ProviderCalls{}
	for _, c := range s.internal.orders.Calls() {
		h.Providers = append(h.Providers, ProviderCalls{Route: c.Route, LastSuccess: api.AtOrNil(c.LastSuccess), LastError: c.LastError, Failures: c.Failures})
	}
	return h, nil
}
