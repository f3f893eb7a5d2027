package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// departure says that a customer was deleted whose subscriptions are still to be cancelled. Its id is the
// customer's.
type departure struct {
	// Request and IdempotencyKey belong to the call that deleted the customer.
	Request        string   `json:"request,omitempty"`
	IdempotencyKey string   `json:"key,omitempty"`
	Due            api.Time `json:"due"`
}

var departures = storage.NewCollection("customer_departures", []storage.Field[departure]{
	storage.NullTimeColumn("due", func(d *departure) *api.Time { return &d.Due }),
}, storage.DueBy("due"))

// queueDeparture queues the end of a deleted customer's subscriptions. No worker is woken: the call runs
// the work itself, and a worker finds what a crash has left.
func queueDeparture(tx *engine.Tx, id string) error {
	o, err := departures.GetOrNew(tx, engine.Scope(tx.Caller), id)
	if err == nil {
		o.Value = departure{Request: tx.Caller.RequestID, IdempotencyKey: tx.Caller.IdempotencyKey, Due: api.At(tx.Now)}
		err = departures.Put(tx, o)
	}
	if err != nil {
		return fmt.Errorf("account: queue departure: %w", err)
	}
	return nil
}

// leaveNow runs the work on a departure, outside of a host's transaction. If it fails, the runner logs it
// and a worker repeats it.
func (s *Service) leaveNow(ctx context.Context, caller api.Caller, id string) {
	if s.engine.Host == nil {
		_ = s.engine.Runner.RunNow(ctx, departures.Kind(), engine.Scope(caller), id, Departure{Caller: caller, Customer: id})
	}
}

// Departure is a deleted customer whose subscriptions are to be cancelled.
type Departure struct {
	// Caller is the call that deleted the customer.
	Caller   api.Caller
	Customer string
}

// DepartureKind is the kind of departures. A departure is due at once, and ends with
// [Internal.FinishDeparture].
func (*Internal) DepartureKind() *storage.Kind { return departures.Kind() }

// Departure returns a departure that the caller has claimed.
func (*Internal) Departure(r storage.Record) (Departure, error) {
	o, err := departures.Decode(r)
	if err != nil {
		return Departure{}, err
	}
	return Departure{
		Caller:   api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live, RequestID: o.Value.Request, IdempotencyKey: o.Value.IdempotencyKey},
		Customer: o.ID,
	}, nil
}

// FinishDeparture removes a departure once its subscriptions are cancelled. Another worker may have done
// so.
func (*Internal) FinishDeparture(tx *engine.Tx, d Departure) error {
	o, err := departures.Get(tx, engine.Scope(tx.Caller), d.Customer)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = departures.Delete(tx, o)
	}
	if err != nil {
		return fmt.Errorf("account: finish departure: %w", err)
	}
	return nil
}
