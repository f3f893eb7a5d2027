// Package must has the two calls that end a test at an error it did not expect.
package must

import "testing"

// Do ends the test if err is not nil.
func Do(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Get takes a value and an error, as a call returns them. What it returns gives the test the
// value, or ends the test if there was an error:
//
//	m := must.Get(accounts.CreateMerchant(ctx, caller, params))(t)
func Get[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		Do(tb, err)
		return v
	}
}
