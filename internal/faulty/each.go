package faulty

import (
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/api"
)

// most is how many operations one call may have.
const most = 2000

// Each makes a call while its first operation of the store fails, then its second,
// and so on until a run meets no failure. Whichever fails, the call must say so, as
// a fault and not as a refusal of the caller's; the last run must succeed.
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
		if !errors.Is(err, Err) || api.CodeOf(err) != "" {
			t.Errorf("%s: operation %d failed, and the call said %v", what, k, err)
		}
	}
	t.Errorf("%s has more than %d operations", what, most)
}
