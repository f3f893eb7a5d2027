package storagetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var objects = tests{
	"inserted records are read back":    insertAndRead,
	"times are kept to the millisecond": timesRounded,
	"scopes are isolated":               scopesAreIsolated,
	"a taken id is refused":             takenID,
	"replace compares and swaps":        replaceComparesAndSwaps,
	"delete compares":                   deleteCompares,
	"callers may change results":        cloneOnRead,
	"callers may change arguments":      cloneOnWrite,
	"documents and ids are opaque":      documentsAreOpaque,
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
	wantAbsent(t, s, items, test1, "it_2")

	insert(t, s, items, item(test1, "it_2")) // with nulls
	equal(t, "nulls", get(t, s, items, test1, "it_2").Columns, []any{nil, nil, nil, nil, "new", nil})
}

// timesRounded stores times with more detail than the store keeps: nanoseconds, a zone, distant
// years.
func timesRounded(t *testing.T, s storage.Store) {
	accra := time.FixedZone("", 0)
	for i, at := range []time.Time{
		noon.Add(999_999), noon.Add(-1), noon.In(time.FixedZone("", 7200)), noon.In(accra), time.Now(),
		time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		{},
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	} {
		id := fmt.Sprint("it_", i)
		insert(t, s, items, with(item(test1, id), "made", at))
		got, ok := get(t, s, items, test1, id).Columns[3].(time.Time)
		if wanted := storage.Instant(at); !ok || !got.Equal(wanted) || got.Location() != time.UTC {
			t.Errorf("%v came back as %v, want %v in UTC", at, got, wanted)
		}
		for _, value := range []time.Time{at, storage.Instant(at)} {
			equal(t, fmt.Sprint("List where made is ", value), list(t, s, items, storage.Query{
				Scope: test1, Limit: 9, Where: []storage.Equal{{Column: "made", Value: value}},
			}), []string{id})
		}
		update(t, s, func(tx storage.Tx) error { return tx.Delete(items, test1, id, 1) })
	}
}

func scopesAreIsolated(t *testing.T, s storage.Store) {
	a := with(with(item(test1, "it_1"), "name", "soap"), "size", int64(1))
	insert(t, s, items, a)
	for _, other := range []storage.Scope{live1, test2, {}} {
		wantAbsent(t, s, items, other, "it_1")
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
	// The same scoped key in another scope is a different key. The id is in a global key, so it
	// differs.
	b := a
	b.Scope, b.ID = live1, "it_2"
	insert(t, s, items, b)
	equal(t, "List", list(t, s, items, storage.Query{Scope: test1, Limit: 10}), []string{"it_1"})
}

func takenID(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", nil))
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
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
	wantAbsent(t, s, items, test1, "it_1")
	insert(t, s, items, item(test1, "it_1"))
	equal(t, "version of a new one", get(t, s, items, test1, "it_1").Version, int64(1))
}

// cloneOnRead changes every result of every method, in a view and in an update that commits.
func cloneOnRead(t *testing.T, s storage.Store) {
	stored := with(item(test1, "it_1"), "token", "a")
	insert(t, s, items, stored)
	insert(t, s, jobs, job(test1, "job", noon))
	p := posting("p1", move("open/a", 1), move("open/b", -1))
	post(t, s, p)
	spoilRecords := func(records ...storage.Record) {
		for _, r := range records {
			clear(r.Columns)
			clear(r.Data)
		}
	}
	spoil := func(tx storage.ReadTx) error {
		r, err := tx.Get(items, test1, "it_1")
		if err != nil {
			return err
		}
		spoilRecords(r)
		if r, err = tx.Find(items, "token", test1, "a"); err != nil {
			return err
		}
		spoilRecords(r)
		page, err := tx.List(items, storage.Query{Scope: test1, Limit: 1})
		if err != nil {
			return err
		}
		spoilRecords(page...)
		booked, err := tx.Posting("p1")
		if err != nil {
			return err
		}
		clear(booked.Entries)
		all, err := tx.Postings("", 9)
		if err != nil {
			return err
		}
		clear(single(t, "Postings", all).Entries)
		balances, err := tx.Balances("", 9)
		if err != nil {
			return err
		}
		clear(balances)
		entries, err := tx.Entries("open/a", 0, 9)
		clear(entries)
		return err
	}
	check := func(tx storage.ReadTx) error {
		r, err := tx.Get(items, test1, "it_1")
		if err != nil {
			return err
		}
		equal(t, "columns", r.Columns, stored.Columns)
		equal(t, "document", string(r.Data), string(stored.Data))
		found, err := tx.Find(items, "token", test1, "a")
		want(t, "Find", err, nil)
		equal(t, "what is found", found, r)
		booked, err := tx.Posting("p1")
		if err != nil {
			return err
		}
		var accounts []string
		for _, e := range booked.Entries {
			accounts = append(accounts, e.Account)
		}
		equal(t, "accounts", accounts, []string{"open/a", "open/b"})
		return nil
	}
	view(t, s, func(tx storage.ReadTx) error {
		if err := spoil(tx); err != nil {
			return err
		}
		return check(tx)
	})
	update(t, s, func(tx storage.Tx) error {
		if err := spoil(tx); err != nil {
			return err
		}
		claimed, err := tx.Claim(jobs, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 1})
		spoilRecords(claimed...)
		if err != nil {
			return err
		}
		return check(tx)
	})
	view(t, s, check)
	r := get(t, s, jobs, test1, "job")
	equal(t, "due of the claimed", r.Columns, []any{noon})
	equal(t, "document of the claimed", string(r.Data), "{}")
	checkLedger(t, s)
}

// cloneOnWrite changes the arguments that it passed, in the transaction and after it.
func cloneOnWrite(t *testing.T, s storage.Store) {
	fresh := func(name string) storage.Record {
		return storage.Record{
			Scope: test1, ID: "it_1", Version: 1,
			Columns: with(item(test1, ""), "name", name).Columns, Data: []byte(name),
		}
	}
	check := func(tx storage.ReadTx, name string) {
		t.Helper()
		r, err := tx.Get(items, test1, "it_1")
		want(t, "Get", err, nil)
		equal(t, "columns", r.Columns, fresh(name).Columns)
		equal(t, "document", string(r.Data), name)
	}
	var passed storage.Record
	spoil := func() {
		clear(passed.Columns)
		clear(passed.Data)
	}
	for name, write := range map[string]func(storage.Tx) error{
		"1st": func(tx storage.Tx) error { return tx.Insert(items, passed) },
		"2nd": func(tx storage.Tx) error {
			if err := tx.Insert(items, passed); err != nil {
				return err
			}
			spoil()
			passed = fresh("2nd")
			return tx.Replace(items, passed)
		},
	} {
		update(t, s, func(tx storage.Tx) error {
			passed = fresh(name)
			if err := write(tx); err != nil {
				return err
			}
			spoil()
			check(tx, name)
			passed = fresh(name) // what follows is spoilt after the commit
			return nil
		})
		spoil()
		view(t, s, func(tx storage.ReadTx) error { check(tx, name); return nil })
		update(t, s, func(tx storage.Tx) error {
			r, err := tx.Get(items, test1, "it_1")
			if err != nil {
				return err
			}
			return tx.Delete(items, test1, "it_1", r.Version)
		})
	}

	p := posting("p1", move("open/a", 1), move("open/b", -1))
	update(t, s, func(tx storage.Tx) error {
		if err := tx.Post(p); err != nil {
			return err
		}
		clear(p.Moves)
		p = posting("p1", move("open/a", 1), move("open/b", -1))
		return nil
	})
	equal(t, "balances", balances(t, s), map[string]int64{"open/a": 1, "open/b": -1})
	checkLedger(t, s)
}

// documentsAreOpaque stores ids, merchants and documents that look like other data.
func documentsAreOpaque(t *testing.T, s storage.Store) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	odd := []string{`quote'"`, "per%cent_", "ɛɔŋ🙂", `back\slash`, "a;--", " ", "null", "line\nbreak", "%s", "\u00e9", "e\u0301", "\U0010ffff"}
	for i, text := range odd {
		scope := storage.Scope{Merchant: text, Live: i%2 == 0}
		r := with(item(scope, text), "token", text)
		r.Data = bytes.Repeat(every, 1+i*400) // the largest is above 1 MiB
		insert(t, s, items, r)
		update(t, s, func(tx storage.Tx) error {
			r.Version = 1
			return tx.Replace(items, r)
		})
		view(t, s, func(tx storage.ReadTx) error {
			got, err := tx.Find(items, "token", test1, text)
			if err != nil {
				return err
			}
			equal(t, "what is found", []any{got.Scope, got.ID, got.Columns[5]}, []any{scope, text, text})
			if !bytes.Equal(got.Data, r.Data) {
				t.Errorf("document of %q: %d bytes, want %d, or others", text, len(got.Data), len(r.Data))
			}
			return nil
		})
		equal(t, "List", list(t, s, items, storage.Query{Scope: scope, Limit: 9, Where: []storage.Equal{{Column: "token", Value: text}}}), []string{text})
		equal(t, "List of others", list(t, s, items, storage.Query{Scope: scope, Limit: 9, Where: []storage.Equal{{Column: "token", Value: "x"}}}), []string{})
		account := "open/" + text
		post(t, s, posting(text, move(account, 1), move("open/"+text+text, -1)))
		view(t, s, func(tx storage.ReadTx) error {
			entries, err := tx.Entries(account, 0, 9)
			if err != nil {
				return err
			}
			equal(t, "entries of "+account, len(entries), 1)
			_, err = tx.Posting(text)
			return err
		})
		equal(t, "sequence "+text, next(t, s, text), int64(1))
	}
	for _, data := range [][]byte{nil, {}, {0}} {
		r := item(test1, "small")
		r.Data = data
		insert(t, s, items, r)
		equal(t, "small document", string(get(t, s, items, test1, "small").Data), string(data))
		update(t, s, func(tx storage.Tx) error { return tx.Delete(items, test1, "small", 1) })
	}
	checkLedger(t, s)
}
