// Package effort tells tests how much to try. Tests that could go on for hours, such as
// random runs and faults at each call of the store, try a sample by default. It reaches
// every call and every store. With PAYMENTS_TEST_EFFORT=full they try more. CI takes the sample in all
// packages and the full effort in a third of them, in turn.
package effort

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that selects the effort.
const Variable = "PAYMENTS_TEST_EFFORT"

// Full reports whether tests try more than a sample.
func Full() bool { return os.Getenv(Variable) == "full" }

// Of returns how much to try: the sample, or all of it.
func Of[T any](sample, all T) T {
	if Full() {
		return all
	}
	return sample
}

// SampleChecks has rapid.Check of this test check n random inputs, unless the effort is full
// or the flag -rapid.checks was given. The test must not run beside others.
func SampleChecks(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	given := checks.Value.String()
	if Full() || given != checks.DefValue {
		return
	}
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(given) }) // which it has held
}
