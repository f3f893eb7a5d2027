package storagetest

import (
	"bytes"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var objects = tests{
	"what is inserted is read back":      insertAndRead,
	"scopes are strangers":               scopesAreStrangers,
	"a taken id is refused":              takenID,
	"replace compares and swaps":         replaceComparesAndSwaps,
	"delete compares":                    deleteCompares,
	"what is returned can be changed":    cloneOnRead,
	"what was passed can be changed":     cloneOnWrite,
	"documents and ids are opaque":       opaque,
	"an error leaves the rest untouched": errorsChangeNothing,
}

func insertAndRead(t *testing.T, s storage.Store) {
	r := item(test1, "it_1")
	r.Columns = []any{"soap", int64(-7), true, noon.Add(1500 * time.Microsecond), "old", ""}
	r.Version = 99 // is ignored
	insert(t, s, items, r)

	wanted := r
	wanted.Version = 1
	wanted.Columns = []any{"soap", int64(-7), true, noon.Add(time.Millisecond), "old", ""}
	equal(t, "Get", get(t, s, items, test1, "it_1"), wanted)
	view(t, s, func(tx storage.ReadTx) error {
		found, err := tx.Find(items, "name_size", test1, "soap", int64(-7))
		equal(t, "Find", found, wanted)
		return err
	})
	absent(t, s, items, test1, "it_2")

	insert(t, s, items, item(test1, "it_2")) // with nulls
	equal(t, "nulls", get(t, s, items, test1, "it_2").Columns, []any{nil, nil, nil, nil, "new", nil})
}

func scopesAreStrangers(t *testing.T, s storage.Store) {
	a := with(with(item(test1, "it_1"), "name", "soap"), "size", int64(1))
	insert(t, s, items, a)
	for _, other := range []storage.Scope{live1, test2, {}} {
		absent(t, s, items, other, "it_1")
		equal(t, "List elsewhere", list(t, s, items, storage.Query{Scope: other, Limit: 10}), []string{})
		view(t, s, func(tx storage.ReadTx) error {
			_, err := tx.Find(items, "name_size", other, "soap", int64(1))
			want(t, "Find elsewhere", err, storage.ErrNotFound)
			return nil
		})
		update(t, s, func(tx storage.Tx) error {
			r := a
			r.Scope, r.Version = other, 1
			want(t, "Replace elsewhere", tx.Replace(items, r), storage.ErrNotFound)
			want(t, "Delete elsewhere", tx.Delete(items, other, "it_1", 1), storage.ErrNotFound)
			return nil
		})
	}
	// The same scoped key in another scope is another one. The id is in a global
	// key, so it differs.
	b := a
	b.Scope, b.ID = live1, "it_2"
	insert(t, s, items, b)
	equal(t, "List", list(t, s, items, storage.Query{Scope: test1, Limit: 10}), []string{"it_1"})
}

func takenID(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", nil))
	update(t, s, func(tx storage.Tx) error {
		want(t, "Insert", tx.Insert(jobs, job(test1, "a", noon)), storage.ErrExists)
		want(t, "Insert elsewhere", tx.Insert(jobs, job(live1, "a", nil)), nil)
		return nil
	})
	equal(t, "the first one", get(t, s, jobs, test1, "a").Columns, []any{nil})
}

func replaceComparesAndSwaps(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	first := get(t, s, items, test1, "it_1")
	update(t, s, func(tx storage.Tx) error { return tx.Replace(items, with(first, "name", "soap")) })

	second := get(t, s, items, test1, "it_1")
	equal(t, "version", second.Version, int64(2))
	equal(t, "name", second.Columns[0], any("soap"))
	update(t, s, func(tx storage.Tx) error {
		want(t, "Replace with an old version", tx.Replace(items, first), storage.ErrConflict)
		future := second
		future.Version = 3
		want(t, "Replace with a future version", tx.Replace(items, future), storage.ErrConflict)
		nobody := item(test1, "it_2")
		nobody.Version = 1
		want(t, "Replace of nothing", tx.Replace(items, nobody), storage.ErrNotFound)
		return nil
	})
	equal(t, "after refusals", get(t, s, items, test1, "it_1"), second)
}

func deleteCompares(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	update(t, s, func(tx storage.Tx) error {
		want(t, "Delete of another version", tx.Delete(items, test1, "it_1", 2), storage.ErrConflict)
		want(t, "Delete of nothing", tx.Delete(items, test1, "it_2", 1), storage.ErrNotFound)
		return tx.Delete(items, test1, "it_1", 1)
	})
	absent(t, s, items, test1, "it_1")
	insert(t, s, items, item(test1, "it_1"))
	equal(t, "version of a new one", get(t, s, items, test1, "it_1").Version, int64(1))
}

func cloneOnRead(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"))
	spoil := func(r storage.Record) {
		r.Columns[0] = "spoilt"
		clear(r.Data)
	}
	view(t, s, func(tx storage.ReadTx) error {
		r, err := tx.Get(items, test1, "it_1")
		if err != nil {
			return err
		}
		spoil(r)
		if r, err = tx.Find(items, "token", test1, "a"); err != nil {
			return err
		}
		spoil(r)
		page, err := tx.List(items, storage.Query{Scope: test1, Limit: 1})
		spoil(page[0])
		return err
	})
	r := get(t, s, items, test1, "it_1")
	equal(t, "column", r.Columns[0], nil)
	equal(t, "document", string(r.Data), `{"id":"it_1"}`)
}

func cloneOnWrite(t *testing.T, s storage.Store) {
	r := item(test1, "it_1")
	update(t, s, func(tx storage.Tx) error {
		if err := tx.Insert(items, r); err != nil {
			return err
		}
		r.Columns[0] = "spoilt"
		clear(r.Data)
		inside, err := tx.Get(items, test1, "it_1")
		equal(t, "document inside", string(inside.Data), `{"id":"it_1"}`)
		return err
	})
	equal(t, "column", get(t, s, items, test1, "it_1").Columns[0], nil)
}

func opaque(t *testing.T, s storage.Store) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, id := range []string{`quote'"`, "per%cent_", "ɛɔŋ", `back\slash`, "a;--", " "} {
		r := item(test1, id)
		r.Data = bytes.Repeat(every, 1+i*1000) // the largest is above 1 MiB
		insert(t, s, items, r)
		if got := get(t, s, items, test1, id).Data; !bytes.Equal(got, r.Data) {
			t.Errorf("document of %q: %d bytes, want %d, or others", id, len(got), len(r.Data))
		}
		equal(t, "List before "+id, list(t, s, items, storage.Query{Scope: test1, Limit: 9, After: id, Where: []storage.Equal{{Column: "name", Value: id}}}), []string{})
	}
	empty := item(test1, "empty")
	empty.Data = []byte{}
	insert(t, s, items, empty)
	equal(t, "empty document", len(get(t, s, items, test1, "empty").Data), 0)
}

func errorsChangeNothing(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), with(item(test1, "it_2"), "token", "b"))
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(items, test1, "it_2")
		if err != nil {
			return err
		}
		want(t, "Insert", tx.Insert(items, with(item(test1, "it_3"), "token", "a")), storage.ErrExists)
		want(t, "Replace", tx.Replace(items, with(r, "token", "a")), storage.ErrExists)
		want(t, "Post", tx.Post(posting("p1", move("guarded/a", -1), move("open/b", 1))), storage.ErrInsufficient)
		// The transaction goes on as if nothing had been tried.
		return tx.Insert(items, with(item(test1, "it_4"), "token", "d"))
	})
	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_4", "it_2", "it_1"})
	equal(t, "version", get(t, s, items, test1, "it_2").Version, int64(1))
}
