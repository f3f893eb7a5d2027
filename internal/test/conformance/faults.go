package conformance

import (
	"slices"
	"testing"
)

// Fault is a provider with a fault, and the names of the checks that must find it.
type Fault[R any] struct {
	Open  func() R
	Found []string
}

// TestFaults tests a suite: its checks find the faults, and each check finds one.
func TestFaults[R any](t *testing.T, checks []Check[R], faults map[string]Fault[R]) {
	for _, c := range checks {
		found := false
		for name, fault := range faults {
			if !slices.Contains(fault.Found, c.Name) {
				continue
			}
			found = true
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				finds := false
				defer func() { // also when the check skips the test
					if !finds {
						t.Error("the check does not find the fault")
					}
				}()
				finds = c.Run(t, fault.Open()) != nil
			})
		}
		if !found {
			t.Errorf("no fault tests the check %q", c.Name)
		}
	}
	for name, fault := range faults {
		for _, check := range fault.Found {
			if !slices.ContainsFunc(checks, func(c Check[R]) bool { return c.Name == check }) {
				t.Errorf("%s: there is no check %q", name, check)
			}
		}
	}
}

// TestComplete runs the checks on a provider without faults. It fails for a check that is skipped.
func TestComplete[R any](t *testing.T, checks []Check[R], open func() R) {
	Run(t, checks, func(t *testing.T) R {
		t.Cleanup(func() {
			if t.Skipped() {
				t.Error("the check is skipped")
			}
		})
		return open()
	})
}
