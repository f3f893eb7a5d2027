// Package expect has the comparisons of tests. Each reports a difference, and the test goes on.
// Package must has those that end a test.
package expect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// T is a *testing.T, a testing.TB or a *rapid.T.
type T interface {
	Helper()
	Error(args ...any)
}

// True reports a failure in these words, as of [fmt.Sprintf], unless ok.
func True(t T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Error(fmt.Sprintf(format, args...))
	}
}

// Equal reports what differs, if got is not want.
func Equal[V comparable](t T, got, want V, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Error(fmt.Sprintf(what, args...) + ": got " + text(got) + ", want " + text(want))
	}
}

// Same reports the differences inside two values, as [cmp.Diff] finds them.
func Same(t T, got, want any, what string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(fmt.Sprintf(what, args...) + " (-want +got):\n" + diff)
	}
}

// NoError reports an error.
func NoError(t T, err error, what string, args ...any) {
	t.Helper()
	if err != nil {
		t.Error(fmt.Sprintf(what, args...) + ": " + err.Error())
	}
}

// ErrorIs reports an error that is not the wanted one, as [errors.Is] finds it.
func ErrorIs(t T, err, want error, what string, args ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Error(fmt.Sprintf(what, args...) + fmt.Sprintf(": got %v, want %v", err, want))
	}
}

// text quotes a text of one line, in which spaces count.
func text(v any) string {
	if s, ok := v.(string); ok && !strings.Contains(s, "\n") {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}
