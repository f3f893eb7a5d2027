package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes is the kind of most tests.
var notes = &storage.Kind{
	Name: "notes",
	Columns: []storage.Column{
		{Name: "status", Type: storage.Text, OneOf: []string{"open", "done"}, Indexed: true},
		{Name: "order", Type: storage.Int}, // a word of SQL
		{Name: "starred", Type: storage.Bool},
		{Name: "reference", Type: storage.Text, Null: true},
		{Name: "due_at", Type: storage.Time, Null: true},
	},
	Keys: []storage.Key{{Name: "reference", Columns: []string{"reference"}}},
	Due:  "due_at",
}

var (
	scope = storage.Scope{Merchant: "mer_1", Live: true}
	noon  = time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
)

// note returns a record of notes.
func note(id string) storage.Record {
	return storage.Record{
		Scope: scope, ID: id, Version: 1,
		Columns: []any{"open", int64(7), true, nil, nil},
		Data:    []byte(`{"text":"` + id + `"}`),
	}
}

func openAt(t testing.TB, path string, config Config) *Store {
	t.Helper()
	s := must.Get(Open(t.Context(), path, config))(t)
	t.Cleanup(func() {
		expect.NoError(t, s.Close(), "Close")
	})
	return s
}

// openNotes opens a new store that knows notes.
func openNotes(t testing.TB, config Config) *Store {
	t.Helper()
	s := openAt(t, filepath.Join(effort.TempDir(t), "test.db"), config)
	must.Do(t, s.Define(t.Context(), notes))
	return s
}

func insert(t testing.TB, s *Store, ids ...string) {
	t.Helper()
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		for _, id := range ids {
			if err := tx.Insert(notes, note(id)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// ids returns the ids of all notes, newest first.
func ids(t testing.TB, s *Store) []string {
	t.Helper()
	var found []string
	must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
		records, err := tx.List(notes, storage.Query{Scope: scope, Limit: 100_000})
		for _, r := range records {
			found = append(found, r.ID)
		}
		return err
	}))
	return found
}

func TestOpenEscapesPaths(t *testing.T) {
	for _, name := range []string{"plain.db", "with space.db", "what?.db", "a#b.db", "100%.db", "%41.db", "a&b=c;d+e.db", "ɛkɔ:₵.db", "?mode=ro"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(effort.TempDir(t), name)
			s := openAt(t, path, Config{})
			must.Do(t, s.Define(t.Context(), notes))
			insert(t, s, "n1")
			info := must.Get(os.Stat(path))(t)
			if got := info.Mode().Perm(); got != 0o600 {
				t.Errorf("mode is %o, want 600", got)
			}
			entries := must.Get(os.ReadDir(filepath.Dir(path)))(t)
			for _, e := range entries {
				expect.True(t, strings.HasPrefix(e.Name(), name), "stray file %s", e.Name())
			}
		})
	}
}

func TestOpenRelativePath(t *testing.T) {
	t.Chdir(effort.TempDir(t))
	openAt(t, "relative.db", Config{})
	if _, err := os.Stat("relative.db"); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesInvalidPaths(t *testing.T) {
	for _, test := range []struct {
		path, want string
	}{
		{":memory:", "storage/memory"},
		{"", "path"},
		{"file:x.db", "URI"},
		{"a\x00b", "path"},
	} {
		_, err := Open(t.Context(), test.path, Config{})
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open(%q): %v, want ErrInvalid that mentions %s", test.path, err, test.want)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(effort.TempDir(t), "none", "x.db"), Config{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open in a missing directory: %v, want ErrNotExist", err)
	}
	text := filepath.Join(effort.TempDir(t), "text")
	must.Do(t, os.WriteFile(text, []byte(strings.Repeat("not a database. ", 100)), 0o600))
	if _, err := Open(t.Context(), text, Config{}); err == nil {
		t.Error("Open of a text file succeeded")
	}
}

func TestOpenRefusesForeignAndNewerFiles(t *testing.T) {
	for _, test := range []struct {
		name, change string
		want         error
	}{
		{"newer", "PRAGMA user_version = 9999", storage.ErrNewer},
		{"another program", "PRAGMA application_id = 7", storage.ErrInvalid},
		{"tables without a mark", "PRAGMA application_id = 0; PRAGMA user_version = 0", storage.ErrInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(effort.TempDir(t), "test.db")
			s := openAt(t, path, Config{})
			must.Do(t, s.writer.conn.script(test.change))
			must.Do(t, s.Close())
			if _, err := Open(t.Context(), path, Config{}); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestConnectionsHaveTheirSettings(t *testing.T) {
	s := openNotes(t, Config{})
	all := map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "temp_store": "2", "wal_autocheckpoint": "0",
	}
	check := func(c *conn, more map[string]string) {
		t.Helper()
		for _, settings := range []map[string]string{all, more} {
			for name, want := range settings {
				var got string
				must.Get(c.queryRow("PRAGMA "+name, nil, &got))(t)
				expect.Equal(t, got, want, "%s", name)
			}
		}
	}
	check(s.writer.conn, map[string]string{"query_only": "0", "busy_timeout": "100"})
	check(s.checkpointer.conn, map[string]string{"query_only": "0", "busy_timeout": "100"})
	c := must.Get(s.readers.acquire(t.Context()))(t)
	defer s.readers.release(c, nil)
	check(c, map[string]string{"query_only": "1", "busy_timeout": "2000"})
	if err := c.script(`DELETE FROM notes`); err == nil {
		t.Error("a reader could write")
	}
	if err := c.script(`SELECT "no such column"`); err == nil {
		t.Error("a mistyped name was taken for a string")
	}
}

// A closed store is one file.
func TestCloseLeavesOneFile(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "test.db")
	s := openAt(t, path, Config{})
	must.Do(t, s.Define(t.Context(), notes))
	insert(t, s, "n1")
	must.Do(t, s.Close())
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + suffix); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left after Close: %v", suffix, err)
		}
	}
}

// The constraints are the last line of defence against a bug of this package.
func TestConstraintsProtectLedger(t *testing.T) {
	s := openNotes(t, Config{})
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		return tx.Post(storage.Posting{
			ID: "pst_1", Type: "payment", At: noon,
			Moves: []storage.Move{{Account: "wallet", Guarded: true, Amount: 5}, {Account: "cash", Amount: -5}},
		})
	}))
	for _, statement := range []string{
		`UPDATE ledger_accounts SET balance = -1 WHERE name = 'wallet'`,
		`UPDATE ledger_accounts SET balance = 'much' WHERE name = 'cash'`,
		`UPDATE ledger_entries SET amount = 6`,
		`DELETE FROM ledger_entries`,
		`UPDATE ledger_postings SET ref = 'x'`,
		`DELETE FROM ledger_postings`,
		`INSERT INTO ledger_entries VALUES (1, 2, 'pst_none', 1, 1)`,
		`INSERT INTO ledger_entries VALUES (1, 2, 'pst_1', 1, 1)`,
		`INSERT INTO notes VALUES ('m', 1, 'n', 1, 'lost', 1, 1, NULL, NULL, 0, x'')`,
		`INSERT INTO notes VALUES ('m', 1, 'n', 1, 'open', 1, 2, NULL, NULL, 0, x'')`,
		`INSERT INTO notes VALUES ('m', 1, 'n', 1, NULL, 1, 1, NULL, NULL, 0, x'')`,
		`INSERT INTO notes VALUES ('m', 1, 'n', 1, 'open', 'x', 1, NULL, NULL, 0, x'')`,
	} {
		if err := s.writer.conn.script(statement); err == nil {
			t.Errorf("allowed: %s", statement)
		}
	}
}

// A broken table leaves no half posting behind, even if the caller ignores the error.
func TestFailedPostingWritesNothing(t *testing.T) {
	s := openNotes(t, Config{})
	must.Do(t, s.writer.conn.script(`CREATE TRIGGER broken BEFORE INSERT ON ledger_entries
		WHEN new.amount > 0 BEGIN SELECT RAISE(ABORT, 'broken'); END`))
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		_ = tx.Post(storage.Posting{
			ID: "pst_1", Type: "payment", At: noon,
			Moves: []storage.Move{{Account: "wallet", Amount: 5}, {Account: "cash", Amount: -5}},
		})
		return nil
	})
	must.True(t, err != nil && strings.Contains(err.Error(), "broken"), "Update: %v, want what broke", err)
	must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
		postings, err := tx.Postings("", 10)
		if err != nil {
			return err
		}
		balances, err := tx.Balances("", 10)
		expect.Equal(t, len(postings), 0, "kept: number of postings")
		expect.Equal(t, len(balances), 0, "number of balances")
		return err
	}))
}

func TestCancelledViewWaitsForNoSlot(t *testing.T) {
	s := openNotes(t, Config{Readers: 1})
	must.Do(t, s.View(t.Context(), func(storage.ReadTx) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan error)
		go func() { cancelled <- s.View(ctx, func(storage.ReadTx) error { return nil }) }()
		cancel()
		expect.ErrorIs(t, <-cancelled, context.Canceled, "View that waited")
		return nil
	}))
}

// clocks returns n clocks that show noon.
func clocks(n int) (all []storage.Clock) {
	for i := range n {
		all = append(all, storage.Clock{Scope: storage.Scope{Merchant: fmt.Sprint("mer_", i)}, Now: noon})
	}
	return all
}

// With MustExist a lost database is an error, and no file is made or written.
func TestMustExist(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "test.db")
	refused := func(what string, want error) {
		t.Helper()
		before, errBefore := os.ReadFile(path)
		_, err := Open(t.Context(), path, Config{MustExist: true})
		expect.True(t, errors.Is(err, want), "%s: %v, want %v", what, err, want)
		after, errAfter := os.ReadFile(path)
		expect.Equal(t, string(before), string(after), "%s: before", what)
		expect.True(t, (errBefore == nil) == (errAfter == nil), "%s: the file is another", what)
	}
	refused("missing", os.ErrNotExist)
	for what, text := range map[string]string{"empty": "", "short": "x", "another program's": strings.Repeat("milk, ", 1000)} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		refused(what, storage.ErrInvalid)
	}
	must.Do(t, os.Remove(path))
	s := openAt(t, path, Config{})
	must.Do(t, s.Close())
	s = openAt(t, path, Config{MustExist: true})
	must.Do(t, s.writer.conn.script("PRAGMA application_id = 7"))
	must.Do(t, s.Close())
	refused("another program's database", storage.ErrInvalid)
	must.Do(t, os.Remove(path))
	bare := must.Get(sql.Open("sqlite", "file:"+path))(t)
	must.Get(bare.ExecContext(t.Context(), "CREATE TABLE x (y); DROP TABLE x; VACUUM"))(t)
	must.Do(t, bare.Close())
	_, err := Open(t.Context(), path, Config{MustExist: true})
	expect.True(t, errors.Is(err, storage.ErrInvalid), "a database without tables: %v", err)
}
