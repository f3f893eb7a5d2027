package sqlstore

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/schema"
)

// Define makes the table of a kind from its declaration. So a column is declared once, and
// the code that fills it, the statements that filter by it and the table agree. A host's
// kinds get the same constraints as the library's. storage_kinds stores each declaration,
// and the next Define compares with it.

// SchemaTx is a transaction that changes tables.
type SchemaTx interface {
	// Declaration returns the stored declaration of a kind, "" for none.
	Declaration(kind string) (string, error)
	// SetDeclaration stores the declaration of a kind.
	SetDeclaration(kind, declaration string) error
	// HasIndex reports whether an index of that name exists.
	HasIndex(name string) (bool, error)
	// CreateTable creates the table of a kind, without indexes.
	CreateTable(k *storage.Kind) error
	// AlterTable changes a table from the declaration kept to that of k. Stored values
	// stay as they are; [storage.Kind.Backfill] fills new columns. AlterTable reports to
	// tell how many rows are done.
	AlterTable(k *storage.Kind, kept schema.Declaration, tell func(done int64)) error
	// CreateIndex creates an index of a kind's table.
	CreateIndex(k *storage.Kind, i Index) error
	// DropIndex removes the index of that name.
	DropIndex(name string) error
}

// Define brings the table of a kind up to date and reports whether it changed anything.
// It reports its progress to progress, if not nil.
func Define(s SchemaTx, k *storage.Kind, progress func(storage.Progress)) (changed bool, err error) {
	tell := func(done int64) {
		if progress != nil {
			progress(storage.Progress{What: k.Name, Done: done})
		}
	}
	kept, text, err := StoredDeclaration(s, k)
	if err != nil {
		return false, err
	}
	wanted := schema.Of(k)
	if text == "" {
		tell(0)
		if err := s.CreateTable(k); err != nil {
			return false, err
		}
		changed = true
	} else {
		altering, err := schema.Compare(kept, wanted)
		if err != nil {
			return false, err
		}
		if altering {
			if err := s.AlterTable(k, kept, tell); err != nil {
				return false, err
			}
			changed = true
		}
	}
	missing, obsolete, err := indexChanges(s, k)
	if err != nil {
		return false, err
	}
	if len(missing) > 0 && !changed {
		tell(0)
	}
	changed = changed || len(missing)+len(obsolete) > 0
	for _, index := range missing {
		if err := s.CreateIndex(k, index); err != nil {
			return false, err
		}
	}
	for _, name := range obsolete {
		if err := s.DropIndex(name); err != nil {
			return false, err
		}
	}
	is, err := json.Marshal(wanted)
	if err != nil || string(is) == text {
		return changed, err
	}
	return true, s.SetDeclaration(k.Name, string(is))
}

// NeedsDefine reports whether Define would change anything.
func NeedsDefine(s SchemaTx, k *storage.Kind) (bool, error) {
	kept, text, err := StoredDeclaration(s, k)
	if text == "" || err != nil {
		return true, err
	}
	wanted := schema.Of(k)
	if _, err := schema.Compare(kept, wanted); err != nil {
		return false, err
	}
	is, err := json.Marshal(wanted)
	if err != nil || string(is) != text {
		return true, err
	}
	missing, obsolete, err := indexChanges(s, k)
	return len(missing)+len(obsolete) > 0, err
}

// indexChanges returns the indexes that a kind's table lacks, and the names of those that it should not
// have.
func indexChanges(s SchemaTx, k *storage.Kind) (missing []Index, obsolete []string, err error) {
	for _, index := range Indexes(k) {
		there, err := s.HasIndex(index.Name)
		if err != nil {
			return nil, nil, err
		}
		if !there {
			missing = append(missing, index)
		}
	}
	for _, name := range ObsoleteIndexes(k) {
		there, err := s.HasIndex(name)
		if err != nil {
			return nil, nil, err
		}
		if there {
			obsolete = append(obsolete, name)
		}
	}
	return missing, obsolete, nil
}

// CheckVersion returns [storage.ErrNewer] if the stored declarations contain more than
// the kinds declare.
func CheckVersion(s SchemaTx, kinds []*storage.Kind) error {
	for _, k := range kinds {
		kept, text, err := StoredDeclaration(s, k)
		if err == nil && text != "" {
			_, err = schema.Compare(kept, schema.Of(k))
		}
		if err != nil {
			return fmt.Errorf("kind %s: %w", k.Name, err)
		}
	}
	return nil
}

// StoredDeclaration returns the stored declaration of a kind and its text, "" for none.
func StoredDeclaration(s SchemaTx, k *storage.Kind) (d schema.Declaration, text string, err error) {
	text, err = s.Declaration(k.Name)
	if err == nil && text != "" {
		if err = json.Unmarshal([]byte(text), &d); err != nil {
			err = fmt.Errorf("read declaration: %w", err)
		}
	}
	return d, text, err
}

// Migrations are SQL files, numbered from 1 without gaps. A released file is never
// edited.
type Migrations struct{ names, texts []string }

// ReadMigrations reads migrations/*.sql.
func ReadMigrations(files fs.FS) (m Migrations) {
	names, err := fs.Glob(files, "migrations/*.sql") // in ascending order
	for i, name := range names {
		var text []byte
		if err == nil {
			text, err = fs.ReadFile(files, name)
		}
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", i+1)) {
			err = fmt.Errorf("%s is not number %d", name, i+1)
		}
		m.names, m.texts = append(m.names, strings.TrimPrefix(name, "migrations/")), append(m.texts, string(text))
	}
	if err != nil {
		panic(err) // the files are embedded, and every test reads them
	}
	return m
}

// Len returns the number of migrations.
func (m Migrations) Len() int { return len(m.names) }

// Check returns ErrNewer if the database has more migrations than this program.
func (m Migrations) Check(applied int) error {
	if applied > len(m.names) {
		return fmt.Errorf("%w: its tables are version %d, this program knows %d", storage.ErrNewer, applied, len(m.names))
	}
	return nil
}

// Apply calls run with each migration that has not been applied.
func (m Migrations) Apply(applied int, run func(number int, name, text string) error) error {
	for i := applied; i < len(m.names); i++ {
		if err := run(i+1, m.names[i], m.texts[i]); err != nil {
			return fmt.Errorf("%s: %w", m.names[i], err)
		}
	}
	return nil
}
