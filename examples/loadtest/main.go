// Loadtest drives a running server over HTTP in test mode, and prints how many
// requests a second it answered and how long they took. It needs the test helpers.
//
//	go run ./examples/quickstart &
//	go run ./examples/loadtest -key sk_test_… -work disburse -connections 16
//
// More keys, of several merchants, spread the work; one key makes its merchant hot.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type options struct {
	baseURL, keys, work string
	connections         int
	duration            time.Duration
	requests            int64
}

func main() {
	var o options
	flag.StringVar(&o.baseURL, "base-url", "http://127.0.0.1:8080", "where the server is")
	flag.StringVar(&o.keys, "key", os.Getenv("KEY"), "test key, or several with commas between (default: the variable KEY)")
	flag.StringVar(&o.work, "work", "mixed", "what to do: "+strings.Join(works(), ", "))
	flag.IntVar(&o.connections, "connections", 16, "how many requests are under way at a time")
	flag.DurationVar(&o.duration, "duration", 10*time.Second, "for how long")
	flag.Int64Var(&o.requests, "requests", 0, "stop earlier, after so many")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		os.Exit(1)
	}
}

// run makes the wallets and codes that the work needs, does the work, and prints the figures.
func run(ctx context.Context, o options, out io.Writer) error {
	do, ok := kinds[o.work]
	switch {
	case !ok:
		return fmt.Errorf("there is no work %q; choose one of %s", o.work, strings.Join(works(), ", "))
	case o.keys == "":
		return errors.New("give a test key with -key; the quickstart prints one")
	case o.connections < 1 || o.duration <= 0:
		return errors.New("connections and duration must be more than nothing")
	}
	var shops []*shop
	for _, key := range strings.Split(o.keys, ",") {
		s, err := prepare(ctx, o.baseURL, strings.TrimSpace(key), o.connections)
		if err != nil {
			return err
		}
		shops = append(shops, s)
	}
	fmt.Fprintf(out, "%s for %s over %d connections, %d merchants\n", o.work, o.duration, o.connections, len(shops))

	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var seen tally
	var next atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for range o.connections {
		all.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1)
				if o.requests > 0 && n > o.requests {
					return
				}
				sent := time.Now()
				err := do(ctx, shops[n%int64(len(shops))], n)
				if ctx.Err() == nil { // a request that the end cuts off does not count
					seen.add(time.Since(sent), err)
				}
			}
		})
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		seen.watch(ctx, out, begun)
	}()
	all.Wait()
	took := time.Since(begun)
	cancel()
	<-watched
	return seen.report(out, took)
}

// tally counts the requests.
type tally struct {
	mu     sync.Mutex
	took   []time.Duration // of those that were answered well
	failed int
	err    error // the first
}

func (t *tally) add(took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.took = append(t.took, took)
		return
	}
	if t.failed++; t.err == nil {
		t.err = err
	}
}

// watch prints a line each second.
func (t *tally) watch(ctx context.Context, out io.Writer, begun time.Time) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.mu.Lock()
		now, failed := len(t.took), t.failed
		t.mu.Unlock()
		fmt.Fprintf(out, "%4.0fs  %7d/s  %9d done  %d failed\n", time.Since(begun).Seconds(), now-before, now, failed)
		before = now
	}
}

// report prints the whole. Failures are an error.
func (t *tally) report(out io.Writer, took time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.took) > 0 {
		slices.Sort(t.took)
		at := func(share float64) time.Duration {
			return t.took[min(int(share*float64(len(t.took))), len(t.took)-1)].Round(10 * time.Microsecond)
		}
		fmt.Fprintf(out, "%.0f a second; half within %s, 90 %% %s, 99 %% %s, 99.9 %% %s, all %s\n",
			float64(len(t.took))/took.Seconds(), at(0.5), at(0.9), at(0.99), at(0.999), at(1))
	}
	if t.failed > 0 {
		return fmt.Errorf("%d requests failed, the first: %w", t.failed, t.err)
	}
	if len(t.took) == 0 {
		return errors.New("nothing was answered in the time")
	}
	return nil
}
