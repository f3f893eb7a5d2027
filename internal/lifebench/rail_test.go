package lifebench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments/provider"
)

// slowRail answers every transfer with Paid, after a time.
type slowRail struct{ after atomic.Int64 }

// Submit implements [provider.Rail].
func (r *slowRail) Submit(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	if after := time.Duration(r.after.Load()); after > 0 {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return provider.Result{}, ctx.Err()
		}
	}
	return provider.Result{Outcome: provider.Paid, Reference: t.ID}, nil
}

// Status implements [provider.Rail].
func (r *slowRail) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	return r.Submit(ctx, t)
}
