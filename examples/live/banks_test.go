package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// The list of banks is loaded at the start and each day, and a minute after a failure.
func TestKeepBanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		ctx, cancel := context.WithTimeout(t.Context(), 48*time.Hour)
		defer cancel()
		keepBanks(ctx, slog.New(slog.DiscardHandler), func(context.Context) error {
			at = append(at, time.Since(start))
			if len(at) == 1 {
				return errors.New("no network")
			}
			return nil
		})
		expect.Same(t, at, []time.Duration{0, time.Minute, 24*time.Hour + time.Minute}, "when the banks were loaded")
	})
}
