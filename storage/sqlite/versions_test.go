package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/storage"
)

// A running program does not write any more once a newer one has declared more than it
// knows, and goes on reading; after a change that it knows it goes on writing.
func TestAnOlderWriterIsRefused(t *testing.T) {
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
			path := filepath.Join(t.TempDir(), "test.db")
			old, newer := openAt(t, path, Config{}), openAt(t, path, Config{})
			known := cards(2)
			insert := func(id string) error {
				return old.Update(t.Context(), func(tx storage.Tx) error {
					_, err := known.Insert(tx, scope, id, card{Label: id})
					return err
				})
			}
			if err := errors.Join(old.Define(t.Context(), known.Kind()), insert("c1"), insert("c2")); err != nil {
				t.Fatal(err)
			}
			if test.newer != nil {
				if err := newer.Define(t.Context(), test.newer); err != nil {
					t.Fatal(err)
				}
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
			tx, err := old.db.BeginTx(t.Context(), &sql.TxOptions{})
			if err != nil {
				t.Fatal(err)
			}
			err = old.In(tx).Update(t.Context(), func(tx storage.Tx) error { _, err := tx.Next("number"); return err })
			if !errors.Is(err, wanted) {
				t.Errorf("Update in the host's transaction: %v, want %v", err, wanted)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			err = old.View(t.Context(), func(tx storage.ReadTx) error {
				page, _, err := known.List(tx, storage.Query{Scope: scope, Limit: 10})
				if diff := cmp.Diff(count, len(page)); diff != "" {
					t.Errorf("cards: %s", diff)
				}
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
