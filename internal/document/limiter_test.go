package document

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// Of ten that come together two run at a time, and who cannot wait is told so.
func TestLimiterBoundsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := make(Limiter, 2)
		start := time.Now()
		ended := make(chan time.Duration, 10)
		for range 10 {
			go func() {
				err := p.Run(t.Context(), func() error {
					time.Sleep(time.Second)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				ended <- time.Since(start)
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		err := p.Run(ctx, func() error {
			t.Error("it ran beside two others")
			return nil
		})
		expect.True(t, errors.Is(err, context.DeadlineExceeded), "got %v", err)
		last := time.Duration(0)
		for range 10 {
			last = max(last, <-ended)
		}
		expect.Equal(t, last, 5*time.Second, "the last of ten ended after %s, want 5 s", last)
		func() {
			defer func() { _ = recover() }()
			_ = p.Run(t.Context(), func() error { panic("a broken picture") })
		}()
		expect.Equal(t, len(p), 0, "%d places are kept", len(p))
	})
}
