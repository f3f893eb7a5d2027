package storagetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var claims = tests{
	"the longest due come first":                claimOrder,
	"a lease hides until it runs out":           claimLease,
	"a stale worker cannot write":               claimFencing,
	"a write ends the lease":                    claimReplace,
	"a scope can be claimed alone":              claimScope,
	"leases use real time beside a test clock":  claimAhead,
	"nobody claims what another has":            claimConcurrent,
	"a rollback gives the claim back":           claimRollback,
	"what is written in a transaction is there": claimOwn,
}

const lease = time.Minute

// claim claims with the due time and the time of leases given in seconds after
// noon.
func claim(t *testing.T, s storage.Store, due, now, limit int, scope *storage.Scope) []storage.Record {
	t.Helper()
	var got []storage.Record
	update(t, s, func(tx storage.Tx) error {
		var err error
		got, err = tx.Claim(jobs, storage.Claim{Scope: scope, Due: second(due), Now: second(now), Lease: lease, Limit: limit})
		return err
	})
	return got
}

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

func claimOrder(t *testing.T, s storage.Store) {
	insert(t, s, jobs,
		job(test1, "late", second(30)), job(live1, "first", second(-5)), job(test2, "now", second(10)),
		job(test1, "never", nil), job(test1, "second", second(0)), job(test1, "just not", second(10).Add(time.Millisecond)))
	equal(t, "two of them", ids(claim(t, s, 10, 10, 2, nil)), []string{"first", "second"})
	equal(t, "the rest", ids(claim(t, s, 10, 10, 9, nil)), []string{"now"})
	equal(t, "nothing more", ids(claim(t, s, 10, 10, 9, nil)), []string{})
	equal(t, "later", ids(claim(t, s, 40, 40, 9, nil)), []string{"just not", "late"})
}

func claimLease(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	first := claim(t, s, 0, 0, 9, nil)
	equal(t, "version", first[0].Version, int64(2))
	equal(t, "stored version", get(t, s, jobs, test1, "a").Version, int64(2))
	equal(t, "columns", get(t, s, jobs, test1, "a").Columns, []any{second(0)})
	equal(t, "within the lease", ids(claim(t, s, 59, 59, 9, nil)), []string{})
	again := claim(t, s, 60, 60, 9, nil)
	equal(t, "after the lease", ids(again), []string{"a"})
	equal(t, "version after the lease", again[0].Version, int64(3))
}

func claimFencing(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	stale := claim(t, s, 0, 0, 9, nil)[0]
	fresh := claim(t, s, 100, 100, 9, nil)[0]
	update(t, s, func(tx storage.Tx) error {
		want(t, "Replace by the stale worker", tx.Replace(jobs, stale), storage.ErrConflict)
		want(t, "Delete by the stale worker", tx.Delete(jobs, test1, "a", stale.Version), storage.ErrConflict)
		return tx.Delete(jobs, test1, "a", fresh.Version)
	})
	absent(t, s, jobs, test1, "a")
}

func claimReplace(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test1, "b", second(0)))
	for _, r := range claim(t, s, 0, 0, 9, nil) {
		r.Columns = []any{second(5)}
		if r.ID == "b" {
			r.Columns = []any{nil} // done
		}
		update(t, s, func(tx storage.Tx) error { return tx.Replace(jobs, r) })
	}
	equal(t, "before the next time", ids(claim(t, s, 4, 4, 9, nil)), []string{})
	equal(t, "at the next time", ids(claim(t, s, 5, 5, 9, nil)), []string{"a"})
}

func claimScope(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(live1, "b", second(0)), job(test2, "c", second(0)))
	equal(t, "one scope", ids(claim(t, s, 0, 0, 9, &live1)), []string{"b"})
	equal(t, "all", ids(claim(t, s, 0, 0, 9, nil)), []string{"a", "c"})
}

func claimAhead(t *testing.T, s storage.Store) {
	const day = 24 * 60 * 60
	insert(t, s, jobs, job(test1, "a", second(day)))
	equal(t, "by the real clock", ids(claim(t, s, 0, 0, 9, nil)), []string{})
	equal(t, "by a clock a day ahead", ids(claim(t, s, day, 0, 9, &test1)), []string{"a"})
	equal(t, "while the lease lasts", ids(claim(t, s, 2*day, 59, 9, &test1)), []string{})
	equal(t, "when it has run out", ids(claim(t, s, 2*day, 60, 9, &test1)), []string{"a"})
}

func claimConcurrent(t *testing.T, s storage.Store) {
	const n = 40
	var all []storage.Record
	for i := range n {
		all = append(all, job(test1, fmt.Sprint("j", i), second(0)))
	}
	insert(t, s, jobs, all...)
	var mu sync.Mutex
	holders := map[string]int{}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range n + 1 {
				var got []storage.Record
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					var err error
					got, err = tx.Claim(jobs, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 3})
					return err
				})
				if err != nil {
					t.Errorf("Claim: %v", err)
				}
				if len(got) == 0 {
					return
				}
				mu.Lock()
				for _, r := range got {
					holders[r.ID]++
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	for id, times := range holders {
		if times != 1 {
			t.Errorf("%s was claimed %d times", id, times)
		}
	}
	equal(t, "claimed", len(holders), n)
}

func claimRollback(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		got, err := tx.Claim(jobs, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 1})
		equal(t, "claimed", len(got), 1)
		if err != nil {
			return err
		}
		return errPlanned
	})
	want(t, "Update", err, errPlanned)
	equal(t, "version", get(t, s, jobs, test1, "a").Version, int64(1))
	equal(t, "claimed afterwards", ids(claim(t, s, 0, 0, 9, nil)), []string{"a"})
}

func claimOwn(t *testing.T, s storage.Store) {
	update(t, s, func(tx storage.Tx) error {
		if err := tx.Insert(jobs, job(test1, "a", noon)); err != nil {
			return err
		}
		c := storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 9}
		got, err := tx.Claim(jobs, c)
		if err != nil {
			return err
		}
		equal(t, "claimed", ids(got), []string{"a"})
		got, err = tx.Claim(jobs, c)
		equal(t, "claimed again", ids(got), []string{})
		return err
	})
}
