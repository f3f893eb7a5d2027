package lifebench

import (
	"fmt"
	"os"
	"slices"
	"testing"

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

// median returns the middle one of the measurements.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
