package storagetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var keys = tests{
	"are unique in their scope":                      uniqueKeys,
	"are unique over all scopes if global":           globalKeys,
	"follow changes":                                 keysFollowChanges,
	"move between records in one update":             keysMove,
	"move between records that are inserted again":   keysMoveByDelete,
	"are taken although the update frees them again": takenThenFreed,
	"empty text is a value, null is none":            emptyText,
	"columns of a key are kept apart":                keyParts,
	"errors do not contain keys":                     keysStaySecret,
}

func uniqueKeys(t *testing.T, s storage.Store) {
	named := func(id string, name, size any) storage.Record {
		return with(with(item(test1, id), "name", name), "size", size)
	}
	insert(t, s, items, named("it_1", "soap", int64(1)), named("it_2", "soap", int64(2)),
		named("it_3", "soap", nil), named("it_4", "soap", nil), named("it_5", nil, int64(1)), named("it_6", nil, int64(1)))
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
		want(t, "Insert of a taken key", tx.Insert(items, named("it_9", "soap", int64(1))), storage.ErrExists)
		r, err := tx.Get(items, test1, "it_2")
		if err != nil {
			return err
		}
		want(t, "Replace with a taken key", tx.Replace(items, with(r, "size", int64(1))), storage.ErrExists)
		want(t, "Replace with its own key", tx.Replace(items, r), nil)
		_, err = tx.Find(items, "name_size", test1, "soap", int64(3))
		want(t, "Find of a free key", err, storage.ErrNotFound)
		return nil
	})
	wantAbsent(t, s, items, test1, "it_9")
}

func globalKeys(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "secret"))
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
		want(t, "the token elsewhere", tx.Insert(items, with(item(live1, "it_2"), "token", "secret")), storage.ErrExists)
		want(t, "the id elsewhere", tx.Insert(items, item(test2, "it_1")), storage.ErrExists)
		return nil
	})
	view(t, s, func(tx storage.ReadTx) error {
		for _, scope := range []storage.Scope{test1, live1, test2, {}} {
			r, err := tx.Find(items, "token", scope, "secret")
			if err != nil {
				return err
			}
			equal(t, "scope of what was found", r.Scope, test1)
			if r, err = tx.Find(items, "public", scope, "it_1"); err != nil {
				return err
			}
			equal(t, "scope of what was found by id", r.Scope, test1)
		}
		return nil
	})
}

func keysFollowChanges(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"))
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(items, test1, "it_1")
		if err != nil {
			return err
		}
		if err := tx.Replace(items, with(r, "token", "b")); err != nil {
			return err
		}
		_, err = tx.Find(items, "token", test1, "a")
		want(t, "Find by the old key", err, storage.ErrNotFound)
		if err := tx.Insert(items, with(item(test1, "it_2"), "token", "a")); err != nil {
			return err
		}
		return tx.Delete(items, test1, "it_1", 2)
	})
	insert(t, s, items, with(item(test1, "it_3"), "token", "b"))
	// A record is back in a key when its null goes, and out when it comes.
	update(t, s, func(tx storage.Tx) error {
		r := with(item(test1, "it_3"), "token", nil)
		r.Version = 1
		if err := tx.Replace(items, r); err != nil {
			return err
		}
		_, err := tx.Find(items, "token", test1, "b")
		want(t, "Find of what is null", err, storage.ErrNotFound)
		r = with(r, "token", "b")
		r.Version = 2
		return tx.Replace(items, r)
	})
	view(t, s, func(tx storage.ReadTx) error {
		a, err := tx.Find(items, "token", test1, "a")
		if err != nil {
			return err
		}
		b, err := tx.Find(items, "token", test1, "b")
		equal(t, "owners", []string{a.ID, b.ID}, []string{"it_2", "it_3"})
		return err
	})
}

// keysMove gives a key of one record to another, which the update has written before. A backend that
// writes at the end must not give the key away before it takes it.
func keysMove(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), with(item(test1, "it_2"), "token", "b"))
	update(t, s, func(tx storage.Tx) error {
		for _, to := range [][2]string{{"it_1", "a"}, {"it_2", "c"}, {"it_1", "b"}} {
			r, err := tx.Get(items, test1, to[0])
			if err != nil {
				return err
			}
			if err := tx.Replace(items, with(r, "token", to[1])); err != nil {
				return err
			}
		}
		return nil
	})
	view(t, s, func(tx storage.ReadTx) error {
		b, err := tx.Find(items, "token", test1, "b")
		if err != nil {
			return err
		}
		c, err := tx.Find(items, "token", test1, "c")
		equal(t, "owners", []string{b.ID, c.ID}, []string{"it_1", "it_2"})
		return err
	})
}

// keysMoveByDelete exchanges the keys of two records, which one update deletes and inserts again. A
// backend that writes only the difference at the end must not give a key away before it takes it.
func keysMoveByDelete(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), with(item(test1, "it_2"), "token", "b"))
	update(t, s, func(tx storage.Tx) error {
		return errors.Join(
			tx.Delete(items, test1, "it_1", 1), tx.Delete(items, test1, "it_2", 1),
			tx.Insert(items, with(item(test1, "it_1"), "token", "b")), tx.Insert(items, with(item(test1, "it_2"), "token", "a")),
		)
	})
	for id, token := range map[string]any{"it_1": "b", "it_2": "a"} {
		r := get(t, s, items, test1, id)
		equal(t, "version and token of "+id, []any{r.Version, r.Columns[5]}, []any{int64(1), token})
	}
}

// takenThenFreed writes records whose id or key is taken, and frees it in the same update. A
// backend that writes only the difference at the end would have nothing to write, or would find
// the key free, and must notice all the same.
func takenThenFreed(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), item(test1, "it_2"))
	insertAndDelete := func(r storage.Record) func(storage.Tx) error {
		return func(tx storage.Tx) error {
			if err := tx.Insert(items, r); err != nil {
				return err
			}
			return tx.Delete(items, r.Scope, r.ID, 1)
		}
	}
	thenReplace := func(r storage.Record, write func(storage.Tx) error) func(storage.Tx) error {
		return func(tx storage.Tx) error {
			if err := write(tx); err != nil {
				return err
			}
			now, err := tx.Get(items, r.Scope, r.ID)
			if err != nil {
				return err
			}
			return tx.Replace(items, with(now, "token", "b"))
		}
	}
	thenFree := func(r storage.Record, free func(storage.Tx) error) func(storage.Tx) error {
		return func(tx storage.Tx) error {
			if err := tx.Insert(items, r); err != nil {
				return err
			}
			return free(tx)
		}
	}
	added, changed := with(item(test1, "it_3"), "token", "a"), with(item(test1, "it_2"), "token", "a")
	changed.Version = 1
	freed := item(test1, "it_1")
	freed.Version = 1
	for what, fn := range map[string]func(storage.Tx) error{
		"Insert of a taken id, and Delete":           insertAndDelete(item(test1, "it_1")),
		"Insert of an id that is global, and Delete": insertAndDelete(item(live1, "it_1")),
		"Insert of a taken key, and Delete":          insertAndDelete(added),
		"Insert of a taken key, and Replace":         thenReplace(added, func(tx storage.Tx) error { return tx.Insert(items, added) }),
		"Replace with a taken key, and with another": thenReplace(changed, func(tx storage.Tx) error { return tx.Replace(items, changed) }),
		"Insert of a taken key, and Delete of its owner": thenFree(added, func(tx storage.Tx) error {
			return tx.Delete(items, test1, "it_1", 1)
		}),
		"Insert of a taken key, and Replace of its owner": thenFree(added, func(tx storage.Tx) error { return tx.Replace(items, freed) }),
	} {
		want(t, what, s.Update(t.Context(), fn), storage.ErrExists)
	}
	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_2", "it_1"})
	for id, token := range map[string]any{"it_1": "a", "it_2": nil} {
		r := get(t, s, items, test1, id)
		equal(t, "version and token of "+id, []any{r.Version, r.Columns[5]}, []any{int64(1), token})
	}
}

// emptyText distinguishes empty text from null, in keys and in filters.
func emptyText(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", ""), item(test1, "it_2"), item(test1, "it_3"))
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
		want(t, "Insert of a second empty token", tx.Insert(items, with(item(test2, "it_4"), "token", "")), storage.ErrExists)
		r, err := tx.Find(items, "token", test1, "")
		equal(t, "Find", r.ID, "it_1")
		return err
	})
	for value, wanted := range map[any][]string{"": {"it_1"}, nil: {"it_3", "it_2"}} {
		got := list(t, s, items, storage.Query{Scope: test1, Limit: 9, Where: []storage.Equal{{Column: "token", Value: value}}})
		equal(t, "List", got, wanted)
	}
}

// keyParts uses keys and scopes whose concatenated parts would be equal.
func keyParts(t *testing.T, s storage.Store) {
	named := func(scope storage.Scope, id, name string, size int64) storage.Record {
		return with(with(item(scope, id), "name", name), "size", size)
	}
	longer := storage.Scope{Merchant: test1.Merchant + "a"}
	all := []storage.Record{
		named(test1, "b", "a1", 2), named(test1, "c", "a", 12), named(test1, "d", "aa", -1),
		named(longer, "e", "a", -1), named(storage.Scope{}, test1.Merchant, "a", -1),
	}
	insert(t, s, items, all...)
	view(t, s, func(tx storage.ReadTx) error {
		for _, r := range all {
			found, err := tx.Find(items, "name_size", r.Scope, r.Columns[0], r.Columns[1])
			if err != nil {
				return err
			}
			equal(t, "Find", found.ID, r.ID)
		}
		return nil
	})
	equal(t, "List", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"d", "c", "b"})
	equal(t, "List of the longer name", list(t, s, items, storage.Query{Scope: longer, Limit: 9}), []string{"e"})
}

// keysStaySecret checks that errors never contain a stored token, because errors reach logs.
func keysStaySecret(t *testing.T, s storage.Store) {
	const token = "sk_live_do_not_tell"
	insert(t, s, items, with(item(test1, "it_1"), "token", token), item(test1, "it_2"))
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
		for what, err := range map[string]error{
			"Insert":       tx.Insert(items, with(item(test1, "it_3"), "token", token)),
			"Replace":      tx.Replace(items, storage.Record{Scope: test1, ID: "it_2", Version: 1, Columns: with(item(test1, ""), "token", token).Columns}),
			"an old write": tx.Replace(items, storage.Record{Scope: test1, ID: "it_1", Version: 7, Columns: with(item(test1, ""), "token", token).Columns}),
		} {
			if err == nil || strings.Contains(err.Error(), token) {
				t.Errorf("%s: error %v is missing, or tells the token", what, err)
			}
		}
		_, err := tx.Find(items, "token", test1, token+"_not")
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("Find: error %v is missing, or tells the token", err)
		}
		return nil
	})
}
