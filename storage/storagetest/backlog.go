package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var backlog = tests{
	"due records of all scopes are counted": backlogCounts,
	"the count ends at its limit":           backlogLimit,
	"leased records are counted":            backlogLeased,
	"the transaction's writes are counted":  backlogSeesWrites,
	"invalid calls are refused":             backlogInvalid,
}

// due counts the jobs that are due up to this many seconds after noon.
func due(t *testing.T, s storage.Store, seconds, limit int) storage.Backlog {
	t.Helper()
	var b storage.Backlog
	view(t, s, func(tx storage.ReadTx) error {
		var err error
		b, err = tx.Backlog(jobs, second(seconds), limit)
		return err
	})
	return b
}

func backlogCounts(t *testing.T, s storage.Store) {
	equal(t, "of nothing", due(t, s, 0, 9), storage.Backlog{})
	insert(t, s, jobs,
		job(test1, "now", second(10)), job(live1, "first", second(-5)), job(test2, "second", second(0)),
		job(test1, "never", nil), job(test1, "just not", second(10).Add(time.Millisecond)))
	equal(t, "before all", due(t, s, -6, 9), storage.Backlog{})
	equal(t, "at the first", due(t, s, -5, 9), storage.Backlog{Count: 1, Oldest: second(-5)})
	equal(t, "at ten", due(t, s, 10, 9), storage.Backlog{Count: 3, Oldest: second(-5)})
	equal(t, "later", due(t, s, 11, 9), storage.Backlog{Count: 4, Oldest: second(-5)})
}

func backlogLimit(t *testing.T, s storage.Store) {
	for i := range 12 {
		insert(t, s, jobs, job(test1, fmt.Sprint("j", i), second(-i)))
	}
	equal(t, "one", due(t, s, 0, 1), storage.Backlog{Count: 1, Oldest: second(-11)})
	equal(t, "eleven", due(t, s, 0, 11), storage.Backlog{Count: 11, Oldest: second(-11)})
	equal(t, "all", due(t, s, 0, 100), storage.Backlog{Count: 12, Oldest: second(-11)})
}

func backlogLeased(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)), job(test1, "b", second(1)))
	r := single(t, "claimed", claim(t, s, 1, 1, 1, nil))
	equal(t, "while one is held", due(t, s, 1, 9), storage.Backlog{Count: 2, Oldest: second(0)})
	r.Columns = []any{nil}
	update(t, s, func(tx storage.Tx) error { return tx.Replace(jobs, r) })
	equal(t, "when it is done", due(t, s, 1, 9), storage.Backlog{Count: 1, Oldest: second(1)})
}

func backlogSeesWrites(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	update(t, s, func(tx storage.Tx) error {
		want(t, "Insert", tx.Insert(jobs, job(test1, "b", second(-1))), nil)
		b, err := tx.Backlog(jobs, second(0), 9)
		equal(t, "with its own", b, storage.Backlog{Count: 2, Oldest: second(-1)})
		want(t, "Delete", tx.Delete(jobs, test1, "b", 1), nil)
		return err
	})
	equal(t, "afterwards", due(t, s, 0, 9), storage.Backlog{Count: 1, Oldest: second(0)})
}

func backlogInvalid(t *testing.T, s storage.Store) {
	view(t, s, func(tx storage.ReadTx) error {
		_, err := tx.Backlog(items, noon, 1)
		want(t, "of a kind without due times", err, storage.ErrInvalid)
		_, err = tx.Backlog(jobs, noon, 0)
		want(t, "without limit", err, storage.ErrInvalid)
		_, err = tx.Backlog(jobs, time.Time{}, 1)
		want(t, "without time", err, storage.ErrInvalid)
		_, err = tx.Backlog(&storage.Kind{Name: "test_unknown"}, noon, 1)
		want(t, "of an unknown kind", err, storage.ErrInvalid)
		return nil
	})
}
