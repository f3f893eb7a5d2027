package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// A taken id or key costs one rerun, in which the store looks into that table first.
func TestTakenKeyCostsOneRerun(t *testing.T) {
	s := openNotes(t, Config{})
	insert(t, s, "a")
	keyed := func(id string) storage.Record {
		r := note(id)
		r.Columns[3] = "x"
		return r
	}
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, keyed("b")) }))
	for what, r := range map[string]storage.Record{"id": note("a"), "key": keyed("c")} {
		before := s.Stats()
		err := s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, r) })
		expect.ErrorIs(t, err, storage.ErrExists, "a taken %s", what)
		expect.Equal(t, s.Stats().Reruns-before.Reruns, int64(1), "reruns for a taken %s", what)
	}
}

// A batch that skips the check of an id meets the taken id later.
func TestUnverifiedInsertMeetsTakenID(t *testing.T) {
	s := openNotes(t, Config{})
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		if _, err := tx.Get(notes, scope, "d"); !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		return errors.Join(tx.Insert(notes, note("d")), tx.Insert(notes, note("b")))
	}))
	for _, id := range []string{"b", "d"} {
		if err := s.Update(t.Context(), inserts(id).fn); !errors.Is(err, storage.ErrExists) {
			t.Errorf("%s: %v, want ErrExists", id, err)
		}
	}
}

// A delete frees the unique key, even if a new record with the same id is buffered.
func TestDeleteFreesKeyOfBufferedRecord(t *testing.T) {
	s := openNotes(t, Config{})
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		keyed, other := note("a"), note("b")
		keyed.Columns[3], other.Columns[3] = "x", "x"
		err := errors.Join(tx.Insert(notes, keyed), tx.Delete(notes, scope, "a", 1), tx.Insert(notes, note("a")))
		if _, findErr := tx.Find(notes, "reference", scope, "x"); !errors.Is(findErr, storage.ErrNotFound) {
			t.Errorf("Find: %v, want ErrNotFound", findErr)
		}
		return errors.Join(err, tx.Insert(notes, other))
	})
	if err != nil {
		t.Error(err)
	}
}

// A call inserts a taken id without a check. Another call of the batch deletes that id: it must
// delete the record that was there before, not only the buffered insert.
func TestDeleteAfterUnverifiedInsertOfBatch(t *testing.T) {
	s := openNotes(t, Config{})
	insert(t, s, "taken")
	again := inserts("taken")
	remove := &update{fn: func(tx storage.Tx) error { return tx.Delete(notes, scope, "taken", 1) }}
	runTogether(t, s, again, remove, inserts("other"))
	if !errors.Is(again.err, storage.ErrExists) || remove.err != nil {
		t.Errorf("Insert: %v, want ErrExists; Delete: %v", again.err, remove.err)
	}
	if diff := cmp.Diff([]string{"other"}, ids(t, s)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// A second, equal declaration of a kind uses the same table.
func TestEqualDeclarationsShareTable(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "notes.db")
	s := openAt(t, path, Config{})
	first, second := *notes, *notes
	first.Keys, second.Keys = nil, nil
	for _, k := range []*storage.Kind{&first, &second} {
		must.Do(t, s.Define(t.Context(), k))
	}
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		if err := tx.Insert(&first, note("a")); err != nil {
			return err
		}
		if _, err := tx.Get(&second, scope, "a"); err != nil {
			return err
		}
		if list, err := tx.List(&second, storage.Query{Scope: scope, Limit: 9}); err != nil || len(list) != 1 {
			t.Errorf("listed %d, %v", len(list), err)
		}
		if err := tx.Insert(&second, note("a")); !errors.Is(err, storage.ErrExists) {
			t.Errorf("a taken id: %v", err)
		}
		return nil
	}))
}
