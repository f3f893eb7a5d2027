package storagetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

// absent stands for the size of a record that is not there.
const absent = -1

// observed is what an update of oneOrder read, and what it wrote.
type observed struct {
	number                    int64 // its place in the order
	first, second             string
	firstSize, secondSize     int64
	newSize                   int64 // of second
	balance, entries, movesBy int64
}

// oneOrder has callers on two stores read and write the same few records and an account. A sequence
// numbers the updates. In that order, a model must have each value that an update read.
func oneOrder(t *testing.T, first, second storage.Store) {
	const callers, each, records = 4, 15, 4
	const account = "guarded/a"
	post(t, first, posting("begin", move(account, 50), move("open/b", -50)))
	var mu sync.Mutex
	var all []observed
	var running sync.WaitGroup
	for h, s := range []storage.Store{first, second} {
		for c := range callers {
			running.Go(func() {
				random := rand.New(rand.NewPCG(uint64(h), uint64(c)))
				for n := range each {
					a := random.IntN(records)
					b := (a + 1 + random.IntN(records-1)) % records
					deletes, id := random.IntN(3) == 0, fmt.Sprintf("p_%d_%d_%d", h, c, n)
					o := observed{first: fmt.Sprint("it_", a), second: fmt.Sprint("it_", b)}
					err := s.Update(t.Context(), func(tx storage.Tx) error { return o.run(tx, account, id, deletes) })
					want(t, "Update", err, nil)
					mu.Lock()
					all = append(all, o)
					mu.Unlock()
				}
			})
		}
	}
	running.Wait()
	slices.SortFunc(all, func(a, b observed) int { return cmp.Compare(a.number, b.number) })
	sizes := map[string]int64{}
	for i := range records {
		sizes[fmt.Sprint("it_", i)] = absent
	}
	balance := int64(50)
	for i, o := range all {
		place := fmt.Sprint("update ", i+1, ": ")
		equal(t, place+"number", o.number, int64(i+1))
		equal(t, place+"first record", o.firstSize, sizes[o.first])
		equal(t, place+"second record", o.secondSize, sizes[o.second])
		equal(t, place+"balance and entries", []int64{o.balance, o.entries}, []int64{balance, int64(i + 1)})
		sizes[o.second] = o.newSize
		balance += o.movesBy
	}
	for _, s := range []storage.Store{first, second} {
		equal(t, "balance at the end", balances(t, s)[account], balance)
		checkLedger(t, s)
	}
}

// run reads two records and the balance, and changes the second record by what it read.
func (o *observed) run(tx storage.Tx, account, id string, deletes bool) (err error) {
	if o.number, err = tx.Next("order"); err != nil {
		return err
	}
	if _, o.firstSize, err = sizeOf(tx, o.first); err != nil {
		return err
	}
	r, size, err := sizeOf(tx, o.second)
	if err != nil {
		return err
	}
	o.secondSize, o.newSize = size, o.firstSize+size+3
	switch {
	case size == absent:
		err = tx.Insert(items, with(item(test1, o.second), "size", o.newSize))
	case deletes:
		o.newSize = absent
		err = tx.Delete(items, test1, o.second, r.Version)
	default:
		err = tx.Replace(items, with(r, "size", o.newSize))
	}
	if err != nil {
		return err
	}
	b, err := tx.Balance(account)
	if err != nil {
		return err
	}
	o.balance, o.entries, o.movesBy = b.Amount, b.Entries, -7
	if b.Amount < 7 {
		o.movesBy = 20
	}
	return tx.Post(posting(id, move(account, o.movesBy), move("open/b", -o.movesBy)))
}

// sizeOf returns a record and its size, or absent.
func sizeOf(tx storage.ReadTx, id string) (storage.Record, int64, error) {
	r, err := tx.Get(items, test1, id)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return r, absent, nil
	case err != nil:
		return r, 0, err
	}
	return r, r.Columns[1].(int64), nil
}

// oneFlag has each of two stores set a flag of its own if the other's is not set. In any serial
// order, at most one of them is set.
func oneFlag(t *testing.T, first, second storage.Store) {
	both := []storage.Store{first, second}
	for round := range 20 {
		scope := storage.Scope{Merchant: fmt.Sprint("mer_", round)}
		ids := []string{fmt.Sprint("flag_a", round), fmt.Sprint("flag_b", round)}
		for _, id := range ids {
			insert(t, both[round%2], items, with(item(scope, id), "open", false))
		}
		for _, s := range both { // from now on, both may have both flags in memory
			update(t, s, func(tx storage.Tx) error {
				for _, id := range ids {
					if _, err := tx.Get(items, scope, id); err != nil {
						return err
					}
				}
				return nil
			})
		}
		var running sync.WaitGroup
		for i, s := range both {
			running.Go(func() {
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					other, err := tx.Get(items, scope, ids[1-i])
					if err != nil || other.Columns[2] == any(true) {
						return err
					}
					mine, err := tx.Get(items, scope, ids[i])
					if err != nil {
						return err
					}
					return tx.Replace(items, with(mine, "open", true))
				})
				want(t, "Update", err, nil)
			})
		}
		running.Wait()
		set := 0
		for _, id := range ids {
			if get(t, first, items, scope, id).Columns[2] == any(true) {
				set++
			}
		}
		equal(t, "flags that are set", set, 1)
	}
}

// refusalsAreCurrent has updates refused, or not, by what the other store has just written. A store
// may remember the record, its absence, or the balance as it was before.
func refusalsAreCurrent(t *testing.T, first, second storage.Store) {
	spend := func(s storage.Store, id string) error {
		return s.Update(t.Context(), func(tx storage.Tx) error {
			return tx.Post(posting(id, move("guarded/a", -1), move("open/b", 1)))
		})
	}
	look := func(s storage.Store) error {
		return s.Update(t.Context(), func(tx storage.Tx) error {
			_, err := tx.Get(items, test1, "it_1")
			return err
		})
	}
	refuseAt := func(s storage.Store) (number int64) {
		err := s.Update(t.Context(), func(tx storage.Tx) (err error) {
			if number, err = tx.Next("refusals"); err != nil {
				return err
			}
			return errPlanned
		})
		want(t, "Update that takes a number in vain", err, errPlanned)
		return number
	}
	for n := range 4 {
		for range 20 { // after a commit of the other one, a store may be careful for a while
			want(t, "Post without money", spend(first, fmt.Sprint("none", n)), storage.ErrInsufficient)
			want(t, "Get before the insert", look(first), storage.ErrNotFound)
			equal(t, "number in a refusal", refuseAt(first), int64(n+1))
		}
		post(t, second, posting(fmt.Sprint("in", n), move("guarded/a", 1), move("open/b", -1)))
		insert(t, second, items, item(test1, "it_1"))
		equal(t, "number of the other", next(t, second, "refusals"), int64(n+1))
		equal(t, "number in a refusal after it", refuseAt(first), int64(n+2))
		want(t, "Get after the insert", look(first), nil)
		want(t, "Post with money", spend(first, fmt.Sprint("out", n)), nil)
		want(t, "Post of the same money", spend(second, fmt.Sprint("again", n)), storage.ErrInsufficient)
		update(t, second, func(tx storage.Tx) error { return tx.Delete(items, test1, "it_1", 1) })
	}
	checkLedger(t, first)
}
