package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/declared"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// The table of a kind is made from its declaration, and not from SQL written
// beside it. So a column is declared once and cannot differ between the code
// that fills it, the statement that filters by it and the table that holds it;
// a host's kinds get the same constraints as ours; and a further backend needs
// no second set of migrations. What a table was made from is kept in
// storage_kinds, with which the next Define compares.

// Define implements [storage.Store]. All kinds are made ready in one
// transaction, beside which no other update runs.
//
// Beside a column at the end, a later release may add a key, a due column, and
// values at the end of OneOf, which are [storage.ErrNewer] to the program
// before it; and an index, which is not. Any other change of what was declared
// is [storage.ErrInvalid]. Where a table must be made anew, its rows are copied
// within the transaction.
//
// A program that defines a kind with a further column while an older one has
// the file open takes the kind's table from under it: the older one's writes
// fail if the column must not be null. Stop it first.
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	for _, k := range kinds {
		if err := k.Validate(); err != nil {
			return err
		}
		if len(k.Columns) > 200 {
			return fmt.Errorf("%w: kind %s has more than 200 columns", storage.ErrInvalid, k.Name)
		}
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	err := s.update(ctx, func(t *tx) error {
		for _, k := range kinds {
			if err := t.define(k); err != nil {
				return fmt.Errorf("sqlite: define %s: %w", k.Name, err)
			}
		}
		return nil
	}, true)
	if err == nil {
		s.learn(kinds)
	}
	return err
}

func (t *tx) define(k *storage.Kind) error {
	if err := t.usable(); err != nil {
		return err
	}
	var text string
	found, err := t.conn.one("SELECT declaration FROM storage_kinds WHERE name = ?", []any{k.Name}, &text)
	if err != nil {
		return t.fail("read", "kinds", err)
	}
	wanted, told := declared.Of(k), !found
	if !found {
		t.migrating(k, 0)
		if err := t.script(createTable(k, k.Name)); err != nil {
			return err
		}
	} else {
		var kept declared.Kind
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			return fmt.Errorf("read declaration: %w", err)
		}
		copying, err := declared.Compare(kept, wanted)
		if err != nil {
			return err
		}
		if copying {
			told = true
			if err := t.rebuild(k, kept); err != nil {
				return err
			}
		}
	}
	for _, index := range sqltext.Indexes(k) {
		var one int64
		exists, err := t.conn.one("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?", []any{index.Name}, &one)
		if err != nil {
			return t.fail("read", "schema", err)
		}
		if exists {
			continue
		}
		if !told { // an index alone
			told = true
			t.migrating(k, 0)
		}
		if err := t.script(index.Create(index.Name, sqltext.Quote(k.Name))); err != nil {
			return err
		}
	}
	changed, err := json.Marshal(wanted)
	if err != nil || string(changed) == text {
		return err
	}
	_, err = t.write("write", "kinds", `INSERT INTO storage_kinds (name, declaration) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration`, k.Name, string(changed))
	return err
}

// migrating tells how far the change of a kind's table has come.
func (t *tx) migrating(k *storage.Kind, done int64) {
	if t.store.migrating != nil {
		t.store.migrating(storage.Progress{What: k.Name, Done: done})
	}
}

// script runs statements that change the schema.
func (t *tx) script(text string) error {
	if err := t.spill(); err != nil {
		return err
	}
	err := t.conn.script(text)
	if isUnique(err) {
		return fmt.Errorf("%w: a record has what another one has in a new key", storage.ErrExists)
	}
	if err != nil {
		return t.fail("change", "schema", err)
	}
	return nil
}

// createTable returns the statement that makes the table of a kind under some
// name.
func createTable(k *storage.Kind, name string) string {
	var s strings.Builder
	s.WriteString("CREATE TABLE " + sqltext.Quote(name) + ` (
	merchant TEXT NOT NULL,
	live INTEGER NOT NULL CHECK (live IN (0, 1)),
	id TEXT NOT NULL CHECK (id <> ''),
	version INTEGER NOT NULL CHECK (version > 0),
`)
	for _, c := range k.Columns {
		column := sqltext.Quote(c.Name)
		s.WriteString("\t" + column)
		if c.Type == storage.Text {
			s.WriteString(" TEXT")
		} else {
			s.WriteString(" INTEGER")
		}
		if !c.Null {
			s.WriteString(" NOT NULL")
		}
		if c.Type == storage.Bool {
			s.WriteString(" CHECK (" + column + " IN (0, 1))")
		}
		if len(c.OneOf) > 0 {
			s.WriteString(" CHECK (" + column + " IN ('" + strings.Join(c.OneOf, "', '") + "'))")
		}
		s.WriteString(",\n")
	}
	if k.Due != "" {
		s.WriteString("\tlease INTEGER NOT NULL DEFAULT 0,\n")
	}
	s.WriteString("\tdata BLOB NOT NULL,\n\tUNIQUE (merchant, live, id)\n) STRICT")
	return s.String()
}
