package outside

import (
	"context"
	"time"
)

// An order is left alone for UnderWay while the other side is being asked, and that is
// renewed every renewEvery: another worker asks soon after this one has died, or could
// not write to the database what it was answered, and not before.
const (
	UnderWay   = 15 * time.Second
	renewEvery = 5 * time.Second
)

// WorkLimit bounds the work on an order: its two calls, and what is written.
const WorkLimit = 2*callTimeout + 15*time.Second

// Hold calls renew every 5 seconds, until that returns false or the returned function is
// called, which does not wait for a call under way.
func Hold(ctx context.Context, renew func(context.Context) bool) (release func()) {
	ctx, end := context.WithCancel(ctx)
	// Most calls are over before, and cost no goroutine.
	timer := time.AfterFunc(renewEvery, func() {
		for ctx.Err() == nil && renew(ctx) {
			select {
			case <-ctx.Done():
			case <-time.After(renewEvery):
			}
		}
	})
	return func() {
		timer.Stop()
		end()
	}
}
