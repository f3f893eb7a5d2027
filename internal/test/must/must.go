// Package must has the calls that end a test where it cannot go on. Package expect has those
// after which it goes on.
package must

import "fmt"

// T is a *testing.T, a testing.TB or a *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Do ends the test if err is not nil.
func Do(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// True ends the test with these words, as of [fmt.Sprintf], unless ok.
func True(t T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatal(fmt.Sprintf(format, args...))
	}
}

// Get takes a value and an error, as a call returns them. What it returns gives the test the
// value, or ends the test if there was an error:
//
//	m := must.Get(accounts.CreateMerchant(ctx, caller, params))(t)
func Get[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		Do(t, err)
		return v
	}
}
