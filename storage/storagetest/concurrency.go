package storagetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var concurrency = tests{
	"no update is lost":                         noLostUpdate,
	"one of two inserts wins":                   oneInsertWins,
	"there is no write skew":                    noWriteSkew,
	"money that moves is neither lost nor made": concurrentTransfers,
	"a limit is never overshot":                 guardedLimit,
	"a stale version is a conflict":             staleVersion,
	"retries lose no update":                    retried,
	"opposite transfers do not deadlock":        oppositeTransfers,
}

// noLostUpdate counts up a number that is read and written in one transaction.
func noLostUpdate(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "size", int64(0)))
	const callers, each = 8, 10
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					r, err := tx.Get(items, test1, "it_1")
					if err != nil {
						return err
					}
					return tx.Replace(items, with(r, "size", r.Columns[1].(int64)+1))
				})
				want(t, "Update", err, nil)
			}
		})
	}
	all.Wait()
	r := get(t, s, items, test1, "it_1")
	equal(t, "count and version", []any{r.Columns[1], r.Version}, []any{int64(callers * each), int64(callers*each + 1)})
}

// oneInsertWins has concurrent callers insert the same unique key.
func oneInsertWins(t *testing.T, s storage.Store) {
	const callers = 12
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			errs[i] = s.Update(t.Context(), func(tx storage.Tx) error {
				return tx.Insert(items, with(item(test1, fmt.Sprint("it_", i)), "token", "one"))
			})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		want(t, "Update", err, storage.ErrExists)
	}
	equal(t, "winners", won, 1)
	equal(t, "records", len(list(t, s, items, storage.Query{Scope: test1, Limit: 99})), 1)
}

// noWriteSkew has two kinds of writers check a list before they write. In any serial order, only
// one of them can find it empty.
func noWriteSkew(t *testing.T, s storage.Store) {
	for round := range 10 {
		scope := storage.Scope{Merchant: fmt.Sprint("mer_", round)}
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() {
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					page, err := tx.List(items, storage.Query{Scope: scope, Limit: 1})
					if err != nil || len(page) > 0 {
						return err
					}
					return tx.Insert(items, item(scope, fmt.Sprintf("it_%d_%d", round, i)))
				})
				want(t, "Update", err, nil)
			})
		}
		both.Wait()
		equal(t, "records", len(list(t, s, items, storage.Query{Scope: scope, Limit: 9})), 1)
	}
}

// concurrentTransfers has concurrent callers move money among a few guarded accounts, in all
// directions. Meanwhile it reads the total.
func concurrentTransfers(t *testing.T, s storage.Store) {
	const accounts, callers, each, begin = 10, 32, 8, 100
	name := func(i int) string { return fmt.Sprintf("guarded/%02d", i) }
	for i := range accounts {
		post(t, s, posting(fmt.Sprint("begin", i), move(name(i), begin), move("open/source", -begin)))
	}
	check := func() {
		var total int64
		view(t, s, func(tx storage.ReadTx) error {
			all, err := tx.Balances("", 99)
			for _, b := range all {
				if b.Guarded && b.Amount < 0 {
					t.Errorf("%s is at %d", b.Account, b.Amount)
				}
				total += b.Amount
			}
			return err
		})
		equal(t, "total", total, int64(0))
	}
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for n := range each {
				from := random.IntN(accounts)
				to := (from + 1 + random.IntN(accounts-1)) % accounts
				amount := 1 + random.Int64N(2*begin)
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					return tx.Post(posting(fmt.Sprintf("move_%d_%d", c, n), move(name(from), -amount), move(name(to), amount)))
				})
				if err != nil && !errors.Is(err, storage.ErrInsufficient) {
					t.Errorf("Update: %v", err)
				}
			}
		})
	}
	for range 10 {
		check()
	}
	all.Wait()
	check()
	checkLedger(t, s)
}

// guardedLimit has concurrent callers spend from an account that has less than they want.
func guardedLimit(t *testing.T, s storage.Store) {
	post(t, s, posting("begin", move("guarded/a", 5), move("open/b", -5)))
	const callers = 20
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			errs[i] = s.Update(t.Context(), func(tx storage.Tx) error {
				if err := tx.Post(posting(fmt.Sprint("p", i), move("guarded/a", -1), move("open/b", 1))); err != nil {
					return err
				}
				return tx.Insert(items, item(test1, fmt.Sprint("it_", i)))
			})
		})
	}
	all.Wait()
	spent := 0
	for _, err := range errs {
		if err == nil {
			spent++
			continue
		}
		want(t, "Update", err, storage.ErrInsufficient)
	}
	equal(t, "spent", spent, 5)
	equal(t, "records", len(list(t, s, items, storage.Query{Scope: test1, Limit: 99})), 5)
	checkLedger(t, s)
}

// staleVersion reads in one transaction and writes in another. A different writer comes between.
func staleVersion(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	mine := get(t, s, items, test1, "it_1")
	theirs := get(t, s, items, test1, "it_1")
	update(t, s, func(tx storage.Tx) error { return tx.Replace(items, with(theirs, "name", "theirs")) })
	err := s.Update(t.Context(), func(tx storage.Tx) error { return tx.Replace(items, with(mine, "name", "mine")) })
	want(t, "Replace", err, storage.ErrConflict)
	equal(t, "name", get(t, s, items, test1, "it_1").Columns[0], any("theirs"))
}

// retried reads in a View and writes in an Update, as a service with a network call in between
// does. It repeats both until no other writer comes first.
func retried(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "size", int64(0)))
	const callers, each = 2, 20
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			// A conflict means that another writer has succeeded.
			done := 0
			for range callers * each {
				if done == each {
					return
				}
				var r storage.Record
				err := s.View(t.Context(), func(tx storage.ReadTx) error {
					var err error
					r, err = tx.Get(items, test1, "it_1")
					return err
				})
				if err != nil {
					t.Errorf("View: %v", err)
					return
				}
				err = s.Update(t.Context(), func(tx storage.Tx) error {
					return tx.Replace(items, with(r, "size", r.Columns[1].(int64)+1))
				})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, storage.ErrConflict):
					t.Errorf("Update: %v", err)
					return
				}
			}
			if done < each {
				t.Errorf("%d of %d were written, the rest came too late though nobody was before", done, each)
			}
		})
	}
	all.Wait()
	r := get(t, s, items, test1, "it_1")
	equal(t, "count and version", []any{r.Columns[1], r.Version}, []any{int64(callers * each), int64(callers*each + 1)})
}

// oppositeTransfers moves money between the same accounts in opposite directions. A backend that
// locks in the order of the calls would deadlock.
func oppositeTransfers(t *testing.T, s storage.Store) {
	const callers, each = 4, 10
	a, b := "guarded/a", "guarded/b"
	post(t, s, posting("begin", move(a, 1000), move(b, 1000), move("open/source", -2000)))
	var all sync.WaitGroup
	for c := range callers {
		from, to := a, b
		if c%2 == 1 {
			from, to = b, a
		}
		all.Go(func() {
			for n := range each {
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					if err := tx.Post(posting(fmt.Sprintf("p%d_%d", c, n), move(from, -1), move(to, 1))); err != nil {
						return err
					}
					// And in two postings, whose accounts no backend can sort.
					if err := tx.Post(posting(fmt.Sprintf("q%d_%d", c, n), move(from, -1), move("open/source", 1))); err != nil {
						return err
					}
					return tx.Post(posting(fmt.Sprintf("r%d_%d", c, n), move(to, 1), move("open/source", -1)))
				})
				want(t, "Update", err, nil)
			}
		})
	}
	all.Wait()
	equal(t, "balances", balances(t, s), map[string]int64{a: 1000, b: 1000, "open/source": -2000})
	checkLedger(t, s)
}
