package lifebench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/httpload"
)

// BenchmarkWallet disburses to wallets over HTTP. Such a transfer has its outcome in its one
// commit. of-thin is the rate as a share of a thin server's under the same load. The two take
// turns, and the median of the turns counts.
func BenchmarkWallet(b *testing.B) {
	for _, on := range backends {
		b.Run("store="+on.name, func(b *testing.B) {
			ours, thin := openServer(b, on.open(b)), openThin(b, on)
			for _, connections := range []int{1, 16, 64} {
				b.Run(fmt.Sprint("connections=", connections), func(b *testing.B) {
					benchmarkWallet(b, ours, thin, connections)
				})
			}
		})
	}
}

func benchmarkWallet(b *testing.B, ours *server, thin *thinServer, connections int) {
	const turns = 6
	share := max(b.N/turns, connections)
	load := ours.load(connections, share)
	load.Phones, load.Wallets = nil, ours.wallets
	other := load
	other.Address, other.Keys = thin.address, []string{thin.key}
	ours.gate.reset(1<<30, 0)
	run(b, load)
	var each, ofThin []float64
	var took []time.Duration
	var cpu time.Duration
	commits := ours.commits()
	for turn := range turns {
		var theirs float64
		if turn%2 == 1 { // so that neither is always the one after the other
			theirs = float64(run(b, other).Elapsed)
		}
		begun := httpload.CPUTime()
		done := run(b, load)
		cpu += httpload.CPUTime() - begun
		if turn%2 == 0 {
			theirs = float64(run(b, other).Elapsed)
		}
		each = append(each, float64(done.Elapsed)/float64(share))
		ofThin = append(ofThin, theirs/float64(done.Elapsed))
		took = slices.Concat(took, done.Durations)
	}
	total := float64(turns * share)
	commits = ours.commits() - commits
	b.ReportMetric(httpload.Median(each), "ns/op")
	b.ReportMetric(httpload.Median(ofThin), "of-thin")
	reportRequests(b, took, float64(commits)/total, float64(cpu.Microseconds())/total)
}
