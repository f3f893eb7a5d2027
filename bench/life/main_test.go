package life

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/internal/pin"
)

func TestMain(m *testing.M) {
	if httpload.IsChild() {
		os.Exit(httpload.Main())
	}
	if config := os.Getenv(processEnv); config != "" {
		if err := serveProcess(config); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// reportRequests reports how long the requests took, and what each life cost in commits and in
// microseconds of processor time.
func reportRequests(b *testing.B, took []time.Duration, commits, cpu float64) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(commits, "commits/op")
	b.ReportMetric(float64(httpload.Percentile(took, 50).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(httpload.Percentile(took, 99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(cpu, "cpu-us/op")
}

// overStores runs a benchmark on each kind of database.
func overStores(b *testing.B, bench func(*testing.B, backend, *server)) {
	pin.Weaken() // the hash is slow by design, and no part of the work that is measured
	for _, on := range backends {
		s := openServer(b, on.open(b))
		b.Run("store="+on.name, func(b *testing.B) { bench(b, on, s) })
		s.stop()
	}
}

// report reports the time and the processor time for each of n lives.
func report(b *testing.B, n int, took, cpu time.Duration) {
	b.ReportMetric(float64(took)/float64(n), "ns/op")
	b.ReportMetric(float64(cpu.Microseconds())/float64(n), "cpu-us/op")
}
