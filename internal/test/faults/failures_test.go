package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/race"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// onSubjects runs a test on a subject of its own over each store. The stores, and the tests, run
// beside one another, because a store that is a server mostly waits.
func onSubjects(t *testing.T, test func(*testing.T, *subject)) {
	t.Parallel()
	for _, backend := range testkit.Backends {
		t.Run(backend.Name, func(t *testing.T) {
			t.Parallel()
			store := backend.Open(t)
			t.Cleanup(func() { must.Do(t, store.Close()) })
			s := newSubject(t, store)
			s.every = backend.Every
			test(t, s)
			_, err := s.svc.Accounts.Seal(t.Context()) // the clock has moved, and no worker ran
			must.Do(t, err)
			v := must.Get(s.svc.Accounts.Verify(t.Context()))(t)
			expect.Equal(t, len(v.Problems), 0, "Verify: problems %v", v.Problems)
			expect.True(t, v.Entries != 0, "Verify: no entries")
		})
	}
}

// oneGoroutine skips a test that the race detector has nothing to find in.
func oneGoroutine(t *testing.T) {
	if race.Detector {
		t.Skip("it runs without the race detector")
	}
}

// most is how many operations of one call are made to fail.
const most = 400

// prepared makes what a call works on.
func (c *call) prepared() string {
	if c.prepare == nil {
		return ""
	}
	return c.prepare()
}

// first is the operation of a call that is tried first.
func (s *subject) first(i int) int { return 1 + i%s.every }

// tries reports whether call i is tried by a test that tries each of its effects. On a slow
// store that is one call in so many, unless the effort is full.
func (s *subject) tries(i int) bool { return effort.Full() || i%s.every == 0 }

// named is the caller with a key of its own, whose Replayed tells of repetitions.
func (s *subject) named(key ...any) api.Caller {
	c := s.caller
	c.IdempotencyKey, c.Replayed = fmt.Sprint(key...), new(bool)
	return c
}

// effect returns what a call leaves when nothing goes wrong and it is not the
// first of its kind.
func (s *subject) effect(t *testing.T, i int) map[string]int {
	t.Helper()
	c := s.calls[i]
	var before contents
	for n := range 2 {
		id := c.prepared()
		if n == 1 {
			before = s.contents(t)
		}
		if _, err := c.do(t.Context(), s.named("whole-", i, "-", n), 10_000+2*i+n, id); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	return shape(before, s.contents(t))
}

// idOf returns the id in an answer, or its whole where there is none.
func idOf(answer any) string {
	data, err := json.Marshal(answer)
	check(err)
	var object struct{ ID string }
	if err := json.Unmarshal(data, &object); err == nil && object.ID != "" {
		return object.ID
	}
	return string(data)
}

// Whichever operation of the store fails, in whichever call: the call says so, as
// a fault and not as a refusal of the caller's, nothing of it is written, and the
// same call succeeds as soon as nothing fails.
func TestStoreFailuresReachTheCaller(t *testing.T) {
	oneGoroutine(t)
	onSubjects(t, func(t *testing.T, s *subject) {
		for i, c := range s.calls {
			if c.outside {
				continue // see TestWhatWasBegunIsFinished
			}
			id := c.prepared()
			done := 0
			before := s.contents(t)
			limit := most
			if c.stepwise {
				limit *= 3 // the clock looks at all queues twice
			}
			for k := s.first(i); k <= limit && done == 0; k += s.every {
				s.store.FailAt(k)
				_, err := c.do(t.Context(), s.named("fail-", i), i, id)
				switch hit := s.store.Heal(); {
				case !hit && err != nil:
					t.Fatalf("%s: %v", c.name, err)
				case !hit:
					done = k
					continue
				case err == nil && c.quiet:
					before = s.contents(t)
					continue
				case !errors.Is(err, faultstore.Err) || api.CodeOf(err) != "":
					t.Errorf("%s: operation %d failed, and the call said %v", c.name, k, err)
				}
				after := s.contents(t)
				if diff := difference(before, after); diff != "" && !c.stepwise {
					t.Errorf("%s: operation %d failed, and left\n%s", c.name, k, diff)
				}
				before = after
			}
			expect.True(t, done >= 2 || s.every != 1, "%s: %d operations; the test wants at least one that can fail", c.name, done-1)
		}
	})
}

// Whenever a caller goes away: the call either says so and has written nothing,
// or has succeeded; and the store works on.
func TestACallerGoesAwayAtAnyOperation(t *testing.T) {
	oneGoroutine(t)
	onSubjects(t, func(t *testing.T, s *subject) {
		for i, c := range s.calls {
			if c.outside {
				continue
			}
			id, cut := c.prepared(), 0
			before := s.contents(t).without("pins")
			for k := s.first(i); k <= most; k += s.every {
				ctx, cancel := context.WithCancel(t.Context())
				s.store.CallAt(k, cancel)
				_, err := c.do(ctx, s.named("cancel-", i), i, id)
				cancel()
				hit := s.store.Heal()
				if err == nil {
					break // there was nothing left to stop
				}
				cut++
				if !hit || !errors.Is(err, context.Canceled) || api.CodeOf(err) != "" {
					t.Errorf("%s: cancelled at operation %d, the call said %v", c.name, k, err)
					break
				}
				after := s.contents(t).without("pins")
				if diff := difference(before, after); diff != "" && !c.stepwise {
					t.Errorf("%s: cancelled at operation %d, it left\n%s", c.name, k, diff)
				}
				before = after
				// A try of a PIN whose comparison was cut off stays counted.
				if c.pin {
					must.Do(t, s.svc.Accounts.SetPIN(t.Context(), api.Caller{}, s.wallet, account.SetPINParams{PIN: "1234"}))
				}
			}
			if _, err := c.do(t.Context(), s.named("cancel-", i), i, id); err != nil && c.once {
				t.Errorf("%s, cancelled at %d operations and repeated: %v", c.name, cut, err)
			}
		}
	})
}

// Whichever commit's answer is lost, a repetition with the same key has the
// effect once: it answers what the first had done, or does what is left.
func TestNoLostAnswerDoublesAnEffect(t *testing.T) {
	oneGoroutine(t)
	onSubjects(t, func(t *testing.T, s *subject) {
		for i, c := range s.calls {
			if !c.once || !s.tries(i) {
				continue
			}
			want := s.effect(t, i)
			lost := 0
			for k := 1; k <= most; k++ {
				id := c.prepared()
				before := s.contents(t)
				caller, n := s.named("lost-", i, "-", k), 20_000+most*i+k
				s.store.LoseAt(k)
				_, err := c.do(t.Context(), caller, n, id)
				if !s.store.Heal() {
					must.Do(t, err)
					break
				}
				lost++
				expect.True(t, err != nil || c.outside || c.quiet, "%s: the answer to commit %d was lost, and the call has one", c.name, k)
				if c.outside {
					s.now = s.now.Add(10 * time.Minute)
					must.Do(t, s.svc.Drain(t.Context()))
				}
				expect.NoError(t, testkit.Err(c.do(t.Context(), caller, n, id)), "%s: the answer to commit %d was lost, and the repetition said", c.name, k)
				if diff := cmp.Diff(want, shape(before, s.contents(t))); diff != "" && !c.outside {
					t.Errorf("%s: the answer to commit %d was lost, and the effect is another\n%s", c.name, k, diff)
				}
			}
			expect.True(t, lost != 0, "%s: it commits nothing", c.name)
		}
	})
}

// The same call made again, by this process or another, while the first is at any
// of its operations, has one effect and one answer with the first.
func TestNoRaceDoublesAnEffect(t *testing.T) {
	type outcome struct {
		answer any
		err    error
	}
	// Side by side, every so many operations of a call are tried.
	stride := effort.Of(12, 4)
	onSubjects(t, func(t *testing.T, s *subject) {
		for i, c := range s.calls {
			if !c.once || !s.tries(i) {
				continue
			}
			if race.Detector && c.pin {
				continue // hashing takes too long under it
			}
			want := s.effect(t, i)
			var contents contents // when the race before this one ended
			race := func(k int, twin call, arm func(run func())) (hit bool) {
				t.Helper()
				id, before := c.prepared(), contents
				if before == nil || c.prepare != nil {
					before = s.contents(t)
				}
				s.races++
				n, key := 20_000+s.races, fmt.Sprint("twin-", s.races)
				second := make(chan outcome, 1)
				arm(func() {
					answer, err := twin.do(t.Context(), s.named(key), n, id)
					second <- outcome{answer, err}
				})
				first, err := c.do(t.Context(), s.named(key), n, id)
				if !s.store.Heal() {
					must.Do(t, err)
					contents = nil
					return false
				}
				other := <-second
				for _, e := range []error{err, other.err} {
					expect.True(t, e == nil || api.CodeOf(e) == api.IdempotencyKeyInUse, "%s, twice at %d: %v", c.name, k, e)
				}
				if err == nil && other.err == nil && idOf(first) != idOf(other.answer) {
					t.Errorf("%s, twice at %d: %s and %s", c.name, k, idOf(first), idOf(other.answer))
				}
				expect.True(t, err == nil || other.err == nil, "%s, twice at %d: both were refused", c.name, k)
				contents = s.contents(t)
				expect.Same(t, shape(before, contents), want, "%s, twice at %d: the effect is another", c.name, k)
				return true
			}
			// Side by side, in one process.
			for k := 1 + i%stride; k <= most; k += stride * s.every {
				if !race(k, c, func(run func()) { s.store.CallAt(k, func() { go run() }) }) {
					break
				}
			}
			// Another process makes the whole call between two transactions.
			for k := 1; k <= most; k++ {
				if !race(k, s.twins[i], func(run func()) { s.store.BetweenAt(k, run) }) {
					break
				}
			}
		}
	})
}

// A call that goes outside may leave what it has begun. Whichever operation
// fails, the worker and a repetition finish it, and the money moves once.
func TestWhatWasBegunIsFinished(t *testing.T) {
	oneGoroutine(t)
	onSubjects(t, func(t *testing.T, s *subject) {
		for i, c := range s.calls {
			if !c.outside {
				continue
			}
			for k := effort.Of(s.first(i), 1); k <= most; k += effort.Of(s.every, 1) {
				id := c.prepared()
				before := s.contents(t)
				caller := s.named("begun-", i, "-", k)
				s.store.FailAt(k)
				_, err := c.do(t.Context(), caller, k, id)
				if !s.store.Heal() {
					must.Do(t, err)
					expect.True(t, k >= 5, "%s has %d operations only", c.name, k-1)
					break
				}
				expect.True(t, errors.Is(err, faultstore.Err), "%s: operation %d failed, and the call said %v", c.name, k, err)
				s.now = s.now.Add(10 * time.Minute)
				must.Do(t, s.svc.Drain(t.Context()))
				expect.NoError(t, testkit.Err(c.do(t.Context(), caller, k, id)), "%s: operation %d failed, and the repetition said", c.name, k)
				got := shape(before, s.contents(t))
				expect.Equal(t, got["new payments"]+got["changed payments"]+got["new top_ups"], 1, "%s: operation %d failed, and payments and top-ups of %v", c.name, k, got)
				expect.Equal(t, got["new posting"], 1, "%s: operation %d failed, and postings of %v", c.name, k, got)
			}
		}
	})
}

var anyID = regexp.MustCompile(`_[0-9A-Za-z]{22}`)

// A database may undo an update and run it again, whenever two meet. Every call has
// the effect that it has where nothing is undone.
func TestNoUpdateThatIsRunAgainLeavesATrace(t *testing.T) {
	oneGoroutine(t)
	plain, undone := newSubject(t, memory.New()), newSubject(t, faultstore.Undone(memory.New()))
	// The accounts of the two have other ids.
	effect := func(s *subject, i int) map[string]int {
		counts := map[string]int{}
		for what, n := range s.effect(t, i) {
			counts[anyID.ReplaceAllString(what, "_…")] += n
		}
		return counts
	}
	expect.True(t, len(plain.calls) > 170, "docs/proof.md promises more than 170 calls: there are %d", len(plain.calls))
	for i, c := range plain.calls {
		expect.Same(t, effect(undone, i), effect(plain, i), "%s has another effect", c.name)
	}
	for _, s := range []*subject{plain, undone} {
		s.now = s.now.Add(24 * time.Hour)
		must.Do(t, s.svc.Drain(t.Context()))
		v := must.Get(s.svc.Accounts.Verify(t.Context()))(t)
		expect.Equal(t, len(v.Problems), 0, "Verify: problems %v", v.Problems)
		expect.True(t, v.Entries != 0, "Verify: no entries")
	}
}
