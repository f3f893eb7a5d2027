// Package effort tells tests how much to try. Tests that could go on for hours, such as
// random runs and faults at each call of the store, try a sample by default. It reaches
// every call and every store. With PAYMENTS_TEST_EFFORT=full they try more; CI runs both.
package effort

import "os"

// Variable is the environment variable that selects the effort.
const Variable = "PAYMENTS_TEST_EFFORT"

// Full reports whether tests try all that CI tries.
func Full() bool { return os.Getenv(Variable) == "full" }

// Of returns how much to try: the sample, or all of it.
func Of[T any](sample, all T) T {
	if Full() {
		return all
	}
	return sample
}
