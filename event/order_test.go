package event_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// databases open one database as two processes do.
var databases = map[string]func(t *testing.T) [2]storage.Store{
	"memory": func(*testing.T) [2]storage.Store {
		s := memory.New()
		return [2]storage.Store{s, s}
	},
	"sqlite": func(t *testing.T) (both [2]storage.Store) {
		path := filepath.Join(t.TempDir(), "a.db")
		for i := range both {
			s := must.Get(sqlite.Open(t.Context(), path, sqlite.Config{}))(t)
			both[i] = s
		}
		return both
	},
	"postgres": func(t *testing.T) (both [2]storage.Store) {
		schema := pgtest.Schema(t)
		for i := range both {
			s := must.Get(postgres.Open(t.Context(), pgtest.Pool(t, 8), postgres.Config{Schema: schema}))(t)
			both[i] = s
		}
		return both
	},
}

// process is a process that records events by a clock of its own.
type process struct {
	*recording.Service
	engine *engine.Engine
}

func newProcess(t *testing.T, store storage.Store, clock func() time.Time) *process {
	t.Helper()
	must.Do(t, store.Define(t.Context(), append(engine.Kinds(), recording.Kinds()...)...))
	t.Cleanup(func() { expect.NoError(t, store.Close(), "Close") })
	e := &engine.Engine{
		Store: store, Clock: clock, NewID: ids.New(clock, nil).Make,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
	}
	s := recording.New(e)
	return &process{s, e}
}

var walked = api.Caller{Merchant: "mer_1"}

// record records n events in one transaction, which then ends with outcome.
func (p *process) record(ctx context.Context, n int, outcome error) error {
	return p.engine.Update(ctx, walked, func(tx *engine.Tx) error {
		for range n {
			if err := p.Append(tx, struct{}{}, event.QRCodeCreated); err != nil {
				return err
			}
		}
		return outcome
	})
}

// walker reads forward.
type walker struct {
	from *process
	seen []string
}

// walk reads all events that are newer than those seen.
func (w *walker) walk(ctx context.Context) error {
	for more := true; more; {
		p := event.ListParams{Page: api.Page{Limit: 7}}
		if len(w.seen) > 0 {
			p.EndingBefore = w.seen[len(w.seen)-1]
		}
		list, err := w.from.List(ctx, walked, p)
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(list.Data) {
			w.seen = append(w.seen, e.ID)
		}
		more = list.HasMore
	}
	return nil
}

// check compares the seen events with the stored ones, of which there are so many.
func (w *walker) check(t *testing.T, written int) {
	t.Helper()
	must.Do(t, w.walk(t.Context()))
	var all []string
	for e, err := range api.All(t.Context(), walked, event.ListParams{}, w.from.List) {
		must.Do(t, err)
		all = append(all, e.ID)
	}
	slices.Reverse(all)
	expect.Equal(t, len(all), written, "%d events, %d were recorded", len(all), written)
	expect.True(t, slices.Equal(w.seen, all), "%d of %d events were seen, or in another order", len(w.seen), len(all))
}

// A reader that pages forward sees the events of a process whose clock is behind.
func TestEventsComeInTheOrderOfCommits(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			stores := open(t)
			now := time.Now()
			ahead := newProcess(t, stores[0], func() time.Time { return now })
			behind := newProcess(t, stores[1], func() time.Time { return now.Add(-50 * time.Millisecond) })
			w := &walker{from: ahead}
			written := 0
			record := func(p *process, n int) {
				t.Helper()
				must.Do(t, p.record(t.Context(), n, nil))
				written += n
			}
			record(ahead, 1)
			for range 20 {
				must.Do(t, w.walk(t.Context()))
				now = now.Add(time.Millisecond)
				record(behind, 2)
				must.Do(t, w.walk(t.Context()))
				record(ahead, 3)
			}
			w.check(t, written)
		})
	}
}

// A reader beside processes whose clocks jump sees every event once, also where
// transactions are rolled back or run again.
func TestListBesideWritersMissesNothing(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			stores := open(t)
			jumping := func() time.Time { return time.Now().Add(time.Duration(rand.IntN(200)-100) * time.Millisecond) }
			processes := []*process{newProcess(t, stores[0], jumping), newProcess(t, stores[1], jumping)}
			must.Do(t, processes[0].record(t.Context(), 1, nil))
			w := &walker{from: processes[1]}
			must.Do(t, w.walk(t.Context()))
			const writers, each = 6, 40
			planned := errors.New("planned")
			var writing sync.WaitGroup
			for c := range writers {
				writing.Go(func() {
					for i := range each {
						var outcome error
						if i%4 == 3 {
							outcome = planned
						}
						expect.ErrorIs(t, processes[c%2].record(t.Context(), 1+i%2, outcome), outcome, "record")
					}
				})
			}
			done := make(chan struct{})
			go func() {
				writing.Wait()
				close(done)
			}()
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				must.Do(t, w.walk(t.Context()))
			}
			// Of four transactions the second has two events, and the fourth is undone.
			w.check(t, 1+writers*each)
		})
	}
}
