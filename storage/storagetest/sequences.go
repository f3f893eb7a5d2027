package storagetest

import (
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var sequences = tests{
	"count from one, each by its name":  sequenceCounts,
	"a rollback gives the numbers back": sequenceRollback,
	"have neither holes nor doubles":    sequenceConcurrent,
}

func next(t *testing.T, s storage.Store, name string) int64 {
	t.Helper()
	var n int64
	update(t, s, func(tx storage.Tx) error {
		var err error
		n, err = tx.Next(name)
		return err
	})
	return n
}

func sequenceCounts(t *testing.T, s storage.Store) {
	equal(t, "a", []int64{next(t, s, "a"), next(t, s, "a"), next(t, s, "a")}, []int64{1, 2, 3})
	for _, name := range []string{"b", "a ", "aa", "A", "mer_1/test"} {
		equal(t, name, next(t, s, name), int64(1))
	}
	update(t, s, func(tx storage.Tx) error {
		for wanted := int64(4); wanted < 7; wanted++ {
			n, err := tx.Next("a")
			if err != nil {
				return err
			}
			equal(t, "a in one transaction", n, wanted)
		}
		return nil
	})
}

func sequenceRollback(t *testing.T, s storage.Store) {
	next(t, s, "a")
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		n, err := tx.Next("a")
		equal(t, "in the transaction", n, int64(2))
		if err != nil {
			return err
		}
		return errPlanned
	})
	want(t, "Update", err, errPlanned)
	equal(t, "afterwards", next(t, s, "a"), int64(2))
	equal(t, "of another name", next(t, s, "A"), int64(1))
}

func sequenceConcurrent(t *testing.T, s storage.Store) {
	const callers, each = 8, 10
	numbers := make(chan int64, callers*each)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range each {
				var n int64
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					var err error
					if n, err = tx.Next("a"); err == nil && i%3 == 2 {
						err = errPlanned
					}
					return err
				})
				if err == nil {
					numbers <- n
				} else {
					want(t, "Update", err, errPlanned)
				}
			}
		})
	}
	all.Wait()
	close(numbers)
	seen := map[int64]bool{}
	for n := range numbers {
		if seen[n] {
			t.Errorf("%d was given twice", n)
		}
		seen[n] = true
	}
	equal(t, "numbers", len(seen), callers*(each-each/3))
	for n := int64(1); n <= int64(len(seen)); n++ {
		if !seen[n] {
			t.Errorf("%d was left out", n)
		}
	}
}
