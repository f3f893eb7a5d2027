package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-7082ffec/payments/storage"
)

// scans checks what storage.Copy reads and writes.
var scans = tests{
	"every record once, in one order":   scanPages,
	"a scan sees the transaction's own": scanSeesWrites,
	"sequences page by name":            scanSequences,
	"SetSequence sets the last number":  setSequence,
}

func scanAll(t tester, s storage.ReadTx, k *storage.Kind, limit int) (all []storage.Record) {
	t.Helper()
	var last storage.Record
	eachPage(t, func() ([]storage.Record, error) { return s.Scan(k, last.Scope, last.ID, limit) }, func(page []storage.Record) {
		if len(page) > limit {
			t.Errorf("Scan of at most %d returns %d", limit, len(page))
		}
		all = append(all, page...)
		last = page[len(page)-1]
	})
	return all
}

func scanPages(t *testing.T, s storage.Store) {
	var put []storage.Record
	for n, scope := range []storage.Scope{{}, {Live: true}, test1, live1, test2, {Merchant: "mer_10"}, {Merchant: "é"}} {
		for _, id := range []string{"a", "B", "a b", "~", "é"} {
			put = append(put, with(item(scope, fmt.Sprint(id, n)), "name", id))
		}
	}
	insert(t, s, items, put...)
	insert(t, s, jobs, job(test1, "held", second(0)), job(test2, "never", nil))
	claim(t, s, 0, 0, 1, nil)
	view(t, s, func(tx storage.ReadTx) error {
		all := scanAll(t, tx, items, 99)
		for i := range put {
			put[i].Version = 1
		}
		if diff := cmp.Diff(put, all, cmpopts.SortSlices(func(a, b storage.Record) bool {
			return fmt.Sprint(a.Scope, a.ID) < fmt.Sprint(b.Scope, b.ID)
		})); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		inOrder := slices.IsSortedFunc(all, func(a, b storage.Record) int {
			switch {
			case a.Scope.Merchant != b.Scope.Merchant:
				return strings.Compare(a.Scope.Merchant, b.Scope.Merchant)
			case a.Scope.Live != b.Scope.Live && a.Scope.Live:
				return 1
			case a.Scope.Live != b.Scope.Live:
				return -1
			}
			return strings.Compare(a.ID, b.ID)
		})
		if !inOrder {
			t.Errorf("Scan is not in the order of merchants, modes and ids: %v", all)
		}
		for _, limit := range []int{1, 2, 7} {
			equal(t, fmt.Sprint("in pages of ", limit), scanAll(t, tx, items, limit), all)
		}
		held := scanAll(t, tx, jobs, 1)
		slices.SortFunc(held, func(a, b storage.Record) int { return int(b.Version - a.Version) })
		equal(t, "of another kind", ids(held), []string{"held", "never"})
		equal(t, "version of what is held", held[0].Version, int64(2))

		// The cursor may no longer exist.
		middle := all[len(all)/2]
		rest, err := tx.Scan(items, middle.Scope, middle.ID, 99)
		want(t, "Scan", err, nil)
		inGoroutine(func() {
			update(t, s, func(tx storage.Tx) error { return tx.Delete(items, middle.Scope, middle.ID, 1) })
		})
		view(t, s, func(tx storage.ReadTx) error {
			got, err := tx.Scan(items, middle.Scope, middle.ID, 99)
			equal(t, "after what was deleted", got, rest)
			return err
		})
		_, err = tx.Scan(&storage.Kind{Name: "test_unknown"}, storage.Scope{}, "", 1)
		want(t, "Scan of an unknown kind", err, storage.ErrInvalid)
		return nil
	})
}

func scanSeesWrites(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "a"), item(test1, "b"), item(test1, "c"))
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(items, test1, "a")
		if err != nil {
			return err
		}
		want(t, "Replace", tx.Replace(items, with(r, "name", "new")), nil)
		want(t, "Delete", tx.Delete(items, test1, "b", 1), nil)
		want(t, "Insert", tx.Insert(items, item(test2, "d")), nil)
		all := scanAll(t, tx, items, 2)
		slices.SortFunc(all, func(a, b storage.Record) int { return int(a.ID[0]) - int(b.ID[0]) })
		equal(t, "ids", ids(all), []string{"a", "c", "d"})
		equal(t, "what was replaced", all[0].Columns[0], any("new"))
		equal(t, "its version", all[0].Version, int64(2))
		return nil
	})
}

func sequencesOf(t tester, s storage.ReadTx, limit int) (all []storage.Sequence) {
	t.Helper()
	after := ""
	eachPage(t, func() ([]storage.Sequence, error) { return s.Sequences(after, limit) }, func(page []storage.Sequence) {
		all, after = append(all, page...), page[len(page)-1].Name
	})
	return all
}

func scanSequences(t *testing.T, s storage.Store) {
	view(t, s, func(tx storage.ReadTx) error {
		equal(t, "before any", len(sequencesOf(t, tx, 9)), 0)
		return nil
	})
	for _, name := range []string{"b", "a", "B", "aa", "é", "a"} {
		next(t, s, name)
	}
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		_, err := tx.Next("never")
		want(t, "Next", err, nil)
		return errPlanned
	})
	want(t, "Update", err, errPlanned)
	wanted := []storage.Sequence{{Name: "B", Value: 1}, {Name: "a", Value: 2}, {Name: "aa", Value: 1}, {Name: "b", Value: 1}, {Name: "é", Value: 1}}
	view(t, s, func(tx storage.ReadTx) error {
		for _, limit := range []int{1, 2, 99} {
			equal(t, fmt.Sprint("in pages of ", limit), sequencesOf(t, tx, limit), wanted)
		}
		return nil
	})
	update(t, s, func(tx storage.Tx) error {
		_, err := tx.Next("aa")
		want(t, "Next", err, nil)
		_, err = tx.Next("aaa")
		wanted[2].Value++
		equal(t, "with its own", sequencesOf(t, tx, 2), slices.Insert(slices.Clone(wanted), 3, storage.Sequence{Name: "aaa", Value: 1}))
		wanted[2].Value--
		return err
	})
}

func setSequence(t *testing.T, s storage.Store) {
	set := func(tx storage.Tx, name string, value int64) {
		want(t, "SetSequence", tx.SetSequence(name, value), nil)
	}
	next(t, s, "old")
	update(t, s, func(tx storage.Tx) error {
		set(tx, "new", 41)
		set(tx, "old", 7)
		n, err := tx.Next("new")
		equal(t, "in the transaction", n, int64(42))
		return err
	})
	equal(t, "new", next(t, s, "new"), int64(43))
	equal(t, "old", next(t, s, "old"), int64(8))
	err := s.Update(t.Context(), func(tx storage.Tx) error { set(tx, "old", 99); return errPlanned })
	want(t, "Update", err, errPlanned)
	equal(t, "after a rollback", next(t, s, "old"), int64(9))
}
