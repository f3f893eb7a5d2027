//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// scene is a failure under load.
type scene struct {
	name     string
	at       time.Time // when it happened
	promoted time.Time // when the standby took writes; zero where none had to
}

// failures goes through them while the load runs. It returns those that have begun, also
// when it fails.
func failures(ctx context.Context, c *cluster, l *load, o options, say func(string, ...any)) (scenes []scene, err error) {
	primary, standby, err := c.settled(ctx)
	if err != nil {
		return nil, err
	}
	say("Under load from %d clients.", o.callers)
	if err := pause(ctx, o.duration); err != nil {
		return nil, err
	}

	// begin has a failure happen, and waits until the library serves again.
	begin := func(name string, fail func() error, standby *node) error {
		scenes = append(scenes, scene{name: name, at: time.Now()})
		s := &scenes[len(scenes)-1]
		if err := fail(); err != nil {
			return err
		}
		var err error
		if s.promoted, err = standby.promoted(ctx); err != nil {
			return err
		}
		say("%s; the standby takes writes after %s.", name, seconds(s.promoted.Sub(s.at)))
		return l.goodSince(ctx, s.promoted)
	}

	killed := primary
	if o.stall > 0 {
		scenes = append(scenes, scene{name: "standby gets nothing", at: time.Now()})
		if err := errors.Join(killed.lag(), pause(ctx, o.stall)); err != nil {
			return scenes, err
		}
	}
	if err := begin("primary killed", func() error { return c.switchOff(killed) }, standby); err != nil {
		return scenes, err
	}
	if err := pause(ctx, o.duration); err != nil {
		return scenes, err
	}
	if err := c.start(killed); err != nil {
		return scenes, err
	}
	if primary, standby, err = c.settled(ctx); err != nil {
		return scenes, err
	}
	say("What was killed is back, and follows.")

	if err := begin("primary frozen", primary.freeze, standby); err != nil {
		return scenes, err
	}
	if err := pause(ctx, o.duration); err != nil {
		return scenes, err
	}
	// It wakes up in the belief that it is the primary still.
	if err := primary.thaw(); err != nil {
		return scenes, err
	}
	if _, _, err := c.settled(ctx); err != nil {
		return scenes, err
	}
	say("What was frozen is back, and follows.")
	return scenes, nil
}

// pause waits, no longer than ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
