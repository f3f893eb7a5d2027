package expect_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// witness is a test that only notes what it is told.
type witness struct{ said string }

func (w *witness) Helper() {}

func (w *witness) Error(args ...any) { w.said = fmt.Sprint(args...) }

func TestDifferencesAreReported(t *testing.T) {
	const n = 7
	for want, check := range map[string]func(expect.T){
		"7 of them":                 func(w expect.T) { expect.True(w, false, "%d of them", n) },
		`name 7: got "a", want "b"`: func(w expect.T) { expect.Equal(w, "a", "b", "name %d", n) },
		"count: got 1, want 2":      func(w expect.T) { expect.Equal(w, 1, 2, "count") },
		"call 7: no":                func(w expect.T) { expect.NoError(w, errors.New("no"), "call %d", n) },
		"call: got <nil>, want EOF": func(w expect.T) { expect.ErrorIs(w, nil, io.EOF, "call") },
		"": func(w expect.T) {
			expect.True(w, true, "true")
			expect.Equal(w, "a", "a", "equal")
			expect.Same(w, []int{1}, []int{1}, "same")
			expect.NoError(w, nil, "no error")
			expect.ErrorIs(w, fmt.Errorf("read: %w", io.EOF), io.EOF, "an error")
		},
	} {
		w := &witness{}
		check(w)
		expect.Equal(t, w.said, want, "the report")
	}
	w := &witness{}
	if expect.Same(w, []int{1}, []int{2}, "list"); w.said == "" {
		t.Error("two lists are the same")
	}
}
