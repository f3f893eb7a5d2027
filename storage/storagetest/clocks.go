package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var claimsByClock = tests{
	"a scope can be claimed alone":             claimScope,
	"several clocks can be claimed by":         claimClocks,
	"leases use real time beside a test clock": claimBesideTestClock,
	"a claim stays in its mode":                claimModes,
	"clocks have an order and limits":          claimClockLimit,
}

func claimScope(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(live1, "b", second(0)), job(test2, "c", second(0)))
	equal(t, "one scope", ids(claim(t, s, 0, 0, 9, &test2)), []string{"c"})
	equal(t, "one of live mode", ids(claim(t, s, 0, 0, 9, &live1)), []string{"b"})
	equal(t, "all", ids(claim(t, s, 0, 0, 9, nil)), []string{"a"})
}

// claimModes gives each mode the earlier due times in turn.
func claimModes(t *testing.T, s storage.Store) {
	live2 := storage.Scope{Merchant: test2.Merchant, Live: true}
	insert(t, s, jobs,
		job(test1, "t0", second(0)), job(live1, "l1", second(1)), job(live2, "l2", second(2)), job(test2, "t3", second(3)), job(live2, "l9", second(9)))
	of := func(live bool, clocks ...storage.Scope) (got []storage.Record) {
		t.Helper()
		update(t, s, func(tx storage.Tx) (err error) {
			c := storage.Claim{Live: live, Due: second(5), Now: second(5), InTx: true, Limit: 9}
			for _, scope := range clocks {
				c.Due, c.Clocks = time.Time{}, append(c.Clocks, storage.Clock{Scope: scope, Now: second(5)})
			}
			got, err = tx.Claim(jobs, c)
			return err
		})
		return got
	}
	equal(t, "live mode", ids(of(true)), []string{"l1", "l2"})
	equal(t, "test mode", ids(of(false)), []string{"t0", "t3"})
	equal(t, "by a clock of live mode", ids(of(true, live2)), []string{"l2"})
	equal(t, "by two", len(of(true, live2, live1)), 2)
	equal(t, "by a clock of test mode", ids(of(false, test2)), []string{"t3"})
}

func claimClockLimit(t *testing.T, s storage.Store) {
	for i := range 5 {
		insert(t, s, jobs, job(test1, fmt.Sprint("a", i), second(i)), job(test2, fmt.Sprint("b", i), second(i)))
	}
	with := func(limit, of1, of2 int) (all []string) {
		t.Helper()
		var got []storage.Record
		update(t, s, func(tx storage.Tx) (err error) {
			clocks := []storage.Clock{{Scope: test2, Now: second(9), Limit: of2}, {Scope: test1, Now: second(9), Limit: of1}}
			got, err = tx.Claim(jobs, storage.Claim{Clocks: clocks, Now: second(9), InTx: true, Limit: limit})
			return err
		})
		return ids(got)
	}
	equal(t, "of each", with(9, 2, 1), []string{"b0", "a0", "a1"})
	equal(t, "of one", with(9, 1, 0), []string{"b0", "b1", "b2", "b3", "b4", "a0"})
	equal(t, "of all, too", with(3, 4, 2), []string{"b0", "b1", "a0"})
	equal(t, "more than the claim's", with(3, 9, 9), []string{"b0", "b1", "b2"})
}

// claimClocks claims by several clocks at once, each with its own time.
func claimClocks(t *testing.T, s storage.Store) {
	const n = 40
	var clocks []storage.Clock
	for i := range n {
		scope := storage.Scope{Merchant: fmt.Sprintf("mer_%02d", i)}
		clocks = append(clocks, storage.Clock{Scope: scope, Now: second(i)})
		insert(t, s, jobs,
			job(scope, fmt.Sprintf("%02d b", i), second(i)), job(scope, fmt.Sprintf("%02d a", i), second(i-1)),
			job(scope, fmt.Sprintf("%02d later", i), second(i).Add(time.Millisecond)))
		scope.Live = true
		insert(t, s, jobs, job(scope, fmt.Sprintf("%02d live", i), second(0)))
	}
	insert(t, s, jobs, job(test2, "none of these", second(0)), job(storage.Scope{}, "the operator's", second(-1000)))
	seen := map[string]bool{}
	claim := func(now, limit int) (got []storage.Record) {
		update(t, s, func(tx storage.Tx) (err error) {
			got, err = tx.Claim(jobs, storage.Claim{Clocks: clocks, Now: second(now), Lease: lease, Limit: limit})
			return err
		})
		for _, r := range got {
			merchant, rest := r.ID[:2], r.ID[3:]
			if r.Scope != (storage.Scope{Merchant: "mer_" + merchant}) || rest != "a" && rest != "b" || seen[r.ID] || rest == "b" && !seen[merchant+" a"] {
				t.Errorf("claimed %q of %+v", r.ID, r.Scope)
			}
			equal(t, "version", r.Version, int64(2))
			seen[r.ID] = true
		}
		return got
	}
	for _, limit := range []int{1, 2, 37, 3} {
		equal(t, "claimed", len(claim(0, limit)), limit)
	}
	equal(t, "the rest", len(claim(0, 1000)), 2*n-43)
	equal(t, "within the lease", len(claim(59, 1000)), 0)
	update(t, s, func(tx storage.Tx) error {
		c := storage.Claim{Clocks: clocks[:3], Now: second(60), InTx: true, Limit: 9}
		got, err := tx.Claim(jobs, c)
		equal(t, "after it, by three of them, at once", len(got), 6)
		return err
	})
}

func claimBesideTestClock(t *testing.T, s storage.Store) {
	const day = 24 * 60 * 60
	insert(t, s, jobs, job(test1, "a", second(day)))
	equal(t, "by the real clock", ids(claim(t, s, 0, 0, 9, nil)), []string{})
	equal(t, "by a clock a day ahead", ids(claim(t, s, day, 0, 9, &test1)), []string{"a"})
	equal(t, "while the lease lasts", ids(claim(t, s, 2*day, 59, 9, &test1)), []string{})
	equal(t, "when it has run out", ids(claim(t, s, 2*day, 60, 9, &test1)), []string{"a"})
}
