package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// maxAhead bounds the lead of a test clock. Dates computed from the clock then stay within the
// range of JSON.
const maxAhead = 100 * 365 * 24 * time.Hour

// clockRecord stores the lead of a merchant's test clock. It belongs to the operator and has the
// merchant's id, so that the workers find all clocks.
//
// A clock is awake while something may be due by it, and workers claim by it. Otherwise it rests,
// and costs the workers nothing. See [Engine.RestClocks].
type clockRecord struct {
	AheadMS int64 `json:"ahead_ms"`
	Resting bool  `json:"resting,omitempty"`
	// Due is the real time at which a worker checks again whether the clock may rest, or must
	// wake; nil for never.
	Due *api.Time `json:"due,omitempty"`
}

var clocks = storage.NewCollection("test_clocks", []storage.Field[clockRecord]{
	// Null when the clock rests, so the index holds only clocks that are awake.
	storage.BoolColumn("awake", func(c *clockRecord) bool { return !c.Resting }).Nullable().Indexed(),
	storage.NullTimeColumn("due", func(c *clockRecord) *api.Time { return c.Due }),
}, storage.DueBy("due"))

// NowTx is the caller's time: the real one, or the test clock's.
func (e *Engine) NowTx(tx storage.ReadTx, caller api.Caller) (time.Time, error) {
	return e.now(tx, caller)
}

func (e *Engine) now(tx storage.ReadTx, caller api.Caller) (time.Time, error) {
	now, _, err := e.clock(tx, caller)
	return now, err
}

// clock returns the caller's time, and the record of its test clock, nil if there is
// none.
func (e *Engine) clock(tx storage.ReadTx, caller api.Caller) (time.Time, *storage.Object[clockRecord], error) {
	now := storage.Instant(e.Clock())
	if !e.Sandbox || caller.Live || caller.Merchant == "" {
		return now, nil, nil
	}
	o, err := OrNil(clocks.Get(tx, storage.Scope{}, caller.Merchant))
	if o == nil || err != nil {
		return now, nil, err
	}
	return now.Add(o.Value.ahead()), o, nil
}

func (c *clockRecord) ahead() time.Duration { return time.Duration(c.AheadMS) * time.Millisecond }

// nowAwake is NowTx for a transaction that may write due work. It wakes the clock.
func (e *Engine) nowAwake(tx storage.Tx, caller api.Caller) (time.Time, error) {
	now, o, err := e.clock(tx, caller)
	if err != nil || o == nil || !o.Value.Resting {
		return now, err
	}
	e.wakeClock(&o.Value)
	if err := clocks.Replace(tx, o); err != nil {
		return now, fmt.Errorf("engine: wake test clock: %w", err)
	}
	return now, nil
}

// restAfter is the interval at which a worker checks whether an awake clock may rest.
const restAfter = time.Second

func (e *Engine) wakeClock(c *clockRecord) {
	c.Resting, c.Due = false, api.AtOrNil(e.Clock().Add(restAfter))
}

// ErrNoMerchant refuses a call for a merchant that names none.
var ErrNoMerchant = api.Errorf(api.ResourceMissing, "merchant", "This call acts for a merchant: set Caller.Merchant to the merchant's id.")

// MoveClock sets the merchant's test clock forward to the time that set derives
// from its present one, and returns the time it then shows. A clock never goes
// back. With a key it moves once. Each check may refuse the move to that time.
func (e *Engine) MoveClock(ctx context.Context, caller api.Caller, op Operation, set func(now time.Time) (time.Time, error), checks ...func(tx *Tx, to time.Time) error) (*api.Time, error) {
	if !e.Sandbox || caller.Live {
		return nil, api.Errorf(api.PermissionDenied, "", "The clock can be moved in test mode only, and only where the test helpers are switched on.")
	}
	if caller.Merchant == "" {
		return nil, ErrNoMerchant
	}
	digest, err := fingerprint(caller.IdempotencyKey, op)
	if err != nil {
		return nil, err
	}
	return Execute(ctx, e, caller, op, func(tx *Tx) (*api.Time, error) {
		// Look the key up first, at the clock's present time. At the new time, the key may have
		// expired.
		if stored, err := storedAnswer[api.Time](tx, caller, tx.Now, digest); stored != nil || err != nil {
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
		for _, check := range checks {
			if err := check(tx, target); err != nil {
				return nil, err
			}
		}
		o, err := clocks.GetOrNew(tx, storage.Scope{}, caller.Merchant)
		if err != nil {
			return nil, fmt.Errorf("engine: read test clock: %w", err)
		}
		e.wakeClock(&o.Value)
		o.Value.AheadMS += by.Milliseconds()
		if o.Value.AheadMS > maxAhead.Milliseconds() {
			return nil, api.Invalid("advance", "The clock may run at most 100 years ahead.")
		}
		tx.Now = storage.Instant(target) // the key's retention starts at the new time
		return new(api.At(tx.Now)), clocks.Put(tx, o)
	})
}

// AwakeClocks lists the test clocks by which something may be due. clock is the real time.
func AwakeClocks(ctx context.Context, store storage.Store, clock func() time.Time) ([]storage.Clock, error) {
	var awake []storage.Clock
	err := store.View(ctx, func(tx storage.ReadTx) error {
		awake = nil
		real := storage.Instant(clock())
		q := storage.Query{Where: []storage.Equal{{Column: "awake", Value: true}}, Limit: api.MaxLimit}
		for {
			page, more, err := clocks.List(tx, q)
			if err != nil {
				return fmt.Errorf("engine: list test clocks: %w", err)
			}
			for _, o := range page {
				awake = append(awake, storage.Clock{Scope: storage.Scope{Merchant: o.ID}, Now: real.Add(o.Value.ahead())})
			}
			if !more {
				return nil
			}
			q.After = page[len(page)-1].ID
		}
	})
	return awake, err
}

// RestClocks returns the job that lets test clocks rest while nothing is due by them. kinds are
// the kinds that workers claim by clocks.
func (e *Engine) RestClocks(kinds []*storage.Kind) work.Job {
	return work.Job{
		Kind: clocks.Kind(), Timeout: time.Minute, Batch: 16, // few, because other updates wait meanwhile
		RunBatch: func(ctx context.Context, records []storage.Record) error {
			work.SetReport(ctx, work.Report{Name: "looked", Level: slog.LevelDebug})
			woken := false
			var next []time.Time
			err := e.Store.Update(ctx, func(tx storage.Tx) error {
				woken, next = false, nil
				for _, r := range records {
					o, err := clocks.Get(tx, r.Scope, r.ID)
					if err != nil {
						return fmt.Errorf("engine: read test clock: %w", err)
					}
					rested := o.Value.Resting
					if err := e.rest(tx, kinds, o); err != nil {
						return err
					}
					woken = woken || rested && !o.Value.Resting
					if o.Value.Due != nil {
						next = append(next, o.Value.Due.Time)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, at := range next {
				e.Runner.Wake(clocks.Kind(), storage.Scope{}, at)
			}
			if woken {
				for _, k := range kinds {
					e.Runner.Wake(k, storage.Scope{}, time.Time{})
				}
			}
			return nil
		},
	}
}

// rest lets a clock rest until something is due by it, or keeps it awake if something is due now.
func (e *Engine) rest(tx storage.Tx, kinds []*storage.Kind, o *storage.Object[clockRecord]) error {
	now := storage.Instant(e.Clock()).Add(o.Value.ahead())
	o.Value.Resting, o.Value.Due = true, nil
	for _, k := range kinds {
		if k.OneQueue { // workers do not claim it by clocks
			continue
		}
		next, err := nextDue(tx, k, o.ID)
		switch {
		case err != nil:
			return err
		case next.IsZero():
		case !next.After(now):
			e.wakeClock(&o.Value)
			return clocks.Replace(tx, o)
		default:
			next = next.Add(-o.Value.ahead())
			if o.Value.Due == nil || next.Before(o.Value.Due.Time) {
				o.Value.Due = api.AtOrNil(next)
			}
		}
	}
	return clocks.Replace(tx, o)
}

// nextDue returns the earliest due time of a kind in a merchant's test mode, including leased
// records; zero for none.
func nextDue(tx storage.Tx, k *storage.Kind, merchant string) (time.Time, error) {
	scope := storage.Scope{Merchant: merchant}
	next, err := tx.NextDue(k, scope, 1)
	if err != nil || len(next) == 0 || next[0].Scope != scope {
		return time.Time{}, err
	}
	return next[0].At, nil
}
