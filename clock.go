package payments

import (
	"context"
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Now returns the time that governs the caller's objects. In the test mode of a sandbox that is the
// merchant's test clock, and otherwise the real time.
func (s *Service) Now(ctx context.Context, caller api.Caller) (api.Time, error) {
	var now api.Time
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		now = api.At(tx.Now)
		return nil
	})
	return now, err
}

// clockWait is how long MoveClock waits for what is due; before the move for at most half of it.
const clockWait = 2 * time.Second

// The bounds of one move of a test clock: how far, and how many periods of subscriptions it begins. Each
// period has an invoice, with its events and messages.
const (
	MaxClockMove    = 1827 * 24 * time.Hour // five years
	maxClockPeriods = 2000
)

// ClockParams says how far to move a test clock. If both fields are zero, the clock stays.
type ClockParams struct {
	// By moves the clock forward by this much; it must not be negative. If By is zero, the clock
	// moves to To.
	By time.Duration `json:"by"`
	To time.Time     `json:"to"`
}

// MoveClock moves the test clock of the caller's merchant forward, and does the work that became
// due. Before the move it waits for work that is under way, because that work plans its next step by the
// clock. It waits for at most two seconds in all; the rest goes on in the background. It returns the new
// time of the clock.
//
// The clock governs the times of objects, expiries, limits and due times of that merchant's test
// mode; it never goes back. With an idempotency key, a replay moves nothing and returns the
// first call's time. Refusals: permission_denied in live mode or without Config.Sandbox;
// resource_missing for the operator, who has no test clock; parameter_invalid for a time before the
// clock's or more than MaxClockMove after it, for more than 100 years ahead, and for a move that would
// begin more than 2,000 periods of subscriptions. A refused move moves nothing.
func (s *Service) MoveClock(ctx context.Context, caller api.Caller, p ClockParams) (api.Time, error) {
	op := engine.Operation{Name: "clock.move", Params: p}
	begun := time.Now()
	if s.engine.Sandbox && !caller.Live && p.By >= 0 {
		s.catchUp(ctx, clockWait/2)
	}
	now, err := s.engine.MoveClock(ctx, caller, op, func(now time.Time) (time.Time, error) {
		if p.By < 0 {
			return now, api.Invalid("advance", "advance must not be negative; the clock never goes back.")
		}
		if p.By > 0 || p.To.IsZero() {
			return now.Add(p.By), nil
		}
		return p.To, nil
	}, func(tx *engine.Tx, to time.Time) error { return s.checkMove(tx, p, to) })
	if err != nil {
		return api.Time{}, err
	}
	s.catchUp(ctx, clockWait-time.Since(begun))
	return *now, nil
}

// checkMove refuses a move that is too far, or makes too much due.
func (s *Service) checkMove(tx *engine.Tx, p ClockParams, to time.Time) error {
	param := "now"
	if p.By > 0 {
		param = "advance"
	}
	by := to.Sub(tx.Now)
	if by > MaxClockMove {
		return api.Invalid(param, "One call moves the clock by at most 1,827 days, which are %d seconds. Move it in several steps.", int64(MaxClockMove/time.Second))
	}
	if by <= 24*time.Hour {
		return nil // no interval is shorter, so no subscription begins many periods
	}
	periods, err := s.internal.subscriptions.CountPeriods(tx, to, maxClockPeriods)
	if err != nil {
		return err
	}
	if periods > maxClockPeriods {
		return api.Invalid(param, "This move would begin more than 2,000 periods of subscriptions, each with an invoice. Move the clock in smaller steps, or cancel subscriptions first.")
	}
	return nil
}

// catchUp is a drain of MoveClock.
type catchUp struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// catchUp does the work that is due, and waits for it for at most so long. It also does what the drains
// that no caller waits for were to do, and ends them: else one more would wait for work that hangs with
// each move of a clock.
func (s *Service) catchUp(ctx context.Context, most time.Duration) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &catchUp{cancel, make(chan struct{})}
	s.catchUpsMu.Lock()
	for other, abandoned := range s.catchUps {
		if abandoned {
			other.cancel()
		}
	}
	if s.catchUps == nil {
		s.catchUps = map[*catchUp]bool{}
	}
	s.catchUps[c] = false
	s.catchUpsMu.Unlock()
	go func() {
		defer func() {
			cancel()
			s.catchUpsMu.Lock()
			delete(s.catchUps, c)
			s.catchUpsMu.Unlock()
			close(c.ended)
		}()
		if err := s.runner.Drain(work); err != nil && work.Err() == nil && !errors.Is(err, storage.ErrClosed) {
			s.engine.Log.ErrorContext(work, "work that became due could not be done", "error", err)
		}
	}()
	wait := time.NewTimer(most)
	defer wait.Stop()
	select {
	case <-c.ended:
		return
	case <-wait.C:
	case <-ctx.Done():
	}
	s.catchUpsMu.Lock()
	defer s.catchUpsMu.Unlock()
	if _, runs := s.catchUps[c]; runs {
		s.catchUps[c] = true
	}
}
