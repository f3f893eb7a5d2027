package storagetest

import (
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var leases = tests{
	"a lease is renewed":                     leaseRenewed,
	"a lease is ended":                       leaseEnded,
	"only the holder renews":                 leaseFencing,
	"a written record can be leased":         leaseWritten,
	"a reinserted record can be leased":      leaseReinserted,
	"a lease rolls back":                     leaseRollback,
	"a lease ends to the millisecond":        leaseExact,
	"a record that is not due can be leased": leaseNotDue,
	"claims before a lease and after":        leaseBetweenClaims,
	"a lease is for one record":              leaseSingleRecord,
	"the next due times of many scopes":      nextDue,
	"the next due times move":                nextDueMoves,
	"the next due times, wrong calls":        nextDueInvalid,
}

// renew leases a record until this many seconds after noon.
func renew(t *testing.T, s storage.Store, r storage.Record, until int) {
	t.Helper()
	update(t, s, func(tx storage.Tx) error { return tx.Lease(jobs, r.Scope, r.ID, r.Version, second(until)) })
}

func leaseRenewed(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	r := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	renew(t, s, r, 100)
	equal(t, "the record", get(t, s, jobs, test1, "a"), r)
	equal(t, "after its first end", ids(claim(t, s, 99, 99, 9, nil)), []string{})
	renew(t, s, r, 200)
	equal(t, "after its second end", ids(claim(t, s, 199, 199, 9, nil)), []string{})
	r.Columns = []any{second(150)}
	update(t, s, func(tx storage.Tx) error { return tx.Replace(jobs, r) })
	again := single(t, "after a write, which ends it", claim(t, s, 199, 199, 9, nil))
	equal(t, "version", again.Version, r.Version+2)
}

func leaseEnded(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	r := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	renew(t, s, r, 5)
	equal(t, "before", ids(claim(t, s, 4, 4, 9, nil)), []string{})
	equal(t, "at its end", ids(claim(t, s, 5, 5, 9, nil)), []string{"a"})
}

func leaseFencing(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	stale := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	fresh := single(t, "claimed after the lease", claim(t, s, 100, 100, 9, nil))
	update(t, s, func(tx storage.Tx) error {
		want(t, "Lease by the stale worker", tx.Lease(jobs, test1, "a", stale.Version, second(500)), storage.ErrConflict)
		want(t, "Lease in another scope", tx.Lease(jobs, test2, "a", fresh.Version, second(500)), storage.ErrNotFound)
		want(t, "Lease of nothing", tx.Lease(jobs, test1, "b", 1, second(500)), storage.ErrNotFound)
		return nil
	})
	equal(t, "when the lease has run out", ids(claim(t, s, 160, 160, 9, nil)), []string{"a"})
	update(t, s, func(tx storage.Tx) error { return tx.Delete(jobs, test1, "a", fresh.Version+1) })
	update(t, s, func(tx storage.Tx) error {
		want(t, "Lease of what is gone", tx.Lease(jobs, test1, "a", 4, second(500)), storage.ErrNotFound)
		return nil
	})
}

// leaseWritten leases a record that the same transaction has written.
func leaseWritten(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	update(t, s, func(tx storage.Tx) error {
		b := job(test1, "b", second(1))
		r, err := tx.Get(jobs, test1, "a")
		return errors.Join(err,
			tx.Insert(jobs, b), tx.Lease(jobs, test1, "b", 1, second(50)),
			tx.Replace(jobs, r), tx.Lease(jobs, test1, "a", 2, second(60)))
	})
	equal(t, "version of a", get(t, s, jobs, test1, "a").Version, int64(2))
	equal(t, "version of b", get(t, s, jobs, test1, "b").Version, int64(1))
	equal(t, "while both are held", ids(claim(t, s, 49, 49, 9, nil)), []string{})
	equal(t, "when one lease has ended", ids(claim(t, s, 50, 50, 9, nil)), []string{"b"})
	equal(t, "when the other has", ids(claim(t, s, 60, 60, 9, nil)), []string{"a"})

	// A write after the lease ends it, in one transaction, too.
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(jobs, test1, "a")
		return errors.Join(err, tx.Lease(jobs, test1, "a", r.Version, second(900)), tx.Replace(jobs, r),
			tx.Insert(jobs, job(test1, "c", second(3))), tx.Lease(jobs, test1, "c", 1, second(900)), tx.Delete(jobs, test1, "c", 1),
			tx.Insert(jobs, job(test1, "c", second(3))))
	})
	equal(t, "after the writes", ids(claim(t, s, 70, 70, 9, nil)), []string{"a", "c"})
}

// leaseReinserted leases a record that replaces another one with its id. No state of the old one
// may come back.
func leaseReinserted(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test1, "b", second(0)))
	update(t, s, func(tx storage.Tx) error {
		b := job(test1, "b", second(8))
		b.Version = 1
		return errors.Join(
			tx.Delete(jobs, test1, "a", 1), tx.Insert(jobs, job(test1, "a", second(7))), tx.Lease(jobs, test1, "a", 1, second(50)),
			tx.Delete(jobs, test1, "b", 1), tx.Insert(jobs, job(test1, "b", second(9))), tx.Replace(jobs, b), tx.Lease(jobs, test1, "b", 2, second(50)))
	})
	equal(t, "when a is due", get(t, s, jobs, test1, "a").Columns, []any{second(7)})
	equal(t, "when b is due", get(t, s, jobs, test1, "b").Columns, []any{second(8)})
	equal(t, "while both are held", ids(claim(t, s, 49, 49, 9, nil)), []string{})
	equal(t, "afterwards", ids(claim(t, s, 50, 50, 9, nil)), []string{"a", "b"})
}

func leaseRollback(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	want(t, "Update", s.Update(t.Context(), func(tx storage.Tx) error {
		want(t, "Lease", tx.Lease(jobs, test1, "a", 1, second(500)), nil)
		return errPlanned
	}), errPlanned)
	equal(t, "afterwards", ids(claim(t, s, 0, 0, 9, nil)), []string{"a"})
}

func leaseExact(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	update(t, s, func(tx storage.Tx) error { return tx.Lease(jobs, test1, "a", 1, second(5).Add(-1)) })
	equal(t, "before", ids(claim(t, s, 4, 4, 9, nil)), []string{})
	equal(t, "at the millisecond", ids(claim(t, s, 5, 5, 9, nil)), []string{"a"})
}

func leaseNotDue(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(10)), job(test1, "b", nil))
	update(t, s, func(tx storage.Tx) error {
		return errors.Join(tx.Lease(jobs, test1, "a", 1, second(30)), tx.Lease(jobs, test1, "b", 1, second(30)))
	})
	equal(t, "when it is due", ids(claim(t, s, 20, 20, 9, nil)), []string{})
	equal(t, "at the end of the lease", ids(claim(t, s, 30, 30, 9, nil)), []string{"a"})
}

// leaseBetweenClaims claims before and after a lease in one transaction.
func leaseBetweenClaims(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test1, "b", second(1)))
	update(t, s, func(tx storage.Tx) error {
		c := storage.Claim{Due: second(5), Now: second(5), Lease: lease, Limit: 1}
		got, err := tx.Claim(jobs, c)
		if err != nil {
			return err
		}
		r := single(t, "claimed", got)
		want(t, "Lease", tx.Lease(jobs, test1, "a", r.Version, second(200)), nil)
		want(t, "Lease of b", tx.Lease(jobs, test1, "b", 1, second(100)), nil)
		got, err = tx.Claim(jobs, c)
		equal(t, "claimed then", ids(got), []string{})
		return err
	})
	equal(t, "when b's lease has ended", ids(claim(t, s, 100, 100, 9, nil)), []string{"b"})
	equal(t, "when a's has", ids(claim(t, s, 200, 200, 1, nil)), []string{"a"})
}

func leaseSingleRecord(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test2, "a", second(0)), job(live1, "a", second(0)))
	update(t, s, func(tx storage.Tx) error { return tx.Lease(jobs, test1, "a", 1, second(500)) })
	equal(t, "of others", len(claim(t, s, 0, 0, 9, nil)), 1)
	equal(t, "of live mode", len(claim(t, s, 0, 0, 9, &live1)), 1)
}

// nextOf returns the result of NextDue.
func nextOf(t *testing.T, s storage.Store, from storage.Scope, limit int) (all []storage.Due) {
	t.Helper()
	view(t, s, func(tx storage.ReadTx) (err error) {
		all, err = tx.NextDue(jobs, from, limit)
		return err
	})
	return all
}

func nextDue(t *testing.T, s storage.Store) {
	equal(t, "of nothing", len(nextOf(t, s, storage.Scope{}, 9)), 0)
	longer := storage.Scope{Merchant: test1.Merchant + "!"}
	insert(t, s, jobs,
		job(test2, "b", second(7)), job(test2, "a", second(-7)), job(test1, "never", nil), job(test1, "a", second(3)), job(test1, "b", second(4)),
		job(storage.Scope{}, "a", second(9)), job(longer, "a", second(5)),
		job(live1, "a", second(1)), job(storage.Scope{Merchant: "idle", Live: true}, "never", nil))
	all := []storage.Due{
		{Scope: storage.Scope{}, At: second(9)}, {Scope: test1, At: second(3)}, {Scope: longer, At: second(5)}, {Scope: test2, At: second(-7)},
	}
	equal(t, "all of test mode", nextOf(t, s, storage.Scope{}, 9), all)
	equal(t, "the first two", nextOf(t, s, storage.Scope{}, 2), all[:2])
	equal(t, "from one on", nextOf(t, s, test1, 9), all[1:])
	equal(t, "one", nextOf(t, s, test1, 1), all[1:2])
	equal(t, "from one that is not there", nextOf(t, s, storage.Scope{Merchant: test1.Merchant + "\x01"}, 9), all[2:])
	equal(t, "from the end on", len(nextOf(t, s, storage.Scope{Merchant: test2.Merchant + "0"}, 9)), 0)
	equal(t, "of live mode", nextOf(t, s, storage.Scope{Live: true}, 9), []storage.Due{{Scope: live1, At: second(1)}})
}

func nextDueMoves(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test1, "b", second(5)))
	r := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	equal(t, "while it is held", nextOf(t, s, test1, 9), []storage.Due{{Scope: test1, At: second(0)}})
	update(t, s, func(tx storage.Tx) error {
		r.Columns = []any{nil}
		if err := errors.Join(tx.Replace(jobs, r), tx.Insert(jobs, job(test2, "c", second(8)))); err != nil {
			return err
		}
		all, err := tx.NextDue(jobs, storage.Scope{}, 9)
		equal(t, "with its own", all, []storage.Due{{Scope: test1, At: second(5)}, {Scope: test2, At: second(8)}})
		return errors.Join(err, tx.Delete(jobs, test1, "b", 1))
	})
	equal(t, "in the end", nextOf(t, s, storage.Scope{}, 9), []storage.Due{{Scope: test2, At: second(8)}})
}

func nextDueInvalid(t *testing.T, s storage.Store) {
	view(t, s, func(tx storage.ReadTx) error {
		_, err := tx.NextDue(items, test1, 1)
		want(t, "of a kind without due times", err, storage.ErrInvalid)
		_, err = tx.NextDue(jobs, test1, 0)
		want(t, "without limit", err, storage.ErrInvalid)
		return nil
	})
}
