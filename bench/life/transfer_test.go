package life

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/provider"
)

// group is how many lives the bare loop writes in one commit.
const group = 32

// transferLife is what a disbursement to a mobile number writes: when it is made and submitted, and
// with its outcome. The amount is GHS 0.01, and the fee GHS 0.10.
var transferLife = benchbase.Life{Commits: []benchbase.Commit{
	{
		Insert: []string{"disbursements", "rail_orders", "events", "events", "events", "idempotency_keys"},
		Set:    map[string]any{"disbursements.status": "processing", "disbursements.due": int64(1), "rail_orders.open": true},
		Moves:  []benchbase.Move{{Account: "/available", Amount: -11}, {Account: "/reserved", Amount: 11}},
	},
	{
		Insert:  []string{"events"},
		Rewrite: []string{"disbursements", "rail_orders"},
		Moves:   []benchbase.Move{{Account: "/reserved", Amount: -11}, {Account: "/clearing/rail", Amount: 1}, {Account: "/operator/fees", Amount: 10}},
	},
}}

// maxOpen returns how many transfers may be open at a time: those of the requests under way, and
// some that wait for a worker or for the rail. A slow rail has more of them.
func maxOpen(connections int, rail time.Duration) int {
	if rail > 100*time.Millisecond {
		return connections + 1024
	}
	return connections + 256
}

// BenchmarkTransfer sends money to mobile phones over HTTP, until each transfer has its outcome and
// the event of it is written. The load comes from another process, and shares the processors. A
// request waits at a gate in front of the server while too many transfers are open, so the rate is
// one that the workers keep up with.
//
// An op is a whole life: the time is from the first request to the last outcome. of-bare is the
// rate as a share of that of a bare loop, which writes the same rows in two commits in groups of
// 32, and has the processors to itself. of-thin is the rate as a share of that of a thin server,
// which writes what one request must write in one commit, under the same load. All take turns, and
// the median of the turns counts.
//
// p50-ms and p99-ms are for the request alone, from the gate. posts/s is the rate of requests while
// the load sends them. backlog is the largest number of open transfers, commits/op are those of the
// store, and cpu-us/op is the processor time of this process for each life. bare-cpu-us/op is that
// of the bare loop: other work on the machine changes it less than the time.
func BenchmarkTransfer(b *testing.B) {
	for _, backend := range backends {
		b.Run("store="+backend.name, func(b *testing.B) {
			ours := openServer(b, backend.open(b))
			limit := newBareTransfers(b, backend.open(b))
			thin := openThin(b, backend)
			for _, connections := range []int{1, 16, 64, 256} {
				for _, rail := range []time.Duration{0, 5 * time.Millisecond, 200 * time.Millisecond} {
					if rail > 0 && connections < 64 {
						continue
					}
					b.Run(fmt.Sprintf("connections=%d/rail=%s", connections, rail), func(b *testing.B) {
						ours.rail.after.Store(int64(rail))
						benchmarkLives(b, ours, limit, thin, ours.load, connections, rail)
					})
				}
			}
		})
	}
}

// benchmarkLives measures the lives that a load begins, beside those of the bare loop and, if it is not nil, of the
// thin server.
func benchmarkLives(
	b *testing.B, ours *server, limit *bareLoop, thin *thinServer, load func(connections, n int) httpload.Load, connections int, rail time.Duration,
) {
	turns, open := benchbase.Turns(b, 4), maxOpen(connections, rail)
	if open > 1024 { // a turn must be much longer than its beginning and its end
		turns = benchbase.Turns(b, 2)
	}
	share := max(b.N/turns, connections)
	ours.live(b, load(connections, max(share/4, connections)), open)
	var each, ofBare, ofThin, posts []float64
	var took []time.Duration
	var cpu, bareCPU time.Duration
	peak := 0
	commits := ours.commits()
	for turn := range turns {
		var bare, theirs float64
		limits := func() {
			begun := httpload.CPUTime()
			bare = limit.run(b, share)
			bareCPU += httpload.CPUTime() - begun
			if thin == nil {
				return
			}
			l := load(connections, share)
			l.Address, l.Keys = thin.address, []string{thin.key}
			theirs = float64(run(b, l).Elapsed) / float64(share)
		}
		if turn%2 == 1 { // so that neither is always the one after the other
			limits()
		}
		done := ours.live(b, load(connections, share), open)
		if turn%2 == 0 {
			limits()
		}
		life := done.each()
		each, cpu, peak = append(each, life), cpu+done.cpu, max(peak, done.peak)
		took = slices.Concat(took, done.took)
		posts = append(posts, float64(share)/done.load.Elapsed.Seconds())
		ofBare, ofThin = append(ofBare, bare/life), append(ofThin, theirs/life)
	}
	commits = ours.commits() - commits
	total := float64(turns * share)
	b.ReportMetric(httpload.Median(each), "ns/op")
	b.ReportMetric(httpload.Median(ofBare), "of-bare")
	if thin != nil {
		b.ReportMetric(httpload.Median(ofThin), "of-thin")
	}
	b.ReportMetric(httpload.Median(posts), "posts/s")
	b.ReportMetric(float64(peak), "backlog")
	reportRequests(b, took, float64(commits)/total, float64(cpu.Microseconds())/total)
	b.ReportMetric(float64(bareCPU.Microseconds())/total, "bare-cpu-us/op")
}

// bareLoop is a database in which a bare loop writes the rows of lives.
type bareLoop struct {
	*database
	life benchbase.Life
}

func newBareTransfers(b testing.TB, db *database) *bareLoop {
	b.Helper()
	return newBareLoop(b, db, transferLife, (*server).load, func(*server) {})
}

// newBareLoop returns a database that has some lives of a server already, from whose rows the loop
// makes its own. watch sets what ends a life.
func newBareLoop(
	b testing.TB, db *database, life benchbase.Life, load func(s *server, connections, n int) httpload.Load, watch func(*server),
) *bareLoop {
	b.Helper()
	s := openServer(b, db)
	watch(s)
	s.live(b, load(s, 16, 640), maxOpen(16, 0))
	s.stop()
	return &bareLoop{database: db, life: life}
}

// run writes n lives, and returns the nanoseconds that each took.
func (l *bareLoop) run(b testing.TB, n int) float64 {
	b.Helper()
	took := l.bare(b, l.life, group, n)
	l.life.From += n
	return took
}

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
