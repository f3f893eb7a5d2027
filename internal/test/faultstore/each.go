package faultstore

import (
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/api"
)

// most bounds the operations of one call.
const most = 2000

// Each makes a call again and again: the first time its first operation of the store
// fails, then its second, and so on until a run meets no failure. Every failed run must
// return the fault, and no refusal of the caller's input; the last run must succeed.
//
// A call that hides some failures on purpose has another test.
func (s *Store) Each(t testing.TB, what string, call func() error) {
	t.Helper()
	for k := 1; k <= most; k++ {
		s.FailAt(k)
		err := call()
		if !s.Heal() {
			if err != nil {
				t.Errorf("%s, with nothing failing: %v", what, err)
			}
			if k == 1 {
				t.Errorf("%s does not use the store", what)
			}
			return
		}
		if !errors.Is(err, Err) || api.IsRefusal(err) {
			t.Errorf("%s: operation %d failed, and the call said %v", what, k, err)
		}
	}
	t.Errorf("%s has more than %d operations", what, most)
}
