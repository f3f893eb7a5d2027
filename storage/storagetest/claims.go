package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var claims = tests{
	"the longest due comes first":                 claimOrder,
	"a leased record is not claimed":              claimLease,
	"a stale worker cannot write":                 claimFencing,
	"a write ends the lease":                      claimReplace,
	"concurrent claims do not overlap":            claimConcurrent,
	"a rollback gives the claim back":             claimRollback,
	"a claim sees the transaction's writes":       claimSeesWrites,
	"a claim returns whole records":               claimWholeRecords,
	"the limit counts claimed records":            claimLimit,
	"a late worker may write if no other claimed": claimLateWorker,
	"the due time is exact":                       claimExact,
	"due times move":                              claimMoves,
	"only a write ends a lease":                   claimKeepsLease,
	"a claim in the transaction has no lease":     claimInTx,
	"a claim in the transaction rolls back":       claimInTxRollback,
	"a kind with one queue is claimed by mode":    claimOneQueue,
}

const lease = time.Minute

// claim claims with the due time and the time of leases in seconds after noon. It claims by the
// clock of a scope or, if scope is nil, in all of test mode.
func claim(t *testing.T, s storage.Store, due, now, limit int, scope *storage.Scope) []storage.Record {
	t.Helper()
	var got []storage.Record
	update(t, s, func(tx storage.Tx) error {
		var err error
		c := storage.Claim{Due: second(due), Now: second(now), Lease: lease, Limit: limit}
		if scope != nil {
			c.Live, c.Due, c.Clocks = scope.Live, time.Time{}, []storage.Clock{{Scope: *scope, Now: second(due)}}
		}
		got, err = tx.Claim(jobs, c)
		return err
	})
	return got
}

// ends are due work in one queue.
var ends = &storage.Kind{
	Name:     "test_ends",
	Columns:  []storage.Column{{Name: "due", Type: storage.Time, Null: true}},
	Due:      "due",
	OneQueue: true,
}

func claimOneQueue(t *testing.T, s storage.Store) {
	if err := s.Define(t.Context(), ends); err != nil {
		t.Fatal(err)
	}
	insert(t, s, ends, job(test1, "b", second(2)), job(test2, "a", second(1)), job(live1, "c", second(0)), job(test1, "later", second(9)))
	c := storage.Claim{Due: second(5), Now: second(5), Lease: lease, Limit: 9}
	for _, due := range [][]string{{"a", "b"}, {}} {
		update(t, s, func(tx storage.Tx) error {
			got, err := tx.Claim(ends, c)
			equal(t, "claimed", ids(got), due)
			return err
		})
	}
	byClock := storage.Claim{Clocks: []storage.Clock{{Scope: test1, Now: second(9)}}, Now: second(9), Lease: lease, Limit: 9}
	update(t, s, func(tx storage.Tx) error {
		_, err := tx.Claim(ends, byClock)
		want(t, "by a clock", err, storage.ErrInvalid)
		return nil
	})
	view(t, s, func(tx storage.ReadTx) error {
		b, err := tx.Backlog(ends, second(5), 9)
		equal(t, "backlog", b, storage.Backlog{Count: 3, Oldest: second(0)})
		want(t, "Backlog", err, nil)
		_, err = tx.NextDue(ends, test1, 1)
		want(t, "the next due times", err, storage.ErrInvalid)
		return nil
	})
}

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

func claimOrder(t *testing.T, s storage.Store) {
	insert(t, s, jobs,
		job(test1, "late", second(30)), job(storage.Scope{}, "first", second(-5)), job(test2, "now", second(10)),
		job(test1, "never", nil), job(test1, "second", second(0)), job(test1, "just not", second(10).Add(time.Millisecond)))
	equal(t, "two of them", ids(claim(t, s, 10, 10, 2, nil)), []string{"first", "second"})
	equal(t, "the rest", ids(claim(t, s, 10, 10, 9, nil)), []string{"now"})
	equal(t, "nothing more", ids(claim(t, s, 10, 10, 9, nil)), []string{})
	equal(t, "later", ids(claim(t, s, 40, 40, 9, nil)), []string{"just not", "late"})
}

func claimLease(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	first := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	equal(t, "version", first.Version, int64(2))
	equal(t, "stored version", get(t, s, jobs, test1, "a").Version, int64(2))
	equal(t, "columns", get(t, s, jobs, test1, "a").Columns, []any{second(0)})
	equal(t, "within the lease", ids(claim(t, s, 59, 59, 9, nil)), []string{})
	again := single(t, "claimed after the lease", claim(t, s, 60, 60, 9, nil))
	equal(t, "version after the lease", again.Version, int64(3))
}

func claimFencing(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	stale := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	fresh := single(t, "claimed after the lease", claim(t, s, 100, 100, 9, nil))
	update(t, s, func(tx storage.Tx) error {
		want(t, "Replace by the stale worker", tx.Replace(jobs, stale), storage.ErrConflict)
		want(t, "Delete by the stale worker", tx.Delete(jobs, test1, "a", stale.Version), storage.ErrConflict)
		return tx.Delete(jobs, test1, "a", fresh.Version)
	})
	wantAbsent(t, s, jobs, test1, "a")
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

func claimInTx(t *testing.T, s storage.Store) {
	insert(t, s, jobs,
		job(test1, "b", second(1)), job(storage.Scope{}, "a", second(0)), job(test1, "c", second(2)), job(test2, "held", second(-1)),
		job(test1, "later", second(9)))
	equal(t, "with a lease", ids(claim(t, s, -1, 0, 9, nil)), []string{"held"})
	due := storage.Claim{Due: second(5), Now: second(5), InTx: true, Limit: 2}
	update(t, s, func(tx storage.Tx) error {
		got, err := tx.Claim(jobs, due)
		if err != nil {
			return err
		}
		equal(t, "the first two", ids(got), []string{"a", "b"})
		equal(t, "their versions", []int64{got[0].Version, got[1].Version}, []int64{1, 1})
		equal(t, "a's scope", got[0].Scope, storage.Scope{})
		equal(t, "b's columns", got[1].Columns, []any{second(1)})
		got[0].Columns = []any{nil} // done
		return tx.Replace(jobs, got[0])
	})
	equal(t, "version of what was read", get(t, s, jobs, test1, "b").Version, int64(1))
	update(t, s, func(tx storage.Tx) error {
		due.Limit = 9
		got, err := tx.Claim(jobs, due)
		equal(t, "what is left", ids(got), []string{"b", "c"})
		due.Due, due.Clocks = time.Time{}, []storage.Clock{{Scope: test2, Now: second(5)}}
		none, err2 := tx.Claim(jobs, due)
		equal(t, "of another scope", ids(none), []string{})
		return errors.Join(err, err2)
	})
	equal(t, "with a lease", ids(claim(t, s, 5, 5, 9, nil)), []string{"b", "c"})
	update(t, s, func(tx storage.Tx) error {
		due.Due, due.Clocks = second(5), nil
		got, err := tx.Claim(jobs, due)
		equal(t, "while others hold them", ids(got), []string{})
		return err
	})
}

// A rollback removes both a write and a claim of the same record.
func claimInTxRollback(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		r, err := tx.Get(jobs, test1, "a")
		if err != nil {
			return err
		}
		r.Columns = []any{second(1)}
		if err := errors.Join(tx.Replace(jobs, r), tx.Insert(jobs, job(test1, "b", second(0)))); err != nil {
			return err
		}
		got, err := tx.Claim(jobs, storage.Claim{Due: second(5), Now: second(5), InTx: true, Limit: 9})
		if err != nil {
			return err
		}
		equal(t, "claimed", ids(got), []string{"b", "a"})
		return errPlanned
	})
	want(t, "the update", err, errPlanned)
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(jobs, test1, "a")
		equal(t, "version", r.Version, int64(1))
		equal(t, "columns", r.Columns, []any{second(0)})
		_, gone := tx.Get(jobs, test1, "b")
		want(t, "Get of what was undone", gone, storage.ErrNotFound)
		return errors.Join(err, tx.Insert(jobs, job(test1, "b", second(3))))
	})
	equal(t, "afterwards", ids(claim(t, s, 5, 5, 9, nil)), []string{"a", "b"})
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

func claimSeesWrites(t *testing.T, s storage.Store) {
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

// claimWholeRecords compares claimed records with those that Get returns.
func claimWholeRecords(t *testing.T, s storage.Store) {
	for _, scope := range []storage.Scope{test1, live1, {}} {
		r := job(scope, "a", noon)
		r.Data = []byte("some\x00thing")
		insert(t, s, jobs, r)
		for i, of := range []*storage.Scope{nil, &scope} {
			if scope.Live {
				of = &scope // of all is test mode
			}
			late := 3600 * (24*len(scope.Merchant) + i)
			got := claim(t, s, late, late, 9, of)
			i := slices.IndexFunc(got, func(r storage.Record) bool { return r.Scope == scope })
			if i < 0 {
				t.Fatalf("%+v: nothing was claimed", scope)
			}
			equal(t, "what was claimed", got[i], get(t, s, jobs, scope, "a"))
			equal(t, "its document", string(got[i].Data), string(r.Data))
		}
		update(t, s, func(tx storage.Tx) error { return tx.Delete(jobs, scope, "a", 3) })
	}
}

// claimLimit puts records that cannot be claimed before those that can.
func claimLimit(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test1, "b", second(1)), job(test2, "c", second(2)), job(test1, "d", second(3)), job(test2, "e", second(4)))
	equal(t, "one scope", ids(claim(t, s, 9, 9, 1, &test2)), []string{"c"})
	equal(t, "the first of all", ids(claim(t, s, 9, 9, 2, nil)), []string{"a", "b"})
	equal(t, "behind those", ids(claim(t, s, 9, 9, 1, nil)), []string{"d"})
	equal(t, "one scope again", ids(claim(t, s, 9, 9, 1, &test2)), []string{"e"})
	equal(t, "nothing more", ids(claim(t, s, 9, 9, 1, nil)), []string{})
	equal(t, "when all leases have run out", ids(claim(t, s, 100, 100, 3, nil)), []string{"a", "b", "c"})
}

// claimLateWorker writes after the lease has ended, and no other worker has claimed. Its version
// is still the newest, so the write succeeds.
func claimLateWorker(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test1, "b", second(0)))
	for _, r := range claim(t, s, 0, 0, 9, nil) {
		update(t, s, func(tx storage.Tx) error {
			if r.ID == "a" {
				r.Columns = []any{nil}
				return tx.Replace(jobs, r)
			}
			return tx.Delete(jobs, test1, r.ID, r.Version)
		})
	}
	equal(t, "claimed", ids(claim(t, s, 1000, 1000, 9, nil)), []string{})
	equal(t, "version", get(t, s, jobs, test1, "a").Version, int64(3))
	wantAbsent(t, s, jobs, test1, "b")
}

// claimExact claims around the due time and the end of a lease, by less than the stored
// millisecond.
func claimExact(t *testing.T, s storage.Store) {
	at := func(due, now time.Time) []string {
		var got []storage.Record
		update(t, s, func(tx storage.Tx) error {
			var err error
			got, err = tx.Claim(jobs, storage.Claim{Due: due, Now: now, Lease: lease, Limit: 9})
			return err
		})
		return ids(got)
	}
	insert(t, s, jobs, job(test1, "a", noon.Add(5*time.Millisecond)))
	equal(t, "a nanosecond early", at(noon.Add(5*time.Millisecond-1), noon), []string{})
	equal(t, "a little late", at(noon.Add(5*time.Millisecond+1), noon.In(time.FixedZone("", 3600))), []string{"a"})
	equal(t, "a millisecond before the lease ends", at(second(9), noon.Add(lease-time.Millisecond)), []string{})
	equal(t, "when it ends", at(second(9), noon.Add(lease)), []string{"a"})

	// Before 1970 and far in the future.
	insert(t, s, jobs, job(test1, "old", time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)), job(test1, "far", time.Date(2960, 1, 1, 0, 0, 0, 0, time.UTC)))
	equal(t, "the old one", at(time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), noon), []string{"old"})
	equal(t, "not the far one", at(time.Date(2959, 12, 31, 0, 0, 0, 0, time.UTC), noon), []string{})
	equal(t, "the far one", at(time.Date(2960, 1, 1, 0, 0, 0, 0, time.UTC), noon), []string{"far"})
}

// claimMoves changes due times between claims.
func claimMoves(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(1)), job(test1, "b", second(2)), job(test1, "c", nil))
	move := func(id string, due any) {
		update(t, s, func(tx storage.Tx) error {
			r, err := tx.Get(jobs, test1, id)
			if err != nil {
				return err
			}
			r.Columns[0] = due
			return tx.Replace(jobs, r)
		})
	}
	move("a", second(3))
	move("c", second(0))
	equal(t, "in the new order", ids(claim(t, s, 2, 2, 9, nil)), []string{"c", "b"})
	move("a", nil)
	equal(t, "never due", ids(claim(t, s, 1000, 2, 9, nil)), []string{})
	move("b", second(0))
	update(t, s, func(tx storage.Tx) error { return tx.Delete(jobs, test1, "c", 3) })
	equal(t, "one is deleted", ids(claim(t, s, 1000, 1000, 9, nil)), []string{"b"})
}

// claimKeepsLease makes calls that must not end a running lease.
func claimKeepsLease(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	held := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	update(t, s, func(tx storage.Tx) error {
		r := job(test1, "a", second(0))
		r.Version = 1
		want(t, "Replace with a stale version", tx.Replace(jobs, r), storage.ErrConflict)
		want(t, "Delete with a stale version", tx.Delete(jobs, test1, "a", 1), storage.ErrConflict)
		want(t, "Insert of the same", tx.Insert(jobs, r), storage.ErrExists)
		return nil
	})
	want(t, "Update", s.Update(t.Context(), func(tx storage.Tx) error {
		want(t, "Replace", tx.Replace(jobs, held), nil)
		return errPlanned
	}), errPlanned)
	equal(t, "within the lease", ids(claim(t, s, 59, 59, 9, nil)), []string{})

	// A claim and a write in one transaction: the write ends the lease.
	update(t, s, func(tx storage.Tx) error {
		got, err := tx.Claim(jobs, storage.Claim{Due: second(60), Now: second(60), Lease: lease, Limit: 9})
		if err != nil {
			return err
		}
		return tx.Replace(jobs, single(t, "claimed", got))
	})
	equal(t, "after the write", ids(claim(t, s, 60, 60, 9, nil)), []string{"a"})

	// A record that replaces a leased one is a new record.
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(jobs, test1, "a")
		if err != nil {
			return err
		}
		if err := tx.Delete(jobs, test1, "a", r.Version); err != nil {
			return err
		}
		return tx.Insert(jobs, job(test1, "a", second(0)))
	})
	equal(t, "a new one", ids(claim(t, s, 60, 60, 9, nil)), []string{"a"})
}
