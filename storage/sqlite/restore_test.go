package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// backup copies the database to another file.
func backup(t *testing.T, s *Store) string {
	t.Helper()
	to := filepath.Join(effort.TempDir(t), "backup.db")
	must.Get(s.db.ExecContext(t.Context(), "VACUUM INTO ?", to))(t)
	return to
}

// restoreInto restores a backup into the file, as .restore of SQLite's shell does.
func restoreInto(t *testing.T, s *Store, from string) {
	t.Helper()
	conn := must.Get(s.db.Conn(t.Context()))(t)
	defer conn.Close()
	must.Do(t, conn.Raw(func(raw any) error {
		b, err := raw.(interface {
			NewRestore(string) (*sqlite.Backup, error)
		}).NewRestore(from)
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	}))
}

// The cache keeps nothing after a restore of a backup under a live store. No booking reaches an
// account through another account's old number.
func TestRestoreUnderOpenStoreClearsCache(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "a.db")
	here, there := openAt(t, path, Config{}), openAt(t, path, Config{})
	for _, s := range []*Store{here, there} {
		must.Do(t, s.Define(t.Context(), notes))
	}
	post := func(s *Store, id, account string) (number int64) {
		t.Helper()
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) (err error) {
			if number, err = tx.Next("a"); err != nil {
				return err
			}
			return tx.Post(storage.Posting{ID: id, Type: "test", At: time.Unix(0, 0), Moves: []storage.Move{
				{Account: account, Amount: 1}, {Account: "open", Amount: -1},
			}})
		}))
		return number
	}
	post(here, "p0", "first")
	post(there, "p1", "first") // from now on both check for other commits before they run
	post(here, "p2", "first")
	saved := backup(t, here)
	post(here, "lost1", "second") // its number is later "third"'s
	post(here, "lost2", "second")
	restoreInto(t, here, saved)
	post(there, "p4", "third")
	post(there, "p5", "second")
	if n := post(here, "p6", "second"); n != 6 {
		t.Errorf("number %d after five, want 6", n)
	}
	must.Do(t, here.View(t.Context(), func(tx storage.ReadTx) error {
		for account, want := range map[string]int64{"first": 3, "second": 2, "third": 1, "open": -6} {
			if b, err := tx.Balance(account); err != nil || b.Amount != want {
				t.Errorf("%s: %+v, %v, want %d", account, b, err, want)
			}
		}
		return nil
	}))
}

// A file that replaces the open one stops every update.
func TestUpdateFailsAfterFileIsReplaced(t *testing.T) {
	for name, replace := range map[string]func(path, by string) error{
		"another file": func(path, by string) error { return os.Rename(by, path) },
		"no file":      func(path, _ string) error { return os.Remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(effort.TempDir(t), "a.db")
			s := openAt(t, path, Config{})
			must.Do(t, s.Define(t.Context(), notes))
			insert(t, s, "n1")
			must.Do(t, replace(path, backup(t, s)))
			for i := range 3 {
				err := s.Update(context.Background(), func(tx storage.Tx) error { return tx.Insert(notes, note(fmt.Sprint("lost", i))) })
				expect.True(t, errors.Is(err, ErrReplaced), "update %d: %v", i, err)
			}
		})
	}
}
