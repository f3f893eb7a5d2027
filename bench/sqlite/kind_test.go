package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// cards returns a kind with a key of these columns, these states and more columns than three.
func cards(key []string, states []string, more ...storage.Column) *storage.Kind {
	k := &storage.Kind{Name: "cards", Columns: append([]storage.Column{
		{Name: "label", Type: storage.Text},
		{Name: "state", Type: storage.Text, OneOf: states},
		{Name: "owner", Type: storage.Text, Indexed: true},
	}, more...)}
	if key != nil {
		k.Keys = []storage.Key{{Name: "label", Columns: key}}
	}
	k.Backfill = func([]byte) ([]any, error) {
		return append([]any{strings.Repeat("l", 500), "new", "o"}, make([]any, len(more))...), nil
	}
	return k
}

// BenchmarkChangedKind changes the kind of a table with many rows.
func BenchmarkChangedKind(b *testing.B) {
	rows := 10_000
	if text := os.Getenv("PAYMENTS_TEST_ROWS"); text != "" {
		rows = must.Get(strconv.Atoi(text))(b)
	}
	states := []string{"new", "used"}
	for name, changed := range map[string]*storage.Kind{
		"value":  cards(nil, append(states, "lost")),
		"column": cards(nil, states, storage.Column{Name: "due_at", Type: storage.Time, Null: true}),
		"index":  cards([]string{"label", "id"}, states),
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				first := cards(nil, states)
				s := open(b, filepath.Join(b.TempDir(), "test.db"), first)
				for from := 0; from < rows; from += 5000 {
					must.Do(b, s.Update(b.Context(), func(tx storage.Tx) error {
						for i := from; i < min(from+5000, rows); i++ {
							r := storage.Record{
								Scope: scope, ID: fmt.Sprintf("c%09d", i), Version: 1, Columns: []any{strings.Repeat("l", 500), "new", "o"}, Data: []byte("{}"),
							}
							if err := tx.Insert(first, r); err != nil {
								return err
							}
						}
						return nil
					}))
				}
				b.StartTimer()
				must.Do(b, s.Define(b.Context(), changed))
			}
		})
	}
}
