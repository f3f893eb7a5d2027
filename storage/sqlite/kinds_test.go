package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

type card struct {
	Label, Owner string
}

// cards returns the kind of card as some release declares it.
func cards(columns int, more ...func(*storage.Kind)) *storage.Collection[card] {
	fields := []storage.Field[card]{
		{Column: storage.Column{Name: "label", Type: storage.Text}, Value: func(c *card) any { return c.Label }},
		{
			Column: storage.Column{Name: "state", Type: storage.Text, OneOf: []string{"new", "used"}},
			Value:  func(*card) any { return "new" },
		},
		{
			Column: storage.Column{Name: "owner", Type: storage.Text, Indexed: true},
			Value:  func(c *card) any { return c.Owner },
		},
		{
			Column: storage.Column{Name: "due_at", Type: storage.Time, Null: true},
			Value:  func(*card) any { return noon },
		},
	}
	return storage.NewCollection("cards", fields[:columns], more...)
}

func oneOf(values ...string) func(*storage.Kind) {
	return func(k *storage.Kind) { k.Columns[1].OneOf = values }
}

func TestChangedKindIsRefused(t *testing.T) {
	s := openAt(t, filepath.Join(effort.TempDir(t), "test.db"), Config{})
	must.Do(t, s.Define(t.Context(), cards(3, storage.Unique("owner", "owner")).Kind()))
	for _, test := range []struct {
		name   string
		change func(*storage.Kind)
		want   string
	}{
		{"name", func(k *storage.Kind) { k.Columns[0].Name = "title" }, "column 1 is label (text) in the database and title (text) in the program"},
		{"type", func(k *storage.Kind) { k.Columns[0].Type = storage.Int }, "label (int) in the program"},
		{"null", func(k *storage.Kind) { k.Columns[0].Null = true }, "label (text or null) in the program"},
		{"values", oneOf("used"), "of [used] in the program"},
		{"any value", oneOf(), "of [] in the program"},
		{"key", func(k *storage.Kind) { k.Keys[0].Global = true }, "global: true) in the program"},
	} {
		k := cards(3, storage.Unique("owner", "owner")).Kind()
		test.change(k)
		err := s.Define(t.Context(), k)
		expect.True(t, errors.Is(err, storage.ErrInvalid), "%s: %v, want ErrInvalid with %q", test.name, err, test.want)
		expect.True(t, strings.Contains(err.Error(), test.want), "%s: %v, want ErrInvalid with %q", test.name, err, test.want)
	}
}

// A migration reports its progress. One that changes nothing reports nothing.
func TestMigrationReportsProgress(t *testing.T) {
	var told []storage.Progress
	s := openAt(t, filepath.Join(effort.TempDir(t), "test.db"), Config{MigrationProgress: func(p storage.Progress) { told = append(told, p) }})
	first := cards(2)
	must.Do(t, s.Define(t.Context(), first.Kind()))
	const rows = 1200
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		for n := range rows {
			if _, err := first.Insert(tx, scope, fmt.Sprintf("c%04d", n), card{Owner: fmt.Sprint(n)}); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, test := range []struct {
		what string
		kind *storage.Kind
		last int64
	}{{"the same", first.Kind(), -1}, {"a column more", cards(3).Kind(), rows}} {
		told = nil
		must.Do(t, s.Define(t.Context(), test.kind))
		last := int64(-1)
		for _, p := range told {
			expect.Equal(t, p.What, first.Kind().Name, "%s: what", test.what)
			expect.True(t, p.Done >= last, "%s: told %v", test.what, told)
			last = p.Done
		}
		expect.Equal(t, last, test.last, "%s: ended with %d of %d", test.what, last, test.last)
	}
}

// Define makes a missing index again, and drops those that a kind does not need as one queue.
func TestObsoleteIndexesAreDropped(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "test.db")
	old := openAt(t, path, Config{})
	must.Do(t, old.Define(t.Context(), notes))
	must.Do(t, old.writer.conn.script(`DROP INDEX "notes.due.mode"`))
	s := openAt(t, path, Config{})
	must.Do(t, s.Define(t.Context(), notes))
	check := func(s *Store, scope bool) {
		t.Helper()
		m := &migration{conn: s.writer.conn}
		for name, want := range map[string]bool{"notes.due.mode": true, "notes.due.scope": scope} {
			if is, err := m.HasIndex(name); is != want || err != nil {
				t.Errorf("%s: %t, %v", name, is, err)
			}
		}
	}
	check(s, true)
	queue, last := *notes, openAt(t, path, Config{})
	queue.OneQueue = true
	must.Do(t, last.Define(t.Context(), &queue))
	check(last, false)
}

// Calls that wait for the write turn behind a Define must not write the new tables by the old
// declaration: they would leave the new columns as they are.
func TestDefineEndsOldDeclarationAtOnce(t *testing.T) {
	before := &storage.Kind{Name: "docs", Columns: []storage.Column{{Name: "size", Type: storage.Int}}}
	after := &storage.Kind{
		Name: "docs", Columns: append(before.Columns[:1:1], storage.Column{Name: "text", Type: storage.Text}),
		Backfill: func(data []byte) ([]any, error) { return []any{int64(len(data)), string(data)}, nil },
	}
	document := func(text string, version int64) storage.Record {
		return storage.Record{Scope: scope, ID: "d", Version: version, Columns: []any{int64(len(text))}, Data: []byte(text)}
	}
	for range 10 {
		s := openAt(t, filepath.Join(effort.TempDir(t), "test.db"), Config{})
		must.Do(t, s.Define(t.Context(), before))
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(before, document("one", 0)) }))
		began, proceed := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			expect.NoError(t, s.Update(t.Context(), func(storage.Tx) error {
				close(began)
				<-proceed
				return nil
			}), "Update")
		})
		<-began
		all.Go(func() { expect.NoError(t, s.Define(t.Context(), after), "Define") })
		awaitQueue(s, 1)
		for i := range 4 {
			all.Go(func() {
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					now, err := tx.Get(before, scope, "d")
					if err != nil {
						return err
					}
					return tx.Replace(before, document(fmt.Sprint("later", i), now.Version))
				})
				expect.ErrorIs(t, err, storage.ErrInvalid, "Update by the old declaration")
			})
			awaitQueue(s, i+2)
		}
		close(proceed)
		all.Wait()
		must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
			r, err := tx.Get(after, scope, "d")
			if err == nil {
				expect.Equal(t, r.Columns[1], any(string(r.Data)), "the new column of %s", r.Data)
			}
			return err
		}))
	}
}
