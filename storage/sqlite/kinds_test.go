package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestAColumnIsAdded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	const n = 3*copyBatch + 1
	s := openAt(t, path, Config{})
	first := cards(2)
	if err := s.Define(t.Context(), first.Kind()); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		for i := range n {
			o, err := first.Insert(tx, scope, fmt.Sprintf("c%04d", i), card{Label: "l", Owner: fmt.Sprint("o", i)})
			if err != nil {
				return err
			}
			if i == 1 {
				if err := first.Replace(tx, o); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openAt(t, path, Config{})
	second := cards(4, storage.Unique("owner", "owner"), storage.DueBy("due_at"), oneOf("new", "used", "lost"))
	for range 2 { // the second time there is nothing to do
		if err := s.Define(t.Context(), second.Kind()); err != nil {
			t.Fatal(err)
		}
	}
	err = s.Update(t.Context(), func(tx storage.Tx) error {
		for i := range n {
			o, err := second.Find(tx, "owner", scope, fmt.Sprint("o", i))
			if err != nil {
				return err
			}
			want := &storage.Object[card]{
				Scope: scope, ID: fmt.Sprintf("c%04d", i), Version: 1,
				Value: card{Label: "l", Owner: fmt.Sprint("o", i)},
			}
			if i == 1 {
				want.Version = 2
			}
			if diff := cmp.Diff(want, o); diff != "" {
				return fmt.Errorf("card (-want +got):\n%s", diff)
			}
		}
		claimed, err := second.Claim(tx, storage.Claim{Due: noon, Now: noon, Lease: 1, Limit: n + 1})
		if len(claimed) != n {
			t.Errorf("claimed %d, want %d", len(claimed), n)
		}
		if _, err := first.Insert(tx, scope, "old", card{}); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("Insert by the old kind: %v, want ErrInvalid", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	err = s.Update(t.Context(), func(tx storage.Tx) error {
		_, err := second.Insert(tx, scope, "other", card{Owner: "o1"})
		return err
	})
	if !errors.Is(err, storage.ErrExists) {
		t.Errorf("Insert against the new key: %v, want ErrExists", err)
	}

	// The old program must not run on it any more.
	if err := s.Define(t.Context(), first.Kind()); !errors.Is(err, storage.ErrNewer) {
		t.Errorf("Define of the old kind: %v, want ErrNewer", err)
	}
	for name, old := range map[string]*storage.Collection[card]{
		"without key":   cards(4, storage.DueBy("due_at"), oneOf("new", "used", "lost")),
		"without due":   cards(4, storage.Unique("owner", "owner"), oneOf("new", "used", "lost")),
		"without value": cards(4, storage.Unique("owner", "owner"), storage.DueBy("due_at")),
	} {
		if err := s.Define(t.Context(), old.Kind()); !errors.Is(err, storage.ErrNewer) {
			t.Errorf("Define %s: %v, want ErrNewer", name, err)
		}
	}
}

func TestAChangedKindIsRefused(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "test.db"), Config{})
	if err := s.Define(t.Context(), cards(3, storage.Unique("owner", "owner")).Kind()); err != nil {
		t.Fatal(err)
	}
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
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want ErrInvalid with %q", test.name, err, test.want)
		}
	}
}

// A Define that cannot be finished leaves everything as it was.
func TestAFailedRebuildChangesNothing(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "test.db"), Config{})
	first := cards(2)
	if err := s.Define(t.Context(), first.Kind()); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		_, err := first.Insert(tx, scope, "c1", card{Owner: "same"})
		if err == nil {
			_, err = first.Insert(tx, scope, "c2", card{Owner: "same"})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	broken := cards(3).Kind()
	broken.Backfill = func([]byte) ([]any, error) { return nil, errors.New("broken") }
	without := cards(3).Kind()
	without.Backfill = nil
	for name, k := range map[string]*storage.Kind{
		"key that is taken": cards(3, storage.Unique("owner", "owner")).Kind(),
		"backfill":          broken,
		"no backfill":       without,
	} {
		if err := s.Define(t.Context(), notes, k); err == nil {
			t.Errorf("%s: Define succeeded", name)
		}
	}
	err = s.Update(t.Context(), func(tx storage.Tx) error {
		page, _, err := first.List(tx, storage.Query{Scope: scope, Limit: 10})
		if len(page) != 2 {
			t.Errorf("%d cards, want 2", len(page))
		}
		if err := tx.Insert(notes, note("n1")); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("Insert of what was not defined: %v, want ErrInvalid", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Define(t.Context(), first.Kind(), notes); err != nil {
		t.Error(err)
	}
}

// Whoever waits for a migration sees how far it has come; one that changes nothing
// tells nothing.
func TestProgressOfAMigration(t *testing.T) {
	var told []storage.Progress
	s := openAt(t, filepath.Join(t.TempDir(), "test.db"), Config{Migrating: func(p storage.Progress) { told = append(told, p) }})
	first := cards(2)
	if err := s.Define(t.Context(), first.Kind()); err != nil {
		t.Fatal(err)
	}
	const rows = 1200
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		for n := range rows {
			if _, err := first.Insert(tx, scope, fmt.Sprintf("c%04d", n), card{Owner: fmt.Sprint(n)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what string
		kind *storage.Kind
		last int64
	}{{"the same", first.Kind(), -1}, {"a column more", cards(3).Kind(), rows}} {
		told = nil
		if err := s.Define(t.Context(), test.kind); err != nil {
			t.Fatal(err)
		}
		last := int64(-1)
		for _, p := range told {
			if p.What != first.Kind().Name || p.Done < last {
				t.Errorf("%s: told %v", test.what, told)
			}
			last = p.Done
		}
		if last != test.last {
			t.Errorf("%s: ended with %d of %d", test.what, last, test.last)
		}
	}
}
