package sqlite

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
)

// seen returns the values that an update reads of a note and of an account.
func seen(t *testing.T, s *Store, id, account string) (version, balance int64) {
	t.Helper()
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		r, err := tx.Get(notes, scope, id)
		if err != nil {
			return err
		}
		b, err := tx.Balance(account)
		version, balance = r.Version, b.Amount
		return err
	}))
	return version, balance
}

// rewrite replaces a note and moves money, and returns outcome.
func rewrite(t *testing.T, s *Store, id, account, posting string, outcome error) {
	t.Helper()
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		r, err := tx.Get(notes, scope, id)
		if err != nil {
			return err
		}
		if err := tx.Replace(notes, r); err != nil {
			return err
		}
		if err := tx.Post(storage.Posting{ID: posting, Type: "test", At: time.Unix(1, 0), Moves: []storage.Move{
			{Account: account, Amount: 1}, {Account: "other", Amount: -1},
		}}); err != nil {
			return err
		}
		if _, err := tx.Balance(account); err != nil {
			return err
		}
		return outcome
	})
	must.True(t, errors.Is(err, outcome), "%v", err)
}

// The cache is never older than the database, even if another process has written. It is never
// newer, even if an update has failed.
func TestCacheAgreesWithDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	here, there := openAt(t, path, Config{}), openAt(t, path, Config{})
	for _, s := range []*Store{here, there} {
		must.Do(t, s.Define(t.Context(), notes))
	}
	insert(t, here, "n1")
	want := func(s *Store, version, balance int64) {
		t.Helper()
		for range 2 { // the second time perhaps from memory
			if v, b := seen(t, s, "n1", "cash"); v != version || b != balance {
				t.Errorf("got version %d and %d, want %d and %d", v, b, version, balance)
			}
		}
	}
	want(here, 1, 0)
	rewrite(t, here, "n1", "cash", "p1", nil)
	want(here, 2, 1)
	want(there, 2, 1)
	rewrite(t, there, "n1", "cash", "p2", nil)
	want(here, 3, 2)
	rewrite(t, here, "n1", "cash", "p3", errors.New("refused"))
	want(here, 3, 2)
	rewrite(t, here, "n1", "cash", "p3", nil)
	want(here, 4, 3)
	want(there, 4, 3)
}

// A failed update removes no writes of others, and leaves none of its own in memory.
func TestFailedCallLeavesNothingInCache(t *testing.T) {
	s := openNotes(t, Config{})
	insert(t, s, "n1")
	refused := errors.New("refused")
	raise := func(outcome error) *update {
		return &update{fn: func(tx storage.Tx) error {
			r, err := tx.Get(notes, scope, "n1")
			if err == nil {
				err = tx.Replace(notes, r)
			}
			return errors.Join(err, outcome)
		}}
	}
	updates := []*update{inserts("n2"), raise(nil), raise(refused)}
	runTogether(t, s, updates...)
	if updates[0].err != nil || updates[1].err != nil || !errors.Is(updates[2].err, refused) {
		t.Errorf("got %v, %v, %v", updates[0].err, updates[1].err, updates[2].err)
	}
	if v, _ := seen(t, s, "n1", "cash"); v != 2 {
		t.Errorf("version %d, want 2", v)
	}
}

func TestCacheDropsDeletedRecord(t *testing.T) {
	s := openNotes(t, Config{})
	insert(t, s, "n1")
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		if _, err := tx.Get(notes, scope, "n1"); err != nil {
			return err
		}
		if err := tx.Delete(notes, scope, "n1", 1); err != nil {
			return err
		}
		if _, err := tx.Get(notes, scope, "n1"); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("after Delete: %v", err)
		}
		if err := tx.Insert(notes, note("n1")); err != nil {
			return err
		}
		if _, err := tx.Get(notes, scope, "n1"); err != nil {
			t.Errorf("after Insert: %v", err)
		}
		return nil
	}))
}

// The caller owns the results of reads.
func TestCacheReturnsCopies(t *testing.T) {
	s := openNotes(t, Config{})
	insert(t, s, "n1")
	for range 3 {
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
			r, err := tx.Get(notes, scope, "n1")
			if err != nil {
				return err
			}
			expect.True(t, bytes.Equal(r.Data, note("n1").Data), "got %s", r.Data)
			clear(r.Data)
			clear(r.Columns)
			return nil
		}))
	}
}
