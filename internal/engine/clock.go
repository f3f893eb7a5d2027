package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/storage"
)

// maxAhead bounds how far a test clock may run ahead, so that no date that is
// computed from it leaves the range that JSON can carry.
const maxAhead = 100 * 365 * 24 * time.Hour

// clockRecord is how far a merchant's test clock runs ahead. It is stored under
// the operator, with the merchant's id, so that the workers find all of them.
type clockRecord struct {
	AheadMS int64 `json:"ahead_ms"`
}

var clocks = storage.NewCollection[clockRecord]("test_clocks", nil)

// NowTx is the caller's time: the real one, or the test clock's.
func (e *Engine) NowTx(tx storage.ReadTx, caller api.Caller) (time.Time, error) {
	return e.now(tx, caller)
}

func (e *Engine) now(tx storage.ReadTx, caller api.Caller) (time.Time, error) {
	now := storage.Instant(e.Clock())
	if !e.Sandbox || caller.Live || caller.Merchant == "" {
		return now, nil
	}
	o, err := clocks.Get(tx, storage.Scope{}, caller.Merchant)
	if errors.Is(err, storage.ErrNotFound) {
		return now, nil
	}
	if err != nil {
		return now, fmt.Errorf("engine: read test clock: %w", err)
	}
	return now.Add(time.Duration(o.Value.AheadMS) * time.Millisecond), nil
}

// MoveClock sets the merchant's test clock forward to the time that set derives
// from its present one, and returns the time it then shows. A clock never goes
// back. With a key it moves once.
func (e *Engine) MoveClock(ctx context.Context, caller api.Caller, call Call, set func(now time.Time) (time.Time, error)) (*api.Time, error) {
	if !e.Sandbox || caller.Live {
		return nil, api.Errorf(api.PermissionDenied, "", "The clock can be moved in test mode only, and only where the test helpers are switched on.")
	}
	digest, err := fingerprint(caller, call)
	if err != nil {
		return nil, err
	}
	return Do(ctx, e, caller, call, func(tx *Tx) (*api.Time, error) {
		// Looked for first, by the clock as it is: by the one that this call sets a key
		// may have expired.
		if kept, err := lookUp[api.Time](tx, caller, tx.Now, digest); kept != nil || err != nil {
			return nil, cmp.Or(err, errReplayed)
		}
		target, err := set(tx.Now)
		if err != nil {
			return nil, err
		}
		by := target.Sub(tx.Now)
		if by < 0 {
			return nil, api.Invalid("now", "The clock never goes back; it shows %s.", api.At(tx.Now))
		}
		o, err := clocks.Get(tx, storage.Scope{}, caller.Merchant)
		if errors.Is(err, storage.ErrNotFound) {
			o, err = clocks.Insert(tx, storage.Scope{}, caller.Merchant, clockRecord{})
		}
		if err != nil {
			return nil, fmt.Errorf("engine: read test clock: %w", err)
		}
		o.Value.AheadMS += by.Milliseconds()
		if o.Value.AheadMS > maxAhead.Milliseconds() {
			return nil, api.Invalid("advance", "The clock may run at most 100 years ahead.")
		}
		tx.Now = storage.Instant(target) // from which on the key is kept
		return new(api.At(tx.Now)), clocks.Replace(tx, o)
	})
}

// AheadClocks lists the merchants whose test clocks run ahead.
func (e *Engine) AheadClocks(ctx context.Context) ([]due.Ahead, error) {
	if !e.Sandbox {
		return nil, nil
	}
	var ahead []due.Ahead
	err := e.Store.View(ctx, func(tx storage.ReadTx) error {
		ahead = nil
		real := storage.Instant(e.Clock())
		q := storage.Query{Limit: api.MaxLimit}
		for {
			page, more, err := clocks.List(tx, q)
			if err != nil {
				return fmt.Errorf("engine: list test clocks: %w", err)
			}
			for _, o := range page {
				ahead = append(ahead, due.Ahead{
					Scope: storage.Scope{Merchant: o.ID},
					Now:   real.Add(time.Duration(o.Value.AheadMS) * time.Millisecond),
				})
			}
			if !more {
				return nil
			}
			q.After = page[len(page)-1].ID
		}
	})
	return ahead, err
}
