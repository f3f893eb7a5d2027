package faults_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// While the store fails at each operation of the work in turn, what the calls have left to
// be done is done, and once: in the end there is what is there where nothing fails.
func TestWorkIsDoneOnceWhileTheStoreFails(t *testing.T) {
	oneGoroutine(t)
	work := func(s *subject, round int, names ...string) {
		for i, c := range s.calls {
			if len(names) == 0 || slices.Contains(names, c.name) {
				must.Get(c.do(t.Context(), s.named("work-", round, "-", i), 1000*round+i, c.prepared()))(t)
			}
		}
	}
	plain, failing := newSubject(t, memory.New()), newSubject(t, memory.New())
	work(plain, 0)
	work(failing, 0)
	pass := func(s *subject, d time.Duration) error {
		s.now = s.now.Add(d)
		return s.svc.Drain(t.Context())
	}
	k := 1
	for hit := true; hit; k += effort.Of(5, 1) {
		must.True(t, k <= 3000, "the work has no end")
		for _, s := range []*subject{plain, failing} {
			work(s, k, "create batch", "refund through the charger")
		}
		failing.store.FailAt(k)
		err := pass(failing, 10*time.Minute)
		if hit = failing.store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		must.Do(t, pass(plain, 10*time.Minute))
	}
	var left []map[string]int
	for _, s := range []*subject{plain, failing} {
		must.Do(t, pass(s, time.Hour))
		v := must.Get(s.svc.Accounts.Verify(t.Context()))(t)
		expect.Equal(t, len(v.Problems), 0, "Verify: problems %v", v.Problems)
		expect.True(t, v.Entries != 0, "Verify: no entries")
		expect.Equal(t, v.Sealed, v.Entries, "Verify: sealed entries")
		is := map[string]int{}
		for what, n := range shape(nil, s.contents(t)) {
			is[anyID.ReplaceAllString(what, "_…")] += n
		}
		b := must.Get(s.svc.Accounts.Balance(t.Context(), s.caller))(t)
		is["available "+b.Available.String()]++
		is["reserved "+b.Reserved.String()]++
		left = append(left, is)
	}
	if diff := cmp.Diff(left[0], left[1]); diff != "" || k < 100 {
		t.Errorf("operations up to %d failed, and left is (-where nothing fails +here)\n%s", k, diff)
	}
}
