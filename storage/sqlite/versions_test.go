package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// A running program stops writing once a newer one has declared more than it knows, and continues
// reading. After a change that it knows, it continues writing.
func TestOlderProgramCannotWrite(t *testing.T) {
	for name, test := range map[string]struct {
		newer   *storage.Kind
		refused bool
	}{
		"nothing":           {cards(2).Kind(), false},
		"another kind":      {notes, false},
		"a column":          {cards(3).Kind(), true},
		"a column, null":    {nullable(), true},
		"a key":             {cards(2, storage.Unique("label", "label")).Kind(), true},
		"a value of OneOf":  {cards(2, oneOf("new", "used", "lost")).Kind(), true},
		"another migration": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(effort.TempDir(t), "test.db")
			old, newer := openAt(t, path, Config{}), openAt(t, path, Config{})
			known := cards(2)
			insert := func(id string) error {
				return old.Update(t.Context(), func(tx storage.Tx) error {
					_, err := known.Insert(tx, scope, id, card{Label: id})
					return err
				})
			}
			must.Do(t, errors.Join(old.Define(t.Context(), known.Kind()), insert("c1"), insert("c2")))
			if test.newer != nil {
				must.Do(t, newer.Define(t.Context(), test.newer))
			} else if err := newer.writer.conn.script("PRAGMA user_version = 99"); err != nil {
				t.Fatal(err)
			}
			wanted, count := error(nil), 4
			if test.refused {
				wanted, count = storage.ErrNewer, 2
			}
			for _, id := range []string{"c3", "c4"} {
				if err := insert(id); !errors.Is(err, wanted) {
					t.Errorf("Insert: %v, want %v", err, wanted)
				}
			}
			if err := old.Update(t.Context(), func(tx storage.Tx) error { _, err := tx.Next("number"); return err }); !errors.Is(err, wanted) {
				t.Errorf("another write: %v, want %v", err, wanted)
			}
			tx := must.Get(old.db.BeginTx(t.Context(), &sql.TxOptions{}))(t)
			err := old.In(tx).Update(t.Context(), func(tx storage.Tx) error { _, err := tx.Next("number"); return err })
			expect.True(t, errors.Is(err, wanted), "Update in the host's transaction: %v, want %v", err, wanted)
			must.Do(t, tx.Rollback())
			err = old.View(t.Context(), func(tx storage.ReadTx) error {
				page, _, err := known.List(tx, storage.Query{Scope: scope, Limit: 10})
				expect.Same(t, len(page), count, "cards")
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func nullable() *storage.Kind {
	k := cards(2).Kind()
	k.Columns = append(k.Columns, storage.Column{Name: "note", Type: storage.Text, Null: true})
	k.Backfill = func([]byte) ([]any, error) { return []any{"l", "new", nil}, nil }
	return k
}

// Another value of OneOf changes the constraint of the table in place.
func TestOneOfIsExtendedInPlace(t *testing.T) {
	s := openAt(t, filepath.Join(effort.TempDir(t), "test.db"), Config{})
	first := cards(2)
	err := s.Define(t.Context(), first.Kind())
	if err == nil {
		err = s.Update(t.Context(), func(tx storage.Tx) error {
			_, err := first.Insert(tx, scope, "c1", card{Label: "l"})
			return err
		})
	}
	must.Do(t, err)
	place := func() (root int64) {
		t.Helper()
		must.Get(s.writer.conn.queryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'cards'", nil, &root))(t)
		return root
	}
	values := []string{"new", "used"}
	for _, value := range []string{"lost", "found"} {
		before := place()
		values = append(values, value)
		kind := cards(2, oneOf(values...)).Kind()
		must.Do(t, s.Define(t.Context(), kind))
		expect.Equal(t, place(), before, "%s: the table's place", value)
		err := s.Update(t.Context(), func(tx storage.Tx) error {
			r, err := tx.Get(kind, scope, "c1")
			if err == nil {
				r.Columns[1] = value
				err = tx.Replace(kind, r)
			}
			return err
		})
		expect.NoError(t, err, "%s", value)
	}
	if _, err := s.writer.conn.exec("UPDATE cards SET state = 'other'"); err == nil {
		t.Error("the constraint is gone")
	}
}
