package sqlite

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// A failed update leaves nothing in the host's transaction, even if a read has flushed its
// writes. The transaction continues.
func TestFailedUpdateLeavesNothingInTheHostsTransaction(t *testing.T) {
	store := openNotes(t, Config{})
	host := must.Get(store.db.Begin())(t)
	own := store.In(host)
	ids := func(tx storage.ReadTx) (all []string, err error) {
		page, err := tx.List(notes, storage.Query{Scope: scope, Limit: 10})
		for _, r := range page {
			all = append(all, r.ID)
		}
		return all, err
	}
	refused := errors.New("refused")
	err := own.Update(t.Context(), func(tx storage.Tx) error {
		if err := tx.Insert(notes, note("gone")); err != nil {
			return err
		}
		if all, err := ids(tx); err != nil || len(all) != 1 {
			t.Errorf("the call sees %q, %v", all, err)
		}
		return refused
	})
	expect.True(t, errors.Is(err, refused), "got %v", err)
	must.Do(t, own.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("stays")) }))
	must.Do(t, host.Commit())
	err = store.View(t.Context(), func(tx storage.ReadTx) error {
		all, err := ids(tx)
		expect.Same(t, all, []string{"stays"}, "the host has committed")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// An update of the host's transaction, which cannot run again, gives a key of one record to another that it
// has written before.
func TestKeyMovesInTheHostsTransaction(t *testing.T) {
	store := openNotes(t, Config{})
	keyed := func(id string, version int64, key any) storage.Record {
		r := note(id)
		r.Version, r.Columns[3] = version, key
		return r
	}
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		return errors.Join(tx.Insert(notes, keyed("a", 0, "x")), tx.Insert(notes, keyed("b", 0, "y")))
	}))
	host := must.Get(store.db.Begin())(t)
	must.Do(t, store.In(host).Update(t.Context(), func(tx storage.Tx) error {
		return errors.Join(tx.Replace(notes, keyed("a", 1, "x")), tx.Replace(notes, keyed("b", 1, nil)), tx.Replace(notes, keyed("a", 2, "y")))
	}))
	must.Do(t, host.Commit())
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		r, err := tx.Find(notes, "reference", scope, "y")
		expect.Equal(t, r.ID, "a", "the owner of the key")
		return err
	}))
}

// A transaction of another file is refused, whether or not that file holds tables of the library: it
// would take rows that this store never sees.
func TestHostsTransactionOfAnotherFile(t *testing.T) {
	store, other := openNotes(t, Config{}), openNotes(t, Config{})
	app := must.Get(sql.Open("sqlite", "file:"+filepath.Join(effort.TempDir(t), "app.db")))(t)
	defer app.Close()
	memory := must.Get(sql.Open("sqlite", ":memory:"))(t)
	defer memory.Close()
	for name, db := range map[string]*sql.DB{"of the library": other.db, "of the host": app, "in memory": memory} {
		host := must.Get(db.Begin())(t)
		err := store.In(host).Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("lost")) })
		expect.ErrorIs(t, err, storage.ErrInvalid, "a file %s", name)
		must.Do(t, host.Rollback())
	}
	// Another name of the same file is the same file.
	link := filepath.Join(effort.TempDir(t), "link.db")
	must.Do(t, os.Symlink(store.path, link))
	linked := must.Get(sql.Open("sqlite", "file:"+link+"?_txlock=immediate"))(t)
	defer linked.Close()
	host := must.Get(linked.Begin())(t)
	must.Do(t, store.In(host).Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("kept")) }))
	must.Do(t, host.Commit())
}
