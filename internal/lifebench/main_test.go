package lifebench

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/httpload"
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
